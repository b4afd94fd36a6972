"""Many connections that complete the handshake of DCCP, and what they say then to a server with DTLS.

Beside them newcomers, honest as far as they get: one connects now and then from an address of its own and sends a
ClientHello. How long its HelloRetryRequest takes tells whether the crowd keeps others out.
"""

import itertools
import os
import random
import socket
import time
from collections import Counter

from . import hello as hellos
from . import packets
from .packets import ACK, DATA, DATAACK, REQUEST, RESPONSE

# Connections begun in a second, and the sockets that they leave from.
CONNECTIONS_PER_S = 500
SOCKETS = 64
# A newcomer comes this often, seconds, and from here.
NEWCOMER_S = 0.25
NEWCOMER_ADDRESS = "127.0.0.2"
# How long the last newcomer may wait, seconds.
PATIENCE_S = 2.0
# Datagrams a second from beside the path, and how many of the client's are remembered.
INJECTED_PER_S = 2000
REMEMBERED = 512


def open_socket(address="127.0.0.1"):
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.bind((address, 0))
    end.setblocking(False)
    return end


class Link:
    """One connection."""

    def __init__(self, end, server_port, service):
        self.end = end
        self.ports = (random.randrange(1024, 65536), server_port)
        self.seq = random.randrange(1 << 32, 1 << 40)
        self.ack = None
        self.began = time.monotonic()
        self.answered = None
        end.send(packets.encode(REQUEST, self.ports, self.seq, service=service))

    def say(self, payload):
        self.seq += 1
        self.end.send(packets.encode(DATAACK, self.ports, self.seq, self.ack, data=payload))

    def hear(self, packet, read, first, reply):
        """Goes on with the handshake of DCCP, and with what `first` and `reply` return after it."""
        if read.kind == RESPONSE and self.ack is None:
            self.ack = read.seq
            self.seq += 1
            options = packets.answers(read.options)
            self.end.send(packets.encode(ACK, self.ports, self.seq, self.ack, options=options))
            said = first()
        elif read.kind in (DATA, DATAACK) and read.length:
            self.ack = max(self.ack or 0, read.seq)
            payload = hellos.payload_of(packet, read)
            if self.answered is None and hellos.is_message(payload, hellos.SERVER_HELLO):
                self.answered = time.monotonic() - self.began
            said = reply(payload)
        else:
            said = None
        if said is not None:
            self.say(said)


def drain(end):
    """Returns the packets that have come, as bytes and as read."""
    found = []
    try:
        while packet := end.recv(65535):
            if read := packets.decode(packet):
                found.append((packet, read))
    except OSError:
        pass
    return found


def nothing(_=None):
    return None


def crowd(server_port, service, seconds, hello, first=nothing, reply=nothing):
    """Opens connections at a steady rate. `first` and `reply` return what each says at first, and to an answer."""
    ends = [open_socket() for _ in range(SOCKETS)]
    for end in ends:
        end.connect(("127.0.0.1", server_port))
    links, newcomers, heard = {}, [], Counter()
    start, sent = time.monotonic(), 0

    def listen():
        for end in ends:
            for packet, read in drain(end):
                heard[packets.TYPES[read.kind]] += 1
                if link := links.get((end, read.ports[1])):
                    attempt(lambda: link.hear(packet, read, first, reply))
        for link in newcomers:
            for packet, read in drain(link.end):
                attempt(lambda: link.hear(packet, read, lambda: hello, nothing))

    while (passed := time.monotonic() - start) < seconds:
        for _ in range(int(passed * CONNECTIONS_PER_S) - sent):
            sent += 1
            end = ends[sent % SOCKETS]
            if link := attempt(lambda: Link(end, server_port, service)):
                links[end, link.ports[0]] = link
        if passed > NEWCOMER_S * (len(newcomers) + 1):
            end = open_socket(NEWCOMER_ADDRESS)
            end.connect(("127.0.0.1", server_port))
            newcomers.append(Link(end, server_port, service))
        listen()
        time.sleep(0.0005)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and any(link.answered is None for link in newcomers):
        listen()
        time.sleep(0.0005)
    waits = [link.answered and round(1000 * link.answered, 1) for link in newcomers]
    return {"sent": sent, "heard": heard, "newcomers": waits}


def attempt(act):
    try:
        return act()
    except OSError:
        return None


def silent(server_port, service, seconds, hello):
    """Connections that never say anything."""
    return crowd(server_port, service, seconds, hello)


def garbled(server_port, service, seconds, hello):
    """Connections whose ClientHello is none."""
    kinds = [os.urandom(300), bytes(300), b"GET / HTTP/1.1\r\n\r\n", *hellos.halves(hello)]
    return crowd(server_port, service, seconds, hello, lambda: random.choice(kinds))


def replayed(server_port, service, seconds, hello):
    """Connections that send a ClientHello caught from somebody else, and do not go on."""
    return crowd(server_port, service, seconds, hello, lambda: hello)


def hanging(server_port, service, seconds, hello):
    """The same, and they return the cookie, so that the server computes and signs; then nothing."""

    def reply(payload):
        cookie = hellos.cookie_of(payload)
        return cookie and hellos.with_cookie(hello, cookie)

    return crowd(server_port, service, seconds, hello, lambda: hello, reply)


def scattered(server_port, service, seconds, hello):
    """Connections that send parts of messages, most of them empty, which never come whole."""
    return crowd(server_port, service, seconds, hello, lambda: random.choice(hellos.empty_parts()))


def hollow(server_port, service, seconds, hello):
    """Connections that get keys from the server, then answer each of its datagrams with empty or forged records."""
    count = itertools.count()

    def reply(payload):
        cookie = hellos.cookie_of(payload)
        return hellos.with_cookie(hello, cookie) if cookie else hellos.empty_records(next(count))

    return crowd(server_port, service, seconds, hello, lambda: hello, reply)


def injected(server_port, seconds, tap_port):
    """Sends junk and the client's own records with the client's address, as somebody beside the path can.

    `tap_port` is where the relay sends a copy of each packet of the client, after the port that it came from.
    """
    tap = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    tap.bind(("127.0.0.1", tap_port))
    tap.settimeout(PATIENCE_S)
    seen = [tap.recv(65535)]
    tap.setblocking(False)
    forged = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    forged.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    forged.bind(("127.0.0.1", int.from_bytes(seen[0][:2], "big")))
    seen = [seen[0][2:]]
    sent, start, next_place = 0, time.monotonic(), 0
    while (passed := time.monotonic() - start) < seconds:
        try:
            while copy := tap.recv(65535):
                if len(seen) < REMEMBERED:
                    seen.append(copy[2:])
                else:
                    seen[next_place % REMEMBERED] = copy[2:]
                next_place += 1
        except OSError:
            pass
        for _ in range(int(passed * INJECTED_PER_S) - sent):
            sent += 1
            attempt(lambda: forged.sendto(forgery(random.choice(seen), sent), ("127.0.0.1", server_port)))
        time.sleep(0.0005)
    return {"sent": sent, "heard": Counter()}


def forgery(genuine, number):
    """Returns a packet of the client again, its record under a number drawn at random, or junk under one."""
    read = packets.decode(genuine)
    if number % 3 == 0 or not read:
        return genuine
    payload = hellos.payload_of(genuine, read) if number % 3 == 1 else b"\x2f" + os.urandom(200)
    return packets.encode(DATA, read.ports, random.getrandbits(48), data=payload)
