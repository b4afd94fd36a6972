"""The exceptions of Fairwire. All are of the class FairwireError, except Interrupted, which is a KeyboardInterrupt.

Those of the sockets also belong to the class that Python has for the case, such as ConnectionError. A wait that takes
longer than `timeout` raises Python's TimeoutError.
"""

from __future__ import annotations

from fairwire._fairwire import (
    FairwireError,
    InternalError,
    LawError,
    PaperError,
    RunError,
    ScenarioError,
    StoreError,
    WorkerError,
)
from fairwire._run import Interrupted

__all__ = [
    "BindError",
    "ConfigError",
    "ConnectError",
    "ConnectRefused",
    "ConnectTimeout",
    "ConnectionClosed",
    "CredentialError",
    "DatagramTooLarge",
    "DtlsError",
    "FairwireError",
    "ForkedError",
    "InternalError",
    "Interrupted",
    "LawError",
    "ListenerClosed",
    "PaperError",
    "RunError",
    "ScenarioError",
    "SendError",
    "StoreError",
    "WorkerError",
]


class BindError(FairwireError, OSError):
    """A port could not be bound or listened on. The message says what to do."""


class ConfigError(FairwireError, ValueError):
    """A setting has an unknown name or a wrong value. The message names it and says what it takes."""


class CredentialError(FairwireError, ValueError):
    """A certificate, a key, a fingerprint or the name of a host cannot be used."""


class ConnectError(FairwireError, ConnectionError):
    """A connection could not be made. The message says why and what to do."""


class ConnectRefused(ConnectError, ConnectionRefusedError):
    """Nobody listens there, the port offers another service, or the server is busy."""


class ConnectTimeout(ConnectError, TimeoutError):
    """Nobody answered within the setting `connect_timeout`."""


class DtlsError(ConnectError):
    """DTLS could not be set up. Nothing was sent in clear text.

    fingerprint: that of the peer's certificate, if this is what was not accepted.
    refusal: why the peer's DTLS refused this end, if it said so: "not-dtls", "no-certificate" or "certificate".
    peer_text: what the peer said in its Reset. It is not authenticated.
    """

    def __init__(
        self,
        message: str,
        fingerprint: str | None = None,
        refusal: str | None = None,
        peer_text: str | None = None,
    ) -> None:
        super().__init__(message)
        self.fingerprint = fingerprint
        self.refusal = refusal
        self.peer_text = peer_text


class ConnectionClosed(FairwireError, ConnectionError):
    """The connection is over, and everything that had arrived was read.

    orderly: whether it was closed, by either side. If not, the last datagrams may be missing.
    reason: "closed", "reset", "peer-error", "unreachable", "idle-timeout", "close-timeout", "aborted", "dtls" (its
        encryption failed) or another word.
    peer_text: what the peer said in its Reset, which is not authenticated, or as it closed.
    refusal: why the peer's DTLS refused this end, if it said so: "not-dtls", "no-certificate" or "certificate".
    code: the code with which the peer closed, if it gave one. With DTLS it is authentic, and so is its text.
    authenticated: whether the peer announced the end within DTLS, so that nobody on the path can have forged it.
    """

    def __init__(
        self,
        message: str,
        orderly: bool = False,
        reason: str = "other",
        peer_text: str | None = None,
        refusal: str | None = None,
        authenticated: bool = False,
        code: int | None = None,
    ) -> None:
        super().__init__(message)
        self.orderly = orderly
        self.reason = reason
        self.peer_text = peer_text
        self.refusal = refusal
        self.authenticated = authenticated
        self.code = code


class ListenerClosed(FairwireError, ConnectionError):
    """The listener is closed."""


class SendError(FairwireError):
    """A datagram was not queued.

    reason: "too-large", "deadline-passed", "group-broken", "closing", "not-listening" (the peer stopped reading, for
    good), "messages-not-agreed" (both ends need the setting `messages`), "resend-not-agreed" (the same for `resend`) or
    "resend-without-losses" (it needs CCID 2).
    """

    def __init__(self, message: str, reason: str = "other") -> None:
        super().__init__(message)
        self.reason = reason


class DatagramTooLarge(SendError, ValueError):
    """A datagram is larger than `max_datagram_size`.

    size, max: its size, and the largest that fits, bytes.
    """

    def __init__(self, message: str, size: int = 0, max: int = 0) -> None:
        super().__init__(message, "too-large")
        self.size = size
        self.max = max


class ForkedError(FairwireError, RuntimeError):
    """This process is a fork of one that had sockets of Fairwire. It cannot use them, and can make no others."""
