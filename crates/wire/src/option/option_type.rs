//! The option types, and the packet types on which each option is valid.

use crate::PacketType;

/// Padding (RFC 4340, section 5.8.1).
pub const PADDING: u8 = 0;
/// Mandatory (RFC 4340, section 5.8.2).
pub const MANDATORY: u8 = 1;
/// Slow Receiver (RFC 4340, section 11.6).
pub const SLOW_RECEIVER: u8 = 2;
/// The first type that has a length byte (RFC 4340, section 5.8).
pub const FIRST_WITH_LENGTH: u8 = 32;
/// Change L (RFC 4340, section 6.1).
pub const CHANGE_L: u8 = 32;
/// Confirm L (RFC 4340, section 6.2).
pub const CONFIRM_L: u8 = 33;
/// Change R (RFC 4340, section 6.1).
pub const CHANGE_R: u8 = 34;
/// Confirm R (RFC 4340, section 6.2).
pub const CONFIRM_R: u8 = 35;
/// Init Cookie (RFC 4340, section 8.1.4).
pub const INIT_COOKIE: u8 = 36;
/// NDP Count (RFC 4340, section 7.7).
pub const NDP_COUNT: u8 = 37;
/// Ack Vector, nonce 0 (RFC 4340, section 11.4).
pub const ACK_VECTOR_0: u8 = 38;
/// Ack Vector, nonce 1 (RFC 4340, section 11.4).
pub const ACK_VECTOR_1: u8 = 39;
/// Data Dropped (RFC 4340, section 11.7).
pub const DATA_DROPPED: u8 = 40;
/// Timestamp (RFC 4340, section 13.1).
pub const TIMESTAMP: u8 = 41;
/// Timestamp Echo (RFC 4340, section 13.3).
pub const TIMESTAMP_ECHO: u8 = 42;
/// Elapsed Time (RFC 4340, section 13.2).
pub const ELAPSED_TIME: u8 = 43;
/// Data Checksum (RFC 4340, section 9.3).
pub const DATA_CHECKSUM: u8 = 44;
/// Multipath (RFC 9897); kept as [`DccpOption::Unknown`](crate::DccpOption::Unknown).
pub const MULTIPATH: u8 = 46;
/// Copy Of, an experimental option of ours: see [`DccpOption::CopyOf`](crate::DccpOption::CopyOf).
///
/// RFC 4340, section 19.3, reserves types 31 and 120 to 126 for experiments.
pub const COPY_OF: u8 = 120;
/// Close Code, an experimental option of ours: see [`DccpOption::CloseCode`](crate::DccpOption::CloseCode).
pub const CLOSE_CODE: u8 = 121;
/// Part Of, an experimental option of ours: see [`DccpOption::PartOf`](crate::DccpOption::PartOf).
pub const PART_OF: u8 = 122;
/// The first type whose meaning depends on the CCID (RFC 4340, section 10.3).
pub const FIRST_CCID_SPECIFIC: u8 = 128;
/// RTT Estimate, from a CCID 3 or 4 sender (RFC 6323, section 3.2.1).
pub const RTT_ESTIMATE: u8 = 128;
/// The first CCID-specific type that an HC-Receiver sends (RFC 4340, section 10.3).
pub const FIRST_FROM_RECEIVER: u8 = 192;
/// Loss Event Rate, from a CCID 3 or 4 receiver (RFC 4342, section 8.5).
pub const LOSS_EVENT_RATE: u8 = 192;
/// Loss Intervals, from a CCID 3 or 4 receiver (RFC 4342, section 8.6).
pub const LOSS_INTERVALS: u8 = 193;
/// Receive Rate, from a CCID 3 or 4 receiver (RFC 4342, section 8.3).
pub const RECEIVE_RATE: u8 = 194;
/// Dropped Packets, from a CCID 4 receiver (RFC 5622, section 8.7).
pub const DROPPED_PACKETS: u8 = 195;

/// Returns whether an option of this type must be ignored on a Data packet.
///
/// This is the DCCP-Data column of RFC 4340, section 5.8, with the rules of RFC 4342, sections 8, 8.3, 8.5 and 8.6, RFC
/// 5622, section 8, and RFC 6323, section 3.2.1. The result is false for types without a column (reserved, or unknown
/// to every CCID), because unknown options are ignored anyway.
#[inline]
pub const fn ignored_on_data(option_type: u8) -> bool {
    matches!(
        option_type,
        MANDATORY
            | CHANGE_L..=INIT_COOKIE
            | ACK_VECTOR_0..=DATA_DROPPED
            | ELAPSED_TIME
            | LOSS_EVENT_RATE..=DROPPED_PACKETS
    )
}

/// Returns whether an option of this type must be ignored on a packet of that type.
///
/// It extends [`ignored_on_data`] to the other packet types: an option that refers to an Acknowledgement Number has no
/// meaning without one.
#[inline]
pub const fn ignored_on(option_type: u8, packet_type: PacketType) -> bool {
    match packet_type {
        PacketType::Data => ignored_on_data(option_type),
        PacketType::Request => matches!(
            option_type,
            // RFC 4340, 8.1.4: no Init Cookie on a Request. RFC 4340, 11, 11.4, 11.7 and 13.2: no option that
            // acknowledges. RFC 4342, 8.6.1: no Loss Intervals. RFC 5622, 8.7: drop counts are ignored without the
            // intervals that they belong to.
            INIT_COOKIE | ACK_VECTOR_0
                ..=DATA_DROPPED | ELAPSED_TIME | LOSS_INTERVALS | DROPPED_PACKETS
        ),
        // RFC 5596, 2.2.1: a client ignores every option of a Listen.
        PacketType::Listen => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{ignored_on, ignored_on_data};
    use crate::PacketType;

    /// RFC 4340, 5.8, table 3: the options that a Data packet may carry, row by row.
    #[test]
    fn the_data_column() {
        let allowed: Vec<u8> = (0..=46).filter(|&t| !ignored_on_data(t)).collect();
        let reserved = 3..=31;
        let mut expected = vec![0, 2];
        expected.extend(reserved);
        expected.extend([37, 41, 42, 44, 45, 46]);
        assert_eq!(allowed, expected);
        assert!(!ignored_on_data(128), "RFC 6323, 3.2.1");
        assert!(!ignored_on_data(super::COPY_OF), "it belongs on data");
        assert!(!ignored_on_data(super::PART_OF), "it belongs on data");
    }

    /// RFC 4342, 8, 8.3, 8.5 and 8.6, and RFC 5622, 8: the reports of a CCID 3 or 4 receiver are ignored on a Data
    /// packet.
    #[test]
    fn reports_do_not_count_on_data() {
        for report in [192, 193, 194, 195] {
            assert!(ignored_on_data(report), "{report}");
        }
    }

    /// RFC 4340, 6.1: a Request negotiates features, but acknowledges nothing.
    #[test]
    fn a_request_acknowledges_nothing() {
        for counts in [0, 1, 2, 32, 33, 34, 35, 37, 41, 42, 44] {
            assert!(!ignored_on(counts, PacketType::Request), "{counts}");
        }
        for ignored in [36, 38, 39, 40, 43, 193, 195] {
            assert!(ignored_on(ignored, PacketType::Request), "{ignored}");
        }
        assert!(ignored_on(41, PacketType::Listen), "RFC 5596, 2.2.1");
        assert!(!ignored_on(38, PacketType::DataAck));
    }
}
