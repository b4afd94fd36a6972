//! Frames that a weak signal garbles.
//!
//! 802.11 asks of a receiver that at a given level for each mode at most one frame of 1000 bytes
//! in ten is garbled (IEEE Std 802.11-2007, table 17-13). The signal here is counted in decibels
//! above that level of the slowest mode; each decibel above a mode's own level divides
//! the share of garbled kilobytes by ten, which is an assumption: coded OFDM falls about so fast.

use super::phy::PhyRate;

/// The level that each mode needs above the slowest one's, dB (table 17-13: -82 to -65 dBm).
const NEEDED_DB: [f64; 8] = [0.0, 1.0, 3.0, 5.0, 8.0, 12.0, 16.0, 17.0];

/// Of frames of 1000 bytes, so many are garbled at just the level needed.
const AT_LEVEL: f64 = 0.1;

/// How strong a station is heard, and hears.
#[derive(Clone, Debug)]
pub(crate) struct Signal {
    /// For each mode, the logarithm of the chance that 1000 bytes come through.
    log_clean: [f64; 8],
}

impl Signal {
    /// A signal of `db` decibels above what the slowest mode needs.
    pub(crate) fn new(db: f64) -> Self {
        Self {
            log_clean: NEEDED_DB.map(|needed| {
                let garbled = AT_LEVEL * libm::pow(10.0, needed - db);
                // Far below its level a mode gets nothing through.
                libm::log(1.0 - garbled.min(1.0 - 1e-9))
            }),
        }
    }

    /// The chance that a frame of `bytes` bytes is garbled.
    pub(crate) fn garbles(&self, rate: PhyRate, bytes: u32) -> f64 {
        1.0 - libm::exp(self.log_clean[rate as usize] * f64::from(bytes) / 1_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Signal;
    use crate::air::phy::PhyRate;

    /// At 17 dB the fastest mode is at its level: a tenth of 1000 bytes, 19 % of 2000; the next one
    /// stands 1 dB above its own, so a hundredth.
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
