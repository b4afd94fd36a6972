"""One run: a server, an honest client behind the relay, perhaps an attack, and the end of them all."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from . import packets, relay
from .measure import Measured, measure

HERE = Path(__file__).parent
# How long a process may take to say that it is there, seconds.
START_LIMIT_S = 10
# How long the client may go on after its time, until it and the server are ended.
GRACE_S = 10
# How long a server may take to end when asked.
STOP_LIMIT_S = 5
# An attack begins when the honest client has sent for so long.
LEAD_S = 0.5
# How often the server's memory is looked at, seconds.
MEMORY_PERIOD_S = 0.05
# Bytes of the honest client's datagrams, and what DTLS adds to each: header 5, type 1, tag 16 (RFC 9147, section 4).
DATAGRAM = 1200
DTLS_OVERHEAD = 22


class Broken(Exception):
    """A run could not be made: nothing is known of the server."""


@dataclass
class Dtls:
    """What a server with DTLS, its clients and the attacks on it need."""

    identity: str
    pin: str
    # A client's first ClientHello.
    hello: bytes


@dataclass
class Settings:
    binary: str
    # The honest client's rate, as its -b says it, and in bits per second.
    rate: str
    rate_bits: float
    seconds: float
    dtls: Dtls | None = None


@dataclass
class Run:
    measured: Measured | None
    # Rate as the server's report to the honest client has it, bits per second.
    reported: float | None
    # Why the honest client was not served to the end.
    failure: str | None
    # What the attack sent and heard, in words.
    attack: str | None = None
    # The most memory that the server had, MB; None where the system does not tell it.
    memory_mb: float | None = None
    # How long newcomers waited for an answer to their ClientHello, ms; None for those that got none.
    newcomers_ms: list | None = None


class Process:
    """A child whose lines are read with a time limit, and that does not survive `end`."""

    def __init__(self, name, argv):
        self.name = name
        # A session of its own: Ctrl-C reaches us alone, and we end it.
        pipe, both = subprocess.PIPE, subprocess.STDOUT
        try:
            self.child = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=both, start_new_session=True)
        except OSError as error:
            raise Broken(f"{name} does not start: {error}") from error
        os.set_blocking(self.child.stdout.fileno(), False)
        self.read = b""
        self.reader = None

    def take(self, limit_s, until):
        """Reads until `until` gives something of what was read, or None when time or output ends."""
        deadline = time.monotonic() + limit_s
        while (found := until(self.read)) is None:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self.child.stdout], [], [], max(0, left))
            more = self.child.stdout.read() if ready else None
            if not more:
                return None
            self.read += more
        return found

    def line(self, limit_s):
        """Returns the next line."""
        found = self.take(limit_s, lambda read: read.find(b"\n") if b"\n" in read else None)
        if found is None:
            text = self.read.decode(errors="replace").strip()
            raise Broken(f"{self.name} said nothing more in {limit_s:.0f} s: {text or 'nothing at all'}")
        line, self.read = self.read[:found], self.read[found + 1 :]
        return line.decode(errors="replace")

    def rest(self, limit_s):
        """Returns what it says until it ends, or None if it does not end in time."""
        deadline = time.monotonic() + limit_s
        while (left := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select([self.child.stdout], [], [], left)
            if not ready:
                break
            more = self.child.stdout.read()
            if more == b"":
                self.child.wait(max(0.1, left))
                return self.read.decode(errors="replace")
            self.read += more or b""
        return None

    def ignore(self):
        """Reads what it says from now on and forgets it, so that it never waits for us."""

        def read():
            while True:
                select.select([self.child.stdout], [], [])
                if self.child.stdout.read() == b"":
                    return

        self.reader = threading.Thread(target=read, daemon=True)
        self.reader.start()

    def tell(self, text):
        self.child.stdin.write(text)
        self.child.stdin.flush()

    def stop(self):
        """Asks it to end as Ctrl-C does. Returns its exit status, or None if it did not in time."""
        self.child.send_signal(signal.SIGINT)
        try:
            return self.child.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            return None

    def end(self):
        """Ends it in any case."""
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        if self.reader:
            self.reader.join()
        self.child.stdin.close()
        self.child.stdout.close()


def script(name, *arguments):
    return [sys.executable, "-B", str(HERE / name), *map(str, arguments)]


def run(settings, attack=None):
    """Makes one run, with an attack or without."""
    processes = []

    def start(name, argv):
        processes.append(Process(name, argv))
        return processes[-1]

    with tempfile.TemporaryDirectory(prefix="fairwire-hostile-") as folder:
        try:
            return make(settings, attack, start, os.path.join(folder, "record"))
        finally:
            for process in reversed(processes):
                process.end()


class Memory(threading.Thread):
    """Looks at the most memory that a process has had, MB, until it is stopped or the process ends."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.path = Path(f"/proc/{process.child.pid}/status")
        self.stopped = threading.Event()
        self.most_mb = None
        self.start()

    def run(self):
        while not self.stopped.wait(MEMORY_PERIOD_S):
            try:
                found = re.search(r"VmHWM:\s+(\d+) kB", self.path.read_text())
            except OSError:
                return
            if not found:
                return
            self.most_mb = int(found[1]) * 1024 / 1e6

    def stop(self):
        self.stopped.set()
        self.join()
        return self.most_mb


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make(settings, attack, start, record):
    dtls = settings.dtls
    secured = ["--dtls", dtls.identity] if dtls else []
    server = start("the server", [settings.binary, "perf", "-s", "-1", "-p", "0", "-B", "127.0.0.1", *secured])
    said = server.line(START_LIMIT_S)
    port = re.search(r"listening on port (\d+)", said)
    if not port:
        raise Broken(f"the server did not listen: {said}")
    port = port[1]
    # A server with DTLS has a line for each client that it refuses.
    server.ignore()
    memory = Memory(server)
    overhead = DTLS_OVERHEAD if dtls else 0
    full, copies = DATAGRAM + overhead, free_port() if attack and attack.needs == "tap" else 0
    between = start("the relay", script("relay.py", port, record, full, copies))
    front = between.line(START_LIMIT_S)
    attacker = None
    if attack:
        flood_s = max(0.1, settings.seconds - LEAD_S - 0.2)
        hello = dtls.hello.hex() if dtls else ""
        attacker = start("the attack", script("attacks.py", attack.name, port, flood_s, hello, copies))
        attacker.line(START_LIMIT_S)
    argv = [settings.binary, "perf", "-c", "127.0.0.1", "-p", front, "--json", "-i", "0"]
    argv += ["-b", settings.rate, "-t", str(settings.seconds), "-l", str(DATAGRAM)]
    argv += ["--dtls-pin", dtls.pin] if dtls else []
    client = start("the client", argv)
    try:
        between.line(START_LIMIT_S)
    except Broken as broken:
        said = client.rest(0.1) or "nothing"
        raise Broken(f"no full datagram of the client in {START_LIMIT_S} s; it says: {said.strip()}") from broken
    since = time.monotonic()
    if attacker:
        time.sleep(LEAD_S)
        attacker.tell(b"go\n")
    left = settings.seconds + GRACE_S - (time.monotonic() - since)
    report = client.rest(left)
    last_ns = time.time_ns()
    failure = None if report is not None else f"the client was not done {GRACE_S} s after its time: ended"
    if report is None:
        client.end()
    if (status := server.stop()) is None:
        failure = f"the server hung: it did not end in {STOP_LIMIT_S} s when asked, and was killed"
    elif status not in (0, 1):
        failure = f"the server died: exit status {status}"
    between.child.stdin.close()
    if between.rest(START_LIMIT_S) is None:
        raise Broken("the relay did not end")
    reported, said = read_report(report)
    made = Run(
        measured=measure(relay.read(record), full, settings.seconds, last_ns, overhead),
        reported=reported,
        failure=failure or said,
        memory_mb=memory.stop(),
    )
    if made.measured is None:
        raise Broken("the relay saw no datagram of the client")
    if attacker:
        note_attack(made, attack, attacker)
    return made


