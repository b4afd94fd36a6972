//! The TCP throughput equation (RFC 5348, section 3.1) and its inverse (section 6.3.1).

use fairwire_units::Duration;

/// The least loss event rate distinguished from zero: one event in ten thousand million packets.
const MIN_P: f64 = 1e-10;

/// The number of halvings of the search interval in [`Equation::loss_rate`]. `p` spans 23 powers of e, so the result is
/// within a factor of `exp(23 / 2^40)` of the exact one. RFC 5348, section 6.3.1, asks for 5 % of the rate.
const STEPS: u32 = 40;

/// The throughput equation with its two constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equation {
    /// The number of packets that one TCP acknowledgement covers: `b`, 1 in RFC 5348.
    pub b: f64,
    /// TCP's retransmission timeout in round trips: `t_RTO / R`, 4 in RFC 5348.
    pub t_rto_rtts: f64,
    /// The precision of the computation.
    pub form: EquationForm,
}

/// The precision with which the equation and its inverse are computed.
///
/// Linux uses a table instead of the formula. With it the rate never exceeds that of a loss event rate of 0.01 %, about
/// 122 packets in a round trip.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum EquationForm {
    /// The formula.
    #[default]
    Exact,
    /// A table with steps of 0.01 % up to a loss event rate of 5 %, and of 0.2 % above it, as in Linux.
    Table,
    /// The table with the mistake of Linux before 2.6.26. The inverse of a rate beyond the table is 0.8172 % instead of
    /// 0.01 %, so the first loss of a fast connection counts as one in 122 packets.
    #[cfg_attr(feature = "settings", serde(rename = "table-before-2.6.26"))]
    TableBefore2626,
}

/// The finer step of the table, where the finer steps end, and the coarser step.
const FINE: f64 = 1e-4;
const FINE_UP_TO: f64 = 0.05;
const COARSE: f64 = 2e-3;
/// The result of the mistaken inverse for a rate beyond the table.
const MISTAKEN: f64 = 0.008_172;

impl EquationForm {
    /// Returns the table entry at or below `p`, from which the rate is read.
    fn entry_at_or_below(self, p: f64) -> f64 {
        // A number very slightly below an entry counts as that entry, because of rounding.
        let at = |step: f64| (p / step + 1e-6).floor() * step;
        match self {
            Self::Exact => p,
            Self::Table | Self::TableBefore2626 if p <= FINE_UP_TO => at(FINE).max(FINE),
            Self::Table | Self::TableBefore2626 => at(COARSE),
        }
    }

    /// Returns the table entry at or above `p`, which the inverse finds.
    fn entry_at_or_above(self, p: f64) -> f64 {
        let at = |step: f64| (p / step - 1e-6).ceil() * step;
        match self {
            Self::Exact => p,
            Self::TableBefore2626 if p < FINE => MISTAKEN,
            Self::Table | Self::TableBefore2626 if p <= FINE_UP_TO => at(FINE).max(FINE),
            Self::Table | Self::TableBefore2626 => at(COARSE).min(1.0),
        }
    }
}

impl Equation {
    /// The constants recommended by RFC 5348, section 3.1.
    pub const RFC5348: Self = Self {
        b: 1.0,
        t_rto_rtts: 4.0,
        form: EquationForm::Exact,
    };

    /// Returns the rate in bytes per second for packets of `size` bytes, round-trip time `rtt` and loss event rate `p`:
    ///
    /// `X_Bps = s / (R sqrt(2bp/3) + t_RTO (3 sqrt(3bp/8) p (1 + 32 p^2)))`
    ///
    /// The rate is infinite at `p` = 0. `p` above 1 and NaN count as 1, and a round trip below one microsecond as one
    /// microsecond.
    pub fn rate(&self, size: f64, rtt: Duration, p: f64) -> f64 {
        if p <= 0.0 {
            return f64::INFINITY;
        }
        let p = if p.is_nan() { 1.0 } else { p.clamp(MIN_P, 1.0) };
        let rtt = rtt.max(Duration::from_micros(1)).as_secs_f64();
        size / (rtt * self.round_trips_per_packet(self.form.entry_at_or_below(p)))
    }

