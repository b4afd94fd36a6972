//! Messages that check a path: a challenge, its response, and a response that refuses the path (RFC 9853, section 4).

use fairwire_proto::PathCheck;

/// The types of messages.
const CHALLENGE: u8 = 0;
const RESPONSE: u8 = 1;
const DROP: u8 = 2;

/// Returns the content of a record with this message.
pub(crate) fn write(check: PathCheck) -> [u8; PathCheck::LEN] {
    let (kind, cookie) = match check {
        PathCheck::Challenge(cookie) => (CHALLENGE, cookie),
        PathCheck::Response(cookie) => (RESPONSE, cookie),
        PathCheck::Drop(cookie) => (DROP, cookie),
    };
    let mut content = [kind; PathCheck::LEN];
    content[1..].copy_from_slice(&cookie);
    content
}

/// Returns the message of a record with this content. One of another type or length is ignored.
pub(crate) fn read(content: &[u8]) -> Option<PathCheck> {
    let (kind, cookie) = content.split_first()?;
    let cookie = cookie.try_into().ok()?;
    match *kind {
        CHALLENGE => Some(PathCheck::Challenge(cookie)),
        RESPONSE => Some(PathCheck::Response(cookie)),
        DROP => Some(PathCheck::Drop(cookie)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{PathCheck, read, write};

    /// What is written is read. A message of another length or type is none.
    #[test]
    fn messages_are_read_as_they_were_written() {
        let cookie = *b"a cookie";
        for (kind, check) in [
            (0, PathCheck::Challenge(cookie)),
            (1, PathCheck::Response(cookie)),
            (2, PathCheck::Drop(cookie)),
        ] {
            let content = write(check);
            assert_eq!(content, [&[kind], &cookie[..]].concat()[..]);
            assert_eq!(read(&content), Some(check));
            for length in 0..content.len() {
                assert_eq!(read(&content[..length]), None, "{length}");
            }
            assert_eq!(read(&[&content[..], &[0]].concat()), None);
        }
        assert_eq!(read(b"\x03a cookie"), None);
    }
}
