//! The formats of texts, by their names in schemas.

use std::fmt;
use std::str::FromStr;

use fairwire_net::{QueueLimit, RateControl};
use fairwire_proto::{FeedbackRate, Segment};
use fairwire_units::{Duration, Packets, Percent, Rate, Size};
use fairwire_wire::ServiceCode;

use super::super::{Decibels, MinRto, StartOffset};

/// A function that reads a text and returns its amount, if that can be compared with a limit.
pub(super) type Read = fn(&str) -> Result<Option<f64>, String>;

/// Returns the reader of texts of `format`, and the word for such a text.
pub(super) fn reader(format: &str) -> Option<(&'static str, Read)> {
    let known = FORMATS.iter().find(|(name, _, _)| *name == format);
    known.map(|(_, word, read)| (*word, *read))
}

const FORMATS: &[(&str, &str, Read)] = &[
    ("timespan", "time", |text| {
        read(text, |time: Duration| Some(time.as_nanos() as f64))
    }),
    ("rate", "rate", |text| {
        read(text, |rate: Rate| Some(rate.bits_per_s() as f64))
    }),
    ("size", "size", |text| {
        read(text, |size: Size| Some(size.bytes() as f64))
    }),
    ("packets", "packets", |text| {
        read(text, |packets: Packets| Some(f64::from(packets.0)))
    }),
    ("percent", "percentage", |text| {
        read(text, |part: Percent| Some(part.fraction()))
    }),
    ("queue-limit", "packets or size", |text| {
        read(text, |limit: QueueLimit| match limit {
            QueueLimit::Packets(packets) => Some(f64::from(packets)),
            QueueLimit::Bytes(_) => None,
        })
    }),
    ("min-rto", "time or `\"ns2\"`", |text| {
        read(text, |rto: MinRto| Some(rto.duration().as_nanos() as f64))
    }),
    ("segment", "`\"mean\"`, `\"mps\"` or size", |text| {
        read(text, |_: Segment| None)
    }),
    ("start-offset", "`\"rtt\"`, `\"none\"` or time", |text| {
        read(text, |_: StartOffset| None)
    }),
    ("feedback-rate", "`\"1 per rtt\"` or time", |text| {
        read(text, |_: FeedbackRate| None)
    }),
    ("wlan-rate", "rate or `\"adaptive\"`", |text| {
        read(text, |_: RateControl| None)
    }),
    ("decibels", "decibels", |text| {
        read(text, |level: Decibels| Some(level.0))
    }),
    ("service-code", "service code", |text| {
        read(text, |_: ServiceCode| None)
    }),
];

fn read<T: FromStr<Err: fmt::Display>>(
    text: &str,
    amount: fn(T) -> Option<f64>,
) -> Result<Option<f64>, String> {
    let value = text.parse::<T>().map_err(|error| error.to_string())?;
    Ok(amount(value))
}
