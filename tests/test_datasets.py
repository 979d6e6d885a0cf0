"""Data sets: look-up, integrity, readers, and the whole way of a download against a server of this
machine."""
import gzip
import hashlib
import io
import lzma
import os
import re
import resource
import subprocess
import sys
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
        elif self.path == "/partial":
            self.reply(b"half of it", length=1000)
        elif self.path in self.server.files:
            self.reply(self.server.files[self.path])
        else:
            self.send_error(404)

    def reply(self, body, length=None):
        self.send_response(200)
        self.send_header("Content-Length", str(length or len(body)))
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
    running.files, running.asked = {}, []
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
    server.files["/toy.csv"] = TOY
    toy("/toy.csv", sha256=TOY_SHA)
    assert not datasets.available("toy")
    table = load("toy")
    assert table.to_dict("list") == {"x": [1, 2], "y": ["a", "b"]}
    assert table.attrs["name"] == "toy" and table.attrs["complete"]
    assert [p.relative_to(no_data) for p in no_data.rglob("*.*")] == [Path("toy/toy.csv")]
    assert load("toy").equals(table) and server.asked == ["/toy.csv"]
    assert datasets.available("toy")


@pytest.mark.parametrize("path, sha256, says", [
    ("/missing.csv", "", "404"),
    ("/partial", "", "/partial: .*(broken|IncompleteRead)"),
    ("/toy.csv", "0" * 64, "does not match the known hash"),
])
def test_a_failed_download_leaves_nothing_behind(server, toy, no_data, path, sha256, says):
    server.files["/toy.csv"] = TOY
    toy(path, sha256=sha256)
    with pytest.raises(DataNotAvailable, match="cost-eval data fetch toy") as caught:
        load("toy")
    assert re.search(says, str(caught.value)) and re.search(says, caught.value.reason)
    assert nothing_left(no_data)


def test_content_that_is_not_the_published_one_is_deleted(server, toy, no_data):
    server.files["/toy.csv"] = b"LoanID,Age\nX,1\n"
    toy("/toy.csv", read=datasets._read_loan)
    with pytest.raises(DataNotAvailable, match="expected 255,347 loans, got 1"):
        fetch("toy")
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
    server.files |= {"/toy.csv": TOY, "/wrong.csv": b"x,y\n3,c\n"}
    toy(first, "/toy.csv", sha256=TOY_SHA)
    assert len(load("toy")) == 2
    assert server.asked == [first, "/toy.csv"]


def test_no_public_address():
    with pytest.raises(DataNotAvailable, match="no public address"):
        load("ebbu2017")


