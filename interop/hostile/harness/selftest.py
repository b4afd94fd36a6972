"""Checks of the program itself: what it writes against known bytes, what it reads and computes.

The known bytes were worked out by hand from the RFCs, or captured from the Linux kernel 6.1
(crates/wire/tests/fixtures/ccid2-cbr-rcv.pcap). Then tshark reads what the attacks send.
"""

import os
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
from pathlib import Path

from . import attacks, hello, packets
from .measure import Measured, longest_gap, measure
from .packets import ACK, DATA, REQUEST, RESPONSE, decode, encode
from .relay import TO_CLIENT, TO_SERVER
from .runs import Run, Settings
from .verdict import FAILED, NOISY, PASSED, judge

SCRIPT = Path(__file__).resolve().parents[3] / "wireshark/fairwire.lua"
# The first packets of a connection, from 10.0.1.2 to 10.0.3.2.
LINUX_ENDS = bytes((10, 0, 1, 2)), bytes((10, 0, 3, 2))
LINUX_REQUEST = bytes.fromhex(
    "e68413890e006d200100364a728b3d3b0000002a000029060008c8c82004010222040102"
    "0120040200012004040101220406010120040601"
)
LINUX_ACK = bytes.fromhex(
    "e68413890d008ef90700364a728b3d3c00002127a95d40002a080008d4890013230502"
    "0000230504010123050601012105060101"
)
TSHARK_LIMIT_S = 60


def sums():
    """RFC 1071, section 3: the worked example, and an odd byte padded with zero."""
    assert packets.checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0x220D
    assert packets.checksum(b"\x01") == 0xFEFF


def request_by_hand():
    """RFC 4340, 5.1, 5.2, 6.1 and 7.5.2: a Request that asks for the widest Sequence Window."""
    options = packets.sequence_window(attacks.WIDEST)
    made = encode(REQUEST, (50000, 6511), 0x0123456789AB, service=attacks.SERVICE, options=options, data=b"1")
    by_hand = (
        "c350 196f"  # ports
        "08 00 0000"  # Data Offset of 8 words, CCVal and CsCov, no checksum
        "01 00 0123 456789ab"  # type 0 with X, reserved, number
        "3f467750"  # ?FwP
        "20 09 03 3fffffffffff"  # Change L, 9 bytes, Sequence Window, 2^46 - 1
        "000000"  # padding
        "31"
    )
    assert made == bytes.fromhex(by_hand), made.hex()


def others_by_hand():
    """RFC 4340, 5.4: Data and Ack; numbers wrap at 2^48. RFC 6323, 3.2.1: the shortest RTT Estimate."""
    made = encode(DATA, (1, 2), (1 << 48) + 5, options=packets.rtt_estimate(1), data=b"x", ccval=3)
    assert made == bytes.fromhex("0001 0002 05 30 0000 05 00 0000 00000005 80 03 01 00 78"), made.hex()
    made = encode(ACK, (1, 2), 3, ack=0xABCDEF012345)
    assert made == bytes.fromhex("0001 0002 06 00 0000 07 00 0000 00000003 0000 abcd ef012345"), made.hex()
    assert packets.rtt_estimate(0) == bytes.fromhex("800300")
    assert packets.rtt_estimate(256) == bytes.fromhex("80040100")
    assert packets.rtt_estimate(0xFFFFFE) == bytes.fromhex("8005fffffe")


def same_as_linux():
    """RFC 4340, 9.1: the bytes and checksums of packets that the Linux kernel sent."""
    for captured in (LINUX_REQUEST, LINUX_ACK):
        read = decode(captured)
        options = captured[20 if read.kind == REQUEST else 24 :]
        made = encode(read.kind, read.ports, read.seq, ack=read.ack, service=read.service, options=options)
        made = packets.native(made, *LINUX_ENDS)
        assert made == captured, f"{made.hex()} instead of {captured.hex()}"
    read = decode(LINUX_REQUEST)
    assert (read.ports, read.seq, read.service, read.length) == ((59012, 5001), 59693377207611, 42, 0)
    assert (32, b"\x01\x02") in read.options and (41, bytes.fromhex("0008c8c8")) in read.options
    read = decode(LINUX_ACK)
    assert (read.kind, read.ack) == (ACK, 36454228901888)


