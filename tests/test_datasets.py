"""Data sets: look-up, integrity, readers, and the whole way of a download against a server of this
machine."""
import gzip
import hashlib
import io
import lzma
import os
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cost_eval import datasets
from cost_eval.datasets import (DATASETS, DataNotAvailable, DataSet, File, Form, SystemScores, fetch, find,
                                load)

pd = pytest.importorskip("pandas")

AT_HAND = {name: found for name in DATASETS if (found := find(name))}  # before any test hides them


def real(name):
    """The data of a set that is at hand on this machine; skips otherwise."""
    if name not in AT_HAND:
        pytest.skip(f"{name} is not at hand (COST_EVAL_DATA)")
    form, paths = AT_HAND[name]
    return datasets._read(DATASETS[name], form, paths)


@pytest.fixture(autouse=True)
def no_data(monkeypatch, tmp_path):
    """Each test has an empty cache of its own and no data directory."""
    monkeypatch.delenv("COST_EVAL_DATA", raising=False)
    monkeypatch.setenv("COST_EVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Handler(BaseHTTPRequestHandler):
    """Serves `files`; other paths misbehave on purpose."""

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path == "/hangs":
            time.sleep(2)
        body = self.server.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(1000 if self.path == "/partial" else len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def running():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": .02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def server(running):
    running.files, running.asked = {"/partial": b"half of it", "/toy.csv": TOY}, []
    running.address = f"http://127.0.0.1:{running.server_port}"
    return running


TOY = b"x,y\n1,a\n2,b\n"
TOY_SHA = hashlib.sha256(TOY).hexdigest()


def toy_set(*forms):
    return DataSet("toy", "Two rows", "2 x 2", True, "none", "the page", forms)


@pytest.fixture
def toy(monkeypatch, server):
    """Registers a data set of one file at the given paths of the server."""
    def make(*paths, sha256="", read=None):
        form = Form((File("toy/toy.csv", sha256, tuple(server.address + p for p in paths)),))
        monkeypatch.setitem(DATASETS, "toy", toy_set(form))
        if read is not None:
            monkeypatch.setitem(datasets._READ, "toy", read)
    return make


def nothing_left(cache):
    return not list(cache.rglob("*.*"))


# -- downloads -----------------------------------------------------------------------------------------------

def test_load_downloads_once_into_the_cache(server, toy, no_data):
    toy("/toy.csv", sha256=TOY_SHA)
    assert not datasets.available("toy")
    table = load("toy")
    assert table.to_dict("list") == {"x": [1, 2], "y": ["a", "b"]}
    assert table.attrs["name"] == "toy" and table.attrs["complete"]
    assert [p.relative_to(no_data) for p in no_data.rglob("*.*")] == [Path("toy/toy.csv")]
    assert load("toy").equals(table) and server.asked == ["/toy.csv"]
    assert datasets.available("toy")


@pytest.mark.parametrize("path, content, says", [
    ("/missing.csv", {}, "404"), ("/partial", {}, "/partial: .*(broken|IncompleteRead)"),
    ("/toy.csv", {"sha256": "0" * 64}, "does not match the known hash"),
    ("/toy.csv", {"read": datasets._read_loan}, "expected 255,347 loans, got 2")])  # of no published content
def test_a_failed_download_leaves_nothing_behind(server, toy, no_data, path, content, says):
    server.files["/toy.csv"] = b"LoanID,Age\nX,1\nY,2\n"
    toy(path, **content)
    with pytest.raises(DataNotAvailable, match="cost-eval data fetch toy") as caught:
        load("toy")
    assert re.search(says, str(caught.value)) and re.search(says, caught.value.reason)
    assert nothing_left(no_data)


def test_a_silent_host_is_given_up_and_not_asked_again(server, toy, no_data):
    toy("/hangs", "/toy.csv")
    start, unreachable = time.monotonic(), set()
    for _ in range(2):
        with pytest.raises(DataNotAvailable, match="did not answer in time|could not be reached"):
            fetch("toy", timeout=.2, unreachable=unreachable)
    assert time.monotonic() - start < 1.5
    assert server.asked == ["/hangs"] and unreachable == {f"127.0.0.1:{server.server_port}"}
    assert nothing_left(no_data)


@pytest.mark.parametrize("first", ["/missing.csv", "/partial", "/wrong.csv"])
def test_the_next_mirror_is_tried(server, toy, first):
    server.files["/wrong.csv"] = b"x,y\n3,c\n"
    toy(first, "/toy.csv", sha256=TOY_SHA)
    assert len(load("toy")) == 2
    assert server.asked == [first, "/toy.csv"]


def test_two_files_of_one_form_come_together_or_not_at_all(server, monkeypatch, no_data):
    def served(name, array):
        buffer = io.BytesIO()
        np.save(buffer, array)
        server.files[f"/{name}.npy"] = buffer.getvalue()

    files = tuple(File(f"sys/{n}.npy", "", (f"{server.address}/{n}.npy",)) for n in ("scores", "targets"))
    system = DataSet("ferrer/sys", "A system", "3 x 2", True, "none", "the page", (Form(files),))
    monkeypatch.setitem(DATASETS, "ferrer/sys", system)
    served("scores", np.zeros((3, 2), np.float32))
    with pytest.raises(DataNotAvailable, match="404"):
        load("ferrer/sys")
    assert nothing_left(no_data)
    served("targets", np.array([0, 1, 1]))
    system = load("ferrer/sys")
    assert system.targets.dtype == np.uint8 and system.class_counts.tolist() == [1, 2]
    served("targets", np.array([0, 1]))
    (no_data / "sys" / "targets.npy").unlink()
    with pytest.raises(DataNotAvailable, match="3 rows"):
        load("ferrer/sys")


# -- look-up -------------------------------------------------------------------------------------------------

def test_order_argument_environment_cache(toy, tmp_path, monkeypatch, no_data):
    toy("/never")
    places = [tmp_path / n for n in ("argument", "first", "second")] + [no_data]
    monkeypatch.setenv("COST_EVAL_DATA", os.pathsep.join(map(str, places[1:3])))
    for i, place in reversed(list(enumerate(places))):
        (place / "toy").mkdir(parents=True)
        (place / "toy" / "toy.csv").write_text(f"x\n{i}\n")
        assert load("toy", data_dir=places[0] if i == 0 else None)["x"][0] == i


def test_a_corrupt_file_is_refused(toy, tmp_path):
    toy("/never", sha256=TOY_SHA)
    (tmp_path / "toy.csv").write_bytes(TOY + b"3,c\n")
    with pytest.raises(ValueError, match=r"toy\.csv is not the expected file"):
        load("toy", data_dir=tmp_path)
    (tmp_path / "toy.csv").write_bytes(TOY)
    assert len(load("toy", data_dir=tmp_path)) == 2


def test_names_and_what_is_none():
    assert len(datasets.names("ferrer")) == 13
    assert len(datasets.names(["ferrer/cifar10_*", "telco"])) == 4
    assert "creditcard" not in datasets.names(small=True) and "kdd" in datasets.names(small=True)
    assert list(datasets.describe().index) == list(DATASETS)
    with pytest.raises(DataNotAvailable, match="no public address"):
        load("ebbu2017")
    for call, says in ((lambda: load("tleco"), "did you mean .telco"),
                       (lambda: datasets.names("ferrre"), "did you mean"),
                       (lambda: datasets.available("ferrer/sst2-gpt2"), "ferrer/sst2_gpt2"),
                       (lambda: load("telco", data_dir="/no/such/place"), "not a directory")):
        with pytest.raises(ValueError, match=says):
            call()


def test_every_set_has_the_facts():
    "What has no sha256 is checked by its reader; the tables name the same sets."
    assert [*DATASETS] == [*dict.fromkeys(line["name"] for line in datasets.stored_lines("files"))]
    for name, dataset in DATASETS.items():
        assert dataset.name == name and dataset.licence and dataset.page.startswith("https://")
        for file in (file for form in dataset.forms for file in form.files):
            assert len(file.sha256) == 64 or name in ("unsw", "creditcard", "loan", "ferrer/sitw_plda")
            assert all(url.startswith("http") for url in file.urls) and (file.sha256 or file.urls)


# -- content -------------------------------------------------------------------------------------------------


@given(hnp.arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(2, 5)),
                  elements=st.floats(-50, 50, width=32)))