def test_an_unwritable_cache_is_a_clear_error(server, toy, tmp_path, monkeypatch):
    server.files["/toy.csv"] = TOY
    toy("/toy.csv")
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("COST_EVAL_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataNotAvailable, match="file"):
        fetch("toy")


def test_two_files_of_one_form_come_together_or_not_at_all(server, monkeypatch, no_data):
    def npy(array):
        buffer = io.BytesIO()
        np.save(buffer, array)
        return buffer.getvalue()

    files = tuple(File(f"sys/{n}.npy", "", (f"{server.address}/{n}.npy",)) for n in ("scores", "targets"))
    system = DataSet("ferrer/sys", "A system", "3 x 2", True, "none", "the page", (Form(files),))
    monkeypatch.setitem(DATASETS, "ferrer/sys", system)
    server.files["/scores.npy"] = npy(np.zeros((3, 2), np.float32))
    with pytest.raises(DataNotAvailable, match="404"):
        load("ferrer/sys")
    assert nothing_left(no_data)
    server.files["/targets.npy"] = npy(np.array([0, 1, 1]))
    system = load("ferrer/sys")
    assert system.targets.dtype == np.uint8 and system.class_counts.tolist() == [1, 2]
    server.files["/targets.npy"] = npy(np.array([0, 1]))
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


def test_files_of_one_form_may_lie_in_two_directories(tmp_path, monkeypatch):
    monkeypatch.setitem(DATASETS, "toy", toy_set(Form((File("x/one.csv"), File("x/two.csv")))))
    a, b = tmp_path / "a", tmp_path / "b"
    for place, file in ((a, "one.csv"), (b, "two.csv")):
        place.mkdir()
        (place / file).write_text("x")
    assert not datasets.available("toy", data_dir=a)
    monkeypatch.setenv("COST_EVAL_DATA", str(b))
    assert [path.parent.name for path in find("toy", a)[1]] == ["a", "b"]
    (b / "one.csv").write_text("x")
    assert [path.parent for path in find("toy", a)[1]] == [b, b], "one directory that has all goes first"


def test_a_corrupt_file_is_refused(toy, tmp_path):
    toy("/never", sha256=TOY_SHA)
    (tmp_path / "toy.csv").write_bytes(TOY + b"3,c\n")
    with pytest.raises(ValueError, match=r"toy\.csv is not the expected file"):
        load("toy", data_dir=tmp_path)
    (tmp_path / "toy.csv").write_bytes(TOY)
    assert len(load("toy", data_dir=tmp_path)) == 2


def test_bad_names():
    with pytest.raises(ValueError, match="did you mean .telco"):
        load("tleco")
    with pytest.raises(ValueError, match="ferrer/sst2_gpt2"):
        datasets.available("ferrer/sst2-gpt2")
    with pytest.raises(ValueError, match="not a directory"):
        load("telco", data_dir="/no/such/place")


def test_names_by_group_and_pattern():
    assert len(datasets.names("ferrer")) == 13
    assert datasets.names(["ferrer/cifar10_*", "telco"])[-1] == "telco" and len(
        datasets.names(["ferrer/cifar10_*", "telco"])) == 4
    assert "creditcard" not in datasets.names(small=True) and "kdd" in datasets.names(small=True)
    with pytest.raises(ValueError, match="did you mean"):
        datasets.names("ferrre")


def test_describe_lists_everything(toy):
    table = datasets.describe()
    assert list(table.index) == list(DATASETS) and set(table["at hand"]) == {"no"}


def test_every_set_has_the_facts():
    "What has no sha256 is checked by its reader; the tables name the same sets."
    assert [*DATASETS] == [*dict.fromkeys(line["name"] for line in datasets.stored_lines("files"))]
    for name, dataset in DATASETS.items():
        assert dataset.name == name and dataset.licence and dataset.page.startswith("https://")
        for file in (file for form in dataset.forms for file in form.files):
            assert len(file.sha256) == 64 or name in ("unsw", "creditcard", "loan", "ferrer/sitw_plda")
            assert all(url.startswith("http") for url in file.urls) and (file.sha256 or file.urls)


def without(*modules):
    """The start of a script on a machine where these packages are not installed."""
    return f"import sys\nfor m in {modules}: sys.modules[m] = None\nfrom cost_eval import datasets\n"


def test_scores_need_numpy_only(tmp_path):
    (tmp_path / "sst2_gpt2").mkdir()
    np.save(tmp_path / "sst2_gpt2" / "scores.npy", np.zeros((2, 2), np.float32))
    np.save(tmp_path / "sst2_gpt2" / "targets.npy", np.array([0, 1]))
    code = without("pandas", "pooch", "tqdm", "requests") + f"""
form, paths = datasets.find("ferrer/sst2_gpt2", {str(tmp_path)!r})
print(datasets._read_scores("ferrer/sst2_gpt2", paths))
try: datasets.fetch("telco")
except ImportError as error: print(error)
try: datasets.load("ferrer/sst2_gpt2_4shot")
except ImportError as error: print(error)
"""
    lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    assert lines[0] == "SystemScores('ferrer/sst2_gpt2', 2 samples, 2 classes)"
    assert all("pooch" in line and "cost_eval[data]" in line for line in lines[1:]) and len(lines) == 3


# -- content -------------------------------------------------------------------------------------------------

@given(hnp.arrays(np.int64, st.integers(1, 20), elements=st.integers(-10**6, 10**6)))
def test_content_is_of_values_not_types(values):
    table = pd.DataFrame({"a": values, "b": values.astype(str)})
    digest = datasets._content(table)
    assert digest == datasets._content(table.astype({"a": float}))
    assert digest == datasets._content(pd.read_csv(io.StringIO(table.to_csv(index=False)), dtype={"b": str}))
    changed = table.copy()
    changed.loc[0, "a"] += 1
    assert digest != datasets._content(changed)
    assert digest != datasets._content(table.rename(columns={"a": "c"}))


@given(hnp.arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(2, 5)),
                  elements=st.floats(-50, 50, width=32)))
def test_log_posteriors_are_normalised(scores):
    system = SystemScores("s", scores, np.zeros(len(scores), np.uint8))
    np.testing.assert_allclose(np.exp(system.log_posteriors).sum(axis=1), 1)
    np.testing.assert_allclose(np.diff(system.log_posteriors), np.diff(scores.astype(float)), atol=1e-9)


