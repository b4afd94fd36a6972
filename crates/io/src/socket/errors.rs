//! ICMP errors, from the socket's error queue (Linux).
//!
//! An unconnected socket learns of a dead port, or of a host without DCCP, only through this queue. An entry has the
//! address that the datagram was sent to, the bytes that the ICMP message quotes of it, and
//! the kind of error in a control message, which is read here by hand.

use std::io::IoSliceMut;
use std::mem::{MaybeUninit, size_of};
use std::net::{SocketAddr, UdpSocket};

use rustix::net::{RecvAncillaryBuffer, RecvFlags, recvmsg};

use fairwire_proto::IcmpError;

use super::{NetworkError, canonical};

/// Room for the control messages of one entry.
const CONTROL: usize = 256;

/// `cmsg_level` and `cmsg_type` of an extended error: `SOL_IP, IP_RECVERR` and
/// `SOL_IPV6, IPV6_RECVERR` (ip(7), ipv6(7)).
const EXTENDED_ERRORS: [(i32, i32); 2] = [(0, 11), (41, 25)];

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
    let (Some(remote), Some(error)) = (remote, extended_error(&control)) else {
        return Some(());
    };
    each(NetworkError {
        remote: canonical(remote),
        error,
        quote: &quote[..message.bytes.min(quote.len())],
    });
    Some(())
}

/// The ICMP error among the control messages, if it is one that we act on.
fn extended_error(mut control: &[u8]) -> Option<IcmpError> {
    const WORD: usize = size_of::<usize>();
    const HEADER: usize = WORD + 8;
    // struct cmsghdr { size_t len; int level; int type; }, data behind it, each aligned.
    while let Some((header, _)) = control.split_at_checked(HEADER) {
        let len = usize::from_ne_bytes(*header.first_chunk()?);
        let level = i32::from_ne_bytes(*header[WORD..].first_chunk()?);
        let kind = i32::from_ne_bytes(*header[WORD + 4..].first_chunk()?);
        let data = control.get(HEADER..len)?;
        if EXTENDED_ERRORS.contains(&(level, kind)) {
            return icmp_error(data);
        }
        control = control.get(len.checked_next_multiple_of(WORD)?..)?;
    }
    None
}

/// What a `struct sock_extended_err` says.
fn icmp_error(data: &[u8]) -> Option<IcmpError> {
    // u32 errno; u8 origin, type, code, pad; u32 info; u32 data.
    let &[_, _, _, _, origin, kind, code, _, i0, i1, i2, i3] = data.first_chunk::<12>()?;
    let mtu = u32::from_ne_bytes([i0, i1, i2, i3]);
    match (origin, kind, code) {
        // RFC 792, fragmentation needed; RFC 4443, packet too big. An IPv6 host without DCCP says
        // that it does not know the next header: RFC 4443, 3.4, code 1.
        (ORIGIN_ICMP, 3, 4) | (ORIGIN_ICMP6, 2, _) => Some(IcmpError::TooBig { mtu }),
        (ORIGIN_ICMP, 3, _) | (ORIGIN_ICMP6, 1, _) | (ORIGIN_ICMP6, 4, 1) => {
            Some(IcmpError::Unreachable)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::extended_error;
    use fairwire_proto::IcmpError;

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
        for (level, kind, data, expected) in [
            (0, 11, error(2, 3, 3, 0), Some(IcmpError::Unreachable)),
            (
                0,
                11,
                error(2, 3, 4, 1_400),
                Some(IcmpError::TooBig { mtu: 1_400 }),
            ),
            (41, 25, error(3, 1, 4, 0), Some(IcmpError::Unreachable)),
            (
                41,
                25,
                error(3, 2, 0, 1_280),
                Some(IcmpError::TooBig { mtu: 1_280 }),
            ),
            (41, 25, error(3, 4, 1, 6), Some(IcmpError::Unreachable)),
            (41, 25, error(3, 4, 0, 6), None),
            (0, 11, error(2, 11, 0, 0), None),
            (0, 11, error(1, 3, 3, 0), None),
        ] {
            let mut control = timestamp.clone();
            control.extend(message(level, kind, &data));
            control.extend([0; 32]);
            assert_eq!(
                extended_error(&control),
                expected,
                "{level} {kind} {data:?}"
            );
        }
    }

    /// Lengths that lie end the search; they do not panic.
    #[test]
    fn lying_lengths_are_refused() {
        for len in [0, 1, 15, 17, 300, usize::MAX] {
            let mut control = message(0, 11, &[0; 16]);
            control[..size_of::<usize>()].copy_from_slice(&len.to_ne_bytes());
            let _ = extended_error(&control);
            assert_eq!(extended_error(&control[..10]), None);
        }
    }
}
