//! The packet types and their properties.

use std::fmt;

/// A packet type (RFC 4340, section 5.1, and RFC 5596, section 2.2.1).
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum PacketType {
    /// A client's request for a connection.
    Request = 0,
    /// A server's answer that accepts a Request.
    Response = 1,
    /// Application data.
    Data = 2,
    /// An acknowledgement.
    Ack = 3,
    /// Application data with an acknowledgement.
    DataAck = 4,
    /// A server's request that the client close the connection.
    CloseReq = 5,
    /// The close of the connection; its receiver answers with a Reset.
    Close = 6,
    /// The abrupt end of the connection.
    Reset = 7,
    /// A request to resynchronise sequence numbers.
    Sync = 8,
    /// The answer to a Sync.
    SyncAck = 9,
    /// A packet with which a server behind a NAT opens the NAT for a client (RFC 5596).
    Listen = 10,
}

impl PacketType {
    /// Every type, in numerical order.
    pub const ALL: [Self; 11] = [
        Self::Request,
        Self::Response,
        Self::Data,
        Self::Ack,
        Self::DataAck,
        Self::CloseReq,
        Self::Close,
        Self::Reset,
        Self::Sync,
        Self::SyncAck,
        Self::Listen,
    ];

    /// Returns the type with this number, or `None` for the reserved numbers from 11 up.
    pub const fn from_number(number: u8) -> Option<Self> {
        if (number as usize) < Self::ALL.len() {
            Some(Self::ALL[number as usize])
        } else {
            None
        }
    }

    /// Returns the number on the wire.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Returns whether this type has an Acknowledgement Number (RFC 4340, section 5.1).
    pub const fn has_ack(self) -> bool {
        !matches!(self, Self::Request | Self::Data | Self::Listen)
    }

    /// Returns whether this type has a Service Code.
    pub const fn has_service(self) -> bool {
        matches!(self, Self::Request | Self::Response | Self::Listen)
    }

    /// Returns whether this type may have 24-bit sequence numbers (RFC 4340, section 5.1; RFC 5596, section 2.2.1).
    pub const fn may_be_short(self) -> bool {
        matches!(self, Self::Data | Self::Ack | Self::DataAck)
    }

    /// Returns whether this is a data packet in the sense of RFC 4340, section 7.7.
    ///
    /// The payload of a data packet is application data, and NDP Count does not count it. An empty payload is a
    /// datagram of length zero on Data and `DataAck`, and no datagram on Request and Response (section 5.4). On the
    /// other types the payload is padding, except for a Reset, where it is an error text.
    pub const fn carries_data(self) -> bool {
        matches!(
            self,
            Self::Request | Self::Response | Self::Data | Self::DataAck
        )
    }

    /// Returns the length in bytes of the fixed header, before any options.
    ///
    /// `short` means that sequence numbers have 24 bits (X = 0).
    pub const fn header_len(self, short: bool) -> usize {
        let (generic, ack) = if short { (12, 4) } else { (16, 8) };
        let ack = if self.has_ack() { ack } else { 0 };
        let own = if self.has_service() || matches!(self, Self::Reset) {
            4
        } else {
            0
        };
        generic + ack + own
    }
}

impl fmt::Display for PacketType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Request => "Request",
            Self::Response => "Response",
            Self::Data => "Data",
            Self::Ack => "Ack",
            Self::DataAck => "DataAck",
            Self::CloseReq => "CloseReq",
            Self::Close => "Close",
            Self::Reset => "Reset",
            Self::Sync => "Sync",
            Self::SyncAck => "SyncAck",
            Self::Listen => "Listen",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::PacketType;

    /// Numbers and types agree, and the numbers from 11 up are reserved.
    #[test]
    fn numbers_match_the_registry() {
        for number in 0..=10 {
            let packet_type = PacketType::from_number(number).unwrap();
            assert_eq!(packet_type.number(), number);
        }
        for number in 11..=255 {
            assert_eq!(PacketType::from_number(number), None, "{number}");
        }
    }

    /// The fixed headers have the lengths of RFC 4340, 5.1 to 5.7, and RFC 5596, 2.2.1.
    #[test]
    fn header_lengths() {
        let long: Vec<_> = PacketType::ALL
            .iter()
            .map(|t| t.header_len(false))
            .collect();
        assert_eq!(long, [20, 28, 16, 24, 24, 24, 24, 28, 24, 24, 20]);
        assert_eq!(PacketType::Data.header_len(true), 12);
        assert_eq!(PacketType::Ack.header_len(true), 16);
        assert_eq!(PacketType::DataAck.header_len(true), 16);
    }
}