    /// Returns the loss event rate at which [`Equation::rate`] gives `rate`, limited to 1e-10 to 1.
    pub fn loss_rate(&self, size: f64, rtt: Duration, rate: f64) -> f64 {
        let exact = Self {
            form: EquationForm::Exact,
            ..*self
        };
        self.form
            .entry_at_or_above(exact.exact_loss_rate(size, rtt, rate))
    }

    /// Returns the same for the exact form of the equation.
    fn exact_loss_rate(&self, size: f64, rtt: Duration, rate: f64) -> f64 {
        if rate.is_nan() || rate <= self.rate(size, rtt, 1.0) {
            return 1.0;
        }
        if rate >= self.rate(size, rtt, MIN_P) {
            return MIN_P;
        }
        // The rate falls as p rises, so the interval is halved on a logarithmic scale.
        let (mut low, mut high) = (MIN_P, 1.0);
        for _ in 0..STEPS {
            let middle = f64::sqrt(low * high);
            if self.rate(size, rtt, middle) > rate {
                low = middle;
            } else {
                high = middle;
            }
        }
        f64::sqrt(low * high)
    }

    /// Returns `f(p)` of RFC 5348, section 8.1: how many round trips one packet takes.
    fn round_trips_per_packet(&self, p: f64) -> f64 {
        let recovery = f64::sqrt(2.0 * self.b * p / 3.0);
        // RFC 5348, 3.1: a timeout that follows another timeout is longer.
        let repeated = 32.0 * p * p;
        let timeouts = 3.0 * f64::sqrt(3.0 * self.b * p / 8.0) * p * (1.0 + repeated);
        recovery + self.t_rto_rtts * timeouts
    }
}

impl Default for Equation {
    fn default() -> Self {
        Self::RFC5348
    }
}

#[cfg(test)]
mod tests {
    use super::{Equation, EquationForm};
    use fairwire_units::Duration;

    fn kbit_per_s(rtt_ms: f64, p: f64) -> f64 {
        let rtt = Duration::from_secs_f64(rtt_ms / 1e3);
        Equation::RFC5348.rate(1_000.0, rtt, p) * 8.0 / 1e3
    }

    /// RFC 5348, 3.1: with 1000-byte packets, the loss event rates and round-trip times of the satellite paper give the
    /// rates computed by hand.
    #[test]
    fn rates_of_the_satellite_paper() {
        for (rtt_ms, p, expected) in [
            (1206.3, 0.0024, 162.3),
            (1206.3, 0.0042, 120.8),
            (519.2, 0.0048, 261.1),
        ] {
            let got = kbit_per_s(rtt_ms, p);
            // The expected values are printed with four digits.
            assert!(
                (got - expected).abs() < 0.05,
                "{rtt_ms} ms, p {p}: {got}, not {expected}"
            );
        }
    }

    /// RFC 5348, 3.1: if every other packet or more is lost, nearly all time is spent in timeouts, each longer than the
    /// one before. The round trips per packet by hand: sqrt(2p/3) + 12 sqrt(3p/8) p (1 + 32 p^2).
    #[test]
    fn repeated_timeouts_rule_at_high_loss() {
        for (p, round_trips) in [(0.1, 0.564_94), (0.5, 23.960_04), (1.0, 243.315_98)] {
            let rate = Equation::RFC5348.rate(1_000.0, Duration::from_millis(100), p);
            let got = 1_000.0 / (rate * 0.1);
            // The numbers by hand are rounded to five places.
            assert!((got - round_trips).abs() < 1e-5, "p {p}: {got}");
        }
    }

