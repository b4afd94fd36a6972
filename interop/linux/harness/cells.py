"""The matrix: what each cell does, through what kind of wire, and what is asked of it."""

import time
from dataclasses import dataclass, field
from typing import Callable

from . import checks, dccp, raw
from .checks import Seen
from .job import Timeout
from .sides import other

SIZE = 1000
RATE = 2_000_000
SECONDS = 4
# A wire with a little length, so that timers have something to measure.
PLAIN = {"delay_ms": 5}


@dataclass
class Cell:
    """One row of the table."""

    name: str
    play: Callable
    checks: tuple = ()
    ip: int = 4
    to_kernel: dict = field(default_factory=lambda: dict(PLAIN))
    from_kernel: dict = field(default_factory=lambda: dict(PLAIN))
    limit_s: float = 30
    # What our side must be able to do: "peer", "perf", or nothing of ours.
    needs: str | None = "peer"


def connect(server_side, server, asked):
    """One connection, both ends to their end."""

    def play(sides):
        serving = sides.server(server_side, *server)
        asking = sides.client(other(server_side), *asked)
        client = asking.result(sides.left_s)
        if not client["opened"]:
            return Seen(client, port=sides.port)  # The server would wait for nothing.
        return Seen(client, serving.result(sides.left_s), port=sides.port)

    return play


def lone_client(server_side, server, client, port_offset=0):
    """A client that is refused; the server goes on listening."""

    def play(sides):
        sides.server(server_side, "--hold", "--seconds", 30, *server)
        asking = sides.client(other(server_side), *client, port=sides.port + port_offset)
        return Seen(asking.result(sides.left_s), port=sides.port)

    return play


def full_listener(server_side):
    """Clients come until one is told that the queue of those not yet accepted is full."""

    def play(sides):
        sides.server(server_side, "--hold", "--seconds", 30, "--backlog", 0)
        results = []
        for _ in range(4):
            client = sides.client(other(server_side), "--task", "idle", "--seconds", 20)
            try:
                client.event("connected", 4)
            except Timeout:
                results.append(client.result(sides.left_s))
                break
        seen = Seen(results[0] if results else None, port=sides.port)
        checks.require(seen.client, "four clients were let in")
        return seen

    return play


def restart_client(server_side):
    """The client is killed in mid-flow, and another one gets through.

    Ours comes back on its old port, where the kernel still has the dead connection open: that ends
    with a Reset, the kernel keeps it in TIMEWAIT for a minute, and another port gets through. The
    kernel's client cannot: it says goodbye for a killed process and keeps its own port in TIMEWAIT.
    """

    def play(sides):
        serve = sides.server(
            server_side, "--task", "recv", "--close", "peer", "--connections", 2, "--tolerant"
        )
        side = other(server_side)
        same_port = side == "ours" and not sides.rehearsal
        port = ("--local-port", 6001) if same_port else ()
        bulk = ("--task", "send", "--rate", RATE, "--seconds")
        first = sides.client(side, *port, *bulk, 20)
        first.event("connected", sides.left_s)
        time.sleep(1.5)
        first.kill()
        first.wait(5)
        second = reconnect(sides, side, (*bulk, 2), port)
        serve.event("accepted", sides.left_s, 2)
        serve.event("result", sides.left_s, 2)
        return Seen(second, serve.result(sides.left_s), port=sides.port)

    return play


def restart_server(server_side):
    """The server is killed in mid-flow: its client notices; a new server on the port serves."""

    def play(sides):
        serving = ("--task", "recv", "--close", "peer")
        side = other(server_side)
        bulk = ("--task", "send", "--rate", RATE, "--seconds")
        serve = sides.server(server_side, *serving)
        first = sides.client(side, *bulk, 30)
        first.event("connected", sides.left_s)
        time.sleep(1.5)
        serve.kill()
        serve.wait(5)
        serve = sides.server(server_side, *serving)
        orphan = first.result(20)
        second = reconnect(sides, side, (*bulk, 2))
        seen = Seen(second, serve.result(sides.left_s), port=sides.port)
        seen.notes.append(f"the orphan: {orphan['error'] or 'closed by the peer'}")
        return seen

    return play


def reconnect(sides, side, options, port=()):
    """The old connection may hold on to the port for a moment; then a second try is right, and no
    longer from a certain port of ours."""
    while True:
        result = sides.client(side, *port, *options).result(sides.left_s)
        port = ()
        if result["opened"] or sides.left_s <= 5:
            return result
        time.sleep(1)


