//! The end of this host: an address, an interface, or both.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::str::FromStr;

use socket2::{Domain, Socket, Type};

use super::PerfError;

/// What a side binds its sockets to: `192.0.2.1`, `fe80::1%eth0` or `%eth0`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Local {
    /// The address; any if `None`.
    pub ip: Option<IpAddr>,
    /// The name or the number of the interface; any if `None`.
    pub interface: Option<String>,
}

impl Local {
    /// Returns the address to bind to for this port; `any` if an interface alone was given.
    pub(crate) fn addr(&self, any: IpAddr, port: u16) -> io::Result<SocketAddr> {
        let ip = self.ip.unwrap_or(any);
        match (ip, self.zone()) {
            (IpAddr::V6(ip), Some(zone)) => {
                Ok(SocketAddrV6::new(ip, port, 0, fairwire::interface(zone)?).into())
            }
            _ => Ok(SocketAddr::new(ip, port)),
        }
    }

    /// Returns the interface that the sockets are restricted to. A link-local address needs only its zone.
    pub(crate) fn device(&self) -> Option<&str> {
        self.interface.as_deref().filter(|_| self.zone().is_none())
    }

    fn zone(&self) -> Option<&str> {
        let has_zone = matches!(self.ip, Some(IpAddr::V6(ip)) if ip.is_unicast_link_local());
        self.interface.as_deref().filter(|_| has_zone)
    }
}

/// Returns the addresses of `host:port` that can be reached from `bind`.
pub(crate) async fn resolve(
    target: &str,
    bind: Option<&Local>,
) -> Result<Vec<SocketAddr>, PerfError> {
    let addrs = fairwire::resolve(target).await;
    let mut addrs =
        addrs.map_err(|error| PerfError::Peer(format!("cannot resolve {target}: {error}")))?;
    if let Some(ip) = bind.and_then(|bind| bind.ip) {
        addrs.retain(|addr| addr.is_ipv4() == ip.is_ipv4());
        if addrs.is_empty() {
            let family = if ip.is_ipv4() { "IPv4" } else { "IPv6" };
            let text = format!("-B {ip}: {target} has no {family} address");
            return Err(PerfError::Local(text));
        }
    }
    Ok(addrs)
}

/// Returns the address to send from to `remote`, with port zero.
pub(crate) fn source(remote: SocketAddr, bind: Option<&Local>) -> io::Result<SocketAddr> {
    let any = match remote {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    bind.map_or(Ok(SocketAddr::new(any, 0)), |bind| bind.addr(any, 0))
}

/// Opens a socket, not bound yet, of the family of `addr`, on the interface of `bind`.
pub(crate) fn socket(addr: SocketAddr, kind: Type, bind: Option<&Local>) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(addr), kind, None)?;
    if addr.is_ipv6() && addr.ip().is_unspecified() {
        // One socket for both families, where the system supports it.
        let _ = socket.set_only_v6(false);
    }
    if let Some(device) = bind.and_then(Local::device) {
        restrict(&socket, device)?;
    }
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(target_os = "linux")]
fn restrict(socket: &Socket, device: &str) -> io::Result<()> {
    fairwire::interface(device)?;
    socket.bind_device(Some(device.as_bytes()))
}

#[cfg(not(target_os = "linux"))]
fn restrict(_socket: &Socket, _device: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

impl From<IpAddr> for Local {
    fn from(ip: IpAddr) -> Self {
        Self {
            ip: Some(ip),
            interface: None,
        }
    }
}

impl FromStr for Local {
    type Err = PerfError;

    fn from_str(text: &str) -> Result<Self, PerfError> {
        let refusal = |why: &str| {
            let forms = "write an address of this host, an interface behind '%', or both, as 192.0.2.1, fe80::1%eth0 or %eth0";
            PerfError::Usage(format!("'{text}' {why}: {forms}"))
        };
        let inside = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let (ip, interface) = match inside.unwrap_or(text).split_once('%') {
            Some((_, "")) => return Err(refusal("names no interface")),
            Some((ip, interface)) => (ip, Some(interface.to_owned())),
            None => (inside.unwrap_or(text), None),
        };
        let ip = match ip {
            "" if interface.is_some() => None,
            ip => Some(ip.parse().map_err(|_| refusal("is not an IP address"))?),
        };
        match ip {
            Some(IpAddr::V6(ip)) if ip.is_unicast_link_local() && interface.is_none() => Err(
                refusal("is a link-local address, which every interface has"),
            ),
            ip => Ok(Self { ip, interface }),
        }
    }
}

impl fmt::Display for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ip) = self.ip {
            write!(f, "{ip}")?;
        }
        match &self.interface {
            Some(interface) => write!(f, "%{interface}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Local;

    fn parsed(text: &str) -> Local {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    /// An address may stand in brackets, have an interface, or be left out beside one. What is printed is read back.
    #[test]
    fn every_form_is_read() {
        for text in [
            "192.0.2.1",
            "::1",
            "fe80::1%eth0",
            "fe80::1%2",
            "192.0.2.1%eth0",
            "%eth0",
        ] {
            assert_eq!(parsed(text).to_string(), text);
        }
        assert_eq!(parsed("[::1]"), parsed("::1"));
        assert_eq!(parsed("[fe80::1%eth0]"), parsed("fe80::1%eth0"));
        assert_eq!(parsed("fe80::1%eth0").device(), None, "the zone says it");
        assert_eq!(parsed("%eth0").device(), Some("eth0"));
        assert_eq!(parsed("192.0.2.1%eth0").device(), Some("eth0"));
    }

    /// Anything else is refused with the forms that are possible, also a link-local address without an interface.
    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "%",
            "::1%",
            "eth0",
            "[::1",
            "host%eth0",
            "fe80::1",
            "127.0.0.1:1",
        ] {
            let error = text.parse::<Local>().expect_err(text).to_string();
            assert!(error.contains("as 192.0.2.1"), "{error}");
        }
    }
}
