//! Initial windows: how many packets may leave before the first feedback.

/// Returns the initial window of RFC 3390, section 1, for packets of `size` bytes; in packets.
///
/// CCID 2 uses it (RFC 4341, section 5): four small packets, three of 1,460 bytes, two large ones.
pub fn rfc3390_window(size: u32) -> f64 {
    f64::from((4_380 / size.max(1)).clamp(2, 4))
}

/// Returns the initial window of RFC 6928, section 2, for packets of `size` bytes: ten up to 1,460 bytes.
pub fn rfc6928_window(size: u32) -> f64 {
    f64::from((14_600 / size.max(1)).clamp(2, 10))
}

#[cfg(test)]
mod tests {
    use super::{rfc3390_window, rfc6928_window};

    /// The initial windows are correct just inside and just outside the bounds of RFC 3390 and RFC 6928.
    #[test]
    fn the_steps_of_the_rfcs() {
        for (size, packets) in [(0, 4.0), (500, 4.0), (1_095, 4.0), (1_096, 3.0)] {
            assert_eq!(rfc3390_window(size), packets, "{size} B");
        }
        for (size, packets) in [(1_460, 3.0), (1_461, 2.0), (9_000, 2.0), (u32::MAX, 2.0)] {
            assert_eq!(rfc3390_window(size), packets, "{size} B");
        }
        assert_eq!(rfc6928_window(1_460), 10.0);
        assert_eq!(rfc6928_window(1_461), 9.0);
        assert_eq!(rfc6928_window(9_000), 2.0);
    }
}
