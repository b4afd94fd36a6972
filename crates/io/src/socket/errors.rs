//! ICMP errors, from the socket's error queue (Linux).
//!
//! An unconnected socket learns of a closed port, or of a host without DCCP, only through this queue. An entry holds
//! the address that the datagram was sent to and the bytes of it that the ICMP message quotes. Its control messages
//! hold the kind of error and the address that the ICMP message was sent to, which is the one that the datagram was
//! sent from.
//!
//! The table shows the meaning of each error. Soft errors may pass (RFC 1122, 4.2.3.9, and RFC 5461). Hard errors end
//! an attempt to connect. Those of the peer's own host, protocol and port, may end an open connection:
//!
//! | ICMP type, code (RFC 792, RFC 1812) | `ICMPv6` (RFC 4443) | meaning | |
//! |---|---|---|---|
//! | 3, 4 | 2 | packet too big | path MTU |
//! | 3, 0 no route, 5 source route, 6 unknown, 11 not for this class | 1, 0 no route, 2 scope, 7 source route | [`Network`](Unreachable::Network) | soft |
//! | 3, 1 no host, 7 unknown, 8 isolated, 12 not for this class, 14, 15 precedence, and undefined codes | 1, 3 no address, and undefined codes | [`Host`](Unreachable::Host) | soft |
//! | 11, 0 | 3, 0 | [`HopLimit`](Unreachable::HopLimit) | soft |
//! | 3, 9, 10, 13 | 1, 1, 5 source address, 6 rejected route | [`Prohibited`](Unreachable::Prohibited) | hard for attempts (RFC 5927, 5.2) |
//! | 3, 2 | 4, 1 next header unknown | [`Protocol`](Unreachable::Protocol) | hard |
//! | 3, 3 | 1, 4 | [`Port`](Unreachable::Port) | hard |
//! | all others: reassembly, parameters, source quench, redirect | | | ignored |

use std::io::IoSliceMut;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;

use libc::sock_extended_err;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};

use fairwire_proto::{IcmpError, Unreachable};

use crate::transport::{NetworkError, canonical};

/// Room for the control messages of one entry, bytes.
const CONTROL: usize = 256;

/// Values of `ee_origin`: the error came as ICMP or as `ICMPv6`.
const ORIGIN_ICMP: u8 = 2;
const ORIGIN_ICMP6: u8 = 3;

/// A buffer for control messages, aligned for their headers.
#[repr(C, align(16))]
struct Control([u8; CONTROL]);

/// Takes one entry off the queue and passes it to `each` if it is an ICMP error. Returns `None` if the queue is empty.
pub(super) fn next(udp: &UdpSocket, each: &mut impl FnMut(NetworkError<'_>)) -> Option<()> {
    let mut control = Control([0; CONTROL]);
    let mut quote = [0; 576];
    let mut parts = [IoSliceMut::new(&mut quote)];
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let message =
        recvmsg::<SockaddrStorage>(udp.as_raw_fd(), &mut parts, Some(&mut control.0), flags);
    let message = message.ok()?;
    let bytes = message.bytes;
    let remote = message.address.as_ref().and_then(socket_addr);
    let ControlInfo { error, local } = parse_control(message.cmsgs().into_iter().flatten());
    let (Some(remote), Some(error)) = (remote, error) else {
        return Some(());
    };
    each(NetworkError {
        local,
        remote: canonical(remote),
        error,
        quote: &quote[..bytes.min(quote.len())],
    });
    Some(())
}

fn socket_addr(addr: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = addr.as_sockaddr_in().map(|v4| SocketAddrV4::from(*v4));
    let v6 = addr.as_sockaddr_in6().map(|v6| SocketAddrV6::from(*v6));
    v4.map(SocketAddr::V4).or(v6.map(SocketAddr::V6))
}

/// The contents of the control messages of one entry.
#[derive(Debug, Default, Eq, PartialEq)]
struct ControlInfo {
    /// The ICMP error, if it is one that we act on.
    error: Option<IcmpError>,
    /// The local address that the ICMP message was sent to.
    local: Option<IpAddr>,
}

fn parse_control(messages: impl IntoIterator<Item = ControlMessageOwned>) -> ControlInfo {
    let mut told = ControlInfo::default();
    for message in messages {
        match message {
            ControlMessageOwned::Ipv4RecvErr(error, _)
            | ControlMessageOwned::Ipv6RecvErr(error, _) => {
                told.error = told.error.or(icmp_error(&error));
            }
            ControlMessageOwned::Ipv4PacketInfo(info) => {
                // `ipi_addr` is from the packet's header; `ipi_spec_dst` is from the route.
                let ip = Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr));
                told.local = told.local.or(Some(ip.into()));
            }
            ControlMessageOwned::Ipv6PacketInfo(info) => {
                let ip = Ipv6Addr::from(info.ipi6_addr.s6_addr);
                told.local = told.local.or(Some(ip.to_canonical()));
            }
            _ => {}
        }
    }
    told
}

