"""The notebooks run from the first cell to the last, and are stored without outputs."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FASTEST = "voip"


def _marked(path: Path) -> object:
    return pytest.param(path, marks=[] if path.stem == FASTEST else [pytest.mark.slow], id=path.stem)


@pytest.mark.parametrize("path", [_marked(path) for path in NOTEBOOKS])
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    """Every cell runs without an error, in a folder with the papers and scenarios."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    for module in ("ipykernel", "matplotlib", "pandas"):
        pytest.importorskip(module)
    for name in ("papers", "scenarios"):
        (tmp_path / name).symlink_to(ROOT / name)
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}})
    try:
        client.execute()
    except nbclient.exceptions.CellExecutionError as error:
        # The traceback of the cell, without the colours of a terminal.
        pytest.fail(re.sub(r"\x1b\[[0-9;]*m", "", str(error)), pytrace=False)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    """Results belong to a run, not to the repository, and would make every change of a notebook large."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    names = [cell["id"] for cell in notebook["cells"]]
    assert len(set(names)) == len(names)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], f"{cell['id']} has outputs"
            assert cell["execution_count"] is None, f"{cell['id']} has an execution count"


def test_the_readme_lists_every_notebook() -> None:
    """No notebook is missing in the list, and none is listed that does not exist."""
    listed = re.findall(r"\(([a-z-]+\.ipynb)\)", (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == [path.name for path in NOTEBOOKS]