def read_report(report):
    """Returns the receiver's rate of the client's report, and why it failed if it did."""
    if report is None:
        return None, None
    try:
        outcome = json.loads(report)
    except ValueError:
        return None, f"the client failed: {report.strip()[:200]}"
    flow = (outcome["flows"] or [{}])[0]
    error = flow.get("error") or (outcome["error"] or {}).get("message")
    rate = (flow.get("receiver") or {}).get("bits_per_second")
    return rate, f"the client failed: {error}" if error else None


def note_attack(made, attack, attacker):
    said = attacker.rest(START_LIMIT_S)
    try:
        outcome = json.loads(said)
    except (TypeError, ValueError) as error:
        raise Broken(f"the attack broke down: {(said or 'no word of it').strip()}") from error
    heard = ", ".join(f"{count} x {name}" for name, count in outcome["heard"].items())
    made.attack = f"{outcome['sent']} {'connections begun' if attack.needs == 'hello' else 'packets sent'}"
    made.attack += f", answers: {heard or 'none'}"
    made.newcomers_ms = outcome.get("newcomers")
    if made.newcomers_ms:
        answered = [wait for wait in made.newcomers_ms if wait is not None]
        longest = f", the last after {max(answered)} ms" if answered else ""
        made.attack += f"; {len(answered)} of {len(made.newcomers_ms)} newcomers answered{longest}"
    if attack.needs_answer and packets.TYPES[packets.RESPONSE] not in outcome["heard"]:
        raise Broken(f"the attack did not reach the service: {made.attack}")
