//! Which mode a sender takes towards a receiver.
//!
//! The adaptation is that of Kamerman and Monteban, "WaveLAN-II" (1997), known as automatic rate
//! fallback: two frames in a row that are not acknowledged take the sender one mode down, ten
//! that are take it one up, and if the first frame after a step up fails it steps down at
//! once. It cannot tell collisions from a weak signal, here as little as in the devices that had it.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use super::phy::PhyRate;

/// Acknowledged frames in a row that take a sender up.
const UP_AFTER: u32 = 10;

/// Failed frames in a row that take it down.
const DOWN_AFTER: u32 = 2;

/// How a sender chooses its mode. As text `"54 Mbit/s"`, `"adaptive"` or `"adaptive from 24 Mbit/s"`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RateControl {
    /// Always this one.
    Fixed(PhyRate),
    /// Automatic rate fallback, from this one.
    Fallback(PhyRate),
}

/// The word for automatic rate fallback, and what may follow it.
const ADAPTIVE: &str = "adaptive";
const FROM: &str = " from";

impl RateControl {
    /// The fastest mode that it ever takes.
    pub fn fastest(self) -> PhyRate {
        match self {
            Self::Fixed(rate) => rate,
            Self::Fallback(_) => PhyRate::M54,
        }
    }

    /// The mode of the first frame.
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

/// A text that is no [`RateControl`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ParseRateControlError(String);

impl fmt::Display for ParseRateControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' is no rate of 802.11g: write one of \"6 Mbit/s\", 9, 12, 18, 24, 36, 48 and 54, \"adaptive\", or \"adaptive from 24 Mbit/s\"",
            self.0
        )
    }
}

impl Error for ParseRateControlError {}

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

/// A sender's choice at work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adaptation {
    now: PhyRate,
    is_fixed: bool,
    successes: u32,
    failures: u32,
    /// The next frame is the first after a step up.
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

    /// The mode of the next frame.
    #[inline]
    pub(crate) fn rate(&self) -> PhyRate {
        self.now
    }

    /// A frame was acknowledged.
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

    /// A frame was not acknowledged.
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

    /// Two failures in a row lead down, one does not, and a success between them forgives.
    #[test]
    fn two_failures_in_a_row() {
        assert_eq!(after(PhyRate::M54, "-"), PhyRate::M54);
        assert_eq!(after(PhyRate::M54, "-+-"), PhyRate::M54);
        assert_eq!(after(PhyRate::M54, "--"), PhyRate::M48);
        assert_eq!(after(PhyRate::M6, "----"), PhyRate::M6);
    }

    /// The tenth success leads up; a first failure there leads back at once, a second one
    /// only with its like.
    #[test]
    fn ten_successes_and_a_probe() {
        assert_eq!(after(PhyRate::M24, "+++++++++"), PhyRate::M24);
        assert_eq!(after(PhyRate::M24, "++++++++++"), PhyRate::M36);
        assert_eq!(after(PhyRate::M24, "++++++++++-"), PhyRate::M24);
        assert_eq!(after(PhyRate::M24, "+++++++++++-"), PhyRate::M36);
    }

    /// A fixed mode is fixed.
    #[test]
    fn fixed() {
        let mut adaptation = Adaptation::new(RateControl::Fixed(PhyRate::M18));
        for _ in 0..5 {
            adaptation.failed();
        }
        assert_eq!(adaptation.rate(), PhyRate::M18);
    }

    /// What is written reads again as the same; what is no mode is refused with those that are.
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
            assert!(error.contains("48 and 54"), "{error}");
        }
    }
}
