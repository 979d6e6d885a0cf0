"""Run notebooks with a real kernel and store their outputs in place, byte for byte the same each time.

    python .ci/notebooks.py [--slow] [--print] [NOTEBOOK ...]        default: all of nbs/

Cells with `#| eval: false` and, without --slow, `#| slow` are not run and keep their outputs. A cell that raises or warns fails its
notebook, which is then left as it was. --print shows the outputs of the slow cells and stores nothing.
"""
import argparse
import base64
import json
import os
import re
import struct
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import nbformat
from execnb.nbio import nb2str
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbdev.clean import clean_nb
from nbdev.config import get_config
from traitlets.config import Config

ROOT = Path(__file__).resolve().parent.parent
NBS = ROOT / "nbs"
VIEW = "application/vnd.jupyter.widget-view+json"
TIMEOUT = 1200  # seconds for one cell


# ---- which cells run

def directives(cell):
    "The `#| ` lines at the top of a code cell, without the mark and spaces."
    return [line[2:].replace(" ", "") for line in re.match(r"\s*(?:#\|.*\n?)*", cell.source)[0].split("\n") if line.startswith("#|")]


def is_slow(cell):
    return "slow" in directives(cell)


def is_run(cell, slow):
    flags = directives(cell)
    return not ("eval:false" in flags or ("slow" in flags and not slow))


class Client(NotebookClient):
    "A client that passes over the cells nbdev passes over."

    slow = False

    async def async_execute_cell(self, cell, cell_index, **kwargs):
        if cell.cell_type == "code" and not is_run(cell, self.slow):
            return cell
        return await super().async_execute_cell(cell, cell_index, **kwargs)


def execute(nb, folder, slow=False):
    "Run the cells of `nb` in `folder`."
    resources = {"metadata": {"path": str(folder)}}
    options = dict(kernel_name="python3", extra_arguments=["--log-level=ERROR"])
    with tempfile.TemporaryDirectory() as scratch:
        client = Client(nb, timeout=TIMEOUT, resources=resources, config=sockets(scratch), **options)
        client.slow = slow
        client.execute(env=kernel_environment(scratch))
    nb.metadata.pop("widgets", None)  # no page needs the state of widgets
    for number, cell in enumerate(nb.cells):
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr" and "Warning: " in output["text"]:
                raise RuntimeError(f"cell {number} ({cell.id}) warns:\n{output['text']}")
            if VIEW in output.get("data", {}) and "text/html" not in output.data:
                raise RuntimeError(f"cell {number} ({cell.id}) shows a widget without a form for pages: see plotting.for_page")
            output.get("data", {}).pop(VIEW, None)  # it leads to a kernel that is gone


def sockets(scratch):
    "Files as sockets: of two kernels that start at once, one may lose the port that it was promised."
    return Config({} if os.name == "nt" else {"KernelManager": {"transport": "ipc", "ip": f"{scratch}/kernel"}})


def kernel_environment(scratch):
    "The same for everybody: no user's settings, hashes and SVG ids that do not vary."
    rc = Path(scratch) / "matplotlibrc"
    rc.write_text("svg.hashsalt: cost_eval\n")
    fixed = {"PYTHONHASHSEED": "0", "MATPLOTLIBRC": str(rc), "IPYTHONDIR": scratch, "JUPYTER_PREFER_ENV_PATH": "1"}
    return {**os.environ, **fixed}


# ---- the same bytes each time

def png_without_text(png: bytes) -> bytes:
    "A PNG without the chunks that tell the software and the date."
    kept, at = [png[:8]], 8
    while at < len(png):
        end = at + 12 + struct.unpack(">I", png[at:at + 4])[0]
        if png[at + 4:at + 8] not in (b"tEXt", b"zTXt", b"iTXt", b"tIME"):
            kept.append(png[at:end])
        at = end
    return b"".join(kept)