def test_telco_original(tmp_path):
    columns = "customerID;SeniorCitizen;MonthlyCharges;TotalCharges;Churn"
    (tmp_path / "original.csv").write_text(
        f"\ufeff{columns}\r\nA;0;29,85;29,85;No\r\nB;1;56;1889,5;Yes\r\nC;0;20,25; ;No\r\n", encoding="utf-8")
    (tmp_path / "compact.csv.xz").write_bytes(lzma.compress(
        f"{columns}\nA;0;29.85;29.85;No\nB;1;56;1889.5;Yes\nC;0;20.25; ;No\n".replace(";", ",").encode()))
    original = datasets._read_telco(tmp_path / "original.csv")
    pd.testing.assert_frame_equal(original, datasets._read_telco(tmp_path / "compact.csv.xz"))
    assert original["MonthlyCharges"].tolist() == [29.85, 56, 20.25] and np.isnan(original["TotalCharges"][2])


def test_kdd_original(tmp_path):
    record = ",".join(["0", "tcp", "http", "SF", *["1"] * 20, *["0.50"] * 7, "9", "9", *["0.00"] * 8])
    other = record.replace("http", "smtp")
    rows = [f"{record},normal.", f"{record},normal.", f"{other},ipsweep.", f"{other},portsweep.",
            f"{other},normal."]
    path = tmp_path / "kddcup.data_10_percent.gz"
    path.write_bytes(gzip.compress("\n".join(rows).encode() + b"\n"))
    table = datasets._read_kdd(path)
    assert table.shape == (3, 43) and table["label"].tolist() == ["normal", "ipsweep",
            "normal"] and table["attack"].tolist() == [0, 1, 0]
    assert table["serror_rate"].dtype == float and list(table.index) == [0, 1, 2]


