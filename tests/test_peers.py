"""What is said of other packages follows from a run: `make bench` stores it in 80_benchmarks, and no page
says more."""
import json
from pathlib import Path

NBS = Path(__file__).resolve().parent.parent / "nbs"


def sources(name):
    cells = json.loads((NBS / name).read_text(encoding="utf-8"))["cells"]
    return cells, ["".join(cell["source"]) for cell in cells]


CELLS, SOURCES = sources("80_benchmarks.ipynb")
STORED = json.loads("".join(next(c for c in CELLS if c["id"] == "storedpeers")["outputs"][0]["text"]))


def test_every_peer_ran_and_every_number_is_ours():
    assert len(STORED) >= 9 and not [name for name, told in STORED.items() if "failed" in told]
    assert {verdict for told in STORED.values() for job, verdict in told.items()
            if job != "version"} == {"equal"}


def test_the_stored_run_is_of_the_jobs_on_the_page():
    names = {}
    for source in SOURCES:
        if "class Peer(" in source or source.startswith("#| code-fold: true") and "\nJOBS = " in source:
            exec("from typing import NamedTuple\n" + source, names)
    assert set(names["PEERS"]) == set(STORED)
    assert all(set(peer.jobs) == set(STORED[name]) - {"version"} for name, peer in names["PEERS"].items())
