"""The notebooks run from top to bottom in a real kernel, and show what they did."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PRINTED = {
    "frontier": r"at most 0\.2: price [\d.]+, return 2\d\.\d, oscillation 0\.1",
    # what PPO learns in so few steps depends on the processor, and so does the verdict
    "smooth": r"Recommended: (hysteresis|core)\.",
}
RUN = """
import sys, warnings
warnings.simplefilter("ignore")
import nbformat, nbclient
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=500, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def outputs(path: Path) -> str:
    """Return what the cells of a notebook printed; `<picture>` for a picture."""
    cells = json.loads(path.read_text())["cells"]
    parts = [output for cell in cells for output in cell.get("outputs", ())]
    assert [part for part in parts if part["output_type"] == "error"] == []
    pictures = ["<picture>" for part in parts if "image/png" in part.get("data", {})]
    return "".join(["".join(part.get("text", "")) for part in parts] + pictures)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_in_a_kernel(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(path), "run.ipynb"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    text = outputs(tmp_path / "run.ipynb")
    assert re.search(PRINTED[path.stem], text)
    assert "<picture>" in text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_stored_outputs_of_a_notebook_are_small_and_whole(path: Path) -> None:
    text = outputs(path)
    assert re.search(PRINTED[path.stem], text)
    assert "<picture>" in text
    assert path.stat().st_size < 300_000
    assert re.search(r"/(home|root|tmp|work)/", text) is None
    first = next(
        cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"
    )
    assert "".join(first["source"]).startswith("%pip install -q ")
