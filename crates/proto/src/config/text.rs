//! The text forms of the types of settings that have one of their own.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use fairwire_units::{Size, text_setting};

use super::ccids::{FeedbackRate, Segment};

/// Why a text is not a valid value of a parameter.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WrittenError(String);

impl fmt::Display for WrittenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrittenError {}

/// The suffix of a size that is taken literally ([`Segment::Literal`]).
const LITERALLY: &str = " literally";

impl FromStr for Segment {
    type Err = WrittenError;

    /// Parses `"mean"`, `"mps"`, a size such as `"1460 B"`, or `"1460 B literally"`.
    fn from_str(text: &str) -> Result<Self, WrittenError> {
        let bytes = |size: &str| {
            let size: Size = size.parse().ok()?;
            u32::try_from(size.bytes()).ok().filter(|bytes| *bytes > 0)
        };
        let parsed = match text {
            "mean" => Some(Self::Mean),
            "mps" => Some(Self::Mps),
            size => match size.strip_suffix(LITERALLY) {
                Some(size) => bytes(size).map(Self::Literal),
                None => bytes(size).map(Self::Fixed),
            },
        };
        parsed.ok_or_else(|| {
            WrittenError(format!(
                "'{text}' is neither \"mean\", \"mps\" nor a size such as \"1460 B\" or \"1460 B literally\""
            ))
        })
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Mean => f.pad("mean"),
            Self::Mps => f.pad("mps"),
            Self::Fixed(bytes) => Size::new(bytes.into()).fmt(f),
            Self::Literal(bytes) => write!(f, "{}{LITERALLY}", Size::new(bytes.into())),
        }
    }
}

text_setting!(
    Segment,
    "segment",
    "1460 B",
    r"^(mean|mps|\s*[0-9].*B( literally)?\s*)$"
);

impl FromStr for FeedbackRate {
    type Err = WrittenError;

    /// Parses `"10 per rtt"`, or the time from one report to the next such as `"100 ms"`.
    fn from_str(text: &str) -> Result<Self, WrittenError> {
        let reports = text.trim().strip_suffix("per rtt").map(str::trim);
        let parsed = if let Some(reports) = reports {
            reports.parse().ok().map(Self::PerRoundTrip)
        } else {
            let time: Option<fairwire_units::Duration> = text.parse().ok();
            time.map(|time| Self::Every(time.into()))
        };
        let some = |it: &Self| !matches!(it, Self::PerRoundTrip(0) | Self::Every(Duration::ZERO));
        parsed.filter(some).ok_or_else(|| {
            WrittenError(format!(
                "'{text}' is not a feedback rate: write \"10 per rtt\" (1 to 65535), or the time between two reports, such as \"100 ms\""
            ))
        })
    }
}

impl fmt::Display for FeedbackRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::PerRoundTrip(reports) => f.pad(&format!("{reports} per rtt")),
            Self::Every(time) => fairwire_units::Duration::from(time).fmt(f),
        }
    }
}

text_setting!(
    FeedbackRate,
    "feedback-rate",
    "10 per rtt",
    r"^\s*[0-9].*(per rtt|s)\s*$"
);

#[cfg(test)]
mod tests {
    use super::{FeedbackRate, Segment};

    /// A printed rate is read back; zero and a number without a unit are refused, with a valid example in the error.
    #[test]
    fn written_and_read() {
        for text in ["1 per rtt", "10 per rtt", "65535 per rtt", "100ms"] {
            let feedback: FeedbackRate = text.parse().expect(text);
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
            let error = text.parse::<FeedbackRate>().expect_err(text);
            assert!(error.to_string().contains("10 per rtt"), "{error}");
        }
    }

    /// A printed segment size is read back; a size of zero is refused.
    #[test]
    fn segments_are_read_back() {
        for segment in [
            Segment::Mean,
            Segment::Mps,
            Segment::Fixed(1_460),
            Segment::Literal(1_460),
        ] {
            assert_eq!(segment.to_string().parse(), Ok(segment));
        }
        assert!("0 B".parse::<Segment>().is_err());
    }
}
