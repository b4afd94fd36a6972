//! A sender's choice of a mode for a receiver.
//!
//! The adaptation is automatic rate fallback (Kamerman and Monteban, "WaveLAN-II", 1997). After two consecutive frames
//! without an acknowledgement the sender steps down one mode. After ten consecutive acknowledged frames it steps up one
//! mode. If the first frame after a step up fails, it steps down at once. It cannot distinguish collisions from a weak
//! signal, as the devices that used it could not.

use std::fmt;
use std::str::FromStr;

use super::phy::PhyRate;

/// Consecutive acknowledged frames after which a sender steps up.
const UP_AFTER: u32 = 10;

/// Consecutive failed frames after which it steps down.
const DOWN_AFTER: u32 = 2;

/// A sender's choice of its mode, in text `"54 Mbit/s"`, `"adaptive"` or `"adaptive from 24 Mbit/s"`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RateControl {
    /// Always this mode.
    Fixed(PhyRate),
    /// Automatic rate fallback, starting with this mode.
    Fallback(PhyRate),
}

/// The word for automatic rate fallback, and the word before its first mode.
const ADAPTIVE: &str = "adaptive";
const FROM: &str = " from";

impl RateControl {
    /// Returns the fastest mode that the sender may use.
    pub fn fastest(self) -> PhyRate {
        match self {
            Self::Fixed(rate) => rate,
            Self::Fallback(_) => PhyRate::M54,
        }
    }

    /// Returns the mode of the first frame.
    pub fn first(self) -> PhyRate {
        match self {
            Self::Fixed(rate) | Self::Fallback(rate) => rate,
        }
    }
}

impl Default for RateControl {
    fn default() -> Self {
        Self::Fixed(PhyRate::M54)
    }
}

/// An error from parsing a [`RateControl`].
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "'{0}' is not a rate of 802.11g: write \"54 Mbit/s\" (or 6, 9, 12, 18, 24, 36, 48), \"adaptive\", or \"adaptive from 24 Mbit/s\""
)]
pub struct ParseRateControlError(String);

impl FromStr for RateControl {
    type Err = ParseRateControlError;
    fn from_str(text: &str) -> Result<Self, ParseRateControlError> {
        let mode = |text: &str| text.parse().ok().and_then(PhyRate::of);
        let read = match text.strip_prefix(ADAPTIVE) {
            Some("") => Some(Self::Fallback(PhyRate::M54)),
            Some(rest) => rest
                .strip_prefix(FROM)
                .and_then(|rest| mode(rest.trim()))
                .map(Self::Fallback),
            None => mode(text).map(Self::Fixed),
        };
        read.ok_or_else(|| ParseRateControlError(text.to_owned()))
    }
}

impl fmt::Display for RateControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(mode) => mode.rate().fmt(f),
            Self::Fallback(PhyRate::M54) => f.pad(ADAPTIVE),
            Self::Fallback(mode) => f.pad(&format!("{ADAPTIVE}{FROM} {}", mode.rate())),
        }
    }
}

#[cfg(feature = "settings")]
fairwire_units::text_setting!(
    RateControl,
    "wlan-rate",
    "54 Mbit/s",
    r"^(adaptive( from\s+[0-9.]+\s*Mbit/s\s*)?|\s*[0-9].*bit/s\s*)$"
);

/// The state of a sender's choice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adaptation {
    now: PhyRate,
    is_fixed: bool,
    successes: u32,
    failures: u32,
    /// Whether the next frame is the first after a step up.
    probing: bool,
}

impl Adaptation {
    pub(crate) fn new(control: RateControl) -> Self {
        Self {
            now: control.first(),
            is_fixed: matches!(control, RateControl::Fixed(_)),
            successes: 0,
            failures: 0,
            probing: false,
        }
    }

    /// Returns the mode of the next frame.
    #[inline]
    pub(crate) fn rate(&self) -> PhyRate {
        self.now
    }

    /// Records that a frame was acknowledged.
    pub(crate) fn acknowledged(&mut self) {
        if self.is_fixed {
            return;
        }
        self.failures = 0;
        self.probing = false;
        self.successes += 1;
        if self.successes >= UP_AFTER {
            self.successes = 0;
            self.probing = self.now.faster() != self.now;
            self.now = self.now.faster();
        }
    }

    /// Records that a frame was not acknowledged.
    pub(crate) fn failed(&mut self) {
        if self.is_fixed {
            return;
        }
        self.successes = 0;
        self.failures += 1;
        if self.probing || self.failures >= DOWN_AFTER {
            self.failures = 0;
            self.probing = false;
            self.now = self.now.slower();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Adaptation, RateControl};
    use crate::air::phy::PhyRate;

    fn after(start: PhyRate, outcomes: &str) -> PhyRate {
        let mut adaptation = Adaptation::new(RateControl::Fallback(start));
        for outcome in outcomes.chars() {
            match outcome {
                '+' => adaptation.acknowledged(),
                _ => adaptation.failed(),
            }
        }
        adaptation.rate()
    }

    /// Two consecutive failures step down; one failure does not, and a success in between resets the count.
    #[test]
    fn two_failures_in_a_row() {
        assert_eq!(after(PhyRate::M54, "-"), PhyRate::M54);
        assert_eq!(after(PhyRate::M54, "-+-"), PhyRate::M54);
        assert_eq!(after(PhyRate::M54, "--"), PhyRate::M48);
        assert_eq!(after(PhyRate::M6, "----"), PhyRate::M6);
    }

    /// The tenth success steps up. A failure of the first frame there steps down at once; later it takes two failures.
    #[test]
    fn ten_successes_and_a_probe() {
        assert_eq!(after(PhyRate::M24, "+++++++++"), PhyRate::M24);
        assert_eq!(after(PhyRate::M24, "++++++++++"), PhyRate::M36);
        assert_eq!(after(PhyRate::M24, "++++++++++-"), PhyRate::M24);
        assert_eq!(after(PhyRate::M24, "+++++++++++-"), PhyRate::M36);
    }

    /// A fixed mode never changes.
    #[test]
    fn fixed() {
        let mut adaptation = Adaptation::new(RateControl::Fixed(PhyRate::M18));
        for _ in 0..5 {
            adaptation.failed();
        }
        assert_eq!(adaptation.rate(), PhyRate::M18);
    }

    /// Parsing a printed choice gives the same text, and any other text is refused with a list of the modes.
    #[test]
    fn written_and_read() {
        for text in [
            "54 Mbit/s",
            "6 Mbit/s",
            "adaptive",
            "adaptive from 24 Mbit/s",
        ] {
            let control: RateControl = text.parse().expect(text);
            assert_eq!(control.to_string(), text);
        }
        for text in [
            "11 Mbit/s",
            "adaptive from",
            "adaptive24 Mbit/s",
            "adaptive from 24 Gbit/s",
            "",
        ] {
            let error = text.parse::<RateControl>().expect_err(text).to_string();
            assert!(error.contains("24, 36, 48)"), "{error}");
        }
    }
}
