//! Addresses in texts, with the zones of IPv6 (RFC 4007, section 11): `fe80::1%2` or `fe80::1%eth0`.

use std::io;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};

use tokio::net::lookup_host;

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
            let text = format!("'{text}' is not an IP address with a port");
            io::Error::new(io::ErrorKind::InvalidInput, text)
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
    use super::{interface, parse_address, resolve};

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
