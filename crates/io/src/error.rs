//! What can go wrong, one enum per operation, each message with what to do about it.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use fairwire_proto::{CloseReason, Unreachable};
use fairwire_units::Duration;
use fairwire_wire::ResetCode;

/// Why no endpoint could be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum BindError {
    /// Somebody has that UDP port already.
    PortInUse {
        /// The address asked for.
        addr: SocketAddr,
    },
    /// The address is not one of this host's.
    NoSuchAddress {
        /// The address asked for.
        addr: SocketAddr,
    },
    /// The system refused the socket.
    Socket {
        /// The address asked for.
        addr: SocketAddr,
        /// What it said.
        source: io::Error,
    },
    /// A native endpoint needs a raw socket, and this program may not open one.
    NotPrivileged {
        /// What the system said.
        source: io::Error,
    },
    /// The system refused the raw socket of a native endpoint for another reason.
    NativeSocket {
        /// The address asked for.
        ip: IpAddr,
        /// What it said.
        source: io::Error,
    },
    /// Native endpoints are for Linux.
    NativeUnsupported,
    /// There is no tokio runtime here to run the endpoint's driver.
    NoRuntime,
    /// The system gives no random numbers, and without them sequence numbers could be guessed.
    NoRandomness,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PortInUse { addr } => write!(
                f,
                "UDP port {} is in use: choose another, or stop the program that has it",
                addr.port()
            ),
            Self::NoSuchAddress { addr } => {
                write!(f, "{} is not an address of this host", addr.ip())
            }
            Self::Socket { addr, source } if source.kind() == io::ErrorKind::PermissionDenied => {
                write!(
                    f,
                    "this program may not take UDP port {} ({source}): choose one from 1024 on",
                    addr.port()
                )
            }
            Self::Socket { addr, source } => write!(f, "no UDP socket on {addr}: {source}"),
            Self::NotPrivileged { source } => write!(
                f,
                "native DCCP needs a raw socket, which this program may not open ({source}): \
                 run it as root, or give it the right once with \
                 'setcap cap_net_raw+ep PROGRAM' (CAP_NET_RAW); DCCP in UDP needs neither"
            ),
            Self::NativeSocket { ip, source } => {
                write!(f, "no raw socket for DCCP on {ip}: {source}")
            }
            Self::NativeUnsupported => f.write_str(
                "native DCCP is supported on Linux only: use DCCP in UDP, which works everywhere",
            ),
            Self::NoRuntime => f.write_str("an endpoint must be made inside a tokio runtime"),
            Self::NoRandomness => f.write_str("the system gives no random numbers"),
        }
    }
}

