//! How fast our sequence numbers are used up: 24-bit ones may not come round too soon (RFC 4340,
//! section 7.6.2).

use fairwire_units::{Duration, Instant};
use fairwire_wire::Seq;

use crate::constants::MAX_SHORT_RATE;

const SECOND: Duration = Duration::from_secs(1);

/// The watch over the rate at which our numbers are used up.
#[derive(Debug, Default)]
pub(crate) struct ShortWatch {
    /// The second being counted: when and at which number it began.
    began: Option<(Instant, Seq)>,
    /// Was the rate too high once? Then our numbers stay long.
    pub(crate) too_fast: bool,
}

impl ShortWatch {
    /// We have sent `gss`. Are we too fast, now or ever before?
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

    /// RFC 4340, 7.6.2: as many numbers as the circle bears pass in each second, one more in any of
    /// them does not, and that is not forgotten.
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
