//! Headers and options made from bytes, with every value that each can have.

use arbitrary::{Result, Unstructured};
use fairwire_kit::kind_of;
use fairwire_wire::{
    AckEntries, DccpOption, DropBlocks, DropCounts, Kind, LossInterval, LossIntervals,
    MAX_OPTION_DATA, PacketType, RTT_TOO_LARGE, RawOption, ResetCode, Seq, SeqNo, ServiceCode,
};

/// Returns a type with its fields, and a Sequence Number in a form that the type allows.
pub(super) fn seq_and_kind(u: &mut Unstructured<'_>) -> Result<(SeqNo, Kind)> {
    let packet_type = *u.choose(&PacketType::ALL)?;
    let short = packet_type.may_be_short() && u.arbitrary()?;
    let mut number = || -> Result<SeqNo> {
        let number: u64 = u.arbitrary()?;
        Ok(if short {
            SeqNo::Short(Seq::new(number).short())
        } else {
            SeqNo::Long(Seq::new(number))
        })
    };
    let (seq, ack) = (number()?, number()?);
    let service = ServiceCode(u.arbitrary()?);
    let kind = match packet_type {
        PacketType::Request => Kind::Request { service },
        PacketType::Response => Kind::Response { ack, service },
        PacketType::Reset => Kind::Reset {
            ack,
            code: ResetCode::from_number(u.arbitrary()?),
            data: u.arbitrary()?,
        },
        PacketType::Listen => Kind::Listen { service },
        _ => kind_of(packet_type, ack),
    };
    Ok((seq, kind))
}

/// Returns some bytes, sometimes more than an option has room for.
pub(super) fn bytes<'a>(u: &mut Unstructured<'a>) -> Result<&'a [u8]> {
    let wanted = usize::from(u.arbitrary::<u8>()?) + usize::from(u.ratio(1, 16)?) * 8;
    u.bytes(wanted.min(u.len()))
}

/// Returns a 64-bit number with any count of leading zero bits.
fn number(u: &mut Unstructured<'_>) -> Result<u64> {
    let shift: u8 = u.arbitrary()?;
    Ok(u.arbitrary::<u64>()? >> (shift % 64))
}

/// Returns a 32-bit number with any count of leading zero bits.
pub(super) fn word(u: &mut Unstructured<'_>) -> Result<u32> {
    let shift: u8 = u.arbitrary()?;
    Ok(u.arbitrary::<u32>()? >> (shift % 32))
}

/// Returns an option of any kind.
pub(super) fn option<'a>(u: &mut Unstructured<'a>) -> Result<DccpOption<'a>> {
    Ok(match u.int_in_range(0..=21)? {
        0 => DccpOption::Padding,
        1 => DccpOption::Mandatory,
        2 => DccpOption::SlowReceiver,
        which @ 3..=6 => {
            let (feature, value) = (u.arbitrary()?, bytes(u)?);
            match which {
                3 => DccpOption::ChangeL { feature, value },
                4 => DccpOption::ConfirmL { feature, value },
                5 => DccpOption::ChangeR { feature, value },
                _ => DccpOption::ConfirmR { feature, value },
            }
        }
        7 => DccpOption::InitCookie(bytes(u)?),
        8 => DccpOption::NdpCount(number(u)?),
        9 => DccpOption::AckVector {
            nonce: u.arbitrary()?,
            entries: AckEntries(bytes(u)?),
        },
        10 => DccpOption::DataDropped(DropBlocks(bytes(u)?)),
        11 => DccpOption::Timestamp(word(u)?),
        12 => DccpOption::TimestampEcho {
            timestamp: word(u)?,
            elapsed: if u.arbitrary()? { Some(word(u)?) } else { None },
        },
        13 => DccpOption::ElapsedTime(word(u)?),
        14 => DccpOption::DataChecksum(word(u)?),
        15 => DccpOption::RttEstimate(word(u)?),
        16 => DccpOption::LossEventRate(word(u)?),
        17 => DccpOption::LossIntervals {
            skip: u.int_in_range(0..=4)?,
            intervals: LossIntervals::new(bytes(u)?.as_chunks().0),
        },
        18 => DccpOption::ReceiveRate(word(u)?),
        19 => DccpOption::DroppedPackets(DropCounts::new(bytes(u)?.as_chunks().0)),
        20 => DccpOption::Unknown {
            option_type: u.int_in_range(45..=127)?,
            data: bytes(u)?,
        },
        _ => DccpOption::Unknown {
            option_type: u.int_in_range(3..=31)?,
            data: &[],
        },
    })
}

/// Returns the option that is read after `option` was written: numbers are limited to the largest that fits. `None` if
/// a receiver ignores it, because its list is empty or it skips too many packets.
pub(super) fn as_read(option: DccpOption<'_>) -> Option<DccpOption<'_>> {
    match option {
        DccpOption::NdpCount(count) => Some(DccpOption::NdpCount(count.min((1 << 48) - 1))),
        DccpOption::RttEstimate(us) => Some(DccpOption::RttEstimate(us.min(RTT_TOO_LARGE))),
        DccpOption::AckVector { entries, .. } if entries.iter().len() == 0 => None,
        DccpOption::DataDropped(blocks) if blocks.iter().len() == 0 => None,
        DccpOption::DroppedPackets(counts) if counts.iter().len() == 0 => None,
        DccpOption::LossIntervals { skip, intervals }
            if skip > 3 || intervals.iter().len() == 0 =>
        {
            None
        }
        DccpOption::Unknown { option_type, data } => RawOption { option_type, data }.decode().ok(),
        option => Some(option),
    }
}

/// Returns the bytes that an option takes in a head, or would take.
pub(super) fn length(option: &DccpOption<'_>) -> usize {
    let significant = |number: u64| (8 - number.leading_zeros() as usize / 8).max(1);
    let elapsed = |time: u32| if time < 1 << 16 { 2 } else { 4 };
    2 + match *option {
        DccpOption::Padding | DccpOption::Mandatory | DccpOption::SlowReceiver => return 1,
        DccpOption::Unknown { option_type, .. } if option_type < 32 => return 1,
        DccpOption::ChangeL { value, .. }
        | DccpOption::ConfirmL { value, .. }
        | DccpOption::ChangeR { value, .. }
        | DccpOption::ConfirmR { value, .. } => 1 + value.len(),
        DccpOption::InitCookie(data)
        | DccpOption::CloseCode(data)
        | DccpOption::Unknown { data, .. } => data.len(),
        DccpOption::NdpCount(count) => significant(count.min((1 << 48) - 1)),
        DccpOption::AckVector { entries, .. } => entries.iter().len(),
        DccpOption::DataDropped(blocks) => blocks.iter().len(),
        DccpOption::TimestampEcho { elapsed: time, .. } => 4 + time.map_or(0, elapsed),
        DccpOption::ElapsedTime(time) => elapsed(time),
        DccpOption::RttEstimate(us) => significant(us.min(RTT_TOO_LARGE).into()),
        DccpOption::Timestamp(_)
        | DccpOption::DataChecksum(_)
        | DccpOption::LossEventRate(_)
        | DccpOption::ReceiveRate(_) => 4,
        DccpOption::LossIntervals { intervals, .. } => {
            1 + LossInterval::LEN * intervals.iter().len()
        }
        DccpOption::DroppedPackets(counts) => 3 * counts.iter().len(),
        DccpOption::CopyOf(_) | DccpOption::PartOf { .. } => 6,
    }
}

/// Returns whether an option of `length` bytes fits into `room`.
pub(super) fn fits(length: usize, room: usize) -> bool {
    length <= room && length <= MAX_OPTION_DATA + 2
}