impl Error for BindError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Socket { source, .. }
            | Self::NotPrivileged { source }
            | Self::NativeSocket { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Why there is no connection.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The name could not be looked up, or is not `host:port`.
    Resolve {
        /// The name.
        host: String,
        /// What the system said.
        source: io::Error,
    },
    /// No endpoint for it.
    Bind(BindError),
    /// The protocol could not begin.
    Begin(crate::BeginError),
    /// The peer answered with a Reset.
    Refused {
        /// Where it is.
        remote: SocketAddr,
        /// Why, in its words.
        code: ResetCode,
    },
    /// The network, or the peer's host, says that packets do not get there: at once if the
    /// error is hard ([`Unreachable::is_hard`]), else nobody answered in time either.
    Unreachable {
        /// Where they do not get.
        remote: SocketAddr,
        /// Was it asked directly in IP?
        native: bool,
        /// What the network says.
        why: Unreachable,
        /// The time given.
        after: Duration,
    },
    /// Nobody answered in time.
    Timeout {
        /// Who did not.
        remote: SocketAddr,
        /// Was it asked directly in IP?
        native: bool,
        /// The time given.
        after: Duration,
        /// Datagrams that came meanwhile and were not DCCP: something else listens there.
        not_dccp: u64,
    },
    /// The system names no way from the endpoint to the remote, so nothing was sent.
    NoRoute {
        /// Where the endpoint is bound.
        local: IpAddr,
        /// Where to.
        remote: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The remote has no UDP port, and the endpoint sends in UDP.
    NoUdpPort {
        /// The address, with the DCCP port.
        remote: SocketAddr,
    },
    /// The handshake ended in another way.
    Ended {
        /// How.
        reason: CloseReason,
    },
    /// The endpoint's runtime has shut down.
    EndpointGone,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resolve { host, .. } if host.parse::<Ipv6Addr>().is_ok() => {
                write!(f, "'{host}' has no port: write [{host}]:port")
            }
            Self::Resolve { host, .. } if !has_port(host) => {
                write!(
                    f,
                    "'{host}' has no port: write host:port, as in {host}:7001"
                )
            }
            Self::Resolve { host, source } => {
                write!(f, "'{host}' is no reachable host:port: {source}")
            }
            Self::Bind(error) => error.fmt(f),
            Self::Begin(error) => error.fmt(f),
            Self::Refused { remote, code } => {
                write!(f, "{remote} refused the connection ({code})")?;
                f.write_str(match code {
                    ResetCode::ConnectionRefused | ResetCode::NoConnection => {
                        ": nobody listens on that DCCP port there"
                    }
                    ResetCode::BadServiceCode => ": that port offers another service",
                    ResetCode::TooBusy => ": the server is busy, try again later",
                    ResetCode::EncapsulatedPortReuse => {
                        ": the UDP port belongs to another connection, take another one"
                    }
                    ResetCode::MandatoryError => {
                        ": it does not take what this side insists on, such as its CCIDs"
                    }
                    _ => "",
                })
            }
            Self::Unreachable {
                remote,
                native,
                why,
                after,
            } => unreachable(f, *remote, *native, *why, *after),
            Self::Timeout {
                remote,
                native: true,
                after,
                ..
            } => write!(
                f,
                "{remote} did not answer within {after}: does a program there listen on that DCCP \
                 port natively, and do firewalls and NATs let IP protocol 33 pass?"
            ),
            Self::Timeout {
                remote,
                after,
                not_dccp: 0,
                ..
            } => write!(
                f,
                "{remote} did not answer within {after}: is it up, and do firewalls let UDP pass?"
            ),
            Self::Timeout {
                remote, not_dccp, ..
            } => write!(
                f,
                "{remote} answers, but not in DCCP ({not_dccp} foreign datagrams): another program has that port"
            ),
            Self::NoRoute {
                local,
                remote,
                source,
            } => no_route(f, *local, *remote, source),
            Self::NoUdpPort { remote } => write!(
                f,
                "{remote} has no UDP port, and this endpoint sends in UDP: name one, or use a native endpoint"
            ),
            Self::Ended { reason } => write!(f, "the handshake failed: {}", Reason(*reason)),
            Self::EndpointGone => f.write_str("the endpoint is shut down"),
        }
    }
}

/// Why nothing can be sent from here to there, and what to do about it.
fn no_route(
    f: &mut fmt::Formatter<'_>,
    local: IpAddr,
    remote: SocketAddr,
    source: &io::Error,
) -> fmt::Result {
    write!(f, "this host has no way to {remote}")?;
    if !local.is_unspecified() {
        write!(f, " from {local}")?;
    }
    write!(f, " ({source}): ")?;
    f.write_str(match source.kind() {
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            "is it connected, and does it have addresses of that family?"
        }
        io::ErrorKind::AddrNotAvailable => "has the endpoint's address gone? Bind another endpoint",
        io::ErrorKind::PermissionDenied => {
            "it is a broadcast address of a network here, which DCCP does not use, or a route or \
             a rule of this host forbids it"
        }
        _ => "is the address right?",
    })
}

/// What the network said of a remote, and what to do about it.
fn unreachable(
    f: &mut fmt::Formatter<'_>,
    remote: SocketAddr,
    native: bool,
    why: Unreachable,
    after: Duration,
) -> fmt::Result {
    if why.is_hard() {
        write!(f, "{remote} is unreachable: {why} (ICMP); ")?;
    } else {
        write!(
            f,
            "{remote} did not answer within {after}, and is unreachable: {why}; "
        )?;
    }
    match why {
        Unreachable::Port => write!(
            f,
            "is the server running, and is UDP port {} right?",
            remote.port()
        ),
        Unreachable::Protocol if native => f.write_str(
            "nobody there speaks DCCP directly in IP (protocol 33): is the server running, and \
             does it use native DCCP?",
        ),
        Unreachable::Prohibited if native => {
            f.write_str("do firewalls let IP protocol 33 pass? DCCP in UDP may get through")
        }
        Unreachable::Prohibited => write!(f, "do firewalls let UDP port {} pass?", remote.port()),
        Unreachable::NotPermitted => f.write_str("look at the firewall rules of this host"),
        Unreachable::Host => f.write_str("is the address right, and the host up?"),
        _ => f.write_str("is the address right, and is this host connected?"),
    }
}

