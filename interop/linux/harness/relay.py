"""The wire between the kernel under test and the other side: a process of its own.

Three ends: `kernel` and `second` are the guest's two network cards (UDP to qemu on the namespace's
loopback, a frame a datagram), `host` is a TAP device that it makes. The kernel's frames go to
whichever of the two others the cell talks to, and theirs to the kernel.

DCCP packets alone are lost, doubled, held back and delayed, by random streams named after the
seed, the cell and the direction, one draw of each kind per packet: the same packets meet the
same fate in every run. Everything else (ARP, neighbour discovery, ICMP) passes at once.

Commands are JSON lines on standard input, each answered by one on standard output:
`{"do": "begin", "other": "host", "capture": PREFIX, "stream": TEXT, "to_kernel": {...},
"from_kernel": {...}}`, `{"do": "block", "direction": "to_kernel", "on": true}`, `{"do": "end"}`.
"""

import fcntl
import heapq
import json
import os
import random
import select
import socket
import struct
import sys
import time

if __package__:
    from . import dccp, pcap
    from .places import QEMU_PORTS, RELAY_PORTS
else:
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from harness import dccp, pcap
    from harness.places import QEMU_PORTS, RELAY_PORTS

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
FATES = ("loss", "duplicate", "reorder")
# A packet held back lets those behind it pass for so long.
HOLD_MS = 20


class Direction:
    """What happens to the packets of one direction."""

    def __init__(self, stream, settings):
        self.draws = {fate: random.Random(f"{stream}/{fate}") for fate in FATES}
        self.chance = {fate: settings.get(fate, 0.0) for fate in FATES}
        self.delay_s = settings.get("delay_ms", 0) / 1e3
        self.hold_s = settings.get("hold_ms", HOLD_MS) / 1e3
        # Handshakes are spared where a cell says so.
        self.spare = settings.get("spare", 0)
        self.blocked = False
        self.counts = dict.fromkeys(("packets", *FATES, "blocked"), 0)

    def decide(self, now):
        """The times at which copies of a packet leave: none, one or two."""
        self.counts["packets"] += 1
        drawn = {fate: self.draws[fate].random() < self.chance[fate] for fate in FATES}
        if self.blocked:
            self.counts["blocked"] += 1
            return []
        due = now + self.delay_s
        if self.counts["packets"] <= self.spare:
            return [due]
        for fate in FATES:
            self.counts[fate] += drawn[fate]
        if drawn["loss"]:
            return []
        if drawn["reorder"]:
            due += self.hold_s
        return [due, due] if drawn["duplicate"] else [due]


class Relay:
    """The ends, the packets under way, and the captures of a cell."""

    def __init__(self, tap):
        self.tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        name = struct.pack("16sH", tap.encode(), IFF_TAP | IFF_NO_PI)
        fcntl.ioctl(self.tap, TUNSETIFF, name)
        self.cards = {}
        for end, port in RELAY_PORTS.items():
            card = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            card.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            card.bind(("127.0.0.1", port))
            card.setblocking(False)
            self.cards[end] = card
        self.other = "host"
        self.captures = {}
        self.under_way, self.count = [], 0
        self.begin({"stream": "none"})

    def begin(self, cell):
        self.end()
        self.other = cell.get("other", "host")
        ways = ("to_kernel", "from_kernel")
        self.ways = {w: Direction(f"{cell['stream']}/{w}", cell.get(w, {})) for w in ways}
        if prefix := cell.get("capture"):
            self.captures = {
                "kernel": pcap.Writer(f"{prefix}.pcap"),
                "other": pcap.Writer(f"{prefix}.other.pcap"),
            }
        return {}

    def end(self):
        for capture in self.captures.values():
            capture.close()
        self.captures, self.under_way = {}, []
        return {way: direction.counts for way, direction in getattr(self, "ways", {}).items()}

    def block(self, command):
        self.ways[command["direction"]].blocked = command["on"]
        return {}

    def record(self, side, frame):
        if side in self.captures:
            self.captures[side].frame(time.time_ns(), frame)

    def came(self, end, frame):
        if end not in ("kernel", self.other):
            return  # The side that the cell leaves out.
        way = "from_kernel" if end == "kernel" else "to_kernel"
        self.record("kernel" if end == "kernel" else "other", frame)
        now = time.monotonic()
        dues = self.ways[way].decide(now) if dccp.is_dccp(frame) else [now]
        for due in dues:
            if due <= now:
                self.deliver(way, frame)
            else:
                self.count += 1
                heapq.heappush(self.under_way, (due, self.count, way, frame))

    def deliver(self, way, frame):
        end = self.other if way == "from_kernel" else "kernel"
        self.record("other" if way == "from_kernel" else "kernel", frame)
        try:
            if end == "host":
                os.write(self.tap, frame)
            else:
                self.cards[end].sendto(frame, ("127.0.0.1", QEMU_PORTS[end]))
        except OSError:
            pass  # The guest is not there, or the interface is down.

    def drain(self, end):
        """Takes what has arrived at one end, a bounded number at a time."""
        for _ in range(64):
            try:
                if end == "host":
                    frame = os.read(self.tap, 2048)
                else:
                    frame = self.cards[end].recv(2048)
            except OSError:
                return
            self.came(end, frame)

    def flush(self):
        while self.under_way and self.under_way[0][0] <= time.monotonic():
            _, _, way, frame = heapq.heappop(self.under_way)
            self.deliver(way, frame)

    def run(self, commands, answers):
        """Until standard input ends."""
        ends = {self.tap: "host", **{card.fileno(): end for end, card in self.cards.items()}}
        wanted = [commands.fileno(), *ends]
        while True:
            wait = 1.0
            if self.under_way:
                wait = max(0.0, min(wait, self.under_way[0][0] - time.monotonic()))
            ready, _, _ = select.select(wanted, [], [], wait)
            self.flush()
            for fd in ready:
                if fd in ends:
                    self.drain(ends[fd])
                    continue
                line = commands.readline()
                if not line:
                    return
                command = json.loads(line)
                do = {"begin": self.begin, "block": self.block, "end": lambda _: self.end()}
                answers.write(json.dumps(do[command["do"]](command)) + "\n")
                answers.flush()


if __name__ == "__main__":
    relay = Relay(sys.argv[1])
    print("{}", flush=True)
    # Unbuffered, so that no command waits behind the one that woke us.
    relay.run(os.fdopen(0, "rb", buffering=0), sys.stdout)
