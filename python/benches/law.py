"""The time of a run under NewReno in Python, beside the same law in Rust.

    python python/benches/law.py [TURNS]
"""

import sys
import time

import fairwire as fw


@fw.law("python-reno")
class Reno:
    """RFC 5681: one packet more in a round trip, half after congestion."""

    def increase(self, window: fw.LawWindow, acked: float) -> float:
        """Adds one packet in a round trip."""
        return acked / window.cwnd

    def cut(self, window: fw.LawWindow, signal: str) -> float:
        """Halves the window."""
        return window.cwnd / 2


def seconds(law: str, jobs: int) -> float:
    """Returns how long eight runs take."""
    began = time.perf_counter()
    fw.run(
        "scenarios/dumbbell.toml", seeds=8, jobs=jobs, progress=False, set={"flows.dccp.dccp.ccid2.law": law}
    )
    return time.perf_counter() - began


if __name__ == "__main__":
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for jobs in (1, 2):
        for turn in range(turns):
            rust, python = seconds("newreno", jobs), seconds("python-reno", jobs)
            print(f"{jobs} at a time, turn {turn}: Rust {rust:.2f} s, Python {python:.2f} s, {python / rust:.2f} times")
