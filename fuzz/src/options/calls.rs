//! Calls to an encoder: what they write is read back, option by option, and an option that does not fit leaves nothing
//! behind.

use arbitrary::{Result, Unstructured};
use fairwire_wire::checksum::coverage;
use fairwire_wire::{
    AckEntry, DccpOption, DropBlock, Encoder, HeadBuf, Kind, LossInterval, MAX_HEAD,
    MAX_OPTION_DATA, Mark, NoRoom, OptionIter, Packet, Ports, RawOption, Seq,
};

use super::values;
use fairwire_held::thread::without_allocation;

/// The options that one call wrote.
#[derive(Clone, Copy, Debug)]
enum Written<'a> {
    Option(DccpOption<'a>),
    Raw(u8, &'a [u8]),
    Entries(&'a [u8]),
    Blocks(&'a [u8]),
    Intervals(u8, &'a [[u8; 12]]),
    Counts(&'a [[u8; 4]]),
}

/// Makes the calls that `u` selects, then reads the head.
pub(super) fn run(u: &mut Unstructured<'_>) {
    // An input that ends too soon only makes fewer calls.
    let _ = start(u);
}

fn start(u: &mut Unstructured<'_>) -> Result<()> {
    let (source, destination) = u.arbitrary()?;
    let ports = Ports {
        source,
        destination,
    };
    let (ccval, cscov) = (u.int_in_range(0..=15)?, u.int_in_range(0..=15)?);
    let payload_len = coverage(cscov, 0) + usize::from(u.arbitrary::<u8>()?);
    let (seq, kind) = values::seq_and_kind(u)?;
    let mut buf = HeadBuf::new();
    fill(&mut buf);
    let mut encoder = Encoder::new(&mut buf, ports, seq, &kind, ccval, cscov);
    assert_eq!(encoder.options_len(), 0);
    let written = calls(u, &mut encoder);
    let (padded, options_len) = (encoder.padded_len(), encoder.options_len());
    let head = without_allocation("finish", || encoder.finish().as_slice());
    assert_eq!(head.len(), padded);
    let fixed = kind.packet_type().header_len(seq.is_short());
    assert_eq!(head.len(), (fixed + options_len).next_multiple_of(4));

    let packet = Packet::decode_head(head, payload_len).expect("the encoder wrote it");
    assert_eq!((packet.ports, packet.seq, packet.kind), (ports, seq, kind));
    assert_eq!(
        (packet.ccval, packet.cscov, packet.checksum),
        (ccval, cscov, 0)
    );
    assert_eq!(packet.data_offset, head.len());
    let mut options = packet.options.iter();
    for one in &written {
        one.is_read_from(&mut options);
    }
    let padding = options.by_ref().map(|raw| assert_eq!(raw.option_type, 0));
    assert!(padding.count() < 4, "Padding fills a word");
    assert!(options.remainder().is_empty());
    Ok(())
}

/// Fills `buf` with a head of full length without zero bytes.
fn fill(buf: &mut HeadBuf) {
    let ports = Ports {
        source: !0,
        destination: !0,
    };
    let mut encoder = Encoder::new(buf, ports, Seq::MAX.into(), &Kind::Data, 15, 15);
    while encoder.room() > 0 {
        let data = [0xFF; MAX_OPTION_DATA];
        let len = encoder.room().saturating_sub(2).min(data.len());
        let option_type = if encoder.room() == 1 { 31 } else { 127 };
        let data = if option_type == 31 {
            &[][..]
        } else {
            &data[..len]
        };
        encoder
            .raw_option(option_type, data)
            .expect("it was measured");
    }
    assert_eq!(encoder.finish().len(), MAX_HEAD);
}

fn calls<'a>(u: &mut Unstructured<'a>, encoder: &mut Encoder<'_>) -> Vec<Written<'a>> {
    let mut written = Vec::new();
    let mut marks: Option<(Mark, usize, usize)> = None;
    // Each call takes at least one byte, so there are no more calls than bytes.
    while let Ok(Some(call)) = next(u) {
        let call = match call {
            Call::Mark => {
                marks = Some((encoder.mark(), written.len(), encoder.options_len()));
                continue;
            }
            Call::Truncate => {
                if let Some((mark, count, options_len)) = marks.take() {
                    encoder.truncate(mark);
                    written.truncate(count);
                    assert_eq!(encoder.options_len(), options_len);
                }
                continue;
            }
            Call::Write(call) => call,
        };
        let (room, len) = (encoder.room(), encoder.options_len());
        match without_allocation("the encoder", || call.write(encoder)) {
            Ok(()) => {
                let took = encoder.options_len() - len;
                assert_eq!(took, call.length(), "{call:?}");
                assert_eq!(encoder.room() + took, room);
                written.push(call);
            }
            Err(NoRoom { needed, room: told }) => {
                assert!(
                    needed > told && told <= room,
                    "{needed} into {told} of {room}"
                );
                assert!(!call.fits(room), "{call:?} fits into {room}");
                assert_eq!((encoder.room(), encoder.options_len()), (room, len));
            }
        }
    }
    written
}

enum Call<'a> {
    Mark,
    Truncate,
    Write(Written<'a>),
}

fn next<'a>(u: &mut Unstructured<'a>) -> Result<Option<Call<'a>>> {
    if u.is_empty() {
        return Ok(None);
    }
    Ok(Some(Call::Write(match u.arbitrary::<u8>()? % 32 {
        0..=19 => Written::Option(values::option(u)?),
        20 | 21 => match u.arbitrary()? {
            option_type @ 0..=31 => Written::Raw(option_type, &[]),
            option_type => Written::Raw(option_type, values::bytes(u)?),
        },
        22 | 23 => Written::Entries(long(u)?),
        24 | 25 => Written::Blocks(long(u)?),
        26 | 27 => Written::Intervals(u.int_in_range(0..=4)?, long(u)?.as_chunks().0),
        28 | 29 => Written::Counts(long(u)?.as_chunks().0),
        30 => return Ok(Some(Call::Mark)),
        _ => return Ok(Some(Call::Truncate)),
    })))
}

/// Returns some bytes, perhaps more than one option holds.
fn long<'a>(u: &mut Unstructured<'a>) -> Result<&'a [u8]> {
    let wanted = usize::from(u.arbitrary::<u8>()?) * 3;
    u.bytes(wanted.min(u.len()))
}

impl Written<'_> {
    fn write(&self, encoder: &mut Encoder<'_>) -> std::result::Result<(), NoRoom> {
        match *self {
            Self::Option(option) => encoder.option(&option),
            Self::Raw(option_type, data) => encoder.raw_option(option_type, data),
            Self::Entries(entries) => {
                encoder.ack_vector(entries.iter().map(|&byte| AckEntry::from_byte(byte)))
            }
            Self::Blocks(blocks) => {
                encoder.data_dropped(blocks.iter().map(|&byte| DropBlock::from_byte(byte)))
            }
            Self::Intervals(skip, all) => {
                encoder.loss_intervals(skip, all.iter().map(|bytes| interval(*bytes)))
            }
            Self::Counts(all) => {
                encoder.dropped_packets(all.iter().map(|&bytes| u32::from_be_bytes(bytes)))
            }
        }
    }

    /// Returns the bytes that it takes, in as few options as possible.
    fn length(&self) -> usize {
        let split = |count: usize, most: usize, opening: usize, each: usize| {
            count.div_ceil(most) * opening + count * each
        };
        match *self {
            Self::Option(ref option) => values::length(option),
            Self::Raw(0..=31, _) => 1,
            Self::Raw(_, data) => 2 + data.len(),
            Self::Entries(bytes) | Self::Blocks(bytes) => split(bytes.len(), 253, 2, 1),
            Self::Intervals(_, all) => split(all.len(), 28, 3, 9),
            Self::Counts(all) => split(all.len(), 84, 2, 3),
        }
    }

    fn fits(&self, room: usize) -> bool {
        match self {
            Self::Option(_) | Self::Raw(..) => values::fits(self.length(), room),
            _ => self.length() <= room,
        }
    }

    /// Checks that the next options contain what was written.
    fn is_read_from(&self, options: &mut OptionIter<'_>) {
        let mut next = || options.next().expect("it was written");
        match *self {
            Self::Option(option) => match values::as_read(option) {
                Some(option) => assert_eq!(next().decode(), Ok(option)),
                None => assert!(next().decode().is_err(), "{option:?}"),
            },
            Self::Raw(option_type, data) => assert_eq!(next(), RawOption { option_type, data }),
            Self::Entries(entries) => {
                for part in entries.chunks(253) {
                    let raw = next();
                    assert_eq!((raw.option_type, raw.data), (38, part));
                }
            }
            Self::Blocks(blocks) => {
                for part in blocks.chunks(253) {
                    let raw = next();
                    assert_eq!((raw.option_type, raw.data), (40, part));
                }
            }
            Self::Intervals(skip, all) => {
                for (n, part) in all.chunks(28).enumerate() {
                    // RFC 4342, 8.6.1: only the first option skips.
                    let expected = if n == 0 { skip } else { 0 };
                    match next().decode() {
                        Ok(DccpOption::LossIntervals { skip, intervals }) => {
                            assert_eq!(skip, expected);
                            assert!(intervals.iter().eq(part.iter().map(|b| held(interval(*b)))));
                        }
                        other => assert!(expected > 3 && other.is_err(), "{other:?}"),
                    }
                }
            }
            Self::Counts(all) => {
                for part in all.chunks(84) {
                    let Ok(DccpOption::DroppedPackets(counts)) = next().decode() else {
                        panic!("no Dropped Packets");
                    };
                    let most = (1 << 24) - 1;
                    let told = part
                        .iter()
                        .map(|&bytes| u32::from_be_bytes(bytes).min(most));
                    assert!(counts.iter().eq(told));
                }
            }
        }
    }
}

/// Returns an interval with lengths that may be too large for their fields.
fn interval(bytes: [u8; 12]) -> LossInterval {
    let [a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3] = bytes;
    LossInterval {
        lossless_length: u32::from_be_bytes([a0, a1, a2, a3]),
        ecn_nonce: b0 & 1 == 1,
        loss_length: u32::from_be_bytes([b0, b1, b2, b3]),
        data_length: u32::from_be_bytes([c0, c1, c2, c3]),
    }
}

/// Returns the same interval with each length limited to the largest of its field.
fn held(interval: LossInterval) -> LossInterval {
    LossInterval {
        lossless_length: interval.lossless_length.min((1 << 24) - 1),
        loss_length: interval.loss_length.min((1 << 23) - 1),
        data_length: interval.data_length.min((1 << 24) - 1),
        ..interval
    }
}
