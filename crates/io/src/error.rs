//! Errors, one enum per operation. Each message says what to do.

mod connect;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::tls::{SessionError, StartError};
use fairwire_proto::{self as proto, CloseReason, ListenError};
use fairwire_wire::{Ccid, ResetCode};

pub use crate::tls::DtlsRefusal;
pub use connect::{AddressKind, ConnectError};

/// Why an endpoint could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Another socket already uses this UDP port.
    #[error("UDP port {} is in use: choose another, or stop the program that has it", .addr.port())]
    PortInUse {
        /// The requested address.
        addr: SocketAddr,
    },
    /// The address is not an address of this host.
    #[error("{} is not an address of this host", .addr.ip())]
    NoSuchAddress {
        /// The requested address.
        addr: SocketAddr,
    },
    /// The address is an IPv6 link-local address without an interface.
    #[error(
        "{} is a link-local address, which every interface has: add the interface, as in {}%eth0",
        .addr.ip(),
        .addr.ip()
    )]
    NoInterface {
        /// The requested address.
        addr: SocketAddr,
    },
    /// The system refused the socket.
    #[error("{}", no_socket(*.addr, .source))]
    Socket {
        /// The requested address.
        addr: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The system refused a call on a socket of the program's own
    /// ([`EndpointBuilder::from_std`](crate::EndpointBuilder::from_std)).
    #[error("cannot use this socket: {source}")]
    OwnSocket {
        /// The system's error.
        source: io::Error,
    },
    /// A socket of the program's own has no port.
    #[error("this socket has no port: bind it first")]
    NotBound,
    /// A socket of the program's own is connected, so that it reaches one peer only.
    #[error("this socket is connected to {peer}: an endpoint needs one that is only bound")]
    OnePeer {
        /// The peer.
        peer: SocketAddr,
    },
    /// A native endpoint needs a raw socket, and this program may not open one.
    #[error(
        "native DCCP needs a raw socket, which this program may not open ({source}): \
         run it as root, or give it the right once with \
         'setcap cap_net_raw+ep PROGRAM' (CAP_NET_RAW); DCCP in UDP needs neither"
    )]
    NotPrivileged {
        /// The system's error.
        source: io::Error,
    },
    /// The system refused the raw socket of a native endpoint for another reason.
    #[error("{}", no_raw_socket(*.ip, .source))]
    NativeSocket {
        /// The requested address.
        ip: IpAddr,
        /// The system's error.
        source: io::Error,
    },
    /// Native endpoints work on Linux only.
    #[error("native DCCP is supported on Linux only: use DCCP in UDP, which works everywhere")]
    NativeUnsupported,
    /// The endpoint was bound but could not [listen](crate::listen).
    #[error(transparent)]
    Listen(ListenError),
    /// The thread of the [blocking](crate::blocking) sockets could not be started.
    #[error("cannot start the thread that runs the sockets{}", advised(.source))]
    NoThread {
        /// The system's error.
        source: io::Error,
    },
    /// There is no tokio runtime to run the endpoint's driver, or it has no I/O or no timers.
    #[error("an endpoint {NO_RUNTIME}")]
    NoRuntime,
    /// The system gives no random numbers; without them sequence numbers could be guessed.
    #[error("the system gives no random numbers")]
    NoRandomness,
}

/// What is missing where tokio cannot run something, and what to do about it.
const NO_RUNTIME: &str = "needs a tokio runtime with I/O and timers: call this inside one that was built with `enable_all`";

/// Returns why the system refused a socket, and what to do about it.
fn no_socket(addr: SocketAddr, source: &io::Error) -> String {
    if source.kind() == io::ErrorKind::PermissionDenied {
        let port = addr.port();
        format!("this program may not bind UDP port {port} ({source}): choose a port from 1024 up")
    } else if let Some(advice) = for_descriptors(source) {
        format!("cannot open a UDP socket ({source}): {advice}")
    } else {
        format!("cannot open a UDP socket on {addr}: {source}")
    }
}

/// Returns why the system refused a raw socket for another reason than a missing right.
fn no_raw_socket(ip: IpAddr, source: &io::Error) -> String {
    format!(
        "cannot open a raw socket for DCCP on {ip}{}",
        advised(source)
    )
}