def test_heart_and_hannousse_and_loan_originals(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("HeartDiseaseorAttack,BMI\n0.0,40.0\n1.0,25.0\n")
    assert datasets._read_heart(path).dtypes.eq("int64").all()
    path.write_text("url,length_url,status\nhttp://a,8,legitimate\nhttp://b,9,phishing\n")
    assert datasets._read_hannousse(path).to_dict("list") == {"length_url": [8, 9], "phishing": [0, 1]}
    path.write_text("Age,Education,Default\n56,NA,0\n")
    assert datasets._read_loan(path).to_dict("list") == {"Age": [56], "Education": ["NA"], "Default": [0]}


def test_creditcard_weights(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('Time,Amount,Class,sample\n0.0,1.5,"0",early\n1,2,"1",all\n2,3,0,all\n3,4,0,all\n')
    table = datasets._read_creditcard(path)
    assert table["weight"].tolist() == [0, 1, datasets.GENUINE / 2, datasets.GENUINE / 2]
    assert table["Class"].dtype == "int64"


# -- content that stands for itself --------------------------------------------------------------------------


def test_partial_or_foreign_files_are_refused(tmp_path):
    for which in ("training", "testing"):
        (tmp_path / f"UNSW_NB15_{which}-set.csv").write_text("id,attack_cat\n1,Normal\n")
    with pytest.raises(ValueError, match="82,332 and 175,341 rows"):
        load("unsw", data_dir=tmp_path)
    (tmp_path / "creditcard.csv").write_text("Time,Amount,Class\n0,1,0\n")
    with pytest.raises(ValueError, match="284,807 transactions"):
        load("creditcard", data_dir=tmp_path)
    (tmp_path / "Loan_default.csv").write_text("LoanID,Age\nX,1\n")
    with pytest.raises(ValueError, match="255,347 loans"):
        load("loan", data_dir=tmp_path)


def original_loan(folder, rng):
    "255,347 loans: the 14,898 leading ones that are known, and draws of ours."
    table = real("loan")
    drawn = table.iloc[rng.integers(len(table), size=255_347 - 14_898)]
    pd.concat([table[:14_898], drawn]).assign(LoanID=np.arange(255_347)).to_csv(folder / "Loan_default.csv",
            index=False)


def original_unsw(folder, rng):
    "Both partitions: the smaller one, and draws from it with the larger one's shares."
    small = real("unsw").drop(columns="partition")
    drawn = [rng.choice(np.flatnonzero(small["attack_cat"] == c), size)
             for c, size in datasets.UNSW_LARGE.items()]
    for name, table in (("training", small), ("testing", small.iloc[np.concatenate(drawn)])):
        table.assign(id=np.arange(1, len(table) + 1)).to_csv(folder / f"UNSW_NB15_{name}-set.csv",
                index=False)


def original_cards(folder, rng):
    "All frauds, and draws from the genuine transactions; times of the whole period."
    table = real("creditcard").drop(columns=["sample", "weight"])
    genuine = table[table["Class"] == 0].sample(datasets.GENUINE, replace=True, random_state=rng)
    pd.concat([table[table["Class"] == 1], genuine]).to_csv(folder / "creditcard.csv", index=False)


def outcomes(folder, *items):
    "Rows of some items with the data of a folder; none fails for another reason than its numbers."
    from cost_eval import reproduce
    for name in ("heart", "kdd", "ebbu2017", "hannousse2021"):  # as they are
        real(name)
        for path in AT_HAND[name][1]:
            (folder / path.name).symlink_to(path)
    done = reproduce.run(items, data_dir=folder)
    assert all(r.table is not None for r in done), [r.note for r in done if r.table is None]
    return reproduce.rows(done)


def test_the_public_loan_file_is_judged_as_the_papers_own(tmp_path):
    original_loan(tmp_path, np.random.default_rng(0))
    found = outcomes(tmp_path, "outperformance/table4", "outperformance/section4")
    loan = found[found["cell"].str.startswith("Loan") & (found["outcome"] != "definition")].set_index("cell")
    assert set(loan["outcome"]) <= {"agrees", "consistent", "caused"} and loan.loc["Loan/records",
            "ours"] == 255_347
    assert not loan["how"].isin(["sample", "stand-in"]).any()


@pytest.mark.slow
def test_the_three_public_files_turn_other_data_into_recomputed_rows(tmp_path):
    """As the chapter on data says: three files in a folder, one command. Minutes, and less memory than a
    laptop has."""
    pytest.importorskip("xgboost")
    from cost_eval import reproduce
    start, rng = time.process_time(), np.random.default_rng(0)
    for write in (original_loan, original_unsw, original_cards):
        write(tmp_path, rng)
    stored = reproduce.stored_rows().query("outcome == 'other data'")
    found = outcomes(tmp_path, *stored["item"].unique())
    other = found[found["outcome"] == "other data"]
    assert other["cell"].str.startswith("Phishing data").all() and len(other) == (stored["how"]
            == "stand-in").sum()
    cards = found[found["cell"].str.startswith("Credit card fraud/")
                  & (found["item"] == "cost_score/table6-study")]
    assert cards["ours"].notna().all() and not found["note"].str.contains("needs data|partition").any()
    assert time.process_time() - start < 600 and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 24 << 20


def test_the_unsw_partitions_are_known_under_either_name(tmp_path):
    "The smaller by its content, the larger by the count of each category."
    original_unsw(tmp_path, np.random.default_rng(0))
    straight = load("unsw", data_dir=tmp_path)
    one, other = (tmp_path / f"UNSW_NB15_{name}-set.csv" for name in ("training", "testing"))
    for old, new in ((one, tmp_path / "kept"), (other, one), (tmp_path / "kept", other)):
        old.rename(new)
    pd.testing.assert_frame_equal(load("unsw", data_dir=tmp_path), straight)
    table = pd.read_csv(one)
    table.assign(attack_cat=table["attack_cat"].replace("Worms", "Normal")).to_csv(one, index=False)
    with pytest.raises(ValueError, match="categories of the larger partition"):
        load("unsw", data_dir=tmp_path)


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
    assert charges.mean() == pytest.approx(64.76169246059918, rel=1e-14) and charges.std() == pytest.approx(
        30.087910854936975, rel=1e-14)


def test_sitw_needs_its_scores_but_not_for_its_targets(tmp_path):
    targets = real("ferrer/sitw_plda_targets")
    assert targets.class_counts.tolist() == [718130, 3658] and targets.scores is None
    (tmp_path / "sitw_plda_targets_only.npz").symlink_to(AT_HAND["ferrer/sitw_plda_targets"][1][0])
    (tmp_path / "sitw_plda").mkdir()
    np.save(tmp_path / "sitw_plda" / "scores.npy", np.zeros((721788, 2), np.float32))
    with pytest.raises(ValueError, match="git names it"):
        load("ferrer/sitw_plda", data_dir=tmp_path)
