//! The rate of CCIDs 3 and 4 (RFC 5348, section 4; RFC 4342; RFC 5622).

use fairwire_proto::Stats;
use fairwire_units::Instant;

use super::Verdict;
use super::books::{Books, Key};

/// What a connection sent lately.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rates {
    data: u64,
}

impl Rates {
    /// A packet left, with so many bytes of data.
    pub(crate) fn sent(&mut self, _at: Instant, data: Option<usize>) {
        self.data += u64::from(data.is_some());
    }
}

/// A step is over.
pub(crate) fn see(books: &Books, key: Key, stats: &Stats) -> Verdict {
    let data = books.conn(key).map(|conn| conn.rates.data);
    hold!(
        data.is_none_or(|data| data == stats.data_sent),
        "rate-data",
        "{data:?} data packets, counted as {}",
        stats.data_sent
    );
    Ok(())
}
