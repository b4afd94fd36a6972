//! Endpoints that share one address, each with a part of its connections.

/// One of several endpoints that share one address.
///
/// Which one a connection belongs to follows from its two DCCP ports, in either order. So whoever receives a packet for
/// the address can tell where it belongs without any state. A client's port is drawn at random, so connections spread
/// evenly.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shard {
    index: u16,
    count: u16,
}

impl Shard {
    /// The only endpoint of its address.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Returns the endpoints of an address that `count` of them share; at least one.
    pub fn all(count: u16) -> impl Iterator<Item = Self> {
        let count = count.max(1);
        (0..count).map(move |index| Self { index, count })
    }

    /// Returns the number of the endpoint, among `count`, that a connection between these DCCP ports belongs to.
    pub fn of(count: u16, ports: (u16, u16)) -> usize {
        usize::from((ports.0 ^ ports.1) % count.max(1))
    }

    /// Returns the number of the endpoint, among `count`, that a DCCP packet belongs to; `None` if the packet is too
    /// short to tell.
    pub fn of_packet(count: u16, packet: &[u8]) -> Option<usize> {
        let &[s0, s1, d0, d1] = packet.first_chunk()?;
        let ports = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
        Some(Self::of(count, ports))
    }

    /// Returns whether a connection between these DCCP ports belongs to this endpoint.
    pub fn covers(self, ports: (u16, u16)) -> bool {
        Self::of(self.count, ports) == usize::from(self.index)
    }

    /// Returns how many endpoints share the address.
    pub const fn count(self) -> u16 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::Shard;

    /// Each pair of ports belongs to exactly one endpoint, in whatever order the packet names them.
    #[test]
    fn ports_belong_to_one_endpoint() {
        for count in [1, 2, 3, 8] {
            for (a, b) in [(1, 2), (5_004, 60_001), (u16::MAX, 0), (7, 7)] {
                let covering = Shard::all(count).filter(|shard| shard.covers((a, b)));
                let numbers: Vec<_> = covering.map(|shard| usize::from(shard.index)).collect();
                assert_eq!(numbers, [Shard::of(count, (b, a))]);
                let packet = [a.to_be_bytes(), b.to_be_bytes()].concat();
                assert_eq!(Shard::of_packet(count, &packet), Some(numbers[0]));
            }
        }
        assert_eq!(Shard::of_packet(2, &[0; 3]), None);
    }
}
