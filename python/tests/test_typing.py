"""Code as users write it. `mypy --strict` checks this file, and it has no `Any` that would hide an error."""

from __future__ import annotations

import concurrent.futures
from pathlib import Path

import fairwire as fw

DUMBBELL = Path(__file__).parents[2] / "scenarios" / "dumbbell.toml"


@fw.law("typed-gentle")
class Gentle:
    """A law is a class with two methods, and of no class in particular."""

    def increase(self, window: fw.LawWindow, acked: float) -> float:
        return acked / window.cwnd

    def cut(self, window: fw.LawWindow, signal: str) -> float:
        return 0.875 * window.cwnd


def is_a_law(law: fw.WindowLaw) -> fw.WindowLaw:
    return law


def test_changes_may_be_in_variables(tmp_path: Path) -> None:
    axes = {"topology.bottleneck.queue": ["5 packets", "10 packets"], "flows.dccp.dccp.ccid": [2, 3]}
    queues = {"topology.bottleneck.queue": ["5 packets"]}
    changes = {"flows.tcp.enabled": False, "flows.dccp.dccp.ccid2.law": "typed-gentle"}
    cells = ["*"]
    jobs = 2
    results = fw.run(DUMBBELL, axes=axes, set={"flows.tcp.enabled": False}, seeds=1, duration="1s", jobs=jobs)
    assert len(results.cells) == 4
    assert fw.run(DUMBBELL, axes=queues, set=changes, only=cells, seeds=range(2), duration="1s").axes
    seeds = [3, 5]
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        swept = fw.sweep(DUMBBELL, store=tmp_path, axes=axes, seeds=seeds, duration="1s", executor=executor)
    assert swept.done == 8
    assert isinstance(is_a_law(Gentle()), Gentle)


def test_a_scenario_may_be_in_a_variable() -> None:
    flow = {"traffic": "greedy", "wire": "500 B", "dccp": {"ccid": 3}}
    scenario = {
        "title": "built",
        "run": {"duration": "1 s", "seeds": 1},
        "topology": {
            "kind": "dumbbell",
            "access": {"rate": "100 Mbit/s", "delay": "1 ms"},
            "bottleneck": {"rate": "2 Mbit/s", "delay": "20 ms", "queue": "20 packets"},
        },
        "flows": {"one": flow},
    }
    assert len(fw.run(scenario)) > 0
    assert fw.Scenario(scenario).cells(axes={"flows.one.dccp.ccid": (2, 3)})


def test_exceptions_and_modules_are_where_they_are_looked_for() -> None:
    exceptions: list[type[BaseException]] = [
        fw.errors.LawError,
        fw.errors.StoreError,
        fw.errors.WorkerError,
        fw.errors.Interrupted,
        fw.errors.ConnectError,
    ]
    assert exceptions[0] is fw.LawError and exceptions[3] is fw.Interrupted
    assert set(fw.errors.__all__) >= {name for name in fw.__all__ if name.endswith("Error")}
    assert fw.aio.connect.__module__ == "fairwire.aio" and fw.net.connect.__module__ == "fairwire.net"
