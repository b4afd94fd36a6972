//! Why a connection could not be made, and what to do about it.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use fairwire_proto::{CloseReason, ErrorText, StartError, Unreachable};
use fairwire_wire::ResetCode;

use super::{BindError, HandshakeError, Reason, is_out_of_descriptors};

/// Why a connection could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The name could not be looked up, or is not `host:port`.
    Resolve {
        /// The name as given.
        host: String,
        /// The system's error.
        source: io::Error,
    },
    /// No endpoint could be bound for the connection, or no socket opened.
    Bind(BindError),
    /// The endpoint could not start a connection.
    Start(StartError),
    /// The peer answered with a Reset.
    Refused {
        /// The peer's address.
        remote: SocketAddr,
        /// The Reset Code.
        code: ResetCode,
        /// The peer's reason in words, if it sent one.
        text: Option<ErrorText>,
    },
    /// The network or the peer's host reported that packets do not arrive. A hard error ([`Unreachable::is_hard`]) ends
    /// the attempt at once. A soft error is reported if nobody answered in time either.
    Unreachable {
        /// The address that packets do not reach.
        remote: SocketAddr,
        /// Whether the endpoint is native.
        native: bool,
        /// The network's report.
        why: Unreachable,
        /// How long the attempt could last.
        after: Duration,
    },
    /// Nobody answered in time.
    Timeout {
        /// The address that did not answer.
        remote: SocketAddr,
        /// Whether the endpoint is native.
        native: bool,
        /// How long the attempt lasted.
        after: Duration,
        /// Datagrams received meanwhile that were not DCCP: another program uses that port.
        not_dccp: u64,
    },
    /// The system has no route from the endpoint to the remote, so nothing was sent.
    NoRoute {
        /// The address that the endpoint is bound to.
        local: IpAddr,
        /// The address to connect to.
        remote: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// Something at the remote sends our own packets back: an echo service.
    Reflected {
        /// The remote's address.
        remote: SocketAddr,
        /// Whether the endpoint is native.
        native: bool,
    },
    /// The remote and the endpoint have different address families.
    WrongFamily {
        /// The address that the endpoint is bound to.
        local: IpAddr,
        /// The address to connect to.
        remote: SocketAddr,
    },
    /// The remote address is not a single host; a connection has exactly two ends.
    NotOneHost {
        /// The address.
        remote: SocketAddr,
        /// What kind of address it is.
        kind: AddressKind,
    },
    /// The remote is an IPv6 link-local address without an interface.
    NoInterface {
        /// The address.
        remote: SocketAddr,
    },
    /// The remote's DCCP port is zero, on which nobody can listen.
    NoDccpPort {
        /// The address.
        remote: SocketAddr,
    },
    /// None of several addresses could be connected to.
    All {
        /// The host name that the addresses belong to, if there was one.
        host: Option<String>,
        /// Each address that was tried and its error, in the order in which they failed.
        tried: Vec<(SocketAddr, ConnectError)>,
    },
    /// There was no address to connect to.
    NoAddress,
    /// The remote has no UDP port, but the endpoint sends in UDP.
    NoUdpPort {
        /// The address, with the DCCP port.
        remote: SocketAddr,
    },
    /// The connection was open, but DTLS could not be set up on it. Nothing was sent in clear text.
    Handshake {
        /// The peer's address.
        remote: SocketAddr,
        /// What went wrong.
        error: HandshakeError,
    },
    /// The handshake ended for another reason.
    Ended {
        /// The reason.
        reason: CloseReason,
    },
    /// The endpoint was [closed](crate::Endpoint::close), or its runtime has shut down.
    EndpointClosed,
}

/// The kind of an address that is not a single host.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AddressKind {
    /// `0.0.0.0` or `::`, which means "any".
    Unspecified,
    /// A multicast group (224.0.0.0/4, `ff00::/8`).
    Multicast,
    /// 255.255.255.255, which means every host of the network.
    Broadcast,
}

impl AddressKind {
    fn advice(self) -> &'static str {
        match self {
            Self::Unspecified => "no address to connect to: for this host write 127.0.0.1 or [::1]",
            Self::Multicast => {
                "a multicast group, and DCCP connects to one host: name a host's address"
            }
            Self::Broadcast => {
                "the broadcast address, and DCCP connects to one host: name a host's address"
            }
        }
    }
}

