"""Captures in pcap's classic format, nanoseconds, Ethernet."""

import struct

MAGIC = 0xA1B23C4D


class Writer:
    """Writes frames as they come."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.file.write(struct.pack("<IHHiIII", MAGIC, 2, 4, 0, 0, 65535, 1))

    def frame(self, at_ns, frame):
        seconds, rest = divmod(at_ns, 1_000_000_000)
        self.file.write(struct.pack("<IIII", seconds, rest, len(frame), len(frame)) + frame)

    def close(self):
        self.file.close()


def read(path):
    """Yields (seconds, frame)."""
    with open(path, "rb") as file:
        file.read(24)
        while len(head := file.read(16)) == 16:
            seconds, rest, length, _ = struct.unpack("<IIII", head)
            yield seconds + rest / 1e9, file.read(length)
