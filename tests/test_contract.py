"""The public names other people's code imports, with their signatures: the contract, and what the package
says of itself.

signatures.txt is the contract as it was last agreed to: a line a name. A change of it is a change of the
contract: `python tests/test_contract.py` writes it anew, the diff shows what other people's code will meet,
and CHANGELOG.md says so where a name or an argument goes or changes.
"""
import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import cost_eval

AGREED = Path(__file__).with_name("signatures.txt")


def load(module):
    return importlib.import_module(f"cost_eval.{module}")


def modules():
    "Modules of the package, without reproductions and the flat name space."
    return [m.name for m in pkgutil.iter_modules(cost_eval.__path__)
            if m.name not in ("_modidx", "reproductions", "api", "core")]


def signature(thing):
    "How a name is called, and what it returns; without types of arguments."
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    given = found.return_annotation
    result = re.sub(r"^typing\.", "", given if isinstance(given, str) else getattr(given, "__name__",
        repr(given)))
    shown = str(found.replace(parameters=bare, return_annotation=found.empty))
    return shown if given is found.empty or inspect.isclass(thing) else f"{shown} -> {result}"


def members(thing):
    "Public members of a class that are ours."
    ours = [vars(base) for base in thing.__mro__ if base.__module__.startswith("cost_eval.")]
    fields = [*getattr(thing, "__dataclass_fields__", ()), *getattr(thing, "_fields", ())]
    return sorted(name for name in {*fields, *(name for names in ours for name in names)} if name[0] != "_")


def contract(module):
    "A line a public name, and a line a public method."
    for name in sorted(load(module).__all__):
        thing = getattr(load(module), name)
        yield f"{module}.{name}{signature(thing) if callable(thing) else ''}"
        for member in members(thing) if inspect.isclass(thing) else ():
            called = inspect.isroutine(inspect.getattr_static(thing, member, None))
            yield f"{module}.{name}.{member}{signature(getattr(thing, member)) if called else ''}"


@pytest.mark.parametrize("module", modules())
def test_names_and_signatures_are_as_agreed(module):
    lines = AGREED.read_text(encoding="utf-8").splitlines()
    agreed, given = [line for line in lines if line.partition(".")[0] == module], [*contract(module)]
    gone, new = sorted({*agreed} - {*given}), sorted({*given} - {*agreed})
    assert (gone, new) == ([], []), "say so in CHANGELOG.md, and write signatures.txt anew"


def test_a_name_has_one_meaning_wherever_it_is_exported():
    "`scale` apart, whose names are those of the package on purpose."
    meanings = {}
    for module in {*modules()} - {"scale"}:
        for name in load(module).__all__:
            meanings.setdefault(name, set()).add(id(getattr(load(module), name)))
    assert [name for name, things in meanings.items() if len(things) > 1] == []


def test_the_flat_name_space_is_what_the_jobs_need_and_says_where_the_rest_is():
    "Seventy names, each that of a module; all else stays in its module."
    api = load("api")
    homes = {name: getattr(load(module), name) for module in modules() if module != "scale"
             for name in load(module).__all__}
    assert len(api.__dir__()) <= 70 and {*api.__all__} <= {*homes} and {*api.__all__} <= {*dir(api)}
    assert [name for name in api.__all__ if getattr(api, name) is not homes[name]] == []
    for name in {name for name, thing in homes.items() if callable(thing)} - {*api.__all__, "main"}:
        with pytest.raises(AttributeError,
                           match=rf"is in its module: from cost_eval\.\w+ import {name}$") as told:
            getattr(api, name)
        inside = {}
        exec(str(told.value).partition(": ")[2], inside)
        assert inside[name] is homes[name]


@pytest.mark.parametrize("module", modules())
def test_what_is_exported_exists(module):
    things = {name: getattr(load(module), name) for name in load(module).__all__}
    assert len(things) == len(load(module).__all__)
    assert [name for name, thing in things.items()
            if inspect.ismodule(thing)] == [], "libraries are not ours to export"


def documented_defaults(thing):
    "(name, default as the signature has it, as the docstring has it) where the docstring tells one."
    part = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", inspect.getdoc(thing) or "", re.M | re.S)
    heads = re.findall(r"^(\S[^:\n]*) : .*?\bdefault:? (.*)$", part[1] if part else "", re.M)
    said = {name.strip("*"): text for names, text in heads for name in names.split(", ")}
    return [(p.name, p.default, said[p.name]) for p in inspect.signature(thing).parameters.values()
            if p.name in said and p.default is not None and " and " not in said[p.name]]


@pytest.mark.parametrize("module", modules())
def test_documented_defaults_are_those_of_the_signature(module):
    found = [thing for name in load(module).__all__ if callable(thing := getattr(load(module), name))
             and getattr(thing, "__module__", "") == f"cost_eval.{module}"]
    found += [member for thing in found if inspect.isclass(thing) for name in vars(thing) if name[0] != "_"
              and inspect.isroutine(member := getattr(thing, name)) and callable(member)]
    for thing in found:
        for name, given, said in documented_defaults(thing):
            number = re.fullmatch(r"[\d,]*\.?\d*(e\d+)?", said)
            wanted = np.nan if said == "nan" else ast.literal_eval(said.replace(",", "") if number else said)
            assert given == wanted or given != given and wanted != wanted, f"{thing.__qualname__}: {name}"


if __name__ == "__main__":
    lines = [line for module in modules() for line in contract(module)]
    AGREED.write_text("\n".join(lines) + "\n", encoding="utf-8")
