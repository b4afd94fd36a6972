//! The throughput equation as a quantity: the rate of TFRC at a round-trip time and a loss event rate.

use fairwire_cc::tfrc::Equation;
use fairwire_units::Duration;

/// The equation with its constants and its packet size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tfrc {
    pub(super) equation: Equation,
    pub(super) bytes: f64,
    /// The loss event rate that one of its unit stands for: 1, or 0.01 for per cent.
    pub(super) p_unit: f64,
}

impl Tfrc {
    /// Returns the rate in bits per second.
    pub(super) fn of(self, rtt_s: f64, p: f64) -> f64 {
        let rtt = Duration::from_secs_f64(rtt_s);
        8.0 * self.equation.rate(self.bytes, rtt, p * self.p_unit)
    }
}

#[cfg(test)]
mod tests {
    use fairwire_cc::tfrc::Equation;

    use super::Tfrc;

    /// The equation gives the rates computed by hand with s / (R sqrt(2p/3) + 4R 3 sqrt(3p/8) p (1 + 32 p^2)).
    ///
    /// For 1000 bytes: at 1.2063 s, 162.3 kbit/s at 0.24 % and 120.8 kbit/s at 0.42 %; at 0.5192 s and 0.48 %, 261.1
    /// kbit/s.
    #[test]
    fn by_hand() {
        let equation = Tfrc {
            equation: Equation::RFC5348,
            bytes: 1_000.0,
            p_unit: 0.01,
        };
        for (rtt, percent, kbit_s) in [
            (1.2063, 0.24, 162.3),
            (1.2063, 0.42, 120.8),
            (0.5192, 0.48, 261.1),
        ] {
            let ours = equation.of(rtt, percent) / 1e3;
            assert!((ours - kbit_s).abs() < 0.1, "{ours}");
        }
    }
}
