"""`python -m fairwire` is the command."""

import json
import subprocess
import sys
from pathlib import Path

DUMBBELL = Path(__file__).parents[2] / "scenarios" / "dumbbell.toml"


def fairwire(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "fairwire", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_it_runs_a_scenario() -> None:
    done = fairwire("run", str(DUMBBELL), "--seeds", "1", "--duration", "1s", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cells"][0]["name"] == "base"


def test_its_exit_status_is_that_of_the_command() -> None:
    wrong = fairwire("run", "nowhere.toml")
    assert wrong.returncode == 2 and "error: cannot read nowhere.toml" in wrong.stderr
    unknown = fairwire("run", "--ouput", "x")
    assert unknown.returncode == 2 and "--out" in unknown.stderr
    assert fairwire("--version").stdout.startswith("fairwire ")
