"""DCCP packets in bytes: enough to send a Request by hand and to judge captures (RFC 4340, 5)."""

import ipaddress
import struct
from dataclasses import dataclass, field

from dccp_bytes import *  # noqa: F403 (what both harnesses read packets with; handed on)


def pseudo_header(source, target, length):
    source, target = ipaddress.ip_address(source), ipaddress.ip_address(target)
    if source.version == 4:
        return source.packed + target.packed + struct.pack(">BBH", 0, PROTOCOL, length)
    return source.packed + target.packed + struct.pack(">II", length, PROTOCOL)


@dataclass
class Packet:
    """The fields that a check may ask for."""

    type: int
    source: str
    target: str
    source_port: int
    target_port: int
    seq: int
    ack: int | None = None
    service: int | None = None
    reset_code: int | None = None
    options: list = field(default_factory=list)
    payload: bytes = b""
    checksum_is_right: bool = True
    time: float = 0.0

    @property
    def name(self):
        return TYPES[self.type] if self.type < len(TYPES) else f"type {self.type}"


def encode(type, source, target, ports, seq, ack=None, service=None, data=b"", options=b""):
    """A packet with 48-bit numbers and full checksum coverage."""
    body = b""
    if ack is not None:
        body += struct.pack(">HHI", 0, ack >> 32, ack & 0xFFFFFFFF)
    if service is not None:
        body += struct.pack(">I", service)
    if type == RESET:
        body += data[:4].ljust(4, b"\0")
        data = b""
    options += bytes(-len(options) % 4)
    words = (16 + len(body) + len(options)) // 4
    number = (seq >> 32, seq & 0xFFFFFFFF)
    head = struct.pack(">HHBBHBBHI", *ports, words, 0, 0, type << 1 | 1, 0, *number)
    packet = head + body + options + data
    total = checksum(pseudo_header(source, target, len(packet)) + packet)
    return packet[:6] + struct.pack(">H", total) + packet[8:]


def decode(data, source, target):
    """A packet, or None if it is none."""
    if len(data) < 12:
        return None
    source_port, target_port, words, ccval_cscov = struct.unpack(">HHBB", data[:6])
    kind, extended = data[8] >> 1 & 15, data[8] & 1
    if not extended or len(data) < 16:
        at, seq = 12, int.from_bytes(data[9:12], "big")
    else:
        at, seq = 16, int.from_bytes(data[10:16], "big")
    packet = Packet(kind, source, target, source_port, target_port, seq)
    if kind not in (REQUEST, DATA):
        size = 8 if extended else 4
        packet.ack = int.from_bytes(data[at + 2 if extended else at + 1 : at + size], "big")
        at += size
    if kind in (REQUEST, RESPONSE):
        packet.service = int.from_bytes(data[at : at + 4], "big")
        at += 4
    if kind == RESET:
        packet.reset_code = data[at] if at < len(data) else None
        at += 4
    if words * 4 < at or words * 4 > len(data):
        return None
    packet.options = parse_options(data[at : words * 4])
    packet.payload = data[words * 4 :]
    coverage = ccval_cscov & 15
    covered = len(data) if coverage == 0 else min(len(data), words * 4 + (coverage - 1) * 4)
    header = pseudo_header(source, target, len(data))
    packet.checksum_is_right = checksum(header + data[:covered]) == 0
    return packet


def is_dccp(frame):
    """Does this Ethernet frame carry DCCP?"""
    kind = frame[12:14]
    return (kind == b"\x08\x00" and frame[23:24] == b"\x21") or (
        kind == b"\x86\xdd" and frame[20:21] == b"\x21"
    )


def of_frame(frame):
    """The DCCP packet of an Ethernet frame, or None."""
    if not is_dccp(frame):
        return None
    if frame[12:14] == b"\x08\x00":
        start = 14 + (frame[14] & 15) * 4
        end = 14 + int.from_bytes(frame[16:18], "big")
        source, target = frame[26:30], frame[30:34]
    else:
        start = 54
        end = start + int.from_bytes(frame[18:20], "big")
        source, target = frame[22:38], frame[38:54]
    text = lambda packed: str(ipaddress.ip_address(packed))
    return decode(frame[start:end], text(source), text(target))