fn has_port(host: &str) -> bool {
    let port = host.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    matches!(port, Some(Ok(_)))
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Resolve { source, .. } | Self::NoRoute { source, .. } => Some(source),
            Self::Bind(error) => Some(error),
            Self::Begin(error) => Some(error),
            _ => None,
        }
    }
}

impl From<BindError> for ConnectError {
    fn from(error: BindError) -> Self {
        Self::Bind(error)
    }
}

/// Why nothing more can be accepted: the endpoint is shut down.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AcceptError;

impl fmt::Display for AcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the endpoint is shut down")
    }
}

impl Error for AcceptError {}

/// Why a datagram was not taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SendError {
    /// Larger than [`max_datagram_size`](crate::Connection::max_datagram_size).
    TooLarge {
        /// Bytes given.
        size: usize,
        /// Bytes that fit.
        max: usize,
    },
    /// The connection is over, or closing.
    Closed {
        /// Why, if it is over.
        reason: Option<CloseReason>,
    },
    /// The peer's application has stopped to read, for good (RFC 4340, section 11.7.2).
    NotListening,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { size, max } => {
                write!(f, "a datagram of {size} bytes does not fit: at most {max}")
            }
            Self::Closed { reason: None } => f.write_str("the connection is closing"),
            Self::Closed {
                reason: Some(reason),
            } => Reason(*reason).fmt(f),
            Self::NotListening => f.write_str("the peer's application no longer reads"),
        }
    }
}

impl Error for SendError {}

/// Why a datagram was not taken at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TrySendError {
    /// The send queue is full: wait with [`send`](crate::Connection::send), or drop the datagram.
    Full,
    /// It will never be taken.
    Send(SendError),
}

impl fmt::Display for TrySendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the send queue is full"),
            Self::Send(error) => error.fmt(f),
        }
    }
}

impl Error for TrySendError {}

/// The connection is over and everything that it received has been read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Lost {
    /// Why it is over.
    pub reason: CloseReason,
}

impl Lost {
    /// Was it closed, by either side? False if it was reset, given up, or dropped without
    /// [`close`](crate::Connection::close): data may be missing at the end.
    pub fn is_orderly(&self) -> bool {
        self.reason == CloseReason::Closed
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Reason(self.reason).fmt(f)
    }
}

impl Error for Lost {}

/// A [`CloseReason`] in words.
struct Reason(CloseReason);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            CloseReason::Closed => f.write_str("the connection was closed"),
            CloseReason::Reset {
                code: ResetCode::NoConnection,
                ..
            } => f.write_str("the peer no longer knows the connection: it was restarted"),
            CloseReason::Reset {
                code: ResetCode::Aborted,
                ..
            } => f.write_str(
                "the peer's program dropped or aborted the connection without closing it, or gave \
                 up on us",
            ),
            CloseReason::Reset { code, .. } => write!(f, "the peer reset the connection ({code})"),
            CloseReason::PeerError { code, .. } => {
                write!(
                    f,
                    "the peer broke the protocol; we reset the connection ({code})"
                )
            }
            CloseReason::ConnectTimeout => f.write_str("nobody answered"),
            CloseReason::Unreachable { why } => {
                write!(f, "the peer is gone: its host says that {why} (ICMP)")
            }
            CloseReason::IdleTimeout => f.write_str("the peer fell silent"),
            CloseReason::CloseTimeout => f.write_str("the peer did not answer our Close"),
            CloseReason::Aborted => {
                f.write_str("this side aborted the connection, or its runtime ended")
            }
            other => write!(f, "the connection ended: {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BindError, ConnectError};
    use fairwire_units::Duration;

    /// A message says what to do, not only what happened.
    #[test]
    fn messages_advise() {
        let addr = "127.0.0.1:7001".parse().expect("an address");
        let text = BindError::PortInUse { addr }.to_string();
        assert!(text.contains("7001") && text.contains("another"), "{text}");
        let source = std::io::ErrorKind::PermissionDenied.into();
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
        // A raw socket hears what is not for it, too: that tells nothing about the peer.
        let text = silent(true, 3).to_string();
        assert!(
            text.contains("protocol 33") && !text.contains("foreign"),
            "{text}"
        );
        for (host, advice) in [
            ("localhost", "write host:port"),
            ("::1", "[::1]:port"),
            ("nowhere.invalid:7001", "no reachable host:port"),
        ] {
            let source = std::io::ErrorKind::InvalidInput.into();
            let host = host.to_owned();
            let text = ConnectError::Resolve { host, source }.to_string();
            assert!(text.contains(advice), "{text}");
        }
    }
}