    /// The general form with `b = 1` and `t_RTO = 4R` agrees with the simplified form of RFC 5348, 3.1.
    #[test]
    fn general_and_simplified_form_agree() {
        for p in [1e-4_f64, 0.01, 0.1, 0.5, 1.0] {
            let f =
                (2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
            let simplified = 1_460.0 / (0.1 * f);
            let general = Equation::RFC5348.rate(1_460.0, Duration::from_millis(100), p);
            assert!((general / simplified - 1.0).abs() < 1e-12, "p {p}");
        }
    }

    /// Delayed acknowledgements (b = 2) reduce the rate by a factor of about sqrt 2 at low loss event rates.
    #[test]
    fn delayed_acknowledgements_cost_rate() {
        let rtt = Duration::from_millis(100);
        let delayed = Equation {
            b: 2.0,
            ..Equation::RFC5348
        };
        let ratio = Equation::RFC5348.rate(1e3, rtt, 1e-6) / delayed.rate(1e3, rtt, 1e-6);
        assert!((ratio - std::f64::consts::SQRT_2).abs() < 1e-4, "{ratio}");
    }

    /// RFC 5348, 6.3.1: the loss event rate found for a rate gives that rate again.
    #[test]
    fn the_inverse_gives_the_rate_back() {
        let rtt = Duration::from_millis(70);
        for rate in [30.0, 1e3, 1e5, 1e6, 1e8] {
            let p = Equation::RFC5348.loss_rate(1_000.0, rtt, rate);
            let back = Equation::RFC5348.rate(1_000.0, rtt, p);
            assert!(p <= 1.0 && p > 0.0);
            assert!(
                p == 1.0 || (back / rate - 1.0).abs() < 1e-6,
                "{rate}: {back}"
            );
        }
    }

    /// No input gives NaN, and only p = 0 gives an infinite rate.
    #[test]
    fn strange_inputs_stay_finite() {
        for p in [f64::NAN, 1e-300, 5.0, f64::INFINITY] {
            for rtt in [Duration::ZERO, Duration::MAX] {
                let rate = Equation::RFC5348.rate(1_000.0, rtt, p);
                assert!(rate.is_finite() && rate > 0.0, "p {p}, {rtt}: {rate}");
            }
        }
        assert_eq!(
            Equation::RFC5348.rate(1e3, Duration::from_secs(1), 0.0),
            f64::INFINITY
        );
        for rate in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            let p = Equation::RFC5348.loss_rate(1e3, Duration::from_secs(1), rate);
            assert!((1e-10..=1.0).contains(&p), "{rate}: {p}");
        }
    }

    /// The table of Linux: f(p) is read at the entry below p, and the inverse finds the entry above. At 0.0345 % these
    /// are 0.03 and 0.04 %; at 7.3 % they are 7.2 and 7.4 %. No rate exceeds that at 0.01 %.
    #[test]
    fn a_table_has_steps() {
        let rtt = Duration::from_millis(100);
        let exact = Equation::RFC5348;
        let table = Equation {
            form: EquationForm::Table,
            ..exact
        };
        for (p, below, above) in [
            (0.000_345, 0.000_3, 0.000_4),
            (0.000_4, 0.000_4, 0.000_4),
            (0.073, 0.072, 0.074),
            (0.000_001, 0.000_1, 0.000_1),
        ] {
            let rate = table.rate(1e3, rtt, p);
            let expected = exact.rate(1e3, rtt, below);
            assert!((rate / expected - 1.0).abs() < 1e-9, "{p}: {rate}");
            let found = table.loss_rate(1e3, rtt, exact.rate(1e3, rtt, p));
            assert!((found - above).abs() < 1e-9, "{p}: {found}");
        }
        let mistaken = Equation {
            form: EquationForm::TableBefore2626,
            ..exact
        };
        let fast = exact.rate(1e3, rtt, 0.000_05);
        assert!((mistaken.loss_rate(1e3, rtt, fast) - 0.008_172).abs() < 1e-9);
    }
}
