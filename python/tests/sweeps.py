"""What the tests of sweeps and of their stores have in common."""

from pathlib import Path
from typing import Any

import fairwire as fw

DUMBBELL = Path(__file__).parents[2] / "scenarios" / "dumbbell.toml"
QUEUES = {"topology.bottleneck.queue": ["5 packets", "10 packets", "20 packets"]}


def sweep(store: Path, **more: Any) -> fw.Sweep:
    arguments: dict[str, Any] = {"axes": QUEUES, "seeds": range(4), "duration": "1s", "store": store, **more}
    return fw.sweep(DUMBBELL, **arguments)
