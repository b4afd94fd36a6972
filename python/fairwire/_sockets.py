"""What the sockets of fairwire.aio and fairwire.net have in common: types, settings, and what does not wait."""

from __future__ import annotations

import enum
import os
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Union

from fairwire import _fairwire
from fairwire._arguments import maybe_text, number, several, text
from fairwire._config import Keys
from fairwire._fairwire import ClientDtls, ServerDtls
from fairwire.errors import CredentialError

if TYPE_CHECKING:
    from typing import TypeAlias

    Data: TypeAlias = Union[bytes, bytearray, memoryview]


class ClearText(enum.Enum):
    """The type of CLEAR_TEXT."""

    CLEAR_TEXT = "clear text"

    def __repr__(self) -> str:
        return "fairwire.CLEAR_TEXT"


#: No protection: anyone on the path can read and forge datagrams. There is no default, and nothing falls back to it.
CLEAR_TEXT: Final = ClearText.CLEAR_TEXT

ClientSecurity = Union[ClientDtls, ClearText]
ServerSecurity = Union[ServerDtls, ClearText]
Service = Union[str, int]


class Identity:
    """A certificate with its private key: ECDSA on P-256 or P-384.

    `fairwire keygen` makes the two files; so does `generate`.
    """

    __slots__ = ("_native",)

    def __init__(self, certificate: str, key: str) -> None:
        """Reads both as PEM. Raises CredentialError; the message says what is wrong."""
        for name, value in (("certificate", certificate), ("key", key)):
            if not isinstance(value, str):
                # A key is in no message.
                raise TypeError(f"{name} is a str in PEM, and not of type {type(value).__name__}")
        self._native = _fairwire.Identity(certificate, key)

    @classmethod
    def load(cls, certificate: str | PathLike[str], key: str | PathLike[str]) -> Identity:
        """Reads two files in PEM, which may be the same.

        Raises OSError, and CredentialError also if others may read the file of the key, as the command does.
        """
        for name, path in (("certificate", certificate), ("key", key)):
            if not isinstance(path, (str, PathLike)):
                raise TypeError(f"{name} is the path of a file, and not {path!r}")
        with open(key, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode & 0o777
            if os.name == "posix" and mode & 0o077:
                raise CredentialError(
                    f"others may read the private key {os.fspath(key)} (mode {mode:03o}): make a new one if they might "
                    f"have, else run 'chmod 600 {os.fspath(key)}'"
                )
            read = {certificate: Path(certificate).read_bytes(), key: file.read()}
        texts = {}
        for path, content in read.items():
            try:
                texts[path] = content.decode()
            except UnicodeDecodeError:
                how = "openssl x509 -inform der" if path == certificate else "openssl pkey -inform der"
                raise CredentialError(f"{os.fspath(path)} is not in PEM: '{how}' converts it if it is in DER") from None
        try:
            return cls(texts[certificate], texts[key])
        except CredentialError as error:
            raise CredentialError(f"{os.fspath(certificate)} with {os.fspath(key)}: {error}") from None

    @classmethod
    def generate(cls, names: str | Iterable[str] = (), *, days: int = 365) -> Identity:
        """Makes a key and a certificate for these host names and IP addresses, or for one.

        It is valid from six hours before now. Peers accept it by its fingerprint.
        Raises CredentialError for a name that is none.
        """
        names = several("names", names, "host names and IP addresses")
        days = number("days", days, 0, 2**32 - 1)
        made = _fairwire.Identity.generate(names, int(time.time()) - 6 * 3_600, days)
        return cls(made.certificate(), made.key())

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the certificate: SHA-256, as 32 hexadecimal bytes with colons."""
        return self._native.fingerprint

    def certificate(self) -> str:
        """Returns the certificate in PEM."""
        return self._native.certificate()

    def key(self) -> str:
        """Returns the private key in PEM. Keep it secret."""
        return self._native.key()

    def __repr__(self) -> str:
        return f"<fairwire.Identity {self.fingerprint}>"


class Dtls:
    """DTLS 1.3 for connections: how each side shows who it is, and whom it accepts.

    It protects the data, not DCCP's own headers: see docs/security.md.
    """

    @staticmethod
    def pinned(*fingerprints: str, identity: Identity | None = None) -> ClientDtls:
        """For clients that accept a server by the fingerprint of its certificate, whatever its names and dates.

        identity: what to show to servers that ask for a certificate.
        Raises CredentialError.
        """
        if not fingerprints:
            raise TypeError("Dtls.pinned takes the fingerprint of the server's certificate (see 'fairwire keygen')")
        return ClientDtls.pinned(several("fingerprints", fingerprints, "fingerprints"), _maybe_native(identity))

    @staticmethod
    def verified(authorities: str, name: str, *, identity: Identity | None = None) -> ClientDtls:
        """For clients that accept a server if an authority has signed its certificate, for the host `name`.

        authorities: certificates in PEM. The system's are in the file `ssl.get_default_verify_paths().cafile`.
        identity: what to show to servers that ask for a certificate.
        Raises CredentialError.
        """
        text("authorities", authorities, "certificates in PEM")
        return ClientDtls.verified(authorities, text("name", name, "that of a host"), _maybe_native(identity))

    @staticmethod
    def server(
        identity: Identity,
        *,
        client_fingerprints: Iterable[str] | None = None,
        client_authorities: str | None = None,
    ) -> ServerDtls:
        """For servers.

        client_fingerprints, client_authorities: clients must show a certificate with one of these fingerprints, or one
        that one of these authorities (PEM) has signed. By default every client is accepted.
        Raises CredentialError.
        """
        pinned = client_fingerprints
        fingerprints = None if pinned is None else several("client_fingerprints", pinned, "fingerprints")
        authorities = maybe_text("client_authorities", client_authorities, "certificates in PEM")
        return ServerDtls(_native(identity), fingerprints, authorities)


def _native(identity: Identity) -> _fairwire.Identity:
    if not isinstance(identity, Identity):
        raise TypeError(f"identity is a fairwire.Identity, and not {identity!r}")
    return identity._native


def _maybe_native(identity: Identity | None) -> _fairwire.Identity | None:
    return None if identity is None else _native(identity)


class Config(Keys, total=False):
    """The settings of a connection, which `fairwire perf --list-settings` describes, and short names of some.

    Those that are left out are those of the profile. Times are in seconds; a text with a unit, such as "200 ms", will do.
    None stands for `none`.
    """

    #: The kind of traffic: "interactive" unless stated (docs/which-control.md).
    profile: Literal["rfc", "interactive", "live", "bulk"]
    #: Short for "ccid2.law".
    law: str
    #: Short for "send_queue.policy". "back-pressure" is "refuse": `send` waits.
    queue_policy: Literal["back-pressure", "refuse", "drop-oldest"]
    #: Short for "send_queue.packets".
    queue_packets: int
    #: Short for "send_queue.bytes".
    queue_bytes: int
    #: Short for "send_queue.age".
    queue_age: float | None


class Fate(str, enum.Enum):
    """What became of a datagram."""

    #: Not sent: it waited in the send queue until after its deadline or the setting `queue_age`.
    EXPIRED = "expired"
    #: Not sent: pushed out of the send queue, purged, or the connection ended first.
    REFUSED = "refused"
    #: Not sent: another datagram of its group was dropped or lost.
    GROUP_BROKEN = "group-broken"
    #: Not sent: the path takes only smaller datagrams by now.
    TOO_LARGE = "too-large"
    #: Sent, and nothing more will be known: CCID 3 and 4 acknowledge no single datagrams, or the connection ended.
    SENT = "sent"
    #: It arrived at the peer's host.
    ACKNOWLEDGED = "acknowledged"
    #: It arrived with a congestion mark.
    MARKED = "marked"
    #: The peer reported it missing, or was not heard again.
    LOST = "lost"
    #: It arrived, but the peer's application did not get it as usual. `drop_code` says why.
    DROPPED = "dropped"


class DatagramFate(NamedTuple):
    """The fate of one datagram."""

    #: What `send` returned.
    id: int
    fate: Fate
    #: Why the peer dropped it (RFC 4340, section 11.7), with Fate.DROPPED: 0 not allowed there, 1 nobody reads, 2 the
    #: receive queue was full, 3 corrupt, 7 delivered corrupt.
    drop_code: int | None


class Event(NamedTuple):
    """A change of a connection.

    name: "max-datagram-size" (value: bytes), "send-ccid" or "receive-ccid" (value: the CCID), "slow-receiver" (the peer
    can hardly keep up), "not-listening" (the peer stopped reading, for good), or "path-changed" (the peer has another
    address now, and the connection has followed it: see `Connection.remote`).
    """

    name: str
    value: int | None


class TargetBitrate(NamedTuple):
    """The rate that an encoder can follow."""

    bits_per_s: int
    #: What limits it: "application" (it sends less than it may), "network", or "peer".
    limit: str


class Address(NamedTuple):
    """The address of one end."""

    host: str
    #: The UDP port.
    port: int
    #: The DCCP port, which most often is the same number.
    dccp_port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True)
class Stats:
    """Counters and gauges of a connection. With DTLS they count its records, and its own datagrams too."""

    #: Packets of all types.
    packets_sent: int
    packets_received: int
    #: Packets with data.
    data_sent: int
    data_received: int
    #: Bytes of data.
    bytes_sent: int
    bytes_received: int
    #: Our datagrams by what the peer reported. 0 under CCID 3 and 4.
    acknowledged: int
    lost: int
    marked: int
    #: Datagrams that did not leave the send queue: too late; pushed out or purged; with a broken group.
    expired: int
    refused: int
    group_broken: int
    #: Copies sent after losses, and datagrams that a copy delivered.
    resent: int
    recovered: int
    #: Received: duplicates of the network, congestion marks, and drops because the application did not read.
    duplicates: int
    marks_received: int
    receive_drops: int
    #: Packets that did not belong to the connection, and packets with a wrong checksum.
    discarded: int
    checksum_errors: int
    #: The send queue now.
    queued_packets: int
    queued_bytes: int
    #: Packets in flight now.
    flight_packets: int
    #: The largest IP packet that the path takes, as far as is known.
    path_mtu_bytes: int
    #: How often the window or the rate was cut, and timeouts.
    cuts: int
    timeouts: int
    #: The smoothed round-trip time.
    rtt_s: float | None
    #: The congestion window (CCID 2), or the allowed rate (CCID 3 and 4).
    cwnd_packets: float | None
    rate_bytes_per_s: float | None
    #: The loss event rate of our data, and of the peer's, 0.0 to 1.0 (CCID 3).
    loss_event_rate: float | None
    loss_event_rate_seen: float | None
    #: What `allowed_rate` returns.
    allowed_bits_per_s: int | None
    #: The CCIDs in use.
    send_ccid: int | None
    receive_ccid: int | None


def client_security(security: ClientSecurity) -> ClientDtls | None:
    """Returns what the native module takes: None means clear text, so it is never a default."""
    if isinstance(security, ClientDtls):
        return security
    if security is CLEAR_TEXT:
        return None
    raise TypeError(f"security is Dtls.pinned(...), Dtls.verified(...) or fairwire.CLEAR_TEXT, and not {security!r}")


def server_security(security: ServerSecurity) -> ServerDtls | None:
    """Like `client_security`."""
    if isinstance(security, ServerDtls):
        return security
    if security is CLEAR_TEXT:
        return None
    raise TypeError(f"security is Dtls.server(...) or fairwire.CLEAR_TEXT, and not {security!r}")


def settings(config: Config | None) -> dict[str, Any] | None:
    """Returns the settings as the native module takes them."""
    if config is None:
        return None
    if not isinstance(config, Mapping):
        raise TypeError(f"config is a dict of settings, and not {config!r}")
    return dict(config)


def services(of: Service | Iterable[Service]) -> list[Service]:
    """Returns one service, or several, as a list."""
    # What is neither is refused as a service.
    return list(of) if isinstance(of, Iterable) and not isinstance(of, (str, bytes)) else [of]  # type: ignore[list-item]


def datagram_fate(native: tuple[int, str, int | None]) -> DatagramFate:
    """Names a fate."""
    id, name, drop_code = native
    return DatagramFate(id, Fate(name), drop_code)


class BaseConnection:
    """What does not wait."""

    __slots__ = ("_native",)

    def __init__(self, native: _fairwire.Connection) -> None:
        self._native = native

    def try_send(
        self,
        data: Data,
        *,
        deadline: float | None = None,
        priority: int = 0,
        group: int | None = None,
        resend: float | None = None,
    ) -> int | None:
        """Queues a datagram if there is room now: returns its id, or None if the send queue is full. See `send`."""
        return self._native.try_send(data, deadline, priority, group, resend)

    def abort(self, reason: str | None = None) -> None:
        """Resets the connection at once. `reason` is for a person to read at the peer, up to 256 bytes."""
        self._native.abort(maybe_text("reason", reason, "a text for a person"))

    def purge(self) -> int:
        """Drops every datagram in the send queue. Returns how many there were."""
        return self._native.purge()

    def stop_reading(self) -> None:
        """Stops reading, for good, and tells the peer. Sending goes on.

        What has arrived is discarded. `recv` then waits for the end of the connection.
        """
        self._native.stop_reading()

    def stats(self) -> Stats:
        """Returns counters and gauges."""
        return Stats(**self._native.stats())

    def allowed_rate(self) -> int | None:
        """Returns the estimated rate at which data may be sent now, bits per second.

        It jumps with each report: an encoder follows `target_bitrate`. None until a round-trip time is known.
        """
        return self._native.allowed_rate()

    def target_bitrate(self) -> TargetBitrate | None:
        """Returns the rate that data can keep up (docs/rates.md). None until a round-trip time is known."""
        target = self._native.target_bitrate()
        return None if target is None else TargetBitrate(*target)

    def set_max_rate(self, rate: float | None) -> None:
        """Sets the most data that leaves from now on, bits per second without headers; None for no cap.

        `Config.max_rate` does so from the start. What waits meanwhile fills the send queue.

        Raises:
            ValueError: if the rate is not above 0.
        """
        if rate is not None and not rate > 0:
            raise ValueError(f"a rate is above 0 bit/s, or None, and this is {rate}")
        self._native.set_max_rate(None if rate is None else max(1, round(min(rate, 2**63))))

    def queue_age(self) -> float:
        """Returns how long the oldest datagram has waited in the send queue, seconds; 0 if it is empty."""
        return self._native.queue_age()

    def waits_for(self) -> str:
        """Returns what the next datagram waits for: "nothing", "window", "pacing" or "peer"."""
        return self._native.waits_for()

    @property
    def max_datagram_size(self) -> int:
        """The size of the largest datagram that can be sent now, bytes."""
        return self._native.max_datagram_size()

    @property
    def service(self) -> str:
        """The service of the connection, such as "SC:cam"."""
        return self._native.service()

    @property
    def local_address(self) -> Address | None:
        """The own address, as the peer sees it unless a NAT is in between."""
        address = self._native.local()
        return None if address is None else Address(*address)

    @property
    def peer_address(self) -> Address | None:
        """The peer's address."""
        address = self._native.remote()
        return None if address is None else Address(*address)

    @property
    def is_encrypted(self) -> bool:
        """Whether datagrams are encrypted."""
        return self._native.is_encrypted()

    @property
    def peer_fingerprint(self) -> str | None:
        """The fingerprint of the certificate that the peer showed, if it did."""
        return self._native.peer_fingerprint()

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.Connection with {self.peer_address}>"


class BaseListener:
    """What does not wait."""

    __slots__ = ("_native",)

    def __init__(self, native: _fairwire.Listener) -> None:
        self._native = native

    @property
    def address(self) -> Address:
        """The address that clients connect to."""
        return Address(*self._native.local())

    @property
    def failed_handshakes(self) -> int:
        """How many clients failed to set up DTLS."""
        return self._native.failed_handshakes()

    def close(self) -> None:
        """Stops listening, and resets connections that nobody has accepted. Accepted ones go on."""
        self._native.close()

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.Listener at {self.address}>"


def begin_connect(
    address: str | Address, service: Service, security: ClientSecurity, config: Config | None, own_endpoint: bool
) -> _fairwire.Operation:
    """Begins to connect."""
    return _fairwire.connect(_text(address), service, client_security(security), settings(config), bool(own_endpoint))


def _text(address: str | Address) -> str:
    return str(address) if isinstance(address, Address) else text("address", address, 'as "host:port"')


def begin_listen(
    address: str | Address,
    of: Service | Iterable[Service],
    security: ServerSecurity,
    config: Config | None,
    backlog: int | None,
) -> _fairwire.Listener:
    """Listens."""
    if backlog is not None:
        backlog = number("backlog", backlog, 1, sys.maxsize)
    return _fairwire.listen(_text(address), services(of), server_security(security), settings(config), backlog)

