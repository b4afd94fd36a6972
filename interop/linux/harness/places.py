"""Where things are, and the addresses of the two sides."""

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
REPOSITORY = HERE.parent.parent
CACHE = HERE / ".cache"
GUEST_SOURCE = HERE / "guest"
RESULTS = HERE / "results"


def built(name):
    """A program of this project, as cargo leaves it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    return target / "release" / name


FAIRWIRE = Path(os.environ.get("FAIRWIRE", built("fairwire")))
# The host's counterpart of the guest's `peer`: same options, same output (README.md).
PEER = Path(os.environ.get("FAIRWIRE_PEER", built("fairwire-peer")))

# The kernel under test, and whoever talks to it: our side on the host, or in rehearsals the
# guest's second namespace, under the same addresses.
KERNEL = {4: "10.33.0.2", 6: "fd33::2"}
OURS = {4: "10.33.0.1", 6: "fd33::1"}
KERNEL_MAC = "52:54:00:33:00:02"
OURS_MAC = "52:54:00:33:00:01"
TAP = "fairwire0"

# UDP ports on the namespace's loopback between qemu's two cards and the relay.
RELAY_PORTS = {"kernel": 3300, "second": 3301}
QEMU_PORTS = {"kernel": 3310, "second": 3311}