def nonsense_is_none():
    """RFC 4340, 5.1 and 5.8: what is cut, or has an impossible Data Offset or type, is no packet."""
    whole = encode(REQUEST, (1, 2), 3, service=4, options=bytes((2,)))
    for length in range(len(whole)):
        assert decode(whole[:length]) is None, length
    assert decode(whole[:4] + b"\x04" + whole[5:]) is None
    assert decode(whole[:8] + b"\x1f" + whole[9:]) is None
    assert packets.parse_options(bytes((2, 0, 32, 1))) == [(2, b""), (0, b"")]
    assert packets.parse_options(bytes((2, 32))) == [(2, b"")]
    fits = encode(REQUEST, (1, 2), 3, service=4, options=bytes(attacks.PADDED_OPTIONS))
    assert len(fits) == 1020 and fits[4] == 255


def vectors():
    """RFC 4340, 11.4: runs of received, marked and missing packets, over two options and the wrap."""
    vector = [(38, bytes((0x01, 0xC0))), (39, bytes((0x40, 0x00)))]
    packet = packets.Packet(ACK, (1, 2), 9, ack=2, options=vector)
    assert list(packets.acknowledged(packet)) == [(2, 2), (packets.CIRCLE - 1, 1), (packets.CIRCLE - 2, 1)]
    packet.options = []
    assert list(packets.acknowledged(packet)) == [(2, 1)]


def grants():
    """RFC 4340, 6.2 and 6.3: each Change is confirmed at its other end, with one value or the whole one."""
    asked = packets.change_r(7, b"\x01\x00") + packets.sequence_window(100) + packets.confirm_l(1, b"\x03")
    answer = packets.answers(packets.parse_options(asked))
    assert answer == bytes.fromhex("21040701 230903000000000064"), answer.hex()


def gaps():
    """A gap counts from the start to the end of watching, whole if it begins in time, and not later."""
    ms = 10**6
    times = [at * ms for at in (0, 1, 3, 40, 42, 100)]
    assert longest_gap(times, 1 * ms, 42 * ms, 200 * ms) == 37
    assert longest_gap(times, 1 * ms, 43 * ms, 200 * ms) == 58
    assert longest_gap(times, 1 * ms, 150 * ms, 200 * ms) == 100
    assert longest_gap([], 1 * ms, 150 * ms, 200 * ms) == 199


def rates():
    """What the server acknowledges within the time counts, once, whatever was sent."""

    def data(seq, length=1200):
        return packets.Packet(DATA, (1, 2), seq, length=length)

    def ack(number, vector):
        return packets.Packet(ACK, (2, 1), 1, ack=number, options=[(38, bytes(vector))])

    second = 10**9
    record = [
        (0, TO_SERVER, data(1, 100)),  # Not full: the measurement has not begun.
        (1 * second, TO_SERVER, data(2)),
        (2 * second, TO_SERVER, data(3)),
        (3 * second, TO_SERVER, data(4)),
        (4 * second, TO_CLIENT, ack(4, (0x00, 0xC0, 0x01))),  # 4, not 3, and 2 and 1.
        (5 * second, TO_CLIENT, ack(4, (0x00,))),
        (5 * second, TO_CLIENT, ack(3, (0x00,))),  # Too late.
    ]
    found = measure(record, 1200, 4.0, 9 * second)
    assert found.rate == 2 * 1200 * 8 / 4, found
    assert (found.server_gap_ms, found.client_gap_ms) == (3000, 6000), found
    assert measure(record[:1], 1200, 4.0, 9 * second) is None


def verdicts():
    """The rate may fall by 5 %, gaps reach 50 ms; a noisy machine judges nothing but that a server hangs."""
    settings = Settings("", "20M", 20e6, 4.0)

    def five(mbit_per_s, server_gap_ms=5, client_gap_ms=5, failure=None):
        return [Run(Measured(mbit_per_s * 1e6, server_gap_ms, client_gap_ms), None, failure)] * 5

    for plain, attacked, expected in (
        (five(20), five(19, 50, 50), PASSED),
        (five(20), five(18.99), FAILED),
        (five(20), five(20, 50.1), FAILED),
        (five(20), five(20, 5, 50.1), FAILED),
        (five(20), five(20)[:4] + five(20, failure="hung")[:1], FAILED),
        (five(18.99), five(20), NOISY),
        (five(20, 5, 50.1), five(2), NOISY),
        (five(20, 50.1), five(2, failure="hung"), FAILED),
        (five(20, failure="hung"), five(2, failure="hung"), NOISY),
        (five(0), five(0), NOISY),
    ):
        assert judge(plain, attacked, settings)[0] == expected, (plain[0], attacked[0], expected)


