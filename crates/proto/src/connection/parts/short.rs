//! The rate at which our sequence numbers are used: 24-bit ones must not wrap too soon (RFC 4340, section 7.6.2).

use fairwire_units::{Duration, Instant};
use fairwire_wire::Seq;

use crate::constants::MAX_SHORT_RATE;

const SECOND: Duration = Duration::from_secs(1);

/// A measurement of the rate at which our numbers are used.
#[derive(Debug, Default)]
pub(crate) struct ShortWatch {
    /// The second being counted: when and at which number it began.
    began: Option<(Instant, Seq)>,
    /// Whether the rate was ever too high. Then our numbers stay 48 bits long.
    pub(crate) too_fast: bool,
}

impl ShortWatch {
    /// Notes that we have sent `gss`. Returns whether the rate is, or ever was, too high.
    pub(crate) fn is_too_fast(&mut self, now: Instant, gss: Seq) -> bool {
        let (began, first) = *self.began.get_or_insert((now, gss));
        self.too_fast |= first.distance(gss) > MAX_SHORT_RATE;
        if now.saturating_since(began) >= SECOND {
            self.began = Some((now, gss));
        }
        self.too_fast
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, MAX_SHORT_RATE, Seq, ShortWatch};

    /// RFC 4340, 7.6.2: the permitted number of packets passes in each second, one more in any second does not, and
    /// that stays so.
    #[test]
    fn one_number_too_many_in_a_second() {
        let mut watch = ShortWatch::default();
        let mut now = Instant::START;
        let mut gss = Seq::MAX;
        for _ in 0..3 {
            assert!(!watch.is_too_fast(now, gss));
            now += Duration::from_secs(1);
            gss = gss.add(MAX_SHORT_RATE);
        }
        assert!(!watch.is_too_fast(now, gss));
        now += Duration::from_millis(999);
        assert!(watch.is_too_fast(now, gss.add(MAX_SHORT_RATE + 1)));
        now += Duration::from_secs(9);
        assert!(watch.is_too_fast(now, gss.add(MAX_SHORT_RATE + 2)));
    }
}
