//! The sizes that packets may have (RFC 4340, sections 14 and 14.1).

use std::net::IpAddr;

use fairwire_wire::{MAX_HEAD, PacketType};

use crate::constants::MIN_PATH_MTU;
use crate::transmit::Path;

/// Bytes of options for which every datagram leaves room in addition to its `DataAck` header, so that an accepted
/// datagram never fails later. They hold an NDP Count and a modest Ack Vector or TFRC report; longer feedback leaves on
/// an Ack.
const OPTION_ROOM: usize = 40;

/// Bytes of an Ack that its feedback leaves free: NDP Count (8), Timestamp Echo (10) and Slow Receiver (1).
const BESIDE_FEEDBACK: usize = 19;

/// The minimum MTU of IPv6 links (RFC 8200, 5); a report of less is not trusted (RFC 8201, 4).
const MIN_PATH_MTU_V6: u16 = 1_280;

/// Returns the size below which path MTU discovery never goes. An IPv4 link may take as little as 68 bytes, but a
/// report of less than 576 is far more often an attack (RFC 5927, 7) than a real path.
pub(crate) fn floor(path: &Path) -> u16 {
    match path.remote.ip() {
        IpAddr::V4(_) => MIN_PATH_MTU,
        IpAddr::V6(_) => MIN_PATH_MTU_V6,
    }
}

/// Sizes that follow from the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    path_mtu: u16,
    /// Bytes of the IP and UDP headers.
    below: usize,
}

impl Sizes {
    /// Returns the sizes for IP packets of at most `path_mtu` bytes.
    pub(crate) fn new(path: &Path, path_mtu: u16) -> Self {
        let ip = match path.remote.ip() {
            IpAddr::V4(_) => 20,
            IpAddr::V6(_) => 40,
        };
        Self {
            path_mtu: path_mtu.max(MIN_PATH_MTU),
            // RFC 6773, 3.7: the UDP header takes its share.
            below: ip + usize::from(path.encapsulation.overhead()),
        }
    }

    /// Returns the size of the largest IP packet, bytes.
    pub(crate) fn path_mtu(self) -> u16 {
        self.path_mtu
    }

    /// Returns the bytes that an IP packet has for DCCP.
    fn available(self) -> usize {
        usize::from(self.path_mtu) - self.below
    }

    /// Returns the bytes of the IP packet with a header of `head` and a payload of `payload` bytes.
    pub(crate) fn packet(self, head: usize, payload: usize) -> usize {
        self.below + head + payload
    }

    /// Returns the size of the largest datagram, bytes.
    pub(crate) fn max_datagram(self) -> usize {
        self.available() - PacketType::DataAck.header_len(false) - OPTION_ROOM
    }

    /// Returns the bytes of feedback for which every Ack has room, unless negotiation or Init Cookies fill it.
    pub(crate) fn feedback_room(self) -> usize {
        self.head_limit(0) - PacketType::Ack.header_len(false) - BESIDE_FEEDBACK
    }

    /// Returns the bytes of header that fit before a payload of `payload` bytes.
    pub(crate) fn head_limit(self, payload: usize) -> usize {
        self.available().saturating_sub(payload).min(MAX_HEAD)
    }
}

#[cfg(test)]
mod tests {
    use super::{OPTION_ROOM, Path, Sizes};
    use crate::transmit::Encapsulation;

    /// RFC 4340, 14, and RFC 6773, 3.7: the IP packet, headers included, stays within the MTU.
    #[test]
    fn a_largest_datagram_fills_the_path() {
        for (local, ip) in [("192.0.2.1:1", 20), ("[2001:db8::1]:1", 40)] {
            for (encapsulation, udp) in [(Encapsulation::Native, 0), (Encapsulation::Udp, 8)] {
                let local = local.parse().unwrap();
                let path = Path {
                    encapsulation,
                    local,
                    remote: local,
                };
                let sizes = Sizes::new(&path, 1_500);
                let largest = sizes.max_datagram();
                assert_eq!(ip + udp + 24 + OPTION_ROOM + largest, 1_500);
                assert_eq!(sizes.head_limit(largest), 24 + OPTION_ROOM);
            }
        }
    }
}
