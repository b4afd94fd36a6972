"""The relay between the honest client and the server: passes packets on, and writes down when they came.

A process of its own, so that nothing else delays it. It listens on a free UDP port of 127.0.0.1, which
the client takes for the server's, and puts the server's port in its place in the DCCP header, where
no checksum covers it (RFC 6773, section 3.3). Times are those of the kernel, at arrival here.

Arguments: the server's port, the file for the record, the bytes of a full datagram, and perhaps a
port for copies: each packet of the client goes there, too, after the port from which it goes to the server.
It prints its port; then `flowing` once the client sends full datagrams. It ends when its standard
input does, and writes the record.
"""

import gc
import os
import select
import socket
import struct
import sys
import time

if not __package__:
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from harness import packets

SO_TIMESTAMPNS = 35  # Linux; elsewhere the time of reading has to do.
# One entry: time in ns, direction, bytes of the packet, bytes kept.
ENTRY = struct.Struct(">QBHH")
TO_SERVER, TO_CLIENT = 0, 1
# Of the client's packets the header is kept, of the server's all that an Ack Vector may need.
KEPT = {TO_SERVER: 24, TO_CLIENT: packets.MAX_HEADER}
# Packets taken from one socket before the other has its turn.
TURN = 64


def open_socket(shared=False):
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    try:
        end.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    except OSError:
        pass
    if shared:
        # Somebody beside the path sends from the same address.
        end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    end.bind(("127.0.0.1", 0))
    end.setblocking(False)
    return end


def arrival(ancillary):
    """Returns the kernel's time of arrival, ns."""
    for level, kind, value in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS) and len(value) >= 16:
            seconds, ns = struct.unpack("qq", value[:16])
            return seconds * 10**9 + ns
    return time.time_ns()


class Relay:
    def __init__(self, server_port, full_datagram, copies_port):
        self.front, self.back = open_socket(), open_socket(shared=bool(copies_port))
        self.copies = open_socket() if copies_port else None
        if self.copies:
            self.copies.connect(("127.0.0.1", copies_port))
        self.back.connect(("127.0.0.1", server_port))
        self.server_port = struct.pack(">H", server_port)
        self.port = self.front.getsockname()[1]
        self.our_port = struct.pack(">H", self.port)
        self.full_datagram = full_datagram
        self.client = None
        self.flowing = False
        self.record = []

    def note(self, direction, at, packet):
        self.record.append((at, direction, len(packet), packet[: KEPT[direction]]))

    def from_client(self):
        packet, ancillary, _, self.client = self.front.recvmsg(65535, 64)
        if len(packet) < 12:
            return
        self.note(TO_SERVER, arrival(ancillary), packet)
        there = packet[:2] + self.server_port + packet[4:]
        self.back.send(there)
        if self.copies:
            self.copy(there)
        if not self.flowing and len(packet) > self.full_datagram:
            read = packets.decode(packet)
            if read and read.kind in (packets.DATA, packets.DATAACK) and read.length == self.full_datagram:
                self.flowing = True
                print("flowing", flush=True)

    def copy(self, packet):
        try:
            self.copies.send(struct.pack(">H", self.back.getsockname()[1]) + packet)
        except OSError:
            pass  # Nobody listens yet, or any more.

    def from_server(self):
        packet, ancillary, _, _ = self.back.recvmsg(65535, 64)
        if len(packet) < 12 or self.client is None:
            return
        self.note(TO_CLIENT, arrival(ancillary), packet)
        self.front.sendto(self.our_port + packet[2:], self.client)

    def run(self, commands):
        """Runs until `commands` ends."""
        turns = {self.front.fileno(): self.from_client, self.back.fileno(): self.from_server}
        while True:
            ready, _, _ = select.select([commands, *turns], [], [])
            if commands in ready:
                return
            for end in ready:
                for _ in range(TURN):
                    try:
                        turns[end]()
                    except BlockingIOError:
                        break
                    except OSError:
                        pass  # One end is gone, as the kernel says here: the packet is lost.

    def write(self, path):
        with open(path, "wb") as file:
            for at, direction, length, kept in self.record:
                file.write(ENTRY.pack(at, direction, length, len(kept)) + kept)


def read(path):
    """Returns the record: time in ns, direction, and the packet as read, for each."""
    with open(path, "rb") as file:
        data = file.read()
    record, at = [], 0
    while at < len(data):
        time_ns, direction, length, kept = ENTRY.unpack_from(data, at)
        at += ENTRY.size
        packet = packets.decode(data[at : at + kept], length)
        at += kept
        if packet:
            record.append((time_ns, direction, packet))
    return record


def main(server_port, path, full_datagram, copies_port="0"):
    gc.disable()  # A pause of ours would look like one of the server's.
    relay = Relay(int(server_port), int(full_datagram), int(copies_port))
    print(relay.port, flush=True)
    try:
        relay.run(sys.stdin.fileno())
    finally:
        relay.write(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
