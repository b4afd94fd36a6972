//! How often a TFRC receiver gives feedback: `"10 per rtt"`, or a time from one report to the next.

use std::fmt;
use std::str::FromStr;

use fairwire_proto::FeedbackRate;
use fairwire_units::{Duration, text_setting};

use crate::quantity::QuantityError;

/// Written `"10 per rtt"` or `"100 ms"`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Feedback {
    /// So many reports per round trip.
    PerRtt(u16),
    /// One report in this time, or in a round trip if that is shorter.
    Every(Duration),
}

impl Default for Feedback {
    fn default() -> Self {
        Self::PerRtt(1)
    }
}

impl Feedback {
    /// The same for a connection.
    pub(crate) fn rate(self) -> FeedbackRate {
        match self {
            Self::PerRtt(reports) => FeedbackRate::PerRoundTrip(reports),
            Self::Every(time) => FeedbackRate::Every(time.into()),
        }
    }

    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl FromStr for Feedback {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let reports = text.trim().strip_suffix("per rtt").map(str::trim);
        let parsed = match reports {
            Some(reports) => reports.parse().ok().map(Self::PerRtt),
            None => text.parse().ok().map(Self::Every),
        };
        let some = |it: &Self| !matches!(it, Self::PerRtt(0) | Self::Every(Duration::ZERO));
        parsed.filter(some).ok_or_else(|| {
            QuantityError::new(format!(
                "'{text}' is not how often feedback is given: write \"10 per rtt\", from 1 to 65535, or the time \
                 from one to the next as \"100 ms\""
            ))
        })
    }
}

impl fmt::Display for Feedback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PerRtt(reports) => f.pad(&format!("{reports} per rtt")),
            Self::Every(time) => time.fmt(f),
        }
    }
}

text_setting!(
    Feedback,
    "feedback-rate",
    "10 per rtt",
    r"^\s*[0-9].*(per rtt|s)\s*$"
);

#[cfg(test)]
mod tests {
    use super::Feedback;

    /// What is printed is read back; none at all and what has no unit is refused, with what would do.
    #[test]
    fn written_and_read() {
        for text in ["1 per rtt", "10 per rtt", "65535 per rtt", "100ms"] {
            let feedback: Feedback = text.parse().expect(text);
            assert_eq!(feedback.to_string(), text);
        }
        for text in [
            "0 per rtt",
            "65536 per rtt",
            "10",
            "0 s",
            "often",
            "-1 per rtt",
        ] {
            let error = text.parse::<Feedback>().expect_err(text);
            assert!(error.to_string().contains("10 per rtt"), "{error}");
        }
    }
}