/// Returns the meaning of an entry that is an ICMP error; `None` for an error that is ignored.
fn icmp_error(error: &sock_extended_err) -> Option<IcmpError> {
    let (origin, kind, code) = (error.ee_origin, error.ee_type, error.ee_code);
    let mtu = error.ee_info;
    let why = match (origin, kind, code) {
        (ORIGIN_ICMP, 3, 4) | (ORIGIN_ICMP6, 2, _) => return Some(IcmpError::TooBig { mtu }),
        (ORIGIN_ICMP, 3, 0 | 5 | 6 | 11) | (ORIGIN_ICMP6, 1, 0 | 2 | 7) => Unreachable::Network,
        (ORIGIN_ICMP, 3, 9 | 10 | 13) | (ORIGIN_ICMP6, 1, 1 | 5 | 6) => Unreachable::Prohibited,
        (ORIGIN_ICMP, 3, 2) | (ORIGIN_ICMP6, 4, 1) => Unreachable::Protocol,
        (ORIGIN_ICMP, 3, 3) | (ORIGIN_ICMP6, 1, 4) => Unreachable::Port,
        (ORIGIN_ICMP, 11, 0) | (ORIGIN_ICMP6, 3, 0) => Unreachable::HopLimit,
        // An unknown code is treated as a soft error.
        (ORIGIN_ICMP, 3, _) | (ORIGIN_ICMP6, 1, _) => Unreachable::Host,
        _ => return None,
    };
    Some(IcmpError::Unreachable { why })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use libc::{in_addr, in_pktinfo, in6_addr, in6_pktinfo, sock_extended_err};
    use nix::sys::socket::ControlMessageOwned;
    use nix::sys::time::TimeVal;

    use super::{icmp_error, parse_control};
    use fairwire_proto::{IcmpError, Unreachable};

    fn error(ee_origin: u8, ee_type: u8, ee_code: u8, ee_info: u32) -> sock_extended_err {
        sock_extended_err {
            ee_errno: 111,
            ee_origin,
            ee_type,
            ee_code,
            ee_pad: 0,
            ee_info,
            ee_data: 0,
        }
    }

    /// Kinds of errors are distinguished, in both families.
    #[test]
    fn errors_are_named() {
        let unreachable = |why| Some(IcmpError::Unreachable { why });
        for (error, expected) in [
            (error(2, 3, 3, 0), unreachable(Unreachable::Port)),
            (
                error(2, 3, 4, 1_400),
                Some(IcmpError::TooBig { mtu: 1_400 }),
            ),
            (error(3, 1, 4, 0), unreachable(Unreachable::Port)),
            (
                error(3, 2, 0, 1_280),
                Some(IcmpError::TooBig { mtu: 1_280 }),
            ),
            (error(3, 4, 1, 6), unreachable(Unreachable::Protocol)),
            (error(3, 4, 0, 6), None),
            (error(2, 11, 1, 0), None),
            (error(1, 3, 3, 0), None),
        ] {
            assert_eq!(icmp_error(&error), expected, "{error:?}");
        }
    }

    /// RFC 1122, 4.2.3.9, and RFC 5461: of all types and codes, only port, protocol and prohibition are hard, in both
    /// families. An undefined code is soft.
    #[test]
    fn finding_12_soft_and_hard_are_told_apart() {
        let hard = [
            (2, 3, 2),
            (2, 3, 3),
            (2, 3, 9),
            (2, 3, 10),
            (2, 3, 13),
            (3, 1, 1),
            (3, 1, 4),
            (3, 1, 5),
            (3, 1, 6),
            (3, 4, 1),
        ];
        for (origin, kind, code) in (0..=255_u8)
            .flat_map(|kind| (0..=255).flat_map(move |code| [(2, kind, code), (3, kind, code)]))
        {
            let told = icmp_error(&error(origin, kind, code, 0));
            let is_hard = matches!(told, Some(IcmpError::Unreachable { why }) if why.is_hard());
            let expected = hard.contains(&(origin, kind, code));
            assert_eq!(is_hard, expected, "{origin} {kind} {code}: {told:?}");
            let unreachable = matches!((origin, kind), (2, 3) | (3, 1));
            assert!(!unreachable || told.is_some(), "{origin} {kind} {code}");
        }
    }

    /// The error and the local address are found in any order and after other messages, in both families. The address
    /// has the form that the layers above use.
    #[test]
    fn our_own_address_is_found() {
        let v4 = in_pktinfo {
            ipi_ifindex: 1,
            ipi_spec_dst: in_addr {
                s_addr: u32::from_ne_bytes([10, 0, 0, 9]),
            },
            ipi_addr: in_addr {
                s_addr: u32::from_ne_bytes([192, 0, 2, 7]),
            },
        };
        let v6 = |ip: &str| {
            let ip: Ipv6Addr = ip.parse().expect("an address");
            let s6_addr = ip.octets();
            ControlMessageOwned::Ipv6PacketInfo(in6_pktinfo {
                ipi6_addr: in6_addr { s6_addr },
                ipi6_ifindex: 1,
            })
        };
        for (info, local) in [
            (ControlMessageOwned::Ipv4PacketInfo(v4), "192.0.2.7"),
            (v6("2001:db8::7"), "2001:db8::7"),
            (v6("::ffff:192.0.2.7"), "192.0.2.7"),
        ] {
            let time = ControlMessageOwned::ScmTimestamp(TimeVal::new(1, 0));
            let error = ControlMessageOwned::Ipv4RecvErr(error(2, 3, 3, 0), None);
            let messages = [time, info, error];
            let mut backwards = messages.clone();
            backwards.reverse();
            for messages in [messages, backwards] {
                let told = parse_control(messages);
                let why = Unreachable::Port;
                assert_eq!(told.error, Some(IcmpError::Unreachable { why }));
                let local = local.parse().expect("an address");
                assert_eq!(told.local, Some(local));
            }
        }
    }
}