def too_much():
    """The server's memory may grow by its budget, and every newcomer is answered within two round trips."""
    settings = Settings("", "20M", 20e6, 4.0)

    def five(memory_mb=20, newcomers_ms=None):
        made = Run(Measured(20e6, 5, 5), None, None, memory_mb=memory_mb, newcomers_ms=newcomers_ms)
        return [made] * 5

    for attacked, expected in (
        (five(288), PASSED),
        (five(289), FAILED),
        (five(None), PASSED),
        (five(newcomers_ms=[5, 100, 900, 4]), PASSED),
        (five(newcomers_ms=[101, 200]), FAILED),
        (five(newcomers_ms=[5, None]), FAILED),
    ):
        assert judge(five(), attacked, settings)[0] == expected, (attacked[0], expected)


def second_hello():
    """RFC 8446, 4.1.2 and 4.2.2: the cookie comes back in the same ClientHello without its padding."""
    start = b"\xfe\xfd" + bytes(32) + b"\0\0" + bytes.fromhex("0002 1301 01 00")
    groups, padding = bytes.fromhex("000a 0004 0002 001d"), bytes.fromhex("0015 0010") + bytes(16)
    first = hello.framed(start + (len(groups + padding)).to_bytes(2, "big") + groups + padding, 0)
    assert first[:13] == bytes.fromhex("16 fefd 0000 000000000000") + (len(first) - 13).to_bytes(2, "big")
    cookie = bytes.fromhex("0003 a1a2a3")
    retry = b"\xfe\xfd" + bytes(32) + bytes.fromhex("00 1301 00") + bytes.fromhex("0009 002c 0005") + cookie
    record = bytearray(hello.framed(retry, 0))
    record[13] = hello.SERVER_HELLO
    assert hello.cookie_of(bytes(record)) == cookie and hello.cookie_of(first) is None
    second = hello.with_cookie(first, cookie)
    block = groups + bytes.fromhex("002c 0005") + cookie
    assert second == hello.framed(start + len(block).to_bytes(2, "big") + block, 1), second.hex()
    assert second[10] == 1 and second[17:19] == b"\0\1"
    parts = b"".join(hello.empty_parts())
    assert len(parts) == 62 * 25 + 2 and parts[25] == 0 and parts[26:29] == b"\x16\xfe\xfd", len(parts)
    assert [len(hello.empty_records(n)) for n in range(3)] == [128, 704, 704]
    changed, half, bare, fragment, huge = hello.halves(first + bytes(100))
    assert len(changed) == len(first) + 100 and changed != first and len(bare) == 13
    assert len(half) == len(fragment) == len(huge) and half[14:17] == fragment[14:17] and huge[14:17] == b"\xff" * 3
    assert int.from_bytes(fragment[11:13], "big") == len(fragment) - 13