def steady(value):
    "A JSON value whose images tell no software and no date, and whose object reprs no address."
    if isinstance(value, dict):
        return {key: steady(part) for key, part in value.items()}
    if isinstance(value, list):
        return [steady(part) for part in value]
    if not isinstance(value, str):
        return value
    if value.startswith("iVBORw0KGgo"):
        return base64.b64encode(png_without_text(base64.b64decode(value))).decode()
    if "<svg" in value:
        value = re.sub(r"\s*<metadata>.*?</metadata>", "", value, flags=re.S)
    return re.sub(r"(<[^<>]*?) at 0x[0-9a-fA-F]+>", r"\1>", value)


def name_tables(nb):
    "Styled tables of pandas are named after their cells."
    for cell in nb.cells:
        if cell.get("outputs"):
            text = json.dumps(cell.outputs)
            names = list(dict.fromkeys(re.findall(r'id=\\"T_([0-9a-f]{5})\\"', text)))
            for number, name in enumerate(names):
                text = text.replace(f"T_{name}", f"T_{cell.id}_{number}")
            cell["outputs"] = nbformat.from_dict(json.loads(text))


def to_text(nb) -> str:
    "A notebook that was run, as `nbdev_clean` would write it."
    for cell in nb.cells:
        if "outputs" in cell:
            cell["outputs"] = nbformat.from_dict(steady(cell.outputs))
    name_tables(nb)
    plain, config = json.loads(nbformat.writes(nb)), get_config(path=ROOT)
    clean_nb(plain, False, config.allowed_metadata_keys.split(), config.allowed_cell_metadata_keys.split(), config.clean_ids)
    return nb2str(plain)


# ---- one notebook, all notebooks

def output_text(nb):
    "What the slow cells gave, as text."
    outputs = [output for cell in nb.cells if cell.cell_type == "code" and is_slow(cell) for output in cell.outputs]
    bundles = [output.get("data", {"text/plain": output.get("text", "")}) for output in outputs]
    texts = [data.get("text/markdown", data.get("text/plain", "")) for data in bundles if not any(kind.startswith("image/") for kind in data)]
    return "\n".join("".join(text).rstrip() for text in texts)


def process(path, slow=False, show=False):
    "Run one notebook: (its file, what became of it, seconds, text to show)."
    start = time.time()
    nb = nbformat.read(path, as_version=4)
    try:
        execute(nb, path.parent, slow)
    except (CellExecutionError, CellTimeoutError, DeadKernelError, RuntimeError) as error:
        return path, "FAILED", time.time() - start, str(error)
    if show:
        return path, "run", time.time() - start, output_text(nb)
    old, new = path.read_text(encoding="utf-8"), to_text(nb)
    if new != old:
        path.write_text(new, encoding="utf-8")
    return path, "changed" if new != old else "as before", time.time() - start, ""


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("notebooks", nargs="*", metavar="NOTEBOOK")
    parser.add_argument("--slow", action="store_true", help="run the cells marked slow, too")
    parser.add_argument("--print", action="store_true", help="show the outputs of slow cells, store nothing")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="notebooks at a time (default: 2)")
    options = parser.parse_args(argv)
    paths = [path if path.exists() else NBS / path for path in map(Path, options.notebooks)] or sorted(NBS.glob("[!_]*.ipynb"))
    if absent := [str(path) for path in paths if not path.exists()]:
        parser.error(f"no such notebook: {', '.join(absent)}")
    print(f"data: {os.environ.get('COST_EVAL_DATA') or 'COST_EVAL_DATA is not set: what needs the papers’ data will be stored without it'}", flush=True)
    failed = 0
    with ProcessPoolExecutor(min(options.jobs, len(paths))) as pool:
        running = [pool.submit(process, path.resolve(), options.slow, options.print) for path in paths]
        for number, future in enumerate(as_completed(running), 1):
            path, outcome, seconds, text = future.result()
            failed += outcome == "FAILED"
            print(f"[{number}/{len(paths)}] {path.name}: {outcome}, {seconds:.1f} s" + (text and f"\n{text}"), flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
