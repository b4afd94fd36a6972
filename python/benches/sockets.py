"""What a datagram costs: fairwire.aio beside asyncio's UDP sockets, on the loopback, both ends in one process.

    python python/benches/sockets.py [DATAGRAMS] [ROUNDS]

Prints the datagrams that arrived per second, and the processor time of the whole process (both ends and the thread of
the sockets) for each. UDP has no congestion control: its sender waits for room in the kernel's buffer only, so it may
lose datagrams, and acknowledges none. The kinds take turns, so that a change of the machine's speed concerns all.

Then it prints the time of a round trip: one datagram to the other task and back, with nothing else to do.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable

from fairwire import CLEAR_TEXT, ClientSecurity, Dtls, Identity, ServerSecurity, aio

DATA = bytes(1_200)
IDENTITY = Identity.generate()

#: How many datagrams arrived, in how many seconds, with how many seconds of processor time.
Measured = tuple[int, float, float]


class Clock:
    """Wall and processor time from its making on."""

    def __init__(self) -> None:
        self.start, self.cpu = time.perf_counter(), time.process_time()

    def read(self, arrived: int) -> Measured:
        return arrived, time.perf_counter() - self.start, time.process_time() - self.cpu


async def dccp(datagrams: int, server: ServerSecurity, client: ClientSecurity) -> Measured:
    async with aio.listen("127.0.0.1:0", "SC:perf", security=server) as listener:
        connecting = asyncio.create_task(aio.connect(str(listener.address), "SC:perf", security=client))
        receiver = await listener.accept()
        sender = await connecting

        async def send() -> None:
            async with sender:
                for _ in range(datagrams):
                    await sender.send(DATA)

        clock = Clock()
        sending = asyncio.create_task(send())
        arrived = 0
        async for _ in receiver:
            arrived += 1
        await sending
        return clock.read(arrived)


async def udp(datagrams: int) -> Measured:
    """With a pause in which the receiver can catch up after each 32 datagrams, or nearly all would be lost."""
    arrived = 0

    class Receiver(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, addr: object) -> None:
            nonlocal arrived
            arrived += 1

    loop = asyncio.get_running_loop()
    receiving, _ = await loop.create_datagram_endpoint(Receiver, ("127.0.0.1", 0))
    to = receiving.get_extra_info("sockname")
    sending, _ = await loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=to)
    clock = Clock()
    for number in range(datagrams):
        sending.sendto(DATA)
        if number % 32 == 31:
            # asyncio reads one datagram in a turn of its loop.
            while arrived < number - 64:
                before = arrived
                await asyncio.sleep(0)
                if arrived == before:
                    break
    before = -1
    while arrived != before:
        before = arrived
        await asyncio.sleep(0)
    measured = clock.read(arrived)
    sending.close()
    receiving.close()
    return measured


async def dccp_round_trips(count: int, server: ServerSecurity, client: ClientSecurity) -> list[float]:
    async with aio.listen("127.0.0.1:0", "SC:perf", security=server) as listener:
        connecting = asyncio.create_task(aio.connect(str(listener.address), "SC:perf", security=client))
        there = await listener.accept()

        async def echo() -> None:
            async with there:
                async for datagram in there:
                    await there.send(datagram.data)

        echoing = asyncio.create_task(echo())
        times = []
        async with await connecting as here:
            for _ in range(count):
                start = time.perf_counter()
                await here.send(DATA)
                await here.recv()
                times.append(time.perf_counter() - start)
        await echoing
        return times


async def udp_round_trips(count: int) -> list[float]:
    returned: asyncio.Future[None]

    class Echo(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
            there.sendto(data, addr)

    class Client(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, addr: object) -> None:
            returned.set_result(None)

    loop = asyncio.get_running_loop()
    there, _ = await loop.create_datagram_endpoint(Echo, ("127.0.0.1", 0))
    to = there.get_extra_info("sockname")
    here, _ = await loop.create_datagram_endpoint(Client, remote_addr=to)
    times = []
    for _ in range(count):
        start = time.perf_counter()
        returned = loop.create_future()
        here.sendto(DATA)
        await returned
        times.append(time.perf_counter() - start)
    here.close()
    there.close()
    return times


async def main(datagrams: int, rounds: int) -> None:
    dtls = Dtls.server(IDENTITY), Dtls.pinned(IDENTITY.fingerprint)
    kinds: dict[str, Callable[[], Awaitable[Measured]]] = {
        "fairwire.aio, clear text": lambda: dccp(datagrams, CLEAR_TEXT, CLEAR_TEXT),
        "fairwire.aio, DTLS": lambda: dccp(datagrams, *dtls),
        "asyncio, UDP": lambda: udp(datagrams),
    }
    measured: dict[str, list[Measured]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, kind in kinds.items():
            measured[name].append(await kind())
    print(f"{datagrams:,} datagrams of {len(DATA):,} bytes, median of {rounds} rounds (lowest to highest)")
    print(f"{'':26}{'datagrams/s':>28}{'us each':>10}{'us of CPU each':>16}{'arrived':>10}")
    for name, rows in measured.items():
        rates = sorted(arrived / wall for arrived, wall, _ in rows)
        rate = statistics.median(rates)
        cpu = statistics.median(cpu / arrived for arrived, _, cpu in rows) * 1e6
        share = statistics.median(arrived for arrived, _, _ in rows) / datagrams
        spread = f"{rate:,.0f} ({rates[0]:,.0f} to {rates[-1]:,.0f})"
        print(f"{name:26}{spread:>28}{1e6 / rate:>10.1f}{cpu:>16.1f}{share:>10.1%}")
    count = max(datagrams // 50, 1)
    print(f"{count:,} round trips: median, and the time that 99 of 100 stay below, us")
    for name, times in (
        ("fairwire.aio, clear text", await dccp_round_trips(count, CLEAR_TEXT, CLEAR_TEXT)),
        ("fairwire.aio, DTLS", await dccp_round_trips(count, *dtls)),
        ("asyncio, UDP", await udp_round_trips(count)),
    ):
        times.sort()
        print(f"{name:26}{statistics.median(times) * 1e6:>10.0f}{times[len(times) * 99 // 100] * 1e6:>10.0f}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, int(sys.argv[2]) if len(sys.argv) > 2 else 5))
