"""The relay as the runner sees it, and the addresses of the host's end."""

import json
import select
import subprocess
import sys
from pathlib import Path

from .job import Timeout
from .places import OURS, OURS_MAC, TAP
from .prepare import Skipped, command

ANSWER_LIMIT_S = 10


class Wire:
    """The relay's process, in the same namespace as we."""

    def __init__(self):
        argv = [sys.executable, str(Path(__file__).with_name("relay.py")), TAP]
        command("ip", "link", "set", "lo", "up", limit_s=10)
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.answer()
        except (Timeout, ValueError) as error:
            raise Skipped(f"no TAP device: {error}") from error
        self.configure()

    def configure(self):
        """The host's own end of the wire."""
        knobs = ("accept_dad=0", "accept_ra=0", "router_solicitations=0")
        for knob in knobs:
            name, value = knob.split("=")
            Path(f"/proc/sys/net/ipv6/conf/{TAP}/{name}").write_text(value)
        command("ip", "link", "set", TAP, "address", OURS_MAC, "up", limit_s=10)
        command("ip", "addr", "add", f"{OURS[4]}/24", "dev", TAP, limit_s=10)
        command("ip", "addr", "add", f"{OURS[6]}/64", "dev", TAP, "nodad", limit_s=10)

    def answer(self):
        ready, _, _ = select.select([self.process.stdout], [], [], ANSWER_LIMIT_S)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            raise Timeout("the relay does not answer")
        return json.loads(line)

    def do(self, what, **fields):
        """Gives a command and returns the answer."""
        self.process.stdin.write(json.dumps({"do": what, **fields}).encode() + b"\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
