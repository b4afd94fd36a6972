"""The examples of the documentation run as they are written."""

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md", "python/README.md"])
def test_the_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of a page runs in one go, in a folder that has the scenarios; with fewer seeds, which is faster."""
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip("pandas")
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    code, changed = re.subn(r"(seeds=(?:range\()?)\d+", r"\g<1>2", "\n".join(blocks))
    assert changed
    exec(compile(code, page, "exec"), {})
