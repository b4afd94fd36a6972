//! Frames: what a segment consists of.
//!
//! A segment begins with 8 bytes of magic and the number of the format (4 bytes, little-endian). Each frame has a mark
//! (4 bytes), its kind (1 byte), the length of its content and the `CRC32c` of kind, length and content (4 bytes each,
//! little-endian), and its content. The mark lets a reader find the next frame after a damaged one.

/// The beginning of a segment.
pub(crate) const MAGIC: &[u8; 8] = b"fairwire";

/// The length of what is before the first frame.
pub(crate) const HEADER: usize = 12;

/// The beginning of a frame.
const MARK: &[u8; 4] = b"\xf1fr\n";

/// The length of what is before the content of a frame.
const FRAME_HEADER: usize = MARK.len() + 9;

/// The longest content of a frame, so that a damaged length does not take the memory.
const LONGEST: u32 = 1 << 30;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// A scenario, as JSON.
    Scenario,
    /// Finished runs ([`crate::bytes`]).
    Runs,
    /// Nothing: the process that wrote the segment has ended it.
    End,
}

impl Kind {
    const fn code(self) -> u8 {
        match self {
            Self::Scenario => 1,
            Self::Runs => 2,
            Self::End => 3,
        }
    }

    fn of(code: u8) -> Option<Self> {
        [Self::Scenario, Self::Runs, Self::End]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}

/// Returns a frame as bytes; `None` if its content is too long.
pub(crate) fn frame(kind: Kind, content: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(content.len())
        .ok()
        .filter(|it| *it <= LONGEST)?;
    let mut bytes = Vec::with_capacity(FRAME_HEADER + content.len());
    bytes.extend_from_slice(MARK);
    bytes.push(kind.code());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&sum(kind.code(), length, content).to_le_bytes());
    bytes.extend_from_slice(content);
    Some(bytes)
}

/// What is at a place of a segment.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Read<'a> {
    /// A frame: its kind (`None` if a newer version wrote it), its content, and its length in all.
    Frame(Option<Kind>, &'a [u8], usize),
    /// What was written is damaged, up to the next frame or the end, which is so many bytes away.
    Damaged(usize),
    /// Nothing, or the beginning of a frame.
    End,
}

/// How many more bytes may be summed up to find frames.
///
/// After damage, each mark may be that of a frame, and each of them may say that it is as long as all the rest. So a file
/// that is made of marks would take a time that is the square of its length.
#[derive(Debug)]
pub(crate) struct Effort(u64);

impl Effort {
    /// How often each byte may be summed up. Bytes that were written by us are summed up twice at most, and again for each
    /// length that is damaged.
    const TIMES: u64 = 16;

    /// Returns the effort to read so many bytes.
    pub(crate) fn of(bytes: usize) -> Self {
        Self((bytes as u64).saturating_mul(Self::TIMES))
    }

    /// Returns false if there is not enough of it left.
    fn spend(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes as u64);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// Reads the frame at the beginning of `bytes`.
pub(crate) fn read<'a>(bytes: &'a [u8], effort: &mut Effort) -> Read<'a> {
    match parse(bytes, effort) {
        Parsed::Whole(code, content) => {
            Read::Frame(Kind::of(code), content, FRAME_HEADER + content.len())
        }
        Parsed::Wrong { end: Some(end) } if end == bytes.len() => Read::Damaged(end),
        Parsed::Wrong { .. } => {
            let places = bytes.windows(MARK.len()).enumerate().skip(1);
            let marks = places.filter(|(_, found)| found == MARK);
            for (at, _) in marks {
                match parse(&bytes[at..], effort) {
                    Parsed::Whole(..) => return Read::Damaged(at),
                    Parsed::Wrong { .. } => {}
                    Parsed::TooMuch => return Read::Damaged(bytes.len()),
                }
            }
            Read::End
        }
        Parsed::TooMuch => Read::Damaged(bytes.len()),
    }
}

/// What bytes are, if they are a frame.
enum Parsed<'a> {
    /// Its code and its content.
    Whole(u8, &'a [u8]),
    /// It is none, or too short. `end` is where it would end, if that is within the bytes.
    Wrong { end: Option<usize> },
    /// To know it would take more than the effort that is left.
    TooMuch,
}

fn parse<'a>(bytes: &'a [u8], effort: &mut Effort) -> Parsed<'a> {
    let wrong = Parsed::Wrong { end: None };
    let Some((head, rest)) = bytes.split_first_chunk::<FRAME_HEADER>() else {
        return wrong;
    };
    let [m0, m1, m2, m3, code, l0, l1, l2, l3, s0, s1, s2, s3] = *head;
    let length = u32::from_le_bytes([l0, l1, l2, l3]);
    if [m0, m1, m2, m3] != *MARK || length > LONGEST {
        return wrong;
    }
    let Some(content) = rest.get(..length as usize) else {
        return wrong;
    };
    if !effort.spend(FRAME_HEADER + content.len()) {
        return Parsed::TooMuch;
    }
    if sum(code, length, content) == u32::from_le_bytes([s0, s1, s2, s3]) {
        Parsed::Whole(code, content)
    } else {
        Parsed::Wrong {
            end: Some(FRAME_HEADER + content.len()),
        }
    }
}

fn sum(code: u8, length: u32, content: &[u8]) -> u32 {
    let head = crc32c::crc32c_append(crc32c::crc32c(&[code]), &length.to_le_bytes());
    crc32c::crc32c_append(head, content)
}

#[cfg(test)]
mod tests {
    use super::{Effort, FRAME_HEADER, Kind, MARK, Read, frame, read};

    /// Reads all of `bytes`, and returns how many frames are whole, and how many bytes were summed up.
    fn read_all(bytes: &[u8]) -> (usize, u64) {
        let mut effort = Effort::of(bytes.len());
        let all = effort.0;
        let (mut rest, mut whole) = (bytes, 0);
        loop {
            rest = match read(rest, &mut effort) {
                Read::Frame(_, _, length) => {
                    whole += 1;
                    &rest[length..]
                }
                Read::Damaged(length) => &rest[length..],
                Read::End => return (whole, all - effort.0),
            };
        }
    }

    /// However a file is made, each of its bytes is summed up a bounded number of times.
    #[test]
    fn a_hostile_file_is_read_in_linear_time() {
        let mut hostile = Vec::new();
        let count = 20_000;
        for number in 1..=count {
            let length = FRAME_HEADER * (count - number);
            hostile.extend_from_slice(MARK);
            hostile.push(2);
            hostile.extend_from_slice(&u32::try_from(length).expect("short").to_le_bytes());
            hostile.extend_from_slice(&[0; 4]);
        }
        let (whole, summed) = read_all(&hostile);
        assert_eq!(whole, 0);
        assert!(summed <= Effort::TIMES * hostile.len() as u64, "{summed}");
    }

    /// The frames behind a damaged one are found, although its content has marks.
    #[test]
    fn frames_behind_damage_are_found() {
        let marks: Vec<u8> = MARK.iter().copied().cycle().take(4_000).collect();
        let one = frame(Kind::Runs, &marks).expect("a frame");
        let mut bytes = one.repeat(50);
        for place in (0..50).step_by(7) {
            bytes[place * one.len() + 100] ^= 1;
        }
        let (whole, summed) = read_all(&bytes);
        assert_eq!(whole, 42);
        assert!(summed <= 4 * bytes.len() as u64, "{summed}");
    }
}
