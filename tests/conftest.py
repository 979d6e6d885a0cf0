"""Shared by all tests: hypothesis draws the same examples in every run and has no clock (a loaded machine is not a failure)."""
from hypothesis import settings

settings.register_profile("project", deadline=None, derandomize=True)
settings.load_profile("project")
