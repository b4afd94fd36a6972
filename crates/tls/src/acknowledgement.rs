//! Acknowledgements: records by their epochs and numbers (RFC 9147, section 7).

use crate::record::OVERHEAD;

/// The bytes of a record's name.
const NAME: usize = 16;

/// The most records that are acknowledged at one time.
pub(crate) const MAX_NAMES: usize = 32;

/// The longest record with an acknowledgement.
pub(crate) const LONGEST: usize = OVERHEAD + 2 + MAX_NAMES * NAME;

/// Returns how many records an acknowledgement of so many bytes can name (RFC 9147, section 7.1).
pub(crate) fn room(bytes: usize) -> usize {
    MAX_NAMES.min(bytes.saturating_sub(2) / NAME)
}

/// Returns the content of the acknowledgement of records with these epochs and numbers, at most [`MAX_NAMES`].
pub(crate) fn write(names: &[(u64, u64)]) -> Vec<u8> {
    let [.., l0, l1] = (names.len() * NAME).to_be_bytes();
    let mut content = vec![l0, l1];
    for (epoch, number) in names {
        content.extend_from_slice(&epoch.to_be_bytes());
        content.extend_from_slice(&number.to_be_bytes());
    }
    content
}

/// Returns the epochs and numbers that an acknowledgement names: none, if its length is wrong.
pub(crate) fn read(content: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    let (length, rest) = content.split_first_chunk().unwrap_or((&[0; 2], &[]));
    let (names, cut_off) = rest.as_chunks::<NAME>();
    let is_whole = usize::from(u16::from_be_bytes(*length)) == rest.len() && cut_off.is_empty();
    let names = if is_whole { names } else { &[] };
    names.iter().map(|name| {
        let (words, _) = name.as_chunks();
        let word = |at: usize| words.get(at).copied().map_or(0, u64::from_be_bytes);
        (word(0), word(1))
    })
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, MAX_NAMES, OVERHEAD, read, room, write};

    /// What is written is read; what is cut off or has another length names nothing.
    #[test]
    fn names_are_read_as_they_were_written() {
        let names = [(2, 0), (3, 1 << 40), (u64::MAX, 7)];
        let content = write(&names);
        assert_eq!(content[..2], [0, 48]);
        assert_eq!(read(&content).collect::<Vec<_>>(), names);
        for length in 0..content.len() {
            assert_eq!(read(&content[..length]).count(), 0, "{length}");
        }
        assert_eq!(read(&[&content[..], &[0]].concat()).count(), 0);
        assert_eq!(read(&write(&[])).count(), 0);
    }

    /// As many records are named as fit, and not more than 32.
    #[test]
    fn names_have_room() {
        for (bytes, names) in [(0, 0), (17, 0), (18, 1), (33, 1), (34, 2), (10_000, 32)] {
            assert_eq!(room(bytes), names);
        }
        assert_eq!(write(&[(3, 1); MAX_NAMES]).len() + OVERHEAD, LONGEST);
    }
}
