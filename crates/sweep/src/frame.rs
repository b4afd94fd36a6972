//! Frames: what a segment consists of.
//!
//! A segment begins with 8 bytes of magic and the number of the format (4 bytes, little-endian). Each frame has its kind
//! (1 byte), the length of its content and the `CRC32c` of kind and content (4 bytes each, little-endian), and its
//! content.

/// The beginning of a segment.
pub(crate) const MAGIC: &[u8; 8] = b"fairwire";

/// The length of what is before the first frame.
pub(crate) const HEADER: usize = 12;

/// The length of what is before the content of a frame.
const FRAME_HEADER: usize = 9;

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
    bytes.push(kind.code());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&sum(kind.code(), content).to_le_bytes());
    bytes.extend_from_slice(content);
    Some(bytes)
}

/// What is at a place of a segment.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Read<'a> {
    /// A frame: its kind (`None` if a newer version wrote it), its content, and its length in all.
    Frame(Option<Kind>, &'a [u8], usize),
    /// A frame whose content is not what was written, and its length.
    Damaged(usize),
    /// Nothing, or the beginning of a frame.
    End,
}

/// Reads the frame at the beginning of `bytes`.
pub(crate) fn read(bytes: &[u8]) -> Read<'_> {
    let Some((head, rest)) = bytes.split_first_chunk::<FRAME_HEADER>() else {
        return Read::End;
    };
    let [code, l0, l1, l2, l3, s0, s1, s2, s3] = *head;
    let length = u32::from_le_bytes([l0, l1, l2, l3]);
    if length > LONGEST {
        return Read::End;
    }
    let Some(content) = rest.get(..length as usize) else {
        return Read::End;
    };
    let whole = FRAME_HEADER + content.len();
    if sum(code, content) == u32::from_le_bytes([s0, s1, s2, s3]) {
        Read::Frame(Kind::of(code), content, whole)
    } else {
        Read::Damaged(whole)
    }
}

fn sum(code: u8, content: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&[code]), content)
}
