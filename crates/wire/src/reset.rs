//! Reset Codes.

use std::fmt;

/// A Reset Code (RFC 4340, section 5.6; 12 is from RFC 6773, section 7.2).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ResetCode {
    /// 0: no specific reason.
    Unspecified,
    /// 1: normal close.
    Closed,
    /// 2: the connection made no progress.
    Aborted,
    /// 3: there is no such connection.
    NoConnection,
    /// 4: a valid packet of an unexpected type; Data 1 is its type.
    PacketError,
    /// 5: an invalid option; the Data bytes are its type and the first two bytes of its data.
    OptionError,
    /// 6: an option after Mandatory could not be processed; Data bytes as for 5.
    MandatoryError,
    /// 7: no server listens on that port.
    ConnectionRefused,
    /// 8: the server on that port does not offer that service.
    BadServiceCode,
    /// 9: the server accepts no more connections at present.
    TooBusy,
    /// 10: the client returned a wrong Init Cookie, or none.
    BadInitCookie,
    /// 11: the peer did not obey congestion control.
    AggressionPenalty,
    /// 12: the UDP ports belong to another connection (RFC 6773, section 3.8).
    ///
    /// Data 1 is the packet type, Data 2 and 3 are the UDP source port.
    EncapsulatedPortReuse,
    /// 13 to 127: not assigned here. The number is kept; the meaning is [`Self::Unspecified`].
    Reserved(u8),
    /// 128 to 255: the meaning depends on the connection's CCIDs (RFC 4340, section 10.3).
    ///
    /// 128 to 191 come from an HC-Sender, 192 to 255 from an HC-Receiver.
    CcidSpecific(u8),
}

impl ResetCode {
    /// Returns the code with this number. Every number is valid.
    pub const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Unspecified,
            1 => Self::Closed,
            2 => Self::Aborted,
            3 => Self::NoConnection,
            4 => Self::PacketError,
            5 => Self::OptionError,
            6 => Self::MandatoryError,
            7 => Self::ConnectionRefused,
            8 => Self::BadServiceCode,
            9 => Self::TooBusy,
            10 => Self::BadInitCookie,
            11 => Self::AggressionPenalty,
            12 => Self::EncapsulatedPortReuse,
            13..=127 => Self::Reserved(number),
            128.. => Self::CcidSpecific(number),
        }
    }

    /// Returns the number on the wire.
    pub const fn number(self) -> u8 {
        match self {
            Self::Unspecified => 0,
            Self::Closed => 1,
            Self::Aborted => 2,
            Self::NoConnection => 3,
            Self::PacketError => 4,
            Self::OptionError => 5,
            Self::MandatoryError => 6,
            Self::ConnectionRefused => 7,
            Self::BadServiceCode => 8,
            Self::TooBusy => 9,
            Self::BadInitCookie => 10,
            Self::AggressionPenalty => 11,
            Self::EncapsulatedPortReuse => 12,
            Self::Reserved(number) | Self::CcidSpecific(number) => number,
        }
    }

    /// Returns the code as a receiver treats it: a reserved code means Unspecified (RFC 4340, section 5.6).
    ///
    /// CCID-specific codes are unchanged, because only an implementation of the CCID knows which are assigned.
    pub const fn effective(self) -> Self {
        match self {
            Self::Reserved(_) => Self::Unspecified,
            known => known,
        }
    }
}

impl fmt::Display for ResetCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unspecified => "Unspecified",
            Self::Closed => "Closed",
            Self::Aborted => "Aborted",
            Self::NoConnection => "No Connection",
            Self::PacketError => "Packet Error",
            Self::OptionError => "Option Error",
            Self::MandatoryError => "Mandatory Error",
            Self::ConnectionRefused => "Connection Refused",
            Self::BadServiceCode => "Bad Service Code",
            Self::TooBusy => "Too Busy",
            Self::BadInitCookie => "Bad Init Cookie",
            Self::AggressionPenalty => "Aggression Penalty",
            Self::EncapsulatedPortReuse => "Encapsulated Port Reuse",
            Self::Reserved(number) => return write!(f, "Reserved ({number})"),
            Self::CcidSpecific(number) => return write!(f, "CCID-specific ({number})"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ResetCode;

    /// Every number is kept. RFC 4340, 5.6: an unassigned code means Unspecified.
    #[test]
    fn reserved_codes_mean_unspecified() {
        for number in 0..=255 {
            let code = ResetCode::from_number(number);
            assert_eq!(code.number(), number);
            let unspecified = code.effective() == ResetCode::Unspecified;
            assert_eq!(unspecified, number == 0 || (13..128).contains(&number));
        }
    }
}
