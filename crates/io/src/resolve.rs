//! Addresses in texts, with the zones of IPv6 (RFC 4007, section 11): `fe80::1%2` or `fe80::1%eth0`.

use std::io;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};
use std::str::FromStr;

use tokio::net::lookup_host;

use crate::address::DccpAddr;
use crate::timer;

/// Parses an IP address with a port, as `192.0.2.1:7001` or `[fe80::1%eth0]:7001`. Behind `%` is the name or the number
/// of an interface of this host.
///
/// # Errors
/// `InvalidInput` if it is no address; the system's error if there is no such interface.
pub fn parse_address(text: &str) -> io::Result<SocketAddr> {
    match with_zone(text) {
        Some(parsed) => parsed,
        None => text.parse().map_err(|_| {
            invalid(format!(
                "'{text}' is not an IP address with a port: write it as 192.0.2.1:7001 or [2001:db8::1]:7001"
            ))
        }),
    }
}

/// Returns the addresses of `host:port`, a name or an address as in [`parse_address`].
///
/// # Errors
/// Those of the system's resolver. A name is looked up in a tokio runtime only.
pub async fn resolve(host: &str) -> io::Result<Vec<SocketAddr>> {
    if let Some(parsed) = with_zone(host) {
        return Ok(vec![parsed?]);
    }
    if let Ok(parsed) = host.parse() {
        return Ok(vec![parsed]);
    }
    timer::check().map_err(io::Error::other)?;
    let addrs: Vec<_> = lookup_host(host).await?.collect();
    if addrs.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(addrs)
}

/// Returns the addresses of `host:port`, or of `host:udp/dccp`, which names both ports.
pub(crate) async fn remotes(host: &str) -> io::Result<Vec<DccpAddr>> {
    let (host, dccp_port) = cut_dccp_port(host)?;
    let addrs = resolve(host).await?.into_iter();
    Ok(addrs.map(|addr| with_port(addr, dccp_port)).collect())
}

/// Reads an address as in [`parse_address`], whose port is both ports, or one as `192.0.2.1:6511/7001` with the UDP port
/// 6511 and the DCCP port 7001.
impl FromStr for DccpAddr {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let (addr, dccp_port) = cut_dccp_port(text)?;
        Ok(with_port(parse_address(addr)?, dccp_port))
    }
}

/// Cuts the DCCP port off, if there is one behind `/`.
fn cut_dccp_port(text: &str) -> io::Result<(&str, Option<u16>)> {
    let Some((rest, port)) = text.rsplit_once('/') else {
        return Ok((text, None));
    };
    let number = port.parse().map_err(|_| {
        invalid(format!(
            "'{port}' in '{text}' is not a DCCP port: write a number from 1 to 65535"
        ))
    })?;
    Ok((rest, Some(number)))
}

