"""Goes through the matrix: each cell at most twice, a table at the end."""

import json
import shutil
import subprocess
import time
from dataclasses import dataclass, field

from . import checks, dccp, pcap
from .guest import BootError, Guest
from .job import Timeout
from .places import FAIRWIRE, PEER
from .prepare import Skipped
from .sides import Sides
from .wire import Wire

TOTAL_LIMIT_S = 20 * 60
SETTLE_S = 0.3


@dataclass
class Row:
    """What became of a cell."""

    name: str
    verdict: str = "FAIL"
    tries: int = 0
    seconds: float = 0.0
    notes: list = field(default_factory=list)


def abilities():
    """What our side can do already."""
    found = {None}
    try:
        help_text = subprocess.run(
            [FAIRWIRE, "perf", "--help"], capture_output=True, text=True, timeout=20, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        help_text = ""
    if "--native" in help_text:
        found.add("perf")
    if PEER.exists():
        found.add("peer")
    return found


class Runner:
    """The guest, the wire, and the results so far."""

    def __init__(self, vmlinuz, initramfs, results, seed, rehearsal, accelerators):
        self.results, self.seed, self.rehearsal = results, seed, rehearsal
        results.mkdir(parents=True, exist_ok=True)
        self.start = time.monotonic()
        self.wire = Wire()
        self.guest = Guest(vmlinuz, initramfs, results / "console.log", accelerators)
        self.able = {None, "peer", "perf"} if rehearsal else abilities()
        self.port = 5000

    def boot(self):
        try:
            accelerator, seconds, problems = self.guest.boot()
        except BootError as error:
            raise Skipped(f"the guest does not boot: {error}") from error
        for problem in problems:
            print(f"  {problem}", flush=True)
        release = self.guest.start("uname", "-r")
        release.wait(10)
        print(f"Linux {release.lines[0]} is up after {seconds:.1f} s ({accelerator})", flush=True)

    def run(self, cells):
        rows = [self.cell(cell) for cell in cells]
        self.read_with_tshark(rows)
        return rows

    def cell(self, cell):
        row = Row(cell.name)
        start = time.monotonic()
        if cell.needs not in self.able:
            row.verdict = "needs"
            row.notes = ["our program is not built"]
        else:
            for _ in range(2):
                if time.monotonic() - self.start > TOTAL_LIMIT_S:
                    row.notes.append(f"not run: {TOTAL_LIMIT_S // 60} minutes are over")
                    break
                row.tries += 1
                if self.attempt(cell, row):
                    row.verdict = "pass"
                    break
        row.seconds = time.monotonic() - start
        print(line(row), flush=True)
        return row

    def attempt(self, cell, row):
        """One run of a cell. Its notes go to the row, good or bad."""
        retry = "-retry" if row.tries > 1 else ""
        if not self.guest.is_well():
            row.notes.append("the guest had to be booted again")
            self.guest.close()
            self.guest.boot()
        console = self.guest.console_size()
        self.port += 10
        sides = Sides(cell, self.guest, self.wire, self.port, self.rehearsal)
        capture = self.results / f"{cell.name}{retry}"
        self.wire.do(
            "begin",
            other="second" if self.rehearsal and cell.needs else "host",
            capture=str(capture),
            stream=f"{self.seed}/{cell.name}",
            to_kernel=cell.to_kernel,
            from_kernel=cell.from_kernel,
        )
        seen, problem = None, None
        try:
            seen = cell.play(sides)
        except (Timeout, checks.Problem) as error:
            problem = str(error)
        finally:
            sides.close()
        time.sleep(SETTLE_S)  # The last packets reach the capture.
        counts = self.wire.do("end")
        if seen:
            seen.relay = counts
            seen.packets = packets(f"{capture}.pcap")
            problem = judge(cell, seen)
        row.notes += (seen.notes if seen else []) + ([problem] if problem else [])
        if complaints := self.guest.complaints(console):
            first = complaints[0].rsplit("/", 1)[-1]
            row.notes.append(f"kernel log ({len(complaints)}): {first}")
        said = [{"argv": job.argv, "lines": job.lines, "status": job.status} for job in sides.jobs]
        what = {"relay": counts, "problem": problem, "said": said}
        capture.with_suffix(".json").write_text(json.dumps(what, indent=1))
        return problem is None

    def read_with_tshark(self, rows):
        """Wireshark finds nothing wrong with the captures."""
        ran = [row for row in rows if row.verdict == "pass"]
        if not ran or not shutil.which("tshark"):
            if ran:
                print("tshark is not here: the captures were judged by us alone", flush=True)
            return
        for row in ran:
            retry = "-retry" if row.tries > 1 else ""
            if problem := tshark(self.results / f"{row.name}{retry}.pcap"):
                row.verdict = "FAIL"
                row.notes.append(problem)

    def close(self):
        self.guest.close()
        self.wire.close()


def judge(cell, seen):
    """The first problem, or None."""
    for check in (checks.wire_is_sound, *cell.checks):
        try:
            check(seen)
        except checks.Problem as problem:
            return str(problem)
    return None


def packets(path):
    found = []
    for at, frame in pcap.read(path):
        packet = dccp.of_frame(frame)
        if packet:
            packet.time = at
            found.append(packet)
    return found


def tshark(path):
    """What tshark finds malformed in a capture, or None."""
    argv = ["tshark", "-r", str(path), "-o", "dccp.check_checksum:TRUE"]
    # ICMP quotes only the beginning of a packet; the packet itself is in the capture, too.
    wrong = '(_ws.malformed || dccp.checksum.status == "Bad") && !icmp && !icmpv6'
    argv += ["-Y", wrong]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return "tshark took more than 60 s"
    if done.returncode != 0:
        return f"tshark: {done.stderr.strip().splitlines()[-1]}"
    if lines := done.stdout.strip().splitlines():
        return f"tshark: {len(lines)} packets it does not like, first {lines[0].strip()}"
    return None


def line(row):
    retried = " (2nd try)" if row.tries > 1 else ""
    return f"{row.verdict:5} {row.name:42} {row.seconds:5.1f} s{retried}  {'; '.join(row.notes)}"


def table(rows):
    """The table at the end, and how it all came out."""
    print("\nverdict  cell")
    for row in rows:
        print(line(row))
    verdicts = [row.verdict for row in rows]
    count = {verdict: verdicts.count(verdict) for verdict in ("pass", "FAIL", "needs")}
    retried = sum(row.tries > 1 for row in rows)
    print(
        f"\n{count['pass']} passed, {count['FAIL']} failed, {retried} tried twice, "
        f"{count['needs']} without our programs"
    )
    return 1 if count["FAIL"] else 77 if count["needs"] else 0
