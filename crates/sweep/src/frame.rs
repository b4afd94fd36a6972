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
}

impl Kind {
    const fn code(self) -> u8 {
        match self {
            Self::Scenario => 1,
            Self::Runs => 2,
        }
    }

    fn of(code: u8) -> Option<Self> {
        [Self::Scenario, Self::Runs]
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
    /// What was written is damaged, up to the next frame, which is so many bytes away.
    Damaged(usize),
    /// Nothing, or the beginning of a frame.
    End,
}

/// Reads the frame at the beginning of `bytes`.
pub(crate) fn read(bytes: &[u8]) -> Read<'_> {
    match parse(bytes) {
        Parsed::Whole(code, content) => {
            Read::Frame(Kind::of(code), content, FRAME_HEADER + content.len())
        }
        Parsed::Wrong { end: Some(end) } if end == bytes.len() => Read::Damaged(end),
        Parsed::Wrong { .. } => {
            let places = bytes.windows(MARK.len()).enumerate().skip(1);
            let mut marks = places.filter(|(_, found)| found == MARK);
            let next = marks.find(|(at, _)| matches!(parse(&bytes[*at..]), Parsed::Whole(..)));
            next.map_or(Read::End, |(at, _)| Read::Damaged(at))
        }
    }
}

/// What bytes are, if they are a frame.
enum Parsed<'a> {
    /// Its code and its content.
    Whole(u8, &'a [u8]),
    /// It is none, or too short. `end` is where it would end, if that is within the bytes.
    Wrong { end: Option<usize> },
}

fn parse(bytes: &[u8]) -> Parsed<'_> {
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