fn with_port(addr: SocketAddr, dccp_port: Option<u16>) -> DccpAddr {
    let dccp_port = dccp_port.unwrap_or(addr.port());
    DccpAddr { addr, dccp_port }
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// Returns the number of the interface of this host that has this name or number.
///
/// # Errors
/// The system's error if there is none.
pub fn interface(name: &str) -> io::Result<u32> {
    #[cfg(target_os = "linux")]
    {
        let all = nix::net::if_::if_nameindex()?;
        let is_it = |one: &&nix::net::if_::Interface| {
            one.name().to_bytes() == name.as_bytes() || name.parse() == Ok(one.index())
        };
        all.iter()
            .find(is_it)
            .map(nix::net::if_::Interface::index)
            .ok_or_else(|| {
                let text = format!("there is no interface '{name}' on this host");
                io::Error::new(io::ErrorKind::NotFound, text)
            })
    }
    #[cfg(not(target_os = "linux"))]
    {
        if let Ok(number) = name.parse() {
            return Ok(number);
        }
        let text = format!("write the number of the interface in place of '{name}'");
        Err(io::Error::new(io::ErrorKind::Unsupported, text))
    }
}

/// Parses `[ADDRESS%ZONE]:PORT`; `None` if `text` has another form.
fn with_zone(text: &str) -> Option<io::Result<SocketAddr>> {
    let (inside, port) = text.strip_prefix('[')?.split_once("]:")?;
    let (ip, zone) = inside.split_once('%')?;
    let (ip, port): (Ipv6Addr, u16) = (ip.parse().ok()?, port.parse().ok()?);
    Some(interface(zone).map(|zone| SocketAddrV6::new(ip, port, 0, zone).into()))
}

#[cfg(test)]
mod tests {
    use super::{DccpAddr, interface, parse_address, remotes, resolve};

    /// A zone is the number or the name of an interface; another name or number is an error that says it.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn zones_have_names_and_numbers() {
        let number = interface("lo").expect("the loopback interface");
        let expected = format!("[fe80::1%{number}]:7001")
            .parse()
            .expect("an address");
        for text in [
            format!("[fe80::1%{number}]:7001"),
            "[fe80::1%lo]:7001".to_owned(),
        ] {
            assert_eq!(parse_address(&text).expect("an address"), expected);
            assert_eq!(resolve(&text).await.expect("an address"), [expected]);
        }
        for strange in ["nowhere", "0", "999999"] {
            let text = format!("[fe80::1%{strange}]:1");
            let error = parse_address(&text).expect_err("no interface");
            assert!(
                error.to_string().contains(&format!("'{strange}'")),
                "{error}"
            );
            assert!(resolve(&text).await.is_err());
        }
    }

    /// A DCCP address that is printed is read back the same, with and without UDP.
    #[tokio::test]
    async fn printed_addresses_are_read_back() {
        for addr in [
            "192.0.2.1:7001",
            "[2001:db8::1]:7001",
            "[fe80::1%1]:9",
            "1.2.3.4:0",
        ] {
            let addr = addr.parse().expect("an address");
            for dccp_port in [0, 7_001, u16::MAX] {
                let printed = DccpAddr { addr, dccp_port };
                let text = printed.to_string();
                assert_eq!(text.parse::<DccpAddr>().expect(&text), printed);
                assert_eq!(remotes(&text).await.expect(&text), [printed]);
            }
            let both = DccpAddr::from(addr).to_string();
            assert_eq!(both, addr.to_string());
            assert_eq!(both.parse::<DccpAddr>().expect("read"), addr.into());
        }
    }

    /// What is no DCCP address is refused, and the error says what is expected.
    #[test]
    fn nonsense_is_no_dccp_address() {
        for (text, expected) in [
            ("192.0.2.1", "192.0.2.1:7001"),
            ("192.0.2.1/7001", "192.0.2.1:7001"),
            ("2001:db8::1/7001", "[2001:db8::1]:7001"),
            ("localhost:7001", "'localhost:7001' is not an IP address"),
            ("192.0.2.1:1/2/3", "'192.0.2.1:1/2' is not an IP address"),
            ("192.0.2.1:1/", "'' in '192.0.2.1:1/' is not a DCCP port"),
            ("192.0.2.1:1/65536", "from 1 to 65535"),
            ("192.0.2.1:1/-1", "from 1 to 65535"),
        ] {
            let error = text.parse::<DccpAddr>().expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    /// Other addresses and names are read as ever.
    #[tokio::test]
    async fn other_addresses_have_no_zone() {
        for text in ["127.0.0.1:7001", "[::1]:7001"] {
            let expected = text.parse().expect("an address");
            assert_eq!(parse_address(text).expect("an address"), expected);
            assert_eq!(resolve(text).await.expect("an address"), [expected]);
        }
        for text in ["::1", "[::1]", "[::1%lo]", "localhost:1", "[x%lo]:1", ""] {
            assert!(parse_address(text).is_err(), "{text}");
        }
    }
}
