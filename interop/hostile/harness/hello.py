"""ClientHellos of DTLS 1.3 as bytes: caught from an honest client, cut, and given a server's cookie.

Written from RFC 9147, section 5, and RFC 8446, section 4; nothing here computes with keys.
"""

import re
import select
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from . import packets
from .packets import DATA, DATAACK, REQUEST, RESPONSE

# RFC 9147, 4 and 5.2: the header of a record that is not protected, and that of a message in it.
RECORD, MESSAGE = 13, 12
HANDSHAKE, CLIENT_HELLO, SERVER_HELLO = 22, 1, 2
# RFC 8446, 4.2: extensions.
PADDING, COOKIE = 21, 44
# How long the client may take until its ClientHello is here, seconds.
CATCH_LIMIT_S = 10


class NoHello(Exception):
    """No ClientHello could be caught."""


def is_message(payload, kind):
    """Returns whether a datagram begins with an unprotected message of this type."""
    return len(payload) > RECORD + MESSAGE and payload[0] == HANDSHAKE and payload[RECORD] == kind


def payload_of(packet, read):
    return packet[len(packet) - read.length :]


def identity(binary, folder):
    """Makes an identity for the server. Returns its path and its fingerprint."""
    path = str(Path(folder) / "id")
    done = subprocess.run([binary, "keygen", "--out", path], capture_output=True, text=True, timeout=CATCH_LIMIT_S)
    pin = re.search(r"\b[0-9a-f]{2}(?::[0-9a-f]{2}){31}\b", done.stdout)
    if done.returncode or not pin:
        raise NoHello(f"keygen failed: {(done.stdout + done.stderr).strip()}")
    return path, pin[0]


def catch(binary, pin):
    """Lets a client connect to a server that is none, and returns its ClientHello."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    argv = [binary, "perf", "-c", "127.0.0.1", "-p", str(server.getsockname()[1]), "--dtls-pin", pin, "-t", "1"]
    with server, tempfile.TemporaryFile() as nowhere:
        client = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=nowhere, stderr=nowhere)
        try:
            return answer(server)
        finally:
            client.kill()
            client.wait()


def answer(server):
    """Plays the server until the first datagram with a ClientHello."""
    deadline, seq = time.monotonic() + CATCH_LIMIT_S, 1000
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([server], [], [], left)[0]:
            break
        packet, client = server.recvfrom(65535)
        read = packets.decode(packet)
        if not read:
            continue
        if read.kind == REQUEST:
            options = packets.answers(read.options)
            made = packets.encode(RESPONSE, read.ports[::-1], seq, read.seq, read.service, options)
            server.sendto(made, client)
        elif read.kind in (DATA, DATAACK) and is_message(payload_of(packet, read), CLIENT_HELLO):
            return payload_of(packet, read)
    raise NoHello(f"no ClientHello in {CATCH_LIMIT_S} s")


def extensions(block):
    """Yields the extensions of a block, type and contents."""
    at = 0
    while at + 4 <= len(block):
        kind, length = struct.unpack(">HH", block[at : at + 4])
        yield kind, block[at + 4 : at + 4 + length]
        at += 4 + length


def split_hello(body):
    """Returns the place where the extensions of a ClientHello begin, behind their length."""
    at = 34
    at += 1 + body[at]  # session identifier
    at += 1 + body[at]  # legacy cookie
    at += 2 + int.from_bytes(body[at : at + 2], "big")  # cipher suites
    at += 1 + body[at]  # compression methods
    return at + 2


def cookie_of(retry):
    """Returns the contents of the cookie extension of a HelloRetryRequest, or None."""
    if not is_message(retry, SERVER_HELLO):
        return None
    body = retry[RECORD + MESSAGE :]
    at = 34
    at += 1 + body[at]  # session identifier
    at += 3  # cipher suite, compression method
    found = dict(extensions(body[at + 2 : at + 2 + int.from_bytes(body[at : at + 2], "big")]))
    return found.get(COOKIE)


def with_cookie(hello, cookie):
    """Returns the second ClientHello of a client that was asked for a cookie (RFC 8446, section 4.1.2)."""
    body = hello[RECORD + MESSAGE :]
    start = split_hello(body)
    kept = [(kind, value) for kind, value in extensions(body[start:]) if kind != PADDING]
    block = b"".join(struct.pack(">HH", kind, len(value)) + value for kind, value in [*kept, (COOKIE, cookie)])
    return framed(body[: start - 2] + struct.pack(">H", len(block)) + block, 1)


def framed(body, number):
    """Returns a ClientHello in a record, both with this number."""
    length = len(body).to_bytes(3, "big")
    message = bytes((CLIENT_HELLO,)) + length + struct.pack(">H", number) + bytes(3) + length + body
    return bytes((HANDSHAKE, 0xFE, 0xFD)) + struct.pack(">HHIH", 0, 0, number, len(message)) + message


def halves(hello):
    """Returns ClientHellos that are none: cut in several ways, with other contents, or half a message."""
    flipped = bytearray(hello)
    flipped[RECORD + MESSAGE + 80] ^= 0xFF
    half = len(hello) // 2
    fragment = bytearray(hello[:half])
    # RFC 9147, 5.5: a fragment, whose rest never comes.
    fragment[11:13] = struct.pack(">H", half - RECORD)
    fragment[22:25] = (half - RECORD - MESSAGE).to_bytes(3, "big")
    huge = bytearray(fragment)
    huge[14:17] = b"\xff\xff\xff"
    return [bytes(flipped), hello[:half], hello[:RECORD], bytes(fragment), bytes(huge)]


def empty_parts():
    """Returns datagrams with empty and short parts of messages that never come whole: 62 parts in all."""
    parts = []
    for number in range(62):
        kind, body = (CLIENT_HELLO, b"\0") if number < 2 else (11, b"")
        message = bytes((kind, 0, 0, 200)) + struct.pack(">H", number) + bytes((0, 0, 100, 0, 0, len(body))) + body
        parts.append(bytes((HANDSHAKE, 0xFE, 0xFD)) + struct.pack(">HHIH", 0, 0, number, len(message)) + message)
    return [b"".join(parts[:31]), b"".join(parts[31:])]


def empty_records(number):
    """Returns a datagram of protected records: without contents, forged, or forged behind what looks like data."""
    forged = b"\x2e\0\1\0\x11" + bytes(17)
    kinds = [b"\x26\0\0\0" * 32, forged * 32, b"\x2f" + forged[1:] + forged * 31]
    return kinds[number % len(kinds)]
