//! Why a connection could not be made, and what to do about it.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use fairwire_proto::{CloseReason, ErrorText, StartError, Unreachable};
use fairwire_wire::ResetCode;

use super::{BindError, HandshakeError, Reason, advised, is_out_of_descriptors};

/// Why a connection could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The name could not be looked up, or is not `host:port`.
    #[error("{}", unresolved(.host, .source))]
    Resolve {
        /// The name as given.
        host: String,
        /// The system's error.
        source: io::Error,
    },
    /// No endpoint could be bound for the connection, or no socket opened.
    #[error("{0}")]
    Bind(#[from] BindError),
    /// The endpoint could not start a connection.
    #[error("{0}")]
    Start(#[source] StartError),
    /// The peer answered with a Reset.
    #[error("{}", refused(*.remote, *.code, .text.as_ref()))]
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
    #[error("{}", unreachable(*.remote, *.native, *.why, (*.after).into()))]
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
    #[error("{}", timeout(*.remote, *.native, (*.after).into(), *.not_dccp))]
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
    #[error("{}", no_route(*.local, *.remote, .source))]
    NoRoute {
        /// The address that the endpoint is bound to.
        local: IpAddr,
        /// The address to connect to.
        remote: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// Something at the remote sends our own packets back: an echo service.
    #[error(
        "{remote} returns our own packets: it is an echo service, not a DCCP server; is the {} right?",
        if *.native { "address" } else { "UDP port" }
    )]
    Reflected {
        /// The remote's address.
        remote: SocketAddr,
        /// Whether the endpoint is native.
        native: bool,
    },
    /// The remote and the endpoint have different address families.
    #[error(
        "{remote} is an {} address, and the endpoint is bound to {local}: bind another endpoint to {}",
        family(.remote.ip()),
        if .remote.is_ipv4() {
            "0.0.0.0, or to [::] for both families"
        } else {
            "[::], which takes both families"
        }
    )]
    WrongFamily {
        /// The address that the endpoint is bound to.
        local: IpAddr,
        /// The address to connect to.
        remote: SocketAddr,
    },
    /// The remote address is not a single host; a connection has exactly two ends.
    #[error("{} is {}", .remote.ip(), .kind.advice())]
    NotOneHost {
        /// The address.
        remote: SocketAddr,
        /// What kind of address it is.
        kind: AddressKind,
    },
    /// The remote is an IPv6 link-local address without an interface.
    #[error(
        "{} is a link-local address, which every interface has: add the interface, \
         as in {}%eth0",
        .remote.ip(),
        .remote.ip()
    )]
    NoInterface {
        /// The address.
        remote: SocketAddr,
    },
    /// The remote's DCCP port is zero, on which nobody can listen.
    #[error("{remote} has DCCP port 0, which nobody listens on: name the server's port")]
    NoDccpPort {
        /// The address.
        remote: SocketAddr,
    },
    /// None of several addresses could be connected to.
    #[error("{}", all(.host.as_deref(), .tried))]
    All {
        /// The host name that the addresses belong to, if there was one.
        host: Option<String>,
        /// Each address that was tried and its error, in the order in which they failed.
        tried: Vec<(SocketAddr, ConnectError)>,
    },
    /// There was no address to connect to.
    #[error("there is no address to connect to")]
    NoAddress,
    /// The remote has no UDP port, but the endpoint sends in UDP.
    #[error(
        "{remote} has no UDP port, and this endpoint sends in UDP: name one, or use a native endpoint"
    )]
    NoUdpPort {
        /// The address, with the DCCP port.
        remote: SocketAddr,
    },
    /// The connection was open, but DTLS could not be set up on it. Nothing was sent in clear text.
    #[error("no encrypted connection with {remote}: {error}")]
    Handshake {
        /// The peer's address.
        remote: SocketAddr,
        /// What went wrong.
        error: HandshakeError,
    },
    /// The handshake ended for another reason.
    #[error("the handshake failed: {}", Reason(.reason))]
    Ended {
        /// The reason.
        reason: CloseReason,
    },
    /// The endpoint was [closed](crate::Endpoint::close), or its runtime has shut down.
    #[error("the endpoint is closed: bind another one")]
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
            Self::Bind(
                BindError::Socket { source, .. } | BindError::NativeSocket { source, .. },
            ) => is_out_of_descriptors(source),
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

/// Returns what is wrong with the name of a host, or why the system does not know it.
fn unresolved(host: &str, source: &io::Error) -> String {
    if host.parse::<Ipv6Addr>().is_ok() {
        return format!("'{host}' has no port: write [{host}]:port");
    }
    if has_port(host) {
        return format!("cannot resolve '{host}'{}", advised(source));
    }
    match host.rsplit_once(':') {
        Some((_, ports)) if ports.contains('/') => format!(
            "'{ports}' in '{host}' is not a UDP port and a DCCP port: write two numbers from 1 to 65535, as in 6511/7001"
        ),
        Some((_, port)) => {
            format!("'{port}' in '{host}' is not a port: write a number from 1 to 65535")
        }
        None if host.is_empty() => {
            "there is no host: write host:port, as in localhost:7001".to_owned()
        }
        None => format!("'{host}' has no port: write host:port, as in {host}:7001"),
    }
}

