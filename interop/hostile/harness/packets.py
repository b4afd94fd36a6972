"""DCCP packets in bytes, written from the RFCs and from nothing else.

Headers and options are those of RFC 4340, section 5, the RTT Estimate is that of RFC 6323. In UDP
the DCCP packet follows the UDP header directly, and its own checksum is zero and ignored (RFC 6773,
sections 3 and 3.3). `native` fills the checksum in, as DCCP needs it directly over IP.
"""

import struct
from dataclasses import dataclass, field

from dccp_bytes import *  # noqa: F403 (what both harnesses read packets with; handed on)

CIRCLE = 1 << 48

# RFC 4340, 5.8: options.
PADDING = 0
CHANGE_L, CONFIRM_L, CHANGE_R, CONFIRM_R = 32, 33, 34, 35
ACK_VECTORS = (38, 39)
# RFC 6323, 3.2.1.
RTT_ESTIMATE = 128

# RFC 4340, 19.4: features. RFC 6323, 3.2.2: the last one.
CCID, SEQUENCE_WINDOW, ACK_RATIO, SEND_RTT_ESTIMATE = 1, 3, 5, 128
NON_NEGOTIABLE = (SEQUENCE_WINDOW, ACK_RATIO)

# RFC 4340, 5.1: Data Offset counts words in one byte.
MAX_HEADER = 255 * 4


def change_l(feature, value):
    return bytes((CHANGE_L, 3 + len(value), feature)) + value


def change_r(feature, value):
    return bytes((CHANGE_R, 3 + len(value), feature)) + value


def confirm_l(feature, value):
    return bytes((CONFIRM_L, 3 + len(value), feature)) + value


def confirm_r(feature, value):
    return bytes((CONFIRM_R, 3 + len(value), feature)) + value


def sequence_window(packets):
    """Returns the Change L that asks for a window of so many packets (RFC 4340, section 7.5.2)."""
    return change_l(SEQUENCE_WINDOW, packets.to_bytes(6, "big"))


def rtt_estimate(us):
    """Returns an RTT Estimate option, in the shortest of its forms (RFC 6323, section 3.2.1)."""
    value = us.to_bytes(max(1, (us.bit_length() + 7) // 8), "big")
    return bytes((RTT_ESTIMATE, 2 + len(value))) + value


def encode(kind, ports, seq, ack=None, service=None, options=b"", data=b"", ccval=0):
    """Returns a packet with 48-bit numbers and a checksum of zero; `ports` are source and target.

    The options are padded to whole words (RFC 4340, section 5.8).
    """
    seq %= CIRCLE
    body = b""
    if kind not in (REQUEST, DATA):
        body += struct.pack(">HHI", 0, ack >> 32, ack & 0xFFFFFFFF)
    if kind in (REQUEST, RESPONSE):
        body += struct.pack(">I", service)
    options += bytes(-len(options) % 4)
    length = 16 + len(body) + len(options)
    assert length <= MAX_HEADER, f"a header of {length} bytes: at most {MAX_HEADER} fit"
    head = struct.pack(
        ">HHBBHBBHI", *ports, length // 4, ccval << 4, 0, kind << 1 | 1, 0, seq >> 32, seq & 0xFFFFFFFF
    )
    return head + body + options + data


def native(packet, source, target):
    """Returns the packet with its checksum, between two IPv4 addresses of four bytes (RFC 4340, 9.1)."""
    bare = packet[:6] + b"\0\0" + packet[8:]
    pseudo = source + target + struct.pack(">BBH", 0, PROTOCOL, len(bare))
    return bare[:6] + struct.pack(">H", checksum(pseudo + bare)) + bare[8:]


@dataclass
class Packet:
    """What is read of a packet."""

    kind: int
    ports: tuple
    seq: int
    ack: int | None = None
    service: int | None = None
    reset_code: int | None = None
    options: list = field(default_factory=list)
    # Bytes of application data.
    length: int = 0


def decode(packet, whole=None):
    """Reads a packet, or returns None if it is none.

    `whole` is its length where `packet` is only its beginning.
    """
    if len(packet) < 12:
        return None
    source, target, words = struct.unpack(">HHB", packet[:5])
    kind, extended = packet[8] >> 1 & 15, packet[8] & 1
    if kind >= len(TYPES) or len(packet) < (16 if extended else 12):
        return None
    at = 16 if extended else 12
    seq = int.from_bytes(packet[10:16] if extended else packet[9:12], "big")
    found = Packet(kind, (source, target), seq)
    if kind not in (REQUEST, DATA):
        size = 8 if extended else 4
        found.ack = int.from_bytes(packet[at + (2 if extended else 1) : at + size], "big")
        at += size
    if kind in (REQUEST, RESPONSE):
        found.service = int.from_bytes(packet[at : at + 4], "big")
        at += 4
    if kind == RESET:
        found.reset_code = packet[at] if at < len(packet) else None
        at += 4
    whole = len(packet) if whole is None else whole
    if not at <= words * 4 <= whole:
        return None
    found.options = parse_options(packet[at : words * 4])
    found.length = whole - words * 4
    return found


def acknowledged(packet):
    """Yields the ranges of numbers, newest and length, that a packet reports as received.

    By its Ack Vectors, one continuing the other (RFC 4340, section 11.4); without them by its
    Acknowledgement Number alone.
    """
    vectors = [value for kind, value in packet.options if kind in ACK_VECTORS]
    if not vectors:
        yield packet.ack, 1
        return
    at = packet.ack
    for byte in b"".join(vectors):
        state, run = byte >> 6, (byte & 63) + 1
        if state in (0, 1):  # Received, and received with a mark.
            yield at, run
        at = (at - run) % CIRCLE


def answers(options):
    """Returns the Confirms for the Changes among `options`: each is granted as it is asked for.

    The peer is the server, whose first preference wins wherever the other end has it too (RFC 4340,
    section 6.3.1).
    """
    confirms = b""
    for kind, value in options:
        if kind not in (CHANGE_L, CHANGE_R) or len(value) < 2:
            continue
        feature, asked = value[0], value[1:]
        granted = asked if feature in NON_NEGOTIABLE else asked[:1]
        confirms += (confirm_r if kind == CHANGE_L else confirm_l)(feature, granted)
    return confirms
