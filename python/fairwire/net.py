"""DCCP sockets for threads: every call that would wait blocks the calling thread.

    from fairwire import Dtls, net

    with net.connect("example.org:7001", "SC:cam", security=Dtls.pinned(fingerprint)) as connection:
        connection.send(b"one frame")
        datagram = connection.recv(timeout=2.0)

A call that waits does not hold the interpreter, and Ctrl-C ends it within 50 ms. Calls may be made from any thread.
With `timeout`, in seconds, a call raises TimeoutError when that time has passed; nothing was sent or received then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairwire._arguments import seconds
from fairwire._fairwire import Datagram
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
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from fairwire._sockets import Address, ClientSecurity, Config, Data, ServerSecurity, Service

__all__ = ["Connection", "Listener", "connect", "listen"]


class Connection(BaseConnection):
    """A connection, as that of fairwire.aio. Several threads may use it at once.

    `with` closes it, or resets it if an exception ends the block. `for` gives the datagrams until the connection is
    closed, and raises ConnectionClosed if its end is not orderly.
    """

    __slots__ = ()

    def send(
        self,
        data: Data,
        *,
        deadline: float | None = None,
        priority: int = 0,
        group: int | None = None,
        resend: float | None = None,
        timeout: float | None = None,
    ) -> int:
        """Queues a datagram, waiting while the send queue is full. Returns its id, for `fate`.

        The options are those of `fairwire.aio.Connection.send`. Raises DatagramTooLarge, SendError, ConnectionClosed
        and TimeoutError.
        """
        # Whether it is used or not.
        seconds("timeout", timeout)
        id = self._native.try_send(data, deadline, priority, group, resend)
        if id is None:
            id = self._native.send(data, deadline, priority, group, resend).wait(timeout)
        return id

    def send_message(
        self,
        data: Data,
        *,
        deadline: float | None = None,
        priority: int = 0,
        group: int | None = None,
        resend: float | None = None,
        timeout: float | None = None,
    ) -> list[int]:
        """Queues a message, as `fairwire.aio.Connection.send_message` does. Raises TimeoutError, too."""
        # Whether it is used or not.
        seconds("timeout", timeout)
        ids: list[int] = self._native.send_message(data, deadline, priority, group, resend).wait(timeout)
        return ids

    def recv(self, *, timeout: float | None = None) -> Datagram:
        """Waits for the next datagram. Raises ConnectionClosed after the last one, and TimeoutError."""
        received: list[Datagram] = self._native.recv(1).wait(timeout)
        return received[0]

    def fate(self, *, timeout: float | None = None) -> DatagramFate:
        """Waits for the next datagram whose fate is known.

        At most the newest 65,536 are kept. Raises RuntimeError if the connection was made without the setting
        `report_fates`, and ConnectionClosed after the last one, and TimeoutError.
        """
        fates: list[tuple[int, str, int | None]] = self._native.fates(1).wait(timeout)
        return datagram_fate(fates[0])

    def fates(self) -> Iterator[DatagramFate]:
        """Gives the fates until the connection is closed."""
        while True:
            try:
                fate = self.fate()
            except ConnectionClosed as closed:
                if closed.orderly:
                    return
                raise
            yield fate

    def event(self, *, timeout: float | None = None) -> Event:
        """Waits for the next event; the newest 64 are kept. Raises ConnectionClosed after the last one, and
        TimeoutError.
        """
        return Event(*self._native.event().wait(timeout))

    def rate_changed(self, *, timeout: float | None = None) -> TargetBitrate:
        """Waits until the target bitrate is 5 % lower or 10 % higher, or something else limits it. Raises
        ConnectionClosed and TimeoutError.
        """
        return TargetBitrate(*self._native.rate_changed().wait(timeout))

    def close(self, code: int | None = None, text: str = "", *, timeout: float | None = None) -> None:
        """Sends what is queued, closes the connection, and waits until it is closed.

        That takes at most the settings `drain_timeout` and `close_timeout`. After TimeoutError the close goes on. With
        a code (0 to 2^32 - 1) the peer's ConnectionClosed has the code and the text; with DTLS they are authentic.
        Raises ConnectionClosed if the end is not orderly.
        """
        self._native.close(None if code is None else (code, text)).wait(timeout)

    def wait_closed(self, *, timeout: float | None = None) -> str:
        """Waits until the connection is over. Returns the reason, as ConnectionClosed has it. Raises TimeoutError."""
        reason: str = self._native.closed().wait(timeout)
        return reason

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self.abort()

    def __iter__(self) -> Connection:
        return self

    def __next__(self) -> Datagram:
        try:
            return self.recv()
        except ConnectionClosed as closed:
            if closed.orderly:
                raise StopIteration from None
            raise


class Listener(BaseListener):
    """A port that accepts connections. `with` closes it; `for` gives the connections until then."""

    __slots__ = ()

    def accept(self, *, timeout: float | None = None) -> Connection:
        """Waits for the next connection; with DTLS, for the next whose handshake is complete. Raises ListenerClosed and
        TimeoutError.

        DTLS handshakes begin only while somebody waits here, and then go on side by side. So a server serves its
        clients in other threads.
        """
        return Connection(self._native.accept().wait(timeout))

    def __enter__(self) -> Listener:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Listener:
        return self

    def __next__(self) -> Connection:
        try:
            return self.accept()
        except ListenerClosed:
            raise StopIteration from None


def connect(
    address: str | Address,
    service: Service,
    *,
    security: ClientSecurity,
    config: Config | None = None,
    own_endpoint: bool = False,
    timeout: float | None = None,
) -> Connection:
    """Connects to a service at "host:port".

    The arguments and the other exceptions are those of `fairwire.aio.connect`. Raises TimeoutError after `timeout`
    seconds.
    """
    return Connection(begin_connect(address, service, security, config, own_endpoint).wait(timeout))


def listen(
    address: str | Address,
    services: Service | Iterable[Service],
    *,
    security: ServerSecurity,
    config: Config | None = None,
    backlog: int | None = None,
) -> Listener:
    """Listens at an IP address of this host and a UDP port. The arguments are those of `fairwire.aio.listen`."""
    return Listener(begin_listen(address, services, security, config, backlog))
