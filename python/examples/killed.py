"""A sweep of 2,000 runs that is killed half-way, goes on, and is repeated on a cluster that loses a worker.

Needs the extra `dask`. Run it in a clone: `python python/examples/killed.py`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fairwire as fw

if TYPE_CHECKING:
    from distributed import Client

QUEUES = [f"{packets} packets" for packets in range(5, 105, 5)]


def sweep(
    store: Path, executor: Client | None = None, progress: Callable[[float], object] | None = None
) -> fw.Sweep:
    """Runs the 2,000 runs, or what is missing of them."""
    return fw.sweep(
        "scenarios/dumbbell.toml",
        store=store,
        axes={"topology.bottleneck.queue": QUEUES},
        seeds=range(100),
        duration="1s",
        executor=executor,
        progress=progress,
    )


def killed(store: Path) -> None:
    """Runs the sweep in a process of its own and kills that at half of its work."""
    child = subprocess.Popen([sys.executable, __file__, str(store)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    child.stdout.readline()
    child.kill()
    child.communicate()


def cluster(store: Path) -> fw.Sweep:
    """Runs the sweep on two processes and kills one of them at a quarter of the work."""
    import distributed

    dask: Any = distributed  # It has no types.
    with dask.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local:
        with dask.Client(local) as client:
            victims = [info["pid"] for info in client.run(lambda: {"pid": os.getpid()}).values()][:1]

            def progress(share: float) -> None:
                if share > 0.25 and victims:
                    os.kill(victims.pop(), signal.SIGKILL)
                    print("killed a worker")

            return sweep(store, executor=client, progress=progress)


def main() -> None:
    """Does all of it and says what happened."""
    with tempfile.TemporaryDirectory() as folder:
        here, there = Path(folder, "here"), Path(folder, "there")
        killed(here)
        kept = len(fw.Store(here))
        print(f"killed: the store has {kept} runs")
        rest = sweep(here)
        print(f"started again: {rest.found} runs found, {rest.done} done")
        assert (rest.found, rest.done) == (kept, 2_000 - kept)
        store = rest.store
        assert len(store) == 2_000 and store.damaged == 0
        print(f"the store is whole: {len(store)} runs, nothing damaged, {sweep(here).done} left to do")
        lost = cluster(there)
        print(f"on the cluster: {lost.done} runs done")
        assert lost.done == 2_000
        assert lost.runs.column("digest") == rest.runs.column("digest")
        print("all 2,000 digests are equal")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sweep(Path(sys.argv[1]), progress=lambda share: print("half", flush=True) if share > 0.5 else None)
    else:
        main()