/// Returns the system's error behind a colon, with what to do about it if it means a lack of descriptors.
fn advised(source: &io::Error) -> String {
    match for_descriptors(source) {
        Some(advice) => format!(" ({source}): {advice}"),
        None => format!(": {source}"),
    }
}

/// Returns what to do if the system has no more descriptors; `None` if an error says something else.
fn for_descriptors(error: &io::Error) -> Option<&'static str> {
    is_out_of_descriptors(error).then_some(
        "use one endpoint for many connections, or allow more open files with 'ulimit -n'",
    )
}

/// Returns whether the system has no more descriptors for this program, or for all of them.
pub(crate) fn is_out_of_descriptors(error: &io::Error) -> bool {
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    cfg!(unix) && matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}

/// Why no connection can be accepted.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// The endpoint was [closed](crate::Endpoint::close), or its runtime ended.
    #[error("the endpoint is closed")]
    EndpointClosed,
    /// The listener uses DTLS, whose handshakes need a tokio runtime with timers.
    #[error("accepting with DTLS {NO_RUNTIME}")]
    NoRuntime,
}

/// Why a datagram could not be queued.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The datagram is larger than [`max_datagram_size`](crate::Connection::max_datagram_size).
    #[error("a datagram of {size} bytes is too large: at most {max} bytes fit")]
    TooLarge {
        /// The size of the datagram, bytes.
        size: usize,
        /// The largest size that fits, bytes.
        max: usize,
    },
    /// This side is closing the connection.
    #[error("the connection is closing")]
    Closing,
    /// The connection is over.
    #[error(transparent)]
    Closed(ConnectionClosed),
    /// The peer's application stopped reading, for good (RFC 4340, section 11.7.2).
    #[error("the peer's application no longer reads")]
    NotListening,
    /// The datagram's deadline has passed, before the call or while it waited for room in the send queue.
    #[error("{}", proto::SendError::DeadlinePassed)]
    DeadlinePassed,
    /// Another member of the datagram's group was lost or dropped, so the rest of the group is of no use.
    #[error("{}", proto::SendError::GroupBroken { group: *.group })]
    GroupBroken {
        /// The number of the group.
        group: u64,
    },
    /// The datagram may be sent again ([`SendOptions::resend`](crate::SendOptions::resend)), but this was not agreed
    /// with the peer.
    #[error("{}", proto::SendError::ResendNotAgreed)]
    ResendNotAgreed,
    /// The message needs several datagrams ([`Connection::send_message`](crate::Connection::send_message)), but this was
    /// not agreed with the peer: both ends need [`Config::messages`](crate::Config::messages).
    #[error("{}", proto::SendError::MessagesNotAgreed)]
    MessagesNotAgreed,
    /// The datagram may be sent again ([`SendOptions::resend`](crate::SendOptions::resend)), but the CCID in force
    /// reports no single losses.
    #[error("{}", proto::SendError::ResendWithoutLosses { ccid: *.ccid })]
    ResendWithoutLosses {
        /// That CCID.
        ccid: Ccid,
    },
}

/// Why a datagram could not be queued at once.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TrySendError {
    /// The send queue is full: wait with [`send`](crate::Connection::send), or drop the datagram.
    #[error("the send queue is full")]
    Full,
    /// The datagram can never be queued.
    #[error(transparent)]
    Send(#[from] SendError),
}

/// Why no datagram can be returned now.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TryRecvError {
    /// None has arrived: wait with [`recv`](crate::Connection::recv).
    #[error("no datagram has arrived")]
    Empty,
    /// No more datagrams will come.
    #[error(transparent)]
    Closed(ConnectionClosed),
}

/// Why there is no fate of a datagram to report.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FateError {
    /// The connection was made without `Config::report_fates`.
    #[error("this connection reports no fates: it was made without the setting 'report_fates'")]
    NotReported,
    /// The connection is over, and all fates have been read.
    #[error(transparent)]
    Closed(ConnectionClosed),
}

