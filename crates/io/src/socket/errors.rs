//! ICMP errors, from the socket's error queue (Linux).
//!
//! An unconnected socket learns of a dead port, or of a host without DCCP, only through this queue. An entry has the
//! address that the datagram was sent to, the bytes that the ICMP message quotes of it, and, in
//! control messages that are read here by hand, the kind of error and the address that the ICMP message
//! was sent to, which is the one that the datagram came from.
//!
//! Which error means what (soft ones may pass, RFC 1122, 4.2.3.9, and RFC 5461; hard ones end an
//! attempt to connect; those of the peer's own host, port and protocol, may end an open connection):
//!
//! | ICMP type, code (RFC 792, RFC 1812) | `ICMPv6` (RFC 4443) | meaning | |
//! |---|---|---|---|
//! | 3, 4 | 2 | packet too big | path MTU |
//! | 3, 0 no route, 5 source route, 6 unknown, 11 not for this class | 1, 0 no route, 2 scope, 7 source route | [`Network`](Unreachable::Network) | soft |
//! | 3, 1 no host, 7 unknown, 8 isolated, 12 not for this class, 14, 15 precedence, and codes to come | 1, 3 no address, and codes to come | [`Host`](Unreachable::Host) | soft |
//! | 11, 0 | 3, 0 | [`HopLimit`](Unreachable::HopLimit) | soft |
//! | 3, 9, 10, 13 | 1, 1, 5 source address, 6 rejected route | [`Prohibited`](Unreachable::Prohibited) | hard for attempts (RFC 5927, 5.2) |
//! | 3, 2 | 4, 1 next header unknown | [`Protocol`](Unreachable::Protocol) | hard |
//! | 3, 3 | 1, 4 | [`Port`](Unreachable::Port) | hard |
//! | all others: reassembly, parameters, source quench, redirect | | | ignored |

use std::io::IoSliceMut;
use std::mem::{MaybeUninit, size_of};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use rustix::net::{RecvAncillaryBuffer, RecvFlags, recvmsg};

use fairwire_proto::{IcmpError, Unreachable};

use super::{NetworkError, canonical};

/// Room for the control messages of one entry.
const CONTROL: usize = 256;

/// `cmsg_level` and `cmsg_type` of an extended error: `SOL_IP, IP_RECVERR` and
/// `SOL_IPV6, IPV6_RECVERR` (ip(7), ipv6(7)).
const EXTENDED_ERRORS: [(i32, i32); 2] = [(0, 11), (41, 25)];

/// `IP_PKTINFO` and `IPV6_PKTINFO`, which every socket here asks for.
const PACKET_INFO: [(i32, i32); 2] = [(0, 8), (41, 50)];

/// `ee_origin`: the error came as ICMP, as `ICMPv6`.
const ORIGIN_ICMP: u8 = 2;
const ORIGIN_ICMP6: u8 = 3;

/// Control messages as the system writes them: aligned for their headers.
#[repr(C, align(16))]
struct Control([MaybeUninit<u8>; CONTROL]);

/// Takes one entry off the queue and hands it to `each` if it is an ICMP error. `None` when the
/// queue is empty.
pub(super) fn next(udp: &UdpSocket, each: &mut impl FnMut(NetworkError<'_>)) -> Option<()> {
    let mut control = Control([MaybeUninit::new(0); CONTROL]);
    let mut quote = [0; 576];
    let mut ancillary = RecvAncillaryBuffer::new(&mut control.0);
    let flags = RecvFlags::ERRQUEUE | RecvFlags::DONTWAIT;
    let message = recvmsg(
        udp,
        &mut [IoSliceMut::new(&mut quote)],
        &mut ancillary,
        flags,
    )
    .ok()?;
    drop(ancillary);
    // Every byte was initialised above, before the system overwrote some of them.
    let control = control.0.map(|byte| {
        #[expect(
            unsafe_code,
            reason = "the system's control messages can only be read as bytes"
        )]
        // SAFETY: all of the array was initialised with zeros when it was made; the system and
        // rustix only ever store initialised bytes over them.
        unsafe {
            byte.assume_init()
        }
    });
    let remote = message
        .address
        .and_then(|addr| SocketAddr::try_from(addr).ok());
    let Told { error, local } = told(&control);
    let (Some(remote), Some(error)) = (remote, error) else {
        return Some(());
    };
    each(NetworkError {
        local,
        remote: canonical(remote),
        error,
        quote: &quote[..message.bytes.min(quote.len())],
    });
    Some(())
}