class Stub:
    """A server that answers each Request as Fairwire might, and keeps what it gets."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.got = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            ended = self.ended.is_set()
            if not select.select([self.socket], [], [], 0.05)[0]:
                if ended:
                    return
                continue
            packet, client = self.socket.recvfrom(65535)
            self.got.append(packet)
            read = decode(packet)
            if read and read.kind == REQUEST:
                wishes = packets.change_r(7, b"\x01\x00") + packets.sequence_window(1024)
                ports = read.ports[::-1]
                answer = encode(RESPONSE, ports, 1000, ack=read.seq, service=read.service, options=wishes)
                self.socket.sendto(answer, client)

    def end(self):
        self.ended.set()
        self.thread.join()
        self.socket.close()
        return self.got


def sent():
    """Returns what each attack sends, by its name."""
    found, pause = {}, attacks.PAUSE_S
    attacks.PAUSE_S = 0.05
    try:
        for attack in attacks.ATTACKS:
            stub = Stub()
            try:
                attack.act(stub.port, 0.1)
            finally:
                found[attack.name] = stub.end()
    finally:
        attacks.PAUSE_S = pause
    return found


def what_attacks_send(found):
    """Each attack sends the packets that its description promises."""
    for name, power in (("finding-1a", 33), ("finding-1b", 45)):
        first, second = map(decode, found[name])
        assert (first.kind, second.kind, first.length, second.length) == (REQUEST, REQUEST, 1, 1)
        assert first.ports == second.ports and second.seq - first.seq == 1 << power
        # Within three quarters of the window (RFC 4340, 7.5.1).
        assert second.seq - first.seq < attacks.WIDEST * 3 // 4
    kinds = [decode(packet).kind for packet in found["finding-2"]]
    count = attacks.CONNECTIONS
    assert [kinds.count(kind) for kind in (REQUEST, ACK, DATA)] == [count, count, 4 * count]
    read = [decode(packet) for packet in found["finding-2"]]
    flow = [packet for packet in read if packet.ports == read[0].ports]
    steps = [after.seq - before.seq for before, after in zip(flow, flow[1:])]
    assert steps == [1, 1, 1 + attacks.HOLE, 1, 1], steps
    assert all((128, b"\x01") in packet.options for packet in flow if packet.kind == DATA)
    assert (33, b"\x07\x01") in flow[1].options and flow[1].ack == 1000
    for name, length in (("strangers", 20), ("padded", 1020)):
        requests = found[name]
        assert len(requests) > 50 and all(len(packet) == length for packet in requests), name
        assert len({decode(packet).ports for packet in requests}) > len(requests) // 2, name
    assert {len(packet) for packet in found["junk"]} == {attacks.JUNK_BYTES}


def in_ip(payload, protocol):
    """Returns an IPv4 packet from 192.0.2.1 to 192.0.2.2."""
    ends = bytes((192, 0, 2, 1, 192, 0, 2, 2))
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0) + ends
    return head[:10] + struct.pack(">H", packets.checksum(head)) + head[12:] + payload, ends


def in_udp(packet):
    """RFC 6773, 3: the UDP header, with a checksum, and the DCCP packet behind it."""
    _, ends = in_ip(b"", 17)
    length = 8 + len(packet)
    head = struct.pack(">HHH", 40000, 6511, length)
    pseudo = ends + struct.pack(">BBH", 0, 17, length)
    total = packets.checksum(pseudo + head + b"\0\0" + packet) or 0xFFFF
    return in_ip(head + struct.pack(">H", total) + packet, 17)[0]


def directly(packet):
    _, ends = in_ip(b"", packets.PROTOCOL)
    return in_ip(packets.native(packet, ends[:4], ends[4:]), packets.PROTOCOL)[0]


def dissect(found, wrap, folder):
    """Lets tshark read packets, and compares with what was sent."""
    capture = Path(folder) / "capture.pcap"
    with capture.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for number, packet in enumerate(found):
            frame = wrap(packet)
            file.write(struct.pack("<IIII", number, 0, len(frame), len(frame)) + frame)
    fields = "dccp.type dccp.seq_raw dccp.service_code udp.checksum.status dccp.checksum.status"
    fields += " _ws.malformed _ws.expert.message"
    argv = ["tshark", "-r", str(capture), "-X", f"lua_script:{SCRIPT}", "-T", "fields", "-E", "separator=;"]
    for preference in ("dccp.relative_sequence_numbers:FALSE", "udp.check_checksum:TRUE", "ip.check_checksum:TRUE"):
        argv += ["-o", preference]
    for name in fields.split():
        argv += ["-e", name]
    home = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=TSHARK_LIMIT_S, env=home, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(found), done.stderr
    for packet, line in zip(found, lines):
        kind, seq, service, udp, dccp, malformed, expert = line.split(";")
        read = decode(packet)
        expected = (str(read.kind), str(read.seq), str(read.service or ""))
        assert (kind, seq, service) == expected, f"tshark reads {line}, sent was {packet.hex()}"
        assert (udp or dccp) in ("1", "Good") and not malformed and not expert, f"tshark complains: {line}"


def tshark_reads(found):
    """tshark dissects every packet of the attacks but the junk, in UDP and in IP, without complaint."""
    some = [packet for name, all_sent in found.items() if name != "junk" for packet in all_sent[:60]]
    with tempfile.TemporaryDirectory(prefix="fairwire-hostile-") as folder:
        for wrap in (in_udp, directly):
            dissect(some, wrap, folder)


def passed(check, *arguments):
    check(*arguments)
    print(f"ok: {check.__doc__.strip()}", flush=True)


def main():
    """Returns the exit status; a check that fails raises."""
    for check in (
        sums,
        request_by_hand,
        others_by_hand,
        same_as_linux,
        nonsense_is_none,
        vectors,
        grants,
        gaps,
        rates,
        verdicts,
        too_much,
        second_hello,
    ):
        passed(check)
    found = sent()
    passed(what_attacks_send, found)
    if shutil.which("tshark"):
        passed(tshark_reads, found)
    elif os.environ.get("FAIRWIRE_NO_SKIP") == "1":
        print("FAILED: there is no tshark (scripts/setup installs it)")
        return 1
    else:
        print("skipped: there is no tshark (scripts/setup installs it)")
    return 0
