"""With FAIRWIRE_NO_SKIP=1 a test that is skipped fails, unless its reason is one of these."""

import os
from collections.abc import Generator
from typing import Any

import pytest

# The reasons, and why they are no mistake of the machine that runs the tests.
MAY_BE_SKIPPED = {
    "could not import 'ray'": "Ray is large, and has no release for some versions of Python",
    "could not import 'tomllib'": "Python 3.10 has none",
    "counts threads in /proc": "only Linux has it",
    "no fork": "some systems have none",
    "only root may mount a disk": "the same code is tested with a limit on the size of files",
}


def _refuse(report: "pytest.TestReport | pytest.CollectReport") -> None:
    if not report.skipped or hasattr(report, "wasxfail") or os.environ.get("FAIRWIRE_NO_SKIP") != "1":
        return
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    if not any(known in reason for known in MAY_BE_SKIPPED):
        report.outcome = "failed"
        report.longrepr = f"{reason} (FAIRWIRE_NO_SKIP=1 forbids it: install what is missing, `make setup`)"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse(report)
    return report
