"""From the relay's record to a rate and to gaps: arithmetic only."""

from dataclasses import dataclass
from statistics import median

from .packets import CIRCLE, DATA, DATAACK, acknowledged
from .relay import TO_SERVER

# The honest client's last moments are not judged: its queue empties and the reports begin.
END_S = 0.2
# What of a run goes into the table, in its order.
FIGURES = ("rate", "server_gap_ms", "client_gap_ms")


@dataclass
class Measured:
    """What the packets of one run show."""

    # Client data acknowledged by the server, bits per second of the time asked for.
    rate: float
    # Longest time between two packets of the server, ms.
    server_gap_ms: float
    # The same between two data packets of the client.
    client_gap_ms: float


def longest_gap(times, start, end, last):
    """Returns the longest gap, ms, that begins between `start` and `end`; times in ns.

    A gap counts whole, also beyond `end`, and one that nothing ends lasts until `last`.
    """
    longest, before = 0, start
    for at in [at for at in times if at > start] + [last]:
        if before >= end:
            break
        longest, before = max(longest, at - before), at
    return longest / 1e6


def measure(record, full_datagram, seconds, last_ns, overhead=0):
    """Returns what a record shows of the `seconds` from the first full datagram on, or None.

    `last_ns` is when watching ended, `overhead` what encryption adds to each datagram, bytes.
    """
    data = [
        (at, packet)
        for at, direction, packet in record
        if direction == TO_SERVER and packet.kind in (DATA, DATAACK)
    ]
    start = next((at for at, packet in data if packet.length == full_datagram), None)
    if start is None:
        return None
    end = start + int(seconds * 1e9)
    judged = end - int(END_S * 1e9)
    from_server = [(at, packet) for at, direction, packet in record if direction != TO_SERVER]
    sent = {packet.seq: max(0, packet.length - overhead) for at, packet in data if at >= start}
    arrived = 0
    for at, packet in from_server:
        if not start <= at < end or packet.ack is None:
            continue
        for newest, count in acknowledged(packet):
            for back in range(count):
                arrived += sent.pop((newest - back) % CIRCLE, 0)
    return Measured(
        rate=arrived * 8 / seconds,
        server_gap_ms=longest_gap([at for at, _ in from_server], start, judged, last_ns),
        client_gap_ms=longest_gap([at for at, _ in data], start, judged, last_ns),
    )


def memory(runs):
    """Returns the median of the servers' memory, MB, or None."""
    values = [run.memory_mb for run in runs if run.memory_mb is not None]
    return median(values) if values else None


def middle(runs, name):
    """Returns the median of one figure over the runs that have it, or None."""
    values = [getattr(run.measured, name) for run in runs if run.measured]
    return median(values) if values else None
