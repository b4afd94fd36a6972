//! DCCP directly in IP, protocol 33, on raw sockets.
//!
//! A raw socket receives every DCCP packet of the host that its address allows: IPv4 packets with their header, IPv6
//! packets without. The kernel neither computes nor checks DCCP checksums (RFC 4340, section 9.1). While such a socket
//! is open, the kernel does not answer "protocol unreachable".

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use socket2::{Domain, Protocol, Type};

use fairwire_units::Ecn;

use crate::error::BindError;
use crate::transport::Arrived;

/// DCCP's protocol number in IP (RFC 4340, section 19).
const DCCP: i32 = 33;

/// The shortest IPv4 header, bytes (RFC 791, section 3.1).
const IPV4_HEADER: usize = 20;

/// Opens a raw socket of `ip`'s family, not yet bound.
pub(super) fn socket(ip: IpAddr) -> io::Result<socket2::Socket> {
    if !cfg!(target_os = "linux") {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let domain = Domain::for_address(SocketAddr::new(ip, 0));
    let socket = socket2::Socket::new(domain, Type::RAW, Some(Protocol::from(DCCP)))?;
    #[cfg(target_os = "linux")]
    if ip.is_ipv6() {
        use libc::{IPPROTO_IPV6, IPV6_CHECKSUM, IPV6_RECVERR};
        // We compute the checksum, and check it too, since it may cover only a part of the packet. With -1, the default
        // of RFC 3542, section 3.1, the kernel leaves it alone. IPv4 has no such option and always leaves it alone.
        set(&socket, IPPROTO_IPV6, IPV6_CHECKSUM, -1)?;
        // Without this option a host without DCCP is only found by a timeout; nothing else depends on it.
        let _ = set(&socket, IPPROTO_IPV6, IPV6_RECVERR, 1);
    }
    Ok(socket)
}

/// Sets a socket option that has an integer value.
#[cfg(target_os = "linux")]
fn set(socket: &socket2::Socket, level: i32, name: i32, value: i32) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    #[expect(unsafe_code, reason = "no safe wrapper knows these options")]
    // SAFETY: the descriptor is open, because `socket` is borrowed. The pointer is to an integer that outlives the
    // call, with its true length, and the kernel only reads it.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            libc::socklen_t::try_from(size_of::<i32>()).unwrap_or(4),
        )
    };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Converts the system's error when it refuses the socket.
pub(super) fn refusal(ip: IpAddr, source: io::Error) -> BindError {
    match source.kind() {
        io::ErrorKind::PermissionDenied => BindError::NotPrivileged { source },
        io::ErrorKind::Unsupported if !cfg!(target_os = "linux") => BindError::NativeUnsupported,
        io::ErrorKind::AddrNotAvailable => BindError::NoSuchAddress {
            addr: SocketAddr::new(ip, 0),
        },
        _ => BindError::NativeSocket { ip, source },
    }
}

/// Returns the DCCP packet in what a raw socket received.
///
/// `None` if the IPv4 header is malformed, or if an address is not that of a single host.
pub(super) fn unwrap(arrived: Arrived<'_>) -> Option<Arrived<'_>> {
    let inner = match arrived.remote {
        SocketAddr::V4(_) => ipv4(arrived.bytes)?,
        SocketAddr::V6(_) => arrived,
    };
    // A connection has two ends: an answer could not even be sent from such an address.
    let local = inner.local.ip();
    let remote = inner.remote.ip();
    let broadcast = local == Ipv4Addr::BROADCAST;
    let groups = local.is_multicast() || remote.is_multicast() || remote.is_unspecified();
    (!broadcast && !groups).then_some(inner)
}

/// Removes the IPv4 header (RFC 791, section 3.1).
fn ipv4(packet: &[u8]) -> Option<Arrived<'_>> {
    let &[version_ihl, tos, t0, t1, .., s0, s1, s2, s3, d0, d1, d2, d3] =
        packet.first_chunk::<IPV4_HEADER>()?;
    let header = usize::from(version_ihl & 0x0F) * 4;
    let total = usize::from(u16::from_be_bytes([t0, t1]));
    if version_ihl >> 4 != 4 || header < IPV4_HEADER {
        return None;
    }
    let bytes = packet.get(header..total.min(packet.len()))?;
    Some(Arrived {
        local: SocketAddr::from(([d0, d1, d2, d3], 0)),
        remote: SocketAddr::from(([s0, s1, s2, s3], 0)),
        ecn: Ecn::from_bits(tos & 3),
        bytes,
        train: None,
    })
}

#[cfg(test)]
mod tests {
    use super::{ipv4, refusal, unwrap};
    use crate::transport::Arrived;
    use fairwire_units::Ecn;
    use std::io;

    /// A packet from 192.0.2.1 to 192.0.2.2: ECT(0) beside a DSCP, one option word, 12 bytes of data.
    fn packet() -> Vec<u8> {
        let mut packet = vec![0x46, 0xBA, 0, 36, 0, 1, 0x40, 0, 64, 33, 0, 0];
        packet.extend([192, 0, 2, 1, 192, 0, 2, 2]);
        packet.extend([1, 1, 1, 0]);
        packet.extend(1..=12);
        packet
    }

    fn raw(bytes: &[u8]) -> Arrived<'_> {
        Arrived {
            local: ([0, 0, 0, 0], 0).into(),
            remote: ([192, 0, 2, 1], 0).into(),
            ecn: Ecn::NotEct,
            bytes,
            train: None,
        }
    }

    /// The addresses, the ECN field and the data are read from the packet. Header options and bytes after the packet
    /// are removed.
    #[test]
    fn the_header_is_read_and_removed() {
        let mut bytes = packet();
        bytes.extend([0xFF; 4]);
        let arrived = unwrap(raw(&bytes)).expect("a packet");
        assert_eq!(arrived.local, ([192, 0, 2, 2], 0).into());
        assert_eq!(arrived.remote, ([192, 0, 2, 1], 0).into());
        assert_eq!(arrived.ecn, Ecn::Ect0);
        assert_eq!(arrived.bytes, (1..=12).collect::<Vec<u8>>());
    }

    /// Headers that are truncated or have wrong lengths are refused, without a panic.
    #[test]
    fn lying_headers_give_nothing() {
        let bytes = packet();
        for len in 0..24 {
            assert_eq!(ipv4(&bytes[..len]).map(|a| a.bytes.len()), None, "{len}");
        }
        for first in 0..=255_u8 {
            let mut bytes = packet();
            bytes[0] = first;
            let fits = (0x45..=0x49).contains(&first);
            assert_eq!(ipv4(&bytes).is_some(), fits, "{first:#x}");
        }
        let mut bytes = packet();
        bytes[3] = 10;
        assert!(ipv4(&bytes).is_none(), "a total shorter than the header");
    }

    /// Packets to a multicast group or to the broadcast address are ignored.
    #[test]
    fn groups_are_left_alone() {
        for destination in [[224, 0, 0, 1], [255, 255, 255, 255]] {
            let mut bytes = packet();
            bytes[16..20].copy_from_slice(&destination);
            assert!(unwrap(raw(&bytes)).is_none(), "{destination:?}");
        }
    }

    /// A missing privilege is named in the error, with the way to grant it.
    #[test]
    fn a_missing_right_is_named() {
        let source = io::ErrorKind::PermissionDenied.into();
        let text = refusal([0, 0, 0, 0].into(), source).to_string();
        assert!(
            text.contains("CAP_NET_RAW") && text.contains("setcap"),
            "{text}"
        );
    }
}
