"""samples/python: executed in a headless kernel, and as small as notebooks without outputs are."""

import pathlib
import re

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

SAMPLES = pathlib.Path(__file__).parents[2] / "samples" / "python"


def executed(notebook, folder):
    """The notebook with outputs. Cells that show a mistake are told by the text above them."""
    for number, cell in enumerate(notebook.cells):
        if number and "Mistakes" in notebook.cells[number - 1].source:
            cell.metadata.tags = ["raises-exception"]
    nbclient.NotebookClient(notebook, timeout=100, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def outputs(notebook, kind):
    return [each for cell in notebook.cells if cell.cell_type == "code" for each in cell.outputs if each.output_type == kind]


@pytest.mark.parametrize("name, pages", [("tour.ipynb", 3), ("graphs.ipynb", 2)])
def test_sample_runs(name, pages):
    notebook = executed(nbformat.read(SAMPLES / name, 4), SAMPLES)
    shown = [each for kind in ("display_data", "execute_result") for each in outputs(notebook, kind)]
    assert sum("weft-page" in each.data.get("text/html", "") for each in shown) >= pages
    assert not [each for each in outputs(notebook, "stream") if each.name == "stderr"]
    for error in outputs(notebook, "error"):
        assert error.ename == "InputError" and "\n".join(error.traceback).count("\n") == 2


@pytest.mark.parametrize("name", ["tour.ipynb", "graphs.ipynb"])
def test_sample_is_stored_without_outputs(name):
    path = SAMPLES / name
    notebook = nbformat.read(path, 4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert path.stat().st_size < 16_000
    assert not re.search(r"/(?:home|tmp|work)/", path.read_text())
