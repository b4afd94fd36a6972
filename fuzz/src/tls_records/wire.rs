//! The bytes of datagrams, messages and acknowledgements, apart from the code that is tested.

use super::keys::{HAS_LENGTH, LONG_NUMBER};

/// Returns the records of a datagram (RFC 9147, section 4). What has no length, or has not as much, is the last one.
pub(super) fn records(datagram: &[u8]) -> Vec<&[u8]> {
    let mut records = Vec::new();
    let mut rest = datagram;
    while let Some(flags) = rest.first() {
        let header = match flags {
            0x20..=0x2f if flags & HAS_LENGTH != 0 => {
                Some(4 + usize::from(flags & LONG_NUMBER) / 8)
            }
            0x20..=0x3f => None,
            _ => Some(13),
        };
        let end = header
            .filter(|header| *header <= rest.len())
            .map(|header| {
                header + usize::from(u16::from_be_bytes([rest[header - 2], rest[header - 1]]))
            })
            .map_or(rest.len(), |end| end.min(rest.len()));
        records.push(&rest[..end]);
        rest = &rest[end..];
    }
    records
}

/// Returns a part of a message, with its first bytes or all.
pub(super) fn part(kind: u8, number: u16, whole: usize, body: &[u8]) -> Vec<u8> {
    let three = |number: usize| {
        let [.., high, mid, low] = number.to_be_bytes();
        [high, mid, low]
    };
    [
        &[kind][..],
        &three(whole),
        &number.to_be_bytes(),
        &[0; 3],
        &three(body.len()),
        body,
    ]
    .concat()
}

/// Returns the content of an acknowledgement.
pub(super) fn acknowledgement(names: &[(u64, u64)]) -> Vec<u8> {
    let [.., l0, l1] = (16 * names.len()).to_be_bytes();
    let mut content = vec![l0, l1];
    for (epoch, number) in names {
        content.extend(epoch.to_be_bytes());
        content.extend(number.to_be_bytes());
    }
    content
}

/// Returns what the content of a session's acknowledgement names.
pub(super) fn names(content: &[u8]) -> Vec<(u64, u64)> {
    let (length, names) = content.split_at(2);
    assert_eq!(
        usize::from(u16::from_be_bytes([length[0], length[1]])),
        names.len()
    );
    let word = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0, |word, byte| word << 8 | u64::from(*byte))
    };
    names
        .chunks(16)
        .map(|name| (word(&name[..8]), word(&name[8..])))
        .collect()
}