def perf_ours_asks(reverse):
    """`fairwire perf -c` against the kernel's server."""

    def play(sides):
        serve = sides.server("kernel", "--task", "perf", "--service", "SC:?FwP")
        if sides.rehearsal:
            options = ["--task", "perf", "--service", "SC:?FwP", "--rate", RATE, "--seconds", 3]
            options += ["--reverse"] if reverse else []
            client = sides.client("ours", *options).result(sides.left_s)
            return Seen(client, serve.result(sides.left_s), port=sides.port)
        options = ["-c", sides.address("kernel"), "-t", 3, "-b", RATE, "-l", SIZE, "--json"]
        job = sides.perf(*options, *(["-R"] if reverse else []))
        client = perf_result(job, job.wait(sides.left_s))
        return Seen(client, serve.result(sides.left_s), port=sides.port)

    return play


def perf_kernel_asks(reverse):
    """The kernel's client against `fairwire perf -s`."""

    def play(sides):
        options = ["--task", "perf", "--service", "SC:?FwP", "--rate", RATE, "--seconds", 3]
        options += ["--reverse"] if reverse else []
        if sides.rehearsal:
            serve = sides.server("ours", "--task", "perf", "--service", "SC:?FwP")
            client = sides.client("kernel", *options).result(sides.left_s)
            return Seen(client, serve.result(sides.left_s), port=sides.port)
        serve = sides.perf("-s", "-1", "-B", sides.address("ours"))
        serve.line("listening", 15)
        client = sides.client("kernel", *options).result(sides.left_s)
        status = serve.wait(sides.left_s)
        return Seen(client, {"role": "server", "status": status, "stage": "perf"}, port=sides.port)

    return play


def perf_result(job, status):
    """Perf's report in the words of a peer's."""
    document = job.document()
    flow = (document.get("flows") or [{}])[0]
    sender, receiver = flow.get("sender") or {}, flow.get("receiver") or {}
    error = document.get("error") or {}
    return {
        "role": "client",
        "status": status,
        "stage": "perf",
        "error": error.get("message") or flow.get("error"),
        "sent": sender.get("datagrams", 0),
        "distinct": receiver.get("datagrams", 0),
    }


def perf_complete(seen):
    """The peer that counts in our own words moved a flow, and both ended content."""
    moved = max(r.get(k, 0) for r in seen.results() for k in ("sent", "distinct"))
    checks.require(moved >= 20, f"only {moved} messages moved")
    seen.notes.append(f"{moved} messages")


def serving(side):
    return "kernel-serves" if side == "kernel" else "we-serve"


def ordinary():
    """Echo and bulk: who serves, CCID, IP."""
    for side in ("kernel", "ours"):
        for ccid in (2, 3):
            for ip in (4, 6):
                tail = f"{serving(side)}-ccid{ccid}-ipv{ip}"
                both = ("--ccid", ccid)
                usual = (checks.both_content, checks.ccid_is(ccid))
                yield Cell(
                    f"echo-{tail}",
                    connect(
                        side,
                        (*both, "--task", "echo", "--close", "peer"),
                        (*both, "--task", "echo", "--count", 20, "--size", 200),
                    ),
                    (*usual, checks.echoed(20)),
                    ip,
                )
                send = (*both, "--task", "send", "--size", SIZE, "--rate", RATE)
                send += ("--seconds", SECONDS)
                receive = (*both, "--task", "recv", "--close", "peer")
                for sender in ("client", "server"):
                    options = (receive, send) if sender == "client" else (send, receive)
                    yield Cell(
                        f"bulk-from-{sender}-{tail}",
                        connect(side, *options),
                        # Nothing is lost on this wire but what a receiver's full queue drops.
                        (*usual, checks.flow(sender, 0.99)),
                        ip,
                    )


def endings():
    """Who closes, and every way to be refused."""
    for side in ("kernel", "ours"):
        tail = serving(side)
        idle = ("--task", "idle", "--seconds", 1)
        patient = (*idle[:2], "--seconds", 0, "--close", "peer")
        yield Cell(
            f"close-by-client-{tail}",
            connect(side, patient, idle),
            (checks.both_content, checks.ended_with((dccp.CLOSE, dccp.RESET), "client")),
        )
        yield Cell(
            f"close-by-server-{tail}",
            connect(side, idle, patient),
            (
                checks.both_content,
                checks.ended_with((dccp.CLOSEREQ, dccp.CLOSE, dccp.RESET), "server"),
            ),
        )
        yield Cell(
            f"service-mismatch-{tail}",
            lone_client(side, ("--service", 42), ("--service", 43)),
            (checks.refused, checks.reset_with(8)),
        )
        yield Cell(
            f"closed-port-{tail}",
            # Ours owns every port here: else one that it has not bound is none of its business.
            lone_client(side, ("--exclusive",), (), port_offset=1),
            # The kernel says 3, "no connection"; RFC 4340, section 8.1.3 has 7.
            (checks.refused, checks.reset_with(3) if side == "kernel" else checks.reset_with(3, 7)),
        )
        yield Cell(
            f"full-listener-{tail}",
            full_listener(side),
            (checks.refused, checks.reset_with(9)),
        )


