"""What is sent to the server while it serves an honest client, each attack by a process of its own.

Arguments: the attack's name, the server's port, and how long a flood lasts, seconds; with DTLS also a
ClientHello in hexadecimal, and a port for copies of the honest client's packets. It prints
`ready`, waits for a line on its standard input, attacks, and prints what it sent and heard as
one JSON object. Every attack is bounded in packets and in time.
"""

import json
import os
import random
import select
import socket
import struct
import sys
import time
from collections import Counter
from dataclasses import dataclass

if not __package__:
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from harness import crowd, packets
from harness.packets import ACK, DATA, REQUEST, RESPONSE, RESET

# The service that `fairwire perf -s` offers unless it is told another (SC:?FwP).
SERVICE = int.from_bytes(b"?FwP", "big")
# RFC 4340, 7.5.2: the widest Sequence Window.
WIDEST = (1 << 46) - 1
# How long an answer may take, seconds.
ANSWER_LIMIT_S = 2.0

# finding-2.
CONNECTIONS = 10
PAUSE_S = 2.0
HOLE = 1 << 45

# Floods: packets a second, and the sockets that they leave from.
FLOOD_PER_S = 2000
SOCKETS = 64
JUNK_BYTES = 60_000
PADDED_OPTIONS = 1000
# How long a flood waits for its last answers, seconds.
LAST_ANSWERS_S = 0.1


@dataclass
class Attack:
    """One row of the table."""

    name: str
    what: str
    act: object
    # Must the server have answered a Request with a Response for the attack to count as tried?
    needs_answer: bool
    # Does it need the ClientHello, or the copies of the client's packets?
    needs: str | None = None


