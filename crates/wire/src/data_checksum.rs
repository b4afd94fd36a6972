//! The CRC-32c of a payload, as in the Data Checksum option (RFC 4340, section 9.3).
//!
//! The algorithm and the byte order are those of SCTP (RFC 3309): the lowest byte of the remainder comes first. The
//! value is the four bytes of the option, read as a big-endian number.

/// Zero bytes that are summed in one call.
const ZEROS: [u8; 4_096] = [0; 4_096];

/// Returns the Data Checksum of these bytes; zero if there are none.
pub fn of(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).swap_bytes()
}

/// Returns the Data Checksum of `len` zero bytes.
pub fn of_zeros(len: usize) -> u32 {
    let mut crc = 0;
    let mut left = len;
    while left > 0 {
        let part = left.min(ZEROS.len());
        crc = crc32c::crc32c_append(crc, &ZEROS[..part]);
        left -= part;
    }
    crc.swap_bytes()
}

#[cfg(test)]
mod tests {
    use super::{of, of_zeros};

    /// The vectors of RFC 3720, B.4, have the same algorithm and byte order: zeros, ones, ascending and descending
    /// numbers.
    ///
    /// The checksum of no bytes is zero (RFC 4340, 9.3).
    #[test]
    fn published_vectors() {
        let up: Vec<u8> = (0..32).collect();
        let down: Vec<u8> = (0..32).rev().collect();
        for (data, checksum) in [
            (&[0; 32][..], [0xaa, 0x36, 0x91, 0x8a]),
            (&[0xff; 32], [0x43, 0xab, 0xa8, 0x62]),
            (&up, [0x4e, 0x79, 0xdd, 0x46]),
            (&down, [0x5c, 0xdb, 0x3f, 0x11]),
            (&[], [0; 4]),
        ] {
            assert_eq!(of(data).to_be_bytes(), checksum, "{data:?}");
        }
    }

    /// Zeros that are not stored have the same checksum as stored ones, for any number of them.
    #[test]
    fn zeros_are_summed_without_being_there() {
        for len in [0, 1, 32, 4_095, 4_096, 4_097, 20_000] {
            assert_eq!(of_zeros(len), of(&vec![0; len]), "{len}");
        }
    }
}