def test_log_posteriors_are_normalised(scores):
    system = SystemScores("s", scores, np.zeros(len(scores), np.uint8))
    np.testing.assert_allclose(np.exp(system.log_posteriors).sum(axis=1), 1)
    np.testing.assert_allclose(np.diff(system.log_posteriors), np.diff(scores.astype(float)), atol=1e-9)


NAN = float("nan")
KDD = ",".join(["0", "tcp", "{}", "SF", *["1"] * 20, *["0.50"] * 7, "9", "9", *["0.00"] * 8, "{}.\n"])
KDD = "".join(KDD.format(*pair) for pair in (("http", "normal"), ("http", "normal"), ("smtp", "ipsweep"),
                                             ("smtp", "portsweep"), ("smtp", "normal")))
TELCO = "customerID;MonthlyCharges;TotalCharges\r\nA;29,85;29,85\r\nB;56;1889,5\r\nC;20,25; \r\n"
CHARGES = {"MonthlyCharges": [29.85, 56, 20.25], "TotalCharges": [29.85, 1889.5, NAN]}
# file of a public host: its content, what is read of it
ORIGINALS = {
    "telco: original.csv": (("\ufeff" + TELCO).encode(), CHARGES),
    "telco: compact.csv.xz": (lzma.compress(TELCO.replace(",", ".").replace(";", ",").encode()), CHARGES),
    # each record once, by what it holds
    "kdd: kddcup.data_10_percent.gz": (gzip.compress(KDD.encode()), {
        "label": ["normal", "ipsweep", "normal"], "attack": [0, 1, 0], "serror_rate": [.5, .5, .5]}),
    "heart: t.csv": (b"HeartDiseaseorAttack,BMI\n0.0,40.0\n1.0,25.0\n", {"BMI": [40, 25]}),
    "hannousse2021: t.csv": (b"url,length_url,status\nhttp://a,8,legitimate\nhttp://b,9,phishing\n",
                             {"length_url": [8, 9], "phishing": [0, 1]}),
    "loan: t.csv": (b"Age,Education,Default\n56,NA,0\n", {"Age": [56], "Education": ["NA"], "Default": [0]}),
    "creditcard: t.csv": (b'Time,Class,sample\n0.0,"0",early\n1,"1",all\n2,0,all\n3,0,all\n', {
        "Class": [0, 1, 0, 0], "weight": [0, 1, datasets.GENUINE / 2, datasets.GENUINE / 2]}),
}