/// The error that says that the connection is over and that everything it had for the caller was read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub struct ConnectionClosed {
    /// Why it is over.
    pub reason: CloseReason,
    /// Why DTLS ended the connection, if it did.
    pub dtls: Option<SessionError>,
    /// Whether the peer announced the end inside its DTLS session (`close_notify`, or the code of its close).
    ///
    /// Without it nobody can tell an end by the peer from one that somebody on the path has forged, or the announcement
    /// was lost, as any datagram may be. Always false without DTLS.
    pub is_authenticated: bool,
}

impl ConnectionClosed {
    pub(crate) fn of(reason: CloseReason) -> Self {
        let dtls = match &reason {
            CloseReason::Security { error } => error.downcast_ref().cloned(),
            _ => None,
        };
        Self {
            reason,
            dtls,
            is_authenticated: false,
        }
    }

    /// Returns why the peer's DTLS refused this end, if that is what its Reset says.
    pub fn dtls_refusal(&self) -> Option<DtlsRefusal> {
        match &self.reason {
            CloseReason::Reset {
                text: Some(text), ..
            } => DtlsRefusal::told(&text.to_string()),
            _ => None,
        }
    }

    /// Returns whether the connection was closed, by either side.
    ///
    /// False if it was reset, timed out, or was dropped without [`close`](crate::Connection::close). In either case the
    /// last datagrams may be missing: a close discards what could not leave within `Config::drain_timeout`.
    pub fn is_orderly(&self) -> bool {
        self.reason.is_orderly()
    }

    /// Returns the code with which the peer's application closed
    /// ([`close_with`](crate::Connection::close_with)), if it gave one. Its text is in the [`reason`](Self::reason).
    ///
    /// With DTLS it is authentic. In clear text anybody on the path can have written it.
    pub fn code(&self) -> Option<u32> {
        match self.reason {
            CloseReason::ApplicationClosed { code, .. } => Some(code),
            _ => None,
        }
    }
}

impl fmt::Display for ConnectionClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.dtls {
            Some(error) => write!(f, "DTLS ended the connection: {error}"),
            None => Reason(&self.reason).fmt(f),
        }
    }
}

/// Why DTLS could not be set up on an open connection. The connection is over then; no data has left in clear text.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The DTLS handshake cannot begin: the path or the own certificate does not allow it.
    #[error(transparent)]
    Start(StartError),
    /// The DTLS handshake failed: a certificate, an alert, or a peer that speaks something else.
    #[error(transparent)]
    Dtls(SessionError),
    /// The handshake was not complete in time.
    #[error("{}", timeout(*.after, *.is_silent))]
    Timeout {
        /// How long it could last.
        after: Duration,
        /// Whether the peer sent anything at all.
        is_silent: bool,
    },
    /// There is no tokio runtime with timers, which the handshake needs. The connection was reset.
    #[error("a DTLS handshake {NO_RUNTIME}")]
    NoRuntime,
    /// The connection ended during the handshake.
    #[error("the connection ended in the DTLS handshake: {0}")]
    Closed(ConnectionClosed),
    /// The endpoint's memory is used up (`EndpointConfig::max_memory`).
    #[error(
        "the endpoint's memory budget has no room for a DTLS handshake ({needed} bytes): close connections, or \
         raise max_memory"
    )]
    NoMemory {
        /// The bytes that a handshake needs at most.
        needed: usize,
    },
}

/// Returns what it may mean that a handshake was not complete in time.
fn timeout(after: Duration, is_silent: bool) -> String {
    if is_silent {
        format!(
            "the peer sent no DTLS message in {after:?}: it probably does not use DTLS, or accepts no connections"
        )
    } else {
        format!(
            "the DTLS handshake was not complete after {after:?}: the path loses too much, or the peer stopped"
        )
    }
}

