"""samples/python: executed in a headless kernel, and as small as notebooks without outputs are."""

import pathlib
import re

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
from jupyter_client import AsyncKernelManager  # noqa: E402

import own_kernel  # noqa: E402

SAMPLES = pathlib.Path(__file__).parents[2] / "samples" / "python"


class Client(nbclient.NotebookClient):
    def create_kernel_manager(self):
        self.km = own_kernel.manager(AsyncKernelManager)
        return self.km


def executed(notebook, folder):
    """The notebook with outputs. A cell that raises ends it, as it ends "run all" in some notebooks: mistakes are caught and shown."""
    Client(notebook, timeout=100, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def outputs(notebook, kind):
    return [each for cell in notebook.cells if cell.cell_type == "code" for each in cell.outputs if each.output_type == kind]


@pytest.mark.parametrize("name, pages", [("tour.ipynb", 3), ("graphs.ipynb", 2)])
def test_sample_runs(name, pages):
    notebook = executed(nbformat.read(SAMPLES / name, 4), SAMPLES)
    shown = [each for kind in ("display_data", "execute_result") for each in outputs(notebook, kind)]
    assert sum("weft-page" in each.data.get("text/html", "") for each in shown) >= pages
    assert not [each for each in outputs(notebook, "stream") if each.name == "stderr"]
    if name == "tour.ipynb":
        assert [each for each in outputs(notebook, "stream") if each.text.startswith("index j is 229 in routes") and "^" in each.text]


@pytest.mark.parametrize("name", ["tour.ipynb", "graphs.ipynb"])
def test_sample_is_stored_without_outputs(name):
    path = SAMPLES / name
    notebook = nbformat.read(path, 4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert path.stat().st_size < 16_000
    assert not re.search(r"/(?:home|tmp|work)/", path.read_text())