/// Returns why a peer refused, and what to do about it.
fn refused(remote: SocketAddr, code: ResetCode, text: Option<&ErrorText>) -> String {
    let advice = match code {
        ResetCode::ConnectionRefused => ": nobody listens on that DCCP port there",
        // Linux answers a Request to a closed port so, and RFC 4340, 8.5, step 2, one in TIMEWAIT.
        ResetCode::NoConnection => {
            ": nobody listens on that DCCP port there, or a connection with the same ports ended less than five minutes \
             ago: try again from another socket"
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
    };
    let text = text.map_or_else(String::new, |text| format!(", saying {text:?}"));
    format!("{remote} refused the connection ({code}){text}{advice}")
}

/// Returns what a timeout may mean.
fn timeout(
    remote: SocketAddr,
    native: bool,
    after: fairwire_units::Duration,
    not_dccp: u64,
) -> String {
    match (native, not_dccp) {
        (true, _) => format!(
            "{remote} did not answer within {after}: does a program there listen on that DCCP port natively, and do \
             firewalls and NATs let IP protocol 33 pass?"
        ),
        (false, 0) => format!(
            "{remote} did not answer within {after}: is it up, and do firewalls let UDP pass?"
        ),
        (false, others) => format!(
            "{remote} answers, but not in DCCP (other datagrams: {others}): another program uses that port"
        ),
    }
}

fn family(ip: IpAddr) -> &'static str {
    match ip {
        IpAddr::V4(_) => "IPv4",
        IpAddr::V6(_) => "IPv6",
    }
}

/// Returns why each of several addresses failed.
fn all(host: Option<&str>, tried: &[(SocketAddr, ConnectError)]) -> String {
    let of = host.map_or_else(String::new, |host| format!(" of {host}"));
    let reasons: Vec<String> = tried
        .iter()
        .map(|(addr, error)| {
            let (addr, error) = (addr.to_string(), error.to_string());
            if error.contains(&addr) {
                error
            } else {
                format!("{addr}: {error}")
            }
        })
        .collect();
    let reasons = reasons.join("; ");
    let colon = if reasons.is_empty() { "" } else { ": " };
    let count = tried.len();
    format!("none of the {count} addresses{of} could be connected to{colon}{reasons}")
}

/// Returns why the remote has no route, and what to do about it.
fn no_route(local: IpAddr, remote: SocketAddr, source: &io::Error) -> String {
    let from = if local.is_unspecified() {
        String::new()
    } else {
        format!(" from {local}")
    };
    let advice = match source.kind() {
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            "is it connected, and does it have addresses of that family?"
        }
        io::ErrorKind::AddrNotAvailable => "has the endpoint's address gone? Bind another endpoint",
        io::ErrorKind::PermissionDenied => {
            "it is a broadcast address of a network here, which DCCP does not use, or a route or \
             a rule of this host forbids it"
        }
        _ => "is the address right?",
    };
    format!("this host has no route to {remote}{from} ({source}): {advice}")
}

/// Returns the network's report about a remote, and what to do about it.
fn unreachable(
    remote: SocketAddr,
    native: bool,
    why: Unreachable,
    after: fairwire_units::Duration,
) -> String {
    let report = if why.is_hard() {
        format!("{remote} is unreachable: {why} (ICMP)")
    } else {
        format!("{remote} did not answer within {after}, and is unreachable: {why}")
    };
    let port = remote.port();
    let advice = match why {
        Unreachable::Port => &format!("is the server running, and is UDP port {port} right?"),
        Unreachable::Protocol if native => {
            "nobody there speaks DCCP directly in IP (protocol 33): is the server running, and \
             does it use native DCCP?"
        }
        Unreachable::Prohibited if native => {
            "do firewalls let IP protocol 33 pass? DCCP in UDP may get through"
        }
        Unreachable::Prohibited => &format!("do firewalls let UDP port {port} pass?"),
        Unreachable::NotPermitted => "look at the firewall rules of this host",
        Unreachable::Host => "is the address right, and the host up?",
        _ => "is the address right, and is this host connected?",
    };
    format!("{report}; {advice}")
}

/// Returns whether a port is behind the host, or a UDP port and a DCCP port.
fn has_port(host: &str) -> bool {
    let Some((_, ports)) = host.rsplit_once(':') else {
        return false;
    };
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    match ports.split_once('/') {
        Some((udp, dccp)) => is_port(udp) && is_port(dccp),
        None => is_port(ports),
    }
}
