"""What both harnesses know of DCCP's bytes (RFC 4340, section 5), written from the RFC and from nothing else."""

import struct

__all__ = [
    "PROTOCOL",
    "TYPES",
    *"REQUEST RESPONSE DATA ACK DATAACK CLOSEREQ CLOSE RESET SYNC SYNCACK".split(),
    "checksum",
    "parse_options",
]

PROTOCOL = 33  # RFC 4340, 19: DCCP's protocol number in IP.

REQUEST, RESPONSE, DATA, ACK, DATAACK, CLOSEREQ, CLOSE, RESET, SYNC, SYNCACK = range(10)
TYPES = "Request Response Data Ack DataAck CloseReq Close Reset Sync SyncAck".split()


def checksum(data):
    """Returns the Internet checksum of RFC 1071."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def parse_options(area):
    """Returns type and value of each option, up to the first that makes no sense (RFC 4340, section 5.8)."""
    found, at = [], 0
    while at < len(area):
        kind = area[at]
        if kind < 32:
            found.append((kind, b""))
            at += 1
            continue
        length = area[at + 1] if at + 1 < len(area) else 0
        if length < 2 or at + length > len(area):
            break
        found.append((kind, area[at + 2 : at + length]))
        at += length
    return found
