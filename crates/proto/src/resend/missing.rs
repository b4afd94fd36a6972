//! The count of datagrams that are missing before the next one that the application reads.

/// Datagrams of the peer that have not arrived, and those of them whose copies have.
///
/// DCCP sees no copies within DTLS, so each lost packet counts there although its datagram may arrive later.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// Not yet reported to the application.
    missing: u64,
    /// Reported, but recovered since then.
    recovered: u64,
}

impl Missing {
    /// Adds packets that DCCP misses. What was recovered after it had been reported makes up for some of them.
    pub(super) fn add(&mut self, packets: u64) {
        let known = packets.min(self.recovered);
        self.recovered -= known;
        self.missing = self.missing.saturating_add(packets - known);
    }

    /// Adds a packet that arrived without genuine data.
    pub(super) fn spoil(&mut self) {
        self.missing = self.missing.saturating_add(1);
    }

    /// Counts one missing datagram as arrived, because a copy of it was delivered.
    pub(super) fn recover(&mut self) {
        match self.missing.checked_sub(1) {
            Some(fewer) => self.missing = fewer,
            None => self.recovered = self.recovered.saturating_add(1),
        }
    }

    /// Takes one call of [`recover`](Self::recover) back, because the first packet with the datagram was only late:
    /// DCCP does not count it as missing any more.
    pub(super) fn unrecover(&mut self) {
        match self.recovered.checked_sub(1) {
            Some(fewer) => self.recovered = fewer,
            None => self.add(1),
        }
    }

    /// Returns how many datagrams are missing since the last call.
    pub(super) fn take(&mut self) -> u64 {
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
        // Its first packet was only late, and DCCP takes it back as well.
        missing.recover();
        missing.unrecover();
        missing.add(1);
        assert_eq!(missing.take(), 1);
    }
}
