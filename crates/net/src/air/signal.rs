//! Frame errors from a weak signal.
//!
//! For each mode, 802.11 gives a signal level at which a receiver loses at most one in ten frames of 1000 bytes (IEEE
//! Std 802.11-2007, table 17-13). Here a signal is measured in decibels above that level of the slowest mode. Each
//! decibel above a mode's own level divides the loss rate of 1000-byte frames by ten. This slope is an assumption;
//! coded OFDM has about the same.

use super::phy::PhyRate;

/// The level that each mode needs above that of the slowest one, in dB (table 17-13: -82 to -65 dBm).
const NEEDED_DB: [f64; 8] = [0.0, 1.0, 3.0, 5.0, 8.0, 12.0, 16.0, 17.0];

/// The loss rate of 1000-byte frames exactly at the needed level.
const AT_LEVEL: f64 = 0.1;

/// The signal strength between a station and its access points.
#[derive(Clone, Debug)]
pub(crate) struct Signal {
    /// For each mode, the logarithm of the probability that 1000 bytes are received correctly.
    log_clean: [f64; 8],
}

impl Signal {
    /// Creates a signal `db` decibels above the level of the slowest mode.
    pub(crate) fn new(db: f64) -> Self {
        Self {
            log_clean: NEEDED_DB.map(|needed| {
                let garbled = AT_LEVEL * libm::pow(10.0, needed - db);
                // Far below its level a mode delivers almost nothing.
                libm::log(1.0 - garbled.min(1.0 - 1e-9))
            }),
        }
    }

    /// Returns the probability that a frame of `bytes` bytes is corrupted.
    pub(crate) fn garbles(&self, rate: PhyRate, bytes: u32) -> f64 {
        1.0 - libm::exp(self.log_clean[rate as usize] * f64::from(bytes) / 1_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Signal;
    use crate::air::phy::PhyRate;

    /// At 17 dB the fastest mode is exactly at its level: it loses a tenth of 1000-byte frames and 19 % of 2000-byte
    /// frames.
    ///
    /// The next slower mode is 1 dB above its level and loses a hundredth.
    #[test]
    fn a_tenth_at_the_level() {
        let signal = Signal::new(17.0);
        for (rate, bytes, share) in [
            (PhyRate::M54, 1_000, 0.1),
            (PhyRate::M54, 2_000, 0.19),
            (PhyRate::M48, 1_000, 0.01),
            (PhyRate::M6, 1_000, 0.0),
        ] {
            let garbled = signal.garbles(rate, bytes);
            assert!((garbled - share).abs() < 1e-9, "{rate:?}: {garbled}");
        }
        let weak = Signal::new(-5.0);
        assert!(weak.garbles(PhyRate::M6, 1_000) > 0.999);
    }
}
