//! Ranges of the statistics of CCIDs 3 and 4 (RFC 5348, sections 4 and 5).
//!
//! Whether the rate follows from the reports is not checked here.

use fairwire_proto::Stats;

use super::Verdict;
use super::books::{Books, Key};

/// Checks the statistics after a step.
pub(crate) fn see(books: &Books, key: Key, stats: &Stats) -> Verdict {
    let data = books.conn(key).map(|conn| conn.rates.data);
    hold!(
        data.is_none_or(|data| data == stats.data_sent),
        "rate-data",
        "{data:?} data packets, counted as {}",
        stats.data_sent
    );
    // RFC 5348, 5.4 and 4.3: p is a fraction of packets, and no rate is negative or unbounded.
    let p = stats.gauges.p.unwrap_or(0.0);
    let rate = stats.gauges.rate_bytes_per_s.unwrap_or(1.0);
    hold!(
        (0.0..=1.0).contains(&p) && rate > 0.0 && !rate.is_nan(),
        "rate-range",
        "p is {p}, and the rate {rate} bytes per second"
    );
    Ok(())
}
