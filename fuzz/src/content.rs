//! The contents of datagrams: slices of one table, so that making one allocates nothing.

use bytes::Bytes;

const LEN: usize = 16_384;

/// Bytes that do not repeat within a datagram.
static TABLE: [u8; LEN] = table();

const fn table() -> [u8; LEN] {
    let mut table = [0; LEN];
    let mut x = 0x9E37_79B9_7F4A_7C15_u64;
    let mut at = 0;
    while at < LEN {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        table[at] = x.to_be_bytes()[3];
        at += 1;
    }
    table
}

/// Returns the `n`th datagram of `len` bytes.
pub(crate) fn datagram(n: u64, len: usize) -> Bytes {
    let len = len.min(LEN / 2);
    let at = usize::try_from(n * 37 % (LEN as u64 / 2)).unwrap_or(0);
    Bytes::from_static(&TABLE[at..at + len])
}