@pytest.mark.parametrize("file", ORIGINALS)
def test_what_a_host_sends_is_read_as_it_is_meant(tmp_path, file):
    (name, path), (content, expected) = file.split(": "), ORIGINALS[file]
    (tmp_path / path).write_bytes(content)
    table = datasets._READ[name](tmp_path / path)
    for column, values in expected.items():
        found = table[column].to_numpy()
        assert found.dtype.kind == np.array(values).dtype.kind or found.dtype.kind == "O"
        np.testing.assert_array_equal(found, values)
    assert list(table.index) == list(range(len(table)))


# -- content that stands for itself --------------------------------------------------------------------------


@pytest.mark.parametrize("name, file, content, says", [
    ("unsw", "UNSW_NB15_{}-set.csv", "id,attack_cat\n1,Normal\n", "82,332 and 175,341 rows"),
    ("creditcard", "creditcard.csv", "Time,Amount,Class\n0,1,0\n", "284,807 transactions"),
    ("loan", "Loan_default.csv", "LoanID,Age\nX,1\n", "255,347 loans")])
def test_partial_or_foreign_files_are_refused(tmp_path, name, file, content, says):
    for part in ("training", "testing"):
        (tmp_path / file.format(part)).write_text(content)
    with pytest.raises(ValueError, match=says):
        load(name, data_dir=tmp_path)


def unsw_partitions(rng):
    "The smaller one, and draws from it with the larger one's shares."
    small = real("unsw").drop(columns="partition")
    drawn = [rng.choice(np.flatnonzero(small["attack_cat"] == c), size)
             for c, size in datasets.UNSW_LARGE.items()]
    return [t.assign(id=np.arange(1, len(t) + 1)) for t in (small, small.iloc[np.concatenate(drawn)])]


def test_the_unsw_partitions_are_known_in_either_order(monkeypatch):
    "The smaller by its content, the larger by the count of each category."
    small, large = unsw_partitions(np.random.default_rng(0))
    monkeypatch.setattr(datasets, "_csv", lambda table: table)
    straight = datasets._read_unsw([small, large])
    pd.testing.assert_frame_equal(datasets._read_unsw([large, small]), straight)
    large["attack_cat"] = large["attack_cat"].replace("Worms", "Normal")
    with pytest.raises(ValueError, match="categories of the larger partition"):
        datasets._read_unsw([small, large])


PUBLISHED_COUNTS = {  # of the papers, or of the data sets' own pages
    "telco": ("Churn", {"No": 5174, "Yes": 1869}),
    "kdd": ("attack", {0: 87832, 1: 57753}),
    "hannousse2021": ("phishing", {0: 5715, 1: 5715}),
    "ebbu2017": ("phishing", {0: 36400, 1: 37175}),
    "heart": ("HeartDiseaseorAttack", {0: 229787, 1: 23893}),
}


@pytest.mark.parametrize("name", PUBLISHED_COUNTS)
def test_published_counts(name):
    column, counts = PUBLISHED_COUNTS[name]
    assert real(name)[column].value_counts().to_dict() == counts


def test_telco_charges_are_those_of_the_paper():
    charges = real("telco")["MonthlyCharges"].to_numpy()
    expected = pytest.approx((64.76169246059918, 30.087910854936975), rel=1e-14)
    assert (charges.mean(), charges.std()) == expected


def test_sitw_needs_its_scores_but_not_for_its_targets(tmp_path):
    targets = real("ferrer/sitw_plda_targets")
    assert targets.class_counts.tolist() == [718130, 3658] and targets.scores is None
    (tmp_path / "sitw_plda_targets_only.npz").symlink_to(AT_HAND["ferrer/sitw_plda_targets"][1][0])
    (tmp_path / "sitw_plda").mkdir()
    np.save(tmp_path / "sitw_plda" / "scores.npy", np.zeros((721788, 2), np.float32))
    with pytest.raises(ValueError, match="git names it"):
        load("ferrer/sitw_plda", data_dir=tmp_path)
