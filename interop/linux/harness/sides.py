"""Both ends of a cell: the kernel in the guest, and our programs on the host.

In a rehearsal the guest's second namespace plays our part, with the same options and behind the
same relay, so that every cell can be tried without a line of ours.
"""

import time

from .job import HostJob, Timeout
from .places import FAIRWIRE, KERNEL, OURS, PEER

START_LIMIT_S = 15


class Sides:
    """Starts programs for one run of a cell, and ends them all."""

    def __init__(self, cell, guest, relay, port, rehearsal):
        self.cell, self.guest, self.relay, self.port = cell, guest, relay, port
        self.rehearsal = rehearsal
        self.jobs = []
        self.end = time.monotonic() + cell.limit_s

    @property
    def left_s(self):
        """What is left of the cell's time."""
        return max(1.0, self.end - time.monotonic())

    def keep(self, job):
        self.jobs.append(job)
        return job

    def address(self, side):
        return (KERNEL if side == "kernel" else OURS)[self.cell.ip]

    def peer(self, side, role, *options, port=None):
        """A peer on this side; both sides take the same options (README.md)."""
        server = side if role == "server" else other(side)
        argv = [role, "--address", self.address(server), "--port", port or self.port]
        argv += ["--limit", int(self.left_s) + 1, *options]
        if side == "kernel":
            return self.keep(self.guest.start("peer", *argv))
        if self.rehearsal:
            return self.keep(self.guest.start("in-b", "guest", "peer", *argv))
        return self.keep(HostJob([PEER, *argv]))

    def server(self, side, *options):
        """A server that listens already."""
        job = self.peer(side, "server", *options)
        job.event("listening", START_LIMIT_S)
        return job

    def client(self, side, *options, port=None):
        return self.peer(side, "client", *options, port=port)

    def perf(self, *options):
        """Our `fairwire perf` on the host."""
        return self.keep(HostJob([FAIRWIRE, "perf", *options, "--native", "-p", self.port]))

    def close(self):
        """Ends what still runs."""
        for job in self.jobs:
            job.kill()
        for job in self.jobs:
            try:
                job.wait(5)
            except Timeout:
                pass  # Its guest is stuck; the next cell finds out.


def other(side):
    return "ours" if side == "kernel" else "kernel"