def preferences():
    """CCIDs agreed from crossing wishes: the CCID feature is server-priority (RFC 4340, 6.3.1)."""
    for side in ("kernel", "ours"):
        tail = serving(side)
        echo = ("--task", "echo", "--count", 5, "--size", 200)
        serve = ("--task", "echo", "--close", "peer")
        for ours, theirs, agreed in (("2,3", "3,2", 2), ("3,2", "2,3", 3), ("2,3", "3", 3)):
            name = f"preference-{ours}-{theirs}".replace(",", "")
            yield Cell(
                f"{name}-{tail}",
                connect(side, ("--ccid", ours, *serve), ("--ccid", theirs, *echo)),
                (checks.both_content, checks.ccid_is(agreed), checks.echoed(5)),
            )
        yield Cell(
            f"preference-halves-{tail}",
            connect(
                side,
                ("--rx-ccid", "3", "--tx-ccid", "2", *serve),
                ("--tx-ccid", "3", "--rx-ccid", "2", *echo),
            ),
            (checks.both_content, checks.halves_are(3, 2), checks.echoed(5)),
        )


def impairments():
    """Loss, duplication and reordering, with the sender on either side."""
    for fate in ("loss", "duplicate", "reorder"):
        for ccid in (2, 3):
            for side in ("kernel", "ours"):
                wire = {"delay_ms": 10, fate: 0.03}
                both = ("--ccid", ccid)
                yield Cell(
                    f"{fate}-{serving(side)}-ccid{ccid}",
                    connect(
                        side,
                        (*both, "--task", "recv", "--close", "peer"),
                        (*both, "--task", "send", "--size", SIZE, "--rate", RATE, "--seconds", 5),
                    ),
                    # Three in a hundred are lost; a share of 0.85 is five deviations away.
                    (
                        checks.both_content,
                        checks.ccid_is(ccid),
                        checks.flow("client", 0.85 if fate == "loss" else 0.95),
                        checks.impaired(fate),
                    ),
                    to_kernel=wire,
                    from_kernel=wire,
                    limit_s=40,
                )


def restarts():
    """Either side is killed and starts again."""
    for side in ("kernel", "ours"):
        fair = (checks.both_content, checks.flow("client", 0.9))
        yield Cell(f"restart-client-{serving(side)}", restart_client(side), fair, limit_s=60)
        yield Cell(f"restart-server-{serving(side)}", restart_server(side), fair, limit_s=60)


def long_runs():
    """CCID 3 for a minute at one per cent of loss; the client sends as fast as it may."""
    for side in ("kernel", "ours"):
        sender = other(side)
        both = ("--ccid", 3, "--settle", 10)
        yield Cell(
            f"ccid3-60s-{'we' if sender == 'ours' else 'kernel'}-send",
            connect(
                side,
                (*both, "--task", "recv", "--close", "peer"),
                (*both, "--task", "send", "--size", SIZE, "--rate", 5_000_000, "--seconds", 60),
            ),
            (
                checks.both_content,
                checks.ccid_is(3),
                checks.flow("client", 0.97),
                checks.tfrc_ratios("client", SIZE, judge_x=sender == "ours"),
            ),
            to_kernel={"delay_ms": 30, "loss": 0.01 if side == "kernel" else 0.0},
            from_kernel={"delay_ms": 30, "loss": 0.01 if side == "ours" else 0.0},
            limit_s=100,
        )


def perf():
    """Our perf as people run it, against the kernel."""
    for reverse in (False, True):
        tail = "-reverse" if reverse else ""
        complete = (checks.both_content, perf_complete)
        for name, play in (("client", perf_ours_asks), ("server", perf_kernel_asks)):
            yield Cell(f"perf-native-{name}{tail}", play(reverse), complete, needs="perf")


def by_hand():
    """The path itself, with packets made by hand."""
    for ip in (4, 6):
        yield Cell(f"raw-ipv{ip}", raw.play, (), ip, needs=None)


def matrix():
    """Every cell, the quick ones first."""
    parts = (by_hand, ordinary, endings, preferences, impairments, restarts, perf, long_runs)
    return [cell for part in parts for cell in part()]
