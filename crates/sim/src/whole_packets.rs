//! The whole packets at the beginning of an incomplete capture.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// The type of a block of pcapng and its length, both of 4 bytes. The length is repeated at the end of the block.
const HEAD: usize = 8;

/// Returns how many bytes of `capture`, a file that we began to write, hold whole packets. What follows is a part of one.
///
/// # Errors
/// If it cannot be read.
pub fn whole_packets(capture: impl Read + Seek) -> io::Result<u64> {
    let mut capture = BufReader::new(capture);
    let end = capture.seek(SeekFrom::End(0))?;
    capture.rewind()?;
    let mut whole = 0;
    while end - whole >= HEAD as u64 {
        let mut head = [0; HEAD];
        capture.read_exact(&mut head)?;
        let [_, _, _, _, length @ ..] = head;
        let length = u64::from(u32::from_ne_bytes(length));
        if length < HEAD as u64 || whole + length > end {
            break;
        }
        whole += length;
        capture.seek_relative((length - HEAD as u64).cast_signed())?;
    }
    Ok(whole)
}