class Flow:
    """One connection, or the attempt at one, from a socket of its own."""

    def __init__(self, server_port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.connect(("127.0.0.1", server_port))
        self.ports = (random.randrange(49152, 65536), server_port)
        # Far from the wrap, so that no number of these attacks crosses it.
        self.seq = random.randrange(1 << 32, 1 << 40)

    def send(self, kind, **fields):
        self.socket.send(packets.encode(kind, self.ports, self.seq, **fields))

    def hear(self):
        """Returns the next packet of the server, or None after a while."""
        ready, _, _ = select.select([self.socket], [], [], ANSWER_LIMIT_S)
        try:
            return packets.decode(self.socket.recv(65535)) if ready else None
        except OSError:
            return None

    def drain(self):
        """Returns the packets that have come, from a socket that does not wait."""
        found = []
        try:
            while packet := self.socket.recv(65535):
                found.append(packets.decode(packet))
        except OSError:
            pass
        return found

    def request(self, options=b"", data=b""):
        """Sends a Request and returns its answer."""
        self.send(REQUEST, service=SERVICE, options=options, data=data)
        return self.hear()


def name_of(answer):
    if answer is None:
        return "silence"
    name = packets.TYPES[answer.kind]
    return f"{name} {answer.reset_code}" if answer.kind == RESET else name


def outcome(sent, answers):
    """Returns how many packets were sent, and how often each kind of answer came."""
    return {"sent": sent, "heard": Counter(map(name_of, answers))}


def leap(server_port, distance):
    """Sends two Requests of one flow, the second far ahead of the first.

    The first asks for the widest Sequence Window, so that the second is valid. Both carry a byte of
    data, and of two Requests only one's data is taken (RFC 4340, section 8.1.3): the server has to
    tell which packet's data it dropped, and which of those before it arrived (section 11.7).
    """
    flow = Flow(server_port)
    first = flow.request(packets.sequence_window(WIDEST), b"1")
    flow.seq += distance
    flow.send(REQUEST, service=SERVICE, data=b"2")
    return outcome(2, [first])


def open_connection(flow):
    """Completes a handshake after which the server receives under CCID 3, told our round-trip time.

    Both halves are to use CCID 3, which is what the server's other wishes depend on.
    """
    wishes = (
        packets.sequence_window(WIDEST)
        + packets.change_l(packets.CCID, b"\x03")
        + packets.change_r(packets.CCID, b"\x03")
        + packets.change_l(packets.SEND_RTT_ESTIMATE, b"\x01")
    )
    answer = flow.request(wishes)
    if answer and answer.kind == RESPONSE:
        flow.seq += 1
        flow.send(ACK, ack=answer.seq, options=packets.answers(answer.options))
        return answer, True
    return answer, False


def microseconds(server_port):
    """Sends 60 packets on ten connections whose round trip is a microsecond, as they say.

    After a pause come three packets beyond a hole, so that the hole is known to be lost. Losses
    further apart than a round trip are different loss events (RFC 5348, section 5.2), and the
    nominal arrivals of what is missing spread over the whole pause.
    """
    flows = [Flow(server_port) for _ in range(CONNECTIONS)]
    opened = [(flow, *open_connection(flow)) for flow in flows]
    told = packets.rtt_estimate(1)
    ready = [flow for flow, _, complete in opened if complete]
    for flow in ready:
        flow.seq += 1
        flow.send(DATA, options=told, data=b"x")
    time.sleep(PAUSE_S)
    for flow in ready:
        flow.seq += HOLE
        for _ in range(3):
            flow.seq += 1
            flow.send(DATA, options=told, data=b"x")
    return outcome(len(flows) + 5 * len(ready), [answer for _, answer, _ in opened])


def flood(server_port, seconds, make):
    """Sends what `make` makes at a steady rate from many sockets, and counts the answers."""
    flows = [Flow(server_port) for _ in range(SOCKETS)]
    for flow in flows:
        flow.socket.setblocking(False)
    start = time.monotonic()
    sent, failed, answers = 0, 0, []
    while (passed := time.monotonic() - start) < seconds:
        for _ in range(int(passed * FLOOD_PER_S) - sent - failed):
            flow = flows[(sent + failed) % SOCKETS]
            try:
                flow.socket.send(make(flow))
                sent += 1
            except OSError:
                failed += 1
            answers += flow.drain()
        time.sleep(0.001)
    time.sleep(LAST_ANSWERS_S)
    for flow in flows:
        answers += flow.drain()
    return outcome(sent, answers)


def junk(server_port, seconds):
    """Sends datagrams of 60,000 bytes: noise, zeros, and headers that promise more than there is."""
    random.seed(4340)
    port = struct.pack(">H", server_port)
    kinds = [
        random.randbytes(JUNK_BYTES),
        bytes(JUNK_BYTES),
        # Reserved type 15, a Data Offset of 255 words, ports as they should be.
        (b"\xc0\x00" + port + b"\xff\x00\x00\x00\x1f").ljust(JUNK_BYTES, b"\xff"),
        # A Data packet of a connection that does not exist.
        packets.encode(DATA, (50000, server_port), 1).ljust(JUNK_BYTES, b"\x00"),
    ]
    return flood(server_port, seconds, lambda _: random.choice(kinds))


def fresh_request(flow, options=b""):
    """Returns a Request of a DCCP port that was not used before, most likely."""
    ports = (random.randrange(1024, 65536), flow.ports[1])
    return packets.encode(REQUEST, ports, random.getrandbits(48), service=SERVICE, options=options)


def strangers(server_port, seconds):
    """Sends Requests of ever new flows, whose handshakes never complete."""
    return flood(server_port, seconds, fresh_request)


def padded(server_port, seconds):
    """Sends the same with 1,000 bytes of Padding, as much as a header takes."""
    options = bytes(PADDED_OPTIONS)
    return flood(server_port, seconds, lambda flow: fresh_request(flow, options))


ATTACKS = [
    Attack(
        "finding-1a",
        "two Requests of one flow, 2^33 numbers apart",
        lambda port, _: leap(port, 1 << 33),
        True,
    ),
    Attack(
        "finding-1b",
        "two Requests of one flow, 2^45 numbers apart",
        lambda port, _: leap(port, 1 << 45),
        True,
    ),
    Attack(
        "finding-2",
        f"60 packets on {CONNECTIONS} connections: a round trip of 1 us, {PAUSE_S:.0f} s pause, a hole",
        lambda port, _: microseconds(port),
        True,
    ),
    Attack("junk", f"{FLOOD_PER_S} datagrams/s of 60 kB that are no DCCP", junk, False),
    Attack("strangers", f"{FLOOD_PER_S} Requests/s of new flows from {SOCKETS} UDP ports", strangers, True),
    Attack("padded", f"the same with {PADDED_OPTIONS} bytes of padding in each header", padded, True),
]


def with_hello(act):
    return lambda port, seconds, hello, _: act(port, SERVICE, seconds, hello)


# Attacks on a server with DTLS, beside those above.
DTLS_ATTACKS = [
    Attack(
        "silent",
        f"{crowd.CONNECTIONS_PER_S} connections/s that never send a ClientHello",
        with_hello(crowd.silent),
        True,
        "hello",
    ),
    Attack(
        "garbled",
        f"{crowd.CONNECTIONS_PER_S} connections/s with junk, half a ClientHello, or one with changes",
        with_hello(crowd.garbled),
        True,
        "hello",
    ),
    Attack(
        "replayed",
        f"{crowd.CONNECTIONS_PER_S} connections/s that send somebody's ClientHello again, and stop",
        with_hello(crowd.replayed),
        True,
        "hello",
    ),
    Attack(
        "hanging",
        f"{crowd.CONNECTIONS_PER_S} connections/s that also return the cookie, and stop",
        with_hello(crowd.hanging),
        True,
        "hello",
    ),
    Attack(
        "scattered",
        f"{crowd.CONNECTIONS_PER_S} connections/s with empty parts of messages that never come whole",
        with_hello(crowd.scattered),
        True,
        "hello",
    ),
    Attack(
        "hollow",
        f"{crowd.CONNECTIONS_PER_S} connections/s that return the cookie, then send empty and forged records",
        with_hello(crowd.hollow),
        True,
        "hello",
    ),
    Attack(
        "injected",
        f"{crowd.INJECTED_PER_S} packets/s with the client's address: its own again, its records, junk",
        lambda port, seconds, _, tap: crowd.injected(port, seconds, tap),
        False,
        "tap",
    ),
]


def named(name):
    return next(attack for attack in ATTACKS + DTLS_ATTACKS if attack.name == name)


def main(name, server_port, seconds, hello="", tap_port="0"):
    attack = named(name)
    arguments = [int(server_port), float(seconds)]
    if attack.needs:
        arguments += [bytes.fromhex(hello), int(tap_port)]
    print("ready", flush=True)
    if sys.stdin.readline():
        print(json.dumps(attack.act(*arguments)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
