"""Do tests and notebooks reach at least 95 % of the package's lines? `make coverage` asks, and gives what `coverage json` wrote.

A least share that coverage itself holds (fail_under) counts lines and branches as one.
"""
import json
import sys
from pathlib import Path

LEAST = 95  # per cent of the lines

totals = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["totals"]
if 100 * totals["covered_lines"] < LEAST * totals["num_statements"]:
    sys.exit(f"fewer than {LEAST} % of the lines are reached")
