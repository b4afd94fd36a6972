"""DCCP sockets for asyncio.

    from fairwire import Dtls, aio

    connection = await aio.connect("example.org:7001", "SC:cam", security=Dtls.pinned(fingerprint))
    async with connection:
        await connection.send(b"one frame")
        datagram = await connection.recv()

Connections and listeners belong to the event loop in which they are used first. Cancelling a call that waits loses no
datagram, no connection and no fate. A task that never has to wait lets other tasks run once in 64 datagrams.

The event loop has to watch file descriptors (`loop.add_reader`), as asyncio's loops on Unix and uvloop do.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from fairwire._fairwire import Datagram, Operation, Wakeups
from fairwire._sockets import (
    BaseConnection,
    BaseListener,
    DatagramFate,
    Event,
    TargetBitrate,
    begin_connect,
    begin_listen,
    datagram_fate,
)
from fairwire.errors import ConnectionClosed, ListenerClosed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from types import TracebackType

    from fairwire import _fairwire
    from fairwire._sockets import Address, ClientSecurity, Config, Data, ServerSecurity, Service

__all__ = ["Connection", "Listener", "connect", "listen"]

T = TypeVar("T")

#: How many datagrams are taken at one time, and how often a task that need not wait lets others run.
BATCH = 64


class _Port:
    """The operations of one event loop that wait, by their tokens."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.wakeups = Wakeups()
        self.waiting: dict[int, asyncio.Future[None]] = {}
        try:
            loop.add_reader(self.wakeups.fileno(), self._wake)
        except NotImplementedError:
            raise RuntimeError(
                f"{type(loop).__name__} cannot watch file descriptors: use asyncio.SelectorEventLoop"
            ) from None

    def _wake(self) -> None:
        for token in self.wakeups.take():
            future = self.waiting.pop(token, None)
            if future is not None and not future.done():
                future.set_result(None)


_ports: WeakKeyDictionary[asyncio.AbstractEventLoop, _Port] = WeakKeyDictionary()
_ports_lock = threading.Lock()


def _port(loop: asyncio.AbstractEventLoop) -> _Port:
    with _ports_lock:
        port = _ports.get(loop)
        if port is None:
            port = _ports[loop] = _Port(loop)
        return port


async def _ready(operation: Operation) -> bool:
    """Waits until an operation is done. Returns whether that took a wait.

    An operation takes what it gives in the step in which this returns, so cancelling loses nothing.
    """
    loop = asyncio.get_running_loop()
    port = _port(loop)
    waited = False
    while token := operation.poll(port.wakeups):
        waited = True
        future = port.waiting[token] = loop.create_future()
        try:
            await future
        except BaseException:
            port.waiting.pop(token, None)
            operation.cancel()
            raise
    return waited


async def _done(operation: Operation) -> Any:
    """Waits for an operation, and returns what it gives."""
    await _ready(operation)
    return operation.result()


class _Inbox(Generic[T]):
    """What has arrived and was not read."""

    __slots__ = ("_fetch", "_items", "_lock")

    def __init__(self, fetch: Callable[[int], Operation]) -> None:
        self._fetch = fetch
        self._items: deque[T] = deque()
        # One task waits for more; the others look first whether it has brought enough for them.
        self._lock = asyncio.Lock()

    async def next(self) -> T:
        items = self._items
        if not items:
            async with self._lock:
                while not items:
                    operation = self._fetch(BATCH)
                    waited = await _ready(operation)
                    items.extend(operation.result())
                    if not waited:
                        await asyncio.sleep(0)
        return items.popleft()


