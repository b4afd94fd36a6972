//! Numbered messages: making them, and counting what arrives of them.

use std::collections::BTreeSet;

/// `FwPD`, number and send time in eight bytes each: the data message of `fairwire perf`.
pub(crate) const HEADER: usize = 20;

/// A message of `size` bytes, at least the header.
pub(crate) fn message(number: u64, sent_ns: u64, size: usize) -> Vec<u8> {
    let mut bytes = b"FwPD".to_vec();
    bytes.extend(number.to_be_bytes());
    bytes.extend(sent_ns.to_be_bytes());
    bytes.resize(size.max(HEADER), 0);
    bytes
}

/// The number and the time in a message; `None` if it is none.
fn read(bytes: &[u8]) -> Option<(u64, u64)> {
    let (magic, rest) = bytes.split_first_chunk::<4>()?;
    let (number, rest) = rest.split_first_chunk()?;
    let time = rest.first_chunk()?;
    (magic == b"FwPD").then(|| (u64::from_be_bytes(*number), u64::from_be_bytes(*time)))
}

/// What arrived.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub received: u64,
    pub bytes: u64,
    pub reordered: u64,
    pub duplicates: u64,
    pub foreign: u64,
    pub jitter_ms: f64,
    seen: BTreeSet<u64>,
    first_ns: u64,
    last_ns: u64,
    last_transit_ns: i128,
}

impl Account {
    pub(crate) fn take(&mut self, now_ns: u64, bytes: &[u8]) {
        let Some((number, sent_ns)) = read(bytes) else {
            self.foreign += 1;
            return;
        };
        self.jitter(i128::from(now_ns) - i128::from(sent_ns));
        if self.received == 0 {
            self.first_ns = now_ns;
        }
        self.last_ns = now_ns;
        self.received += 1;
        self.bytes += bytes.len() as u64;
        let newest = self.seen.last().copied();
        if !self.seen.insert(number) {
            self.duplicates += 1;
        } else if newest.is_some_and(|newest| number < newest) {
            self.reordered += 1;
        }
    }

    /// RFC 3550's smoothed difference of transit times; the two clocks need not agree.
    fn jitter(&mut self, transit_ns: i128) {
        if self.received > 0 {
            let step_ms = (transit_ns - self.last_transit_ns).abs() as f64 / 1e6;
            self.jitter_ms += (step_ms - self.jitter_ms) / 16.0;
        }
        self.last_transit_ns = transit_ns;
    }

    /// Different messages.
    pub(crate) fn distinct(&self) -> u64 {
        self.seen.len() as u64
    }

    /// Those that never came, below the highest that did.
    pub(crate) fn missing(&self) -> u64 {
        let highest = self.seen.last().map_or(0, |newest| newest + 1);
        highest - self.distinct()
    }

    /// From the first to the last.
    pub(crate) fn seconds(&self) -> f64 {
        (self.last_ns - self.first_ns) as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::{Account, message};

    /// Numbers 0, 2, 1, 1, 4: one late, one twice, one missing; and a foreign one.
    #[test]
    fn each_number_counts_once() {
        let mut account = Account::default();
        for number in [0, 2, 1, 1, 4] {
            account.take(number, &message(number, 0, 100));
        }
        account.take(9, b"FwPP{}");
        assert_eq!((account.received, account.distinct()), (5, 4));
        assert_eq!((account.reordered, account.duplicates), (1, 1));
        assert_eq!((account.missing(), account.foreign), (1, 1));
        assert_eq!(account.bytes, 500);
    }
}
