"""A test that is skipped fails if FAIRWIRE_NO_SKIP=1, unless its reason is known."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

def test_one():
    pytest.importorskip("no_such_module")

def test_two():
    pytest.skip("only root may mount a disk")
"""


@pytest.mark.parametrize(("value", "expected"), [("1", "1 failed, 1 skipped"), ("0", "2 skipped")])
def test_a_skipped_test_fails(tmp_path: Path, value: str, expected: str) -> None:
    (tmp_path / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "test_module.py").write_text("import pytest\npytest.importorskip('no_such_module')\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "test_it.py"]
    environment = {**os.environ, "FAIRWIRE_NO_SKIP": value}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert expected in done.stdout
    assert ("could not import 'no_such_module'" in done.stdout) == (value == "1")
    whole = subprocess.run([*command[:-1], "test_module.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ("1 error" if value == "1" else "1 skipped") in whole.stdout