/// Displays a [`CloseReason`] in words.
struct Reason<'a>(&'a CloseReason);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            CloseReason::Closed => f.write_str("the connection was closed"),
            CloseReason::ApplicationClosed { code, text } => {
                write!(f, "the peer closed the connection with code {code}")?;
                match text {
                    Some(text) => write!(f, ", saying {text:?}"),
                    None => Ok(()),
                }
            }
            CloseReason::Reset {
                code: ResetCode::NoConnection,
                ..
            } => f.write_str("the peer does not know the connection: it was probably restarted"),
            CloseReason::Reset {
                code: ResetCode::Aborted,
                text: Some(text),
                ..
            } => write!(f, "the peer aborted the connection, saying {text:?}"),
            CloseReason::Reset {
                code: ResetCode::Aborted,
                ..
            } => f.write_str(
                "the peer's program dropped or aborted the connection without closing it, or timed out",
            ),
            CloseReason::Reset { code, text, .. } => {
                write!(f, "the peer reset the connection ({code})")?;
                match text {
                    Some(text) => write!(f, ", saying {text:?}"),
                    None => Ok(()),
                }
            }
            CloseReason::PeerError { code, .. } => {
                write!(
                    f,
                    "the peer violated the protocol, so this side reset the connection ({code})"
                )
            }
            CloseReason::ConnectTimeout => f.write_str("nobody answered"),
            CloseReason::Unreachable { why } => {
                write!(f, "the peer is gone: its host says that {why} (ICMP)")
            }
            CloseReason::Reflected => {
                f.write_str("our own packets were returned: the peer is an echo service")
            }
            CloseReason::IdleTimeout => f.write_str("the peer sent nothing until the idle timeout"),
            CloseReason::CloseTimeout => f.write_str(
                "the peer did not answer our Close, or has not acknowledged the end of the DTLS handshake",
            ),
            CloseReason::Aborted => {
                f.write_str("this side aborted the connection, or its runtime ended")
            }
            CloseReason::Security { error } => write!(f, "its encryption failed: {error}"),
            other => write!(f, "the connection ended: {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BindError, ConnectError, Duration};
    use std::io;

    /// If the system has no more descriptors, every error says so, and what to do.
    #[test]
    #[cfg(unix)]
    fn the_lack_of_descriptors_is_named() {
        let addr: std::net::SocketAddr = "127.0.0.1:7001".parse().expect("an address");
        for number in [23, 24] {
            let source = || io::Error::from_raw_os_error(number);
            let bind = [
                BindError::Socket {
                    addr,
                    source: source(),
                },
                BindError::NativeSocket {
                    ip: addr.ip(),
                    source: source(),
                },
                BindError::NoThread { source: source() },
            ];
            let resolve = ConnectError::Resolve {
                host: "localhost:7001".to_owned(),
                source: source(),
            };
            for error in bind.into_iter().map(ConnectError::from).chain([resolve]) {
                let text = error.to_string();
                assert!(text.contains("open files"), "{text}");
                assert!(text.contains("ulimit -n"), "{text}");
            }
        }
    }

    /// A message says what to do, not only what happened.
    #[test]
    fn messages_advise() {
        let addr = "127.0.0.1:7001".parse().expect("an address");
        let text = BindError::PortInUse { addr }.to_string();
        assert!(text.contains("7001") && text.contains("another"), "{text}");
        let source = io::ErrorKind::PermissionDenied.into();
        let text = BindError::Socket { addr, source }.to_string();
        assert!(text.contains("7001") && text.contains("1024"), "{text}");
        let silent = |native, not_dccp| ConnectError::Timeout {
            remote: addr,
            native,
            after: Duration::from_secs(10),
            not_dccp,
        };
        assert!(silent(false, 0).to_string().contains("10s"));
        assert!(silent(false, 3).to_string().contains("not in DCCP"));
        // A raw socket also receives packets for other programs, so they say nothing about the peer.
        let text = silent(true, 3).to_string();
        assert!(
            text.contains("protocol 33") && !text.contains("foreign"),
            "{text}"
        );
        for (host, advice) in [
            ("localhost", "write host:port"),
            ("::1", "[::1]:port"),
            (
                "nowhere.invalid:7001",
                "cannot resolve 'nowhere.invalid:7001'",
            ),
            (
                "nowhere.invalid:1/2",
                "cannot resolve 'nowhere.invalid:1/2'",
            ),
            ("localhost:1/x", "as in 6511/7001"),
            ("localhost:1/2/3", "as in 6511/7001"),
            ("localhost:x", "from 1 to 65535"),
        ] {
            let source = io::ErrorKind::InvalidInput.into();
            let host = host.to_owned();
            let text = ConnectError::Resolve { host, source }.to_string();
            assert!(text.contains(advice), "{text}");
        }
    }
}