impl ConnectError {
    /// Returns whether the cause is on this side, so that every other address would fail in the same way.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Bind(BindError::Socket { source, .. }) => is_out_of_descriptors(source),
            Self::Bind(error) => matches!(
                error,
                BindError::NotPrivileged { .. }
                    | BindError::NativeUnsupported
                    | BindError::NoRuntime
                    | BindError::NoRandomness
            ),
            // A local port is taken for one peer only, not for all.
            Self::Start(error) => !matches!(error, StartError::NoPort),
            Self::EndpointClosed => true,
            _ => false,
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resolve { host, .. } if host.parse::<Ipv6Addr>().is_ok() => {
                write!(f, "'{host}' has no port: write [{host}]:port")
            }
            Self::Resolve { host, .. } if !has_port(host) => match host.rsplit_once(':') {
                Some((_, port)) => write!(
                    f,
                    "'{port}' in '{host}' is not a port: write a number from 1 to 65535"
                ),
                None if host.is_empty() => {
                    f.write_str("there is no host: write host:port, as in localhost:7001")
                }
                None => write!(
                    f,
                    "'{host}' has no port: write host:port, as in {host}:7001"
                ),
            },
            Self::Resolve { host, source } => {
                write!(f, "cannot resolve '{host}': {source}")
            }
            Self::Handshake { remote, error } => {
                write!(f, "no encrypted connection with {remote}: {error}")
            }
            Self::Bind(error) => error.fmt(f),
            Self::Start(error) => error.fmt(f),
            Self::Refused { remote, code, text } => refused(f, *remote, *code, text.as_ref()),
            Self::Unreachable {
                remote,
                native,
                why,
                after,
            } => unreachable(f, *remote, *native, *why, (*after).into()),
            Self::Timeout {
                remote,
                native,
                after,
                not_dccp,
            } => timeout(f, *remote, *native, (*after).into(), *not_dccp),
            Self::NoRoute {
                local,
                remote,
                source,
            } => no_route(f, *local, *remote, source),
            Self::Reflected { remote, native } => {
                write!(
                    f,
                    "{remote} returns our own packets: it is an echo service, not a DCCP server; "
                )?;
                f.write_str(if *native {
                    "is the address right?"
                } else {
                    "is the UDP port right?"
                })
            }
            Self::WrongFamily { local, remote } => write!(
                f,
                "{remote} is an {} address, and the endpoint is bound to {local}: bind another endpoint to {}",
                family(remote.ip()),
                match remote {
                    SocketAddr::V4(_) => "0.0.0.0, or to [::] for both families",
                    SocketAddr::V6(_) => "[::], which takes both families",
                }
            ),
            Self::NotOneHost { remote, kind } => write!(f, "{} is {}", remote.ip(), kind.advice()),
            Self::NoInterface { remote } => write!(
                f,
                "{} is a link-local address, which every interface has: add the interface, \
                 as in {}%eth0",
                remote.ip(),
                remote.ip()
            ),
            Self::NoDccpPort { remote } => write!(
                f,
                "{remote} has DCCP port 0, which nobody listens on: name the server's port"
            ),
            Self::All { host, tried } => all(f, host.as_deref(), tried),
            Self::NoAddress => f.write_str("there is no address to connect to"),
            Self::NoUdpPort { remote } => write!(
                f,
                "{remote} has no UDP port, and this endpoint sends in UDP: name one, or use a native endpoint"
            ),
            Self::Ended { reason } => write!(f, "the handshake failed: {}", Reason(reason)),
            Self::EndpointClosed => f.write_str("the endpoint is closed: bind another one"),
        }
    }
}

/// Writes why a peer refused, and what to do about it.
fn refused(
    f: &mut fmt::Formatter<'_>,
    remote: SocketAddr,
    code: ResetCode,
    text: Option<&ErrorText>,
) -> fmt::Result {
    write!(f, "{remote} refused the connection ({code})")?;
    if let Some(text) = text {
        write!(f, ", saying {text:?}")?;
    }
    f.write_str(match code {
        ResetCode::ConnectionRefused | ResetCode::NoConnection => {
            ": nobody listens on that DCCP port there"
        }
        ResetCode::BadServiceCode => ": that port offers another service",
        ResetCode::TooBusy => ": the server is busy, try again later",
        ResetCode::Aborted => ": the server's program stopped listening, or gave up",
        ResetCode::EncapsulatedPortReuse => {
            ": another connection uses this UDP port: choose another"
        }
        ResetCode::MandatoryError => {
            ": it does not accept what this side requires, such as its CCIDs"
        }
        _ => "",
    })
}

/// Writes what a timeout may mean.
fn timeout(
    f: &mut fmt::Formatter<'_>,
    remote: SocketAddr,
    native: bool,
    after: fairwire_units::Duration,
    not_dccp: u64,
) -> fmt::Result {
    match (native, not_dccp) {
        (true, _) => write!(
            f,
            "{remote} did not answer within {after}: does a program there listen on that DCCP \
             port natively, and do firewalls and NATs let IP protocol 33 pass?"
        ),
        (false, 0) => write!(
            f,
            "{remote} did not answer within {after}: is it up, and do firewalls let UDP pass?"
        ),
        (false, _) => write!(
            f,
            "{remote} answers, but not in DCCP ({not_dccp} other datagrams): another program uses that port"
        ),
    }
}

fn family(ip: IpAddr) -> &'static str {
    match ip {
        IpAddr::V4(_) => "IPv4",
        IpAddr::V6(_) => "IPv6",
    }
}

/// Writes why each of several addresses failed.
fn all(
    f: &mut fmt::Formatter<'_>,
    host: Option<&str>,
    tried: &[(SocketAddr, ConnectError)],
) -> fmt::Result {
    match host {
        Some(host) => write!(f, "none of the {} addresses of {host}", tried.len())?,
        None => write!(f, "none of the {} addresses", tried.len())?,
    }
    f.write_str(" could be connected to")?;
    for (i, (addr, error)) in tried.iter().enumerate() {
        f.write_str(if i == 0 { ": " } else { "; " })?;
        let (addr, error) = (addr.to_string(), error.to_string());
        if !error.contains(&addr) {
            write!(f, "{addr}: ")?;
        }
        f.write_str(&error)?;
    }
    Ok(())
}

/// Writes why the remote has no route, and what to do about it.
fn no_route(
    f: &mut fmt::Formatter<'_>,
    local: IpAddr,
    remote: SocketAddr,
    source: &io::Error,
) -> fmt::Result {
    write!(f, "this host has no route to {remote}")?;
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

/// Writes the network's report about a remote, and what to do about it.
fn unreachable(
    f: &mut fmt::Formatter<'_>,
    remote: SocketAddr,
    native: bool,
    why: Unreachable,
    after: fairwire_units::Duration,
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
            Self::Start(error) => Some(error),
            _ => None,
        }
    }
}

impl From<BindError> for ConnectError {
    fn from(error: BindError) -> Self {
        Self::Bind(error)
    }
}