/// What control messages say.
#[derive(Debug, Default, Eq, PartialEq)]
struct Told {
    /// The ICMP error, if it is one that we act on.
    error: Option<IcmpError>,
    /// Which address of ours it came to.
    local: Option<IpAddr>,
}

fn told(control: &[u8]) -> Told {
    let mut told = Told::default();
    let _ = walk(control, |level_and_kind, data| {
        if EXTENDED_ERRORS.contains(&level_and_kind) {
            told.error = told.error.or(icmp_error(data));
        } else if PACKET_INFO.contains(&level_and_kind) {
            told.local = told.local.or(packet_info(level_and_kind, data));
        }
    });
    told
}

/// Shows each control message to `each`; `None` where their lengths lie or end.
fn walk(mut control: &[u8], mut each: impl FnMut((i32, i32), &[u8])) -> Option<()> {
    const WORD: usize = size_of::<usize>();
    const HEADER: usize = WORD + 8;
    // struct cmsghdr { size_t len; int level; int type; }, data behind it, each aligned.
    while let Some((header, _)) = control.split_at_checked(HEADER) {
        let len = usize::from_ne_bytes(*header.first_chunk()?);
        let level = i32::from_ne_bytes(*header[WORD..].first_chunk()?);
        let kind = i32::from_ne_bytes(*header[WORD + 4..].first_chunk()?);
        let data = control.get(HEADER..len)?;
        each((level, kind), data);
        control = control.get(len.checked_next_multiple_of(WORD)?..)?;
    }
    None
}

/// The destination in a `struct in_pktinfo` or `struct in6_pktinfo`.
fn packet_info((level, _): (i32, i32), data: &[u8]) -> Option<IpAddr> {
    if level == 0 {
        // int index; in_addr of our own, in_addr of the header.
        let ip: &[u8; 4] = data.get(8..)?.first_chunk()?;
        Some(Ipv4Addr::from(*ip).into())
    } else {
        let ip: &[u8; 16] = data.first_chunk()?;
        Some(Ipv6Addr::from(*ip).to_canonical())
    }
}

/// What a `struct sock_extended_err` says.
fn icmp_error(data: &[u8]) -> Option<IcmpError> {
    // u32 errno; u8 origin, type, code, pad; u32 info; u32 data.
    let &[_, _, _, _, origin, kind, code, _, i0, i1, i2, i3] = data.first_chunk::<12>()?;
    let mtu = u32::from_ne_bytes([i0, i1, i2, i3]);
    let why = match (origin, kind, code) {
        (ORIGIN_ICMP, 3, 4) | (ORIGIN_ICMP6, 2, _) => return Some(IcmpError::TooBig { mtu }),
        (ORIGIN_ICMP, 3, 0 | 5 | 6 | 11) | (ORIGIN_ICMP6, 1, 0 | 2 | 7) => Unreachable::Network,
        (ORIGIN_ICMP, 3, 9 | 10 | 13) | (ORIGIN_ICMP6, 1, 1 | 5 | 6) => Unreachable::Prohibited,
        (ORIGIN_ICMP, 3, 2) | (ORIGIN_ICMP6, 4, 1) => Unreachable::Protocol,
        (ORIGIN_ICMP, 3, 3) | (ORIGIN_ICMP6, 1, 4) => Unreachable::Port,
        (ORIGIN_ICMP, 11, 0) | (ORIGIN_ICMP6, 3, 0) => Unreachable::HopLimit,
        // A code that is not known ends nothing.
        (ORIGIN_ICMP, 3, _) | (ORIGIN_ICMP6, 1, _) => Unreachable::Host,
        _ => return None,
    };
    Some(IcmpError::Unreachable { why })
}

#[cfg(test)]
mod tests {
    use super::{Told, told};
    use fairwire_proto::{IcmpError, Unreachable};

    fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let len = size_of::<usize>() + 8 + data.len();
        let mut bytes = len.to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(len.next_multiple_of(size_of::<usize>()), 0);
        bytes
    }

    /// The error is found behind other control messages, and its kinds are told apart.
    #[test]
    fn errors_are_found_and_named() {
        let timestamp = message(1, 35, &[0; 16]);
        let error = |origin, kind, code, info: u32| {
            let mut data = vec![111, 0, 0, 0, origin, kind, code, 0];
            data.extend(info.to_ne_bytes());
            data.extend([0; 20]);
            data
        };
        let unreachable = |why| Some(IcmpError::Unreachable { why });
        for (level, kind, data, expected) in [
            (0, 11, error(2, 3, 3, 0), unreachable(Unreachable::Port)),
            (
                0,
                11,
                error(2, 3, 4, 1_400),
                Some(IcmpError::TooBig { mtu: 1_400 }),
            ),
            (41, 25, error(3, 1, 4, 0), unreachable(Unreachable::Port)),
            (
                41,
                25,
                error(3, 2, 0, 1_280),
                Some(IcmpError::TooBig { mtu: 1_280 }),
            ),
            (
                41,
                25,
                error(3, 4, 1, 6),
                unreachable(Unreachable::Protocol),
            ),
            (41, 25, error(3, 4, 0, 6), None),
            (0, 11, error(2, 11, 1, 0), None),
            (0, 11, error(1, 3, 3, 0), None),
        ] {
            let mut control = timestamp.clone();
            control.extend(message(level, kind, &data));
            control.extend([0; 32]);
            let told = told(&control);
            assert_eq!(told.error, expected, "{level} {kind} {data:?}");
            assert_eq!(told.local, None, "{level} {kind} {data:?}");
        }
    }

    /// RFC 1122, 4.2.3.9, and RFC 5461: whatever type and code a router sends, only port, protocol and
    /// prohibition are hard, in both families; a code that nobody has defined yet is soft.
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
            let data = [113, 0, 0, 0, origin, kind, code, 0, 0, 0, 0, 0];
            let told = super::icmp_error(&data);
            let is_hard = matches!(told, Some(IcmpError::Unreachable { why }) if why.is_hard());
            let expected = hard.contains(&(origin, kind, code));
            assert_eq!(is_hard, expected, "{origin} {kind} {code}: {told:?}");
            let unreachable = matches!((origin, kind), (2, 3) | (3, 1));
            assert!(!unreachable || told.is_some(), "{origin} {kind} {code}");
        }
    }

    /// Lengths that lie end the search; they do not panic.
    #[test]
    fn lying_lengths_are_refused() {
        for len in [0, 1, 15, 17, 300, usize::MAX] {
            let mut control = message(0, 11, &[0; 16]);
            control[..size_of::<usize>()].copy_from_slice(&len.to_ne_bytes());
            let _ = told(&control);
            assert_eq!(told(&control[..10]), Told::default());
        }
    }

    /// The address that the error came to is found before and behind the error, of either family and
    /// in the form that the layers above know; what is cut short is none.
    #[test]
    fn our_own_address_is_found() {
        let mut error = vec![111, 0, 0, 0, 2, 3, 3, 0];
        error.extend([0; 24]);
        let error = message(0, 11, &error);
        let v4 = [1, 0, 0, 0, 10, 0, 0, 9, 192, 0, 2, 7];
        let mut v6 = [0; 20];
        v6[..16].copy_from_slice(&[0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
        let mut mapped = [0; 20];
        mapped[10..16].copy_from_slice(&[0xFF, 0xFF, 192, 0, 2, 7]);
        for (level, kind, data, local) in [
            (0, 8, &v4[..], Some("192.0.2.7")),
            (41, 50, &v6, Some("2001:db8::7")),
            (41, 50, &mapped, Some("192.0.2.7")),
            (0, 8, &v4[..11], None),
            (41, 50, &v6[..15], None),
        ] {
            let info = message(level, kind, data);
            for control in [[info.clone(), error.clone()], [error.clone(), info.clone()]] {
                let told = told(&control.concat());
                let why = Unreachable::Port;
                assert_eq!(told.error, Some(IcmpError::Unreachable { why }));
                let local = local.map(|ip| ip.parse().expect("an address"));
                assert_eq!(told.local, local, "{level} {data:?}");
            }
        }
    }
}