class Connection(BaseConnection):
    """A connection. Close it: one that is dropped is reset, and the peer then knows that data may be missing.

    `async with` closes it, or resets it if an exception ends the block. `async for` gives the datagrams until the
    connection is closed, and raises ConnectionClosed if its end is not orderly.
    """

    __slots__ = ("_datagrams", "_fates", "_turn")

    def __init__(self, native: _fairwire.Connection) -> None:
        super().__init__(native)
        self._datagrams: _Inbox[Datagram] = _Inbox(native.recv)
        self._fates: _Inbox[tuple[int, str, int | None]] = _Inbox(native.fates)
        self._turn = 0

    async def send(
        self,
        data: Data,
        *,
        deadline: float | None = None,
        priority: int = 0,
        group: int | None = None,
        resend: float | None = None,
    ) -> int:
        """Queues a datagram, waiting while the send queue is full. Returns its id, for `fate`.

        deadline: seconds from now after which it does not leave any more.
        priority: -128 to 127; higher ones leave first.
        group: a number for datagrams that are of use only together. When one is dropped or lost, the others are, too.
        resend: for how many seconds it is sent again if it is lost (the setting `resend`, at both ends).

        If the task is cancelled, nothing is sent. Raises DatagramTooLarge, SendError and ConnectionClosed.
        """
        self._turn += 1
        if self._turn >= BATCH:
            self._turn = 0
            await asyncio.sleep(0)
        id = self._native.try_send(data, deadline, priority, group, resend)
        if id is None:
            self._turn = 0
            id = await _done(self._native.send(data, deadline, priority, group, resend))
        return id

    async def send_message(
        self,
        data: Data,
        *,
        deadline: float | None = None,
        priority: int = 0,
        group: int | None = None,
        resend: float | None = None,
    ) -> list[int]:
        """Queues a message of up to 64 KiB, which arrives whole or not at all. Returns the ids of its datagrams.

        Both ends need the setting `messages`, unless it fits into one datagram. The options are those of `send`, for
        each part, so the deadline is that of the whole. The peer gets it from one `recv`.
        """
        ids: list[int] = await _done(self._native.send_message(data, deadline, priority, group, resend))
        return ids

    async def recv(self) -> Datagram:
        """Waits for the next datagram. Raises ConnectionClosed after the last one."""
        return await self._datagrams.next()

    async def fate(self) -> DatagramFate:
        """Waits for the next datagram whose fate is known.

        At most the newest 65,536 are kept. Raises RuntimeError if the connection was made without the setting
        `report_fates`, and ConnectionClosed after the last one.
        """
        return datagram_fate(await self._fates.next())

    async def fates(self) -> AsyncIterator[DatagramFate]:
        """Gives the fates until the connection is closed."""
        while True:
            try:
                fate = await self.fate()
            except ConnectionClosed as closed:
                if closed.orderly:
                    return
                raise
            yield fate

    async def event(self) -> Event:
        """Waits for the next event; the newest 64 are kept. Raises ConnectionClosed after the last one."""
        return Event(*await _done(self._native.event()))

    async def rate_changed(self) -> TargetBitrate:
        """Waits until the target bitrate is 5 % lower or 10 % higher, or something else limits it. Raises
        ConnectionClosed.
        """
        return TargetBitrate(*await _done(self._native.rate_changed()))

    async def close(self, code: int | None = None, text: str = "") -> None:
        """Sends what is queued, closes the connection, and waits until it is closed.

        That takes at most the settings `drain_timeout` and `close_timeout`. Cancelling stops only the wait. With a code
        (0 to 2^32 - 1) the peer's ConnectionClosed has the code and the text; with DTLS they are authentic. Raises
        ConnectionClosed if the end is not orderly.
        """
        await _done(self._native.close(None if code is None else (code, text)))

    async def wait_closed(self) -> str:
        """Waits until the connection is over. Returns the reason, as ConnectionClosed has it."""
        reason: str = await _done(self._native.closed())
        return reason

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.close()
        else:
            self.abort()

    def __aiter__(self) -> Connection:
        return self

    async def __anext__(self) -> Datagram:
        try:
            return await self._datagrams.next()
        except ConnectionClosed as closed:
            if closed.orderly:
                raise StopAsyncIteration from None
            raise


class Listener(BaseListener):
    """A port that accepts connections. `async with` closes it; `async for` gives the connections until then."""

    __slots__ = ()

    async def accept(self) -> Connection:
        """Waits for the next connection; with DTLS, for the next whose handshake is complete. Raises ListenerClosed.

        DTLS handshakes begin only while somebody waits here, and then go on side by side.
        """
        return Connection(await _done(self._native.accept()))

    async def __aenter__(self) -> Listener:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __aiter__(self) -> Listener:
        return self

    async def __anext__(self) -> Connection:
        try:
            return await self.accept()
        except ListenerClosed:
            raise StopAsyncIteration from None


async def connect(
    address: str | Address,
    service: Service,
    *,
    security: ClientSecurity,
    config: Config | None = None,
    own_endpoint: bool = False,
) -> Connection:
    """Connects to a service at "host:port". Cancelling ends the attempt.

    If the name has several addresses, the first that answers is used.
    service: "SC:" and up to four characters, such as "SC:cam", or a number.
    security: Dtls.pinned(...), Dtls.verified(...), or fairwire.CLEAR_TEXT.
    config: the settings; see fairwire.Config.
    own_endpoint: whether it has a UDP port and a lock of its own, which is faster with much traffic. Other connections
        of the process share them.

    Raises ConnectError or one of its classes (ConnectRefused, ConnectTimeout, DtlsError), and ConfigError.
    """
    return Connection(await _done(begin_connect(address, service, security, config, own_endpoint)))


def listen(
    address: str | Address,
    services: Service | Iterable[Service],
    *,
    security: ServerSecurity,
    config: Config | None = None,
    backlog: int | None = None,
) -> Listener:
    """Listens at an IP address of this host and a UDP port, such as "0.0.0.0:7001". Does not wait.

    Port 0 takes a free one, which `Listener.address` has. "[::]:7001" is for IPv4 and IPv6.
    services: one service or several; clients that ask for another are refused.
    security: Dtls.server(...), or fairwire.CLEAR_TEXT.
    config: the settings of each accepted connection.
    backlog: how many connections may be open and not accepted; 1,024 by default.

    Raises BindError and ConfigError.
    """
    return Listener(begin_listen(address, services, security, config, backlog))
