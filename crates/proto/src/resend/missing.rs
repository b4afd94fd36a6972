//! The count of datagrams that are missing before the next one that the application reads.

/// The number of datagrams that have not arrived. Some are found later: a packet was only late, or a copy arrived.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    /// Not yet reported to the application.
    missing: u64,
    /// Found after they had been reported.
    found: u64,
}

impl Missing {
    /// Adds datagrams of a gap, less those that were found after an earlier gap had been reported.
    pub(crate) fn add(&mut self, datagrams: u64) {
        let known = datagrams.min(self.found);
        self.found -= known;
        self.miss(datagrams - known);
    }

    /// Adds datagrams that arrived but cannot be delivered.
    pub(crate) fn miss(&mut self, datagrams: u64) {
        // Each packet may jump over 2^45 numbers, so the sum saturates.
        self.missing = self.missing.saturating_add(datagrams);
    }

    /// Counts one missing datagram as arrived.
    pub(crate) fn recover(&mut self) {
        match self.missing.checked_sub(1) {
            Some(fewer) => self.missing = fewer,
            None => self.found = self.found.saturating_add(1),
        }
    }

    /// Takes one call of [`recover`](Self::recover) back.
    pub(crate) fn unrecover(&mut self) {
        match self.found.checked_sub(1) {
            Some(fewer) => self.found = fewer,
            None => self.miss(1),
        }
    }

    /// Returns how many datagrams are missing since the last call.
    pub(crate) fn take(&mut self) -> u64 {
        std::mem::take(&mut self.missing)
    }
}

#[cfg(test)]
mod tests {
    use super::Missing;

    /// A datagram that is recovered does not count, whether its loss was reported before or not.
    #[test]
    fn recovered_datagrams_do_not_count() {
        let mut missing = Missing::default();
        missing.add(3);
        missing.recover();
        assert_eq!((missing.take(), missing.take()), (2, 0));
        missing.recover();
        missing.add(2);
        assert_eq!(missing.take(), 1);
        // Found twice: as a copy and as a late packet.
        missing.recover();
        missing.unrecover();
        missing.add(1);
        assert_eq!(missing.take(), 1);
    }
}
