//! Lines and the summary, as text and JSON.

use std::fmt::Write as _;
use std::time::Duration;

use fairwire_measure::counted;
use serde::Serialize;

use super::counters::{Reason, Totals, Traffic};
use super::options::{Options, Side};
use crate::perf::{ErrorReport, PerfError};

/// The results of a relay.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// The version of Fairwire.
    pub version: String,
    /// The side: `client` or `server`.
    pub side: String,
    /// Where it listened.
    pub listen: String,
    /// Where the datagrams went.
    pub to: String,
    /// Whether they were encrypted.
    pub encrypted: bool,
    /// How long it ran, seconds.
    pub seconds: f64,
    /// The counters.
    #[serde(flatten)]
    pub totals: Totals,
    /// Why it ended early.
    pub error: Option<ErrorReport>,
}

impl Summary {
    pub(super) fn new(
        options: &Options,
        listen: String,
        (ran, totals): (Duration, Totals),
        error: Option<&PerfError>,
    ) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            side: match options.side {
                Side::Client => "client".to_owned(),
                Side::Server => "server".to_owned(),
            },
            listen,
            to: options.to.clone(),
            encrypted: options.dtls.is_on(),
            seconds: ran.as_secs_f64(),
            totals,
            error: error.map(ErrorReport::from),
        }
    }

    /// Returns the exit status of a command with these results.
    pub fn exit_code(&self) -> u8 {
        self.error.as_ref().map_or(0, |error| error.exit)
    }

    /// Returns the summary as text.
    pub fn text(&self) -> String {
        let totals = &self.totals;
        let mut text = format!(
            "Summary of {:.0} s: {} begun, {} ended, {} lost, {} refused, {} to connect\n",
            self.seconds,
            counted(totals.sessions_begun, "session"),
            totals.sessions_ended,
            totals.sessions_lost,
            totals.sessions_refused,
            counted(totals.failed_attempts, "failed attempt"),
        );
        for (name, traffic) in [
            ("to the peer", totals.to_peer),
            ("from the peer", totals.from_peer),
        ] {
            let _ = writeln!(
                text,
                "  {name}: {}, {}",
                counted(traffic.datagrams, "datagram"),
                counted(traffic.bytes, "byte")
            );
        }
        let _ = writeln!(text, "  dropped: {}", drops(totals, &Totals::default()));
        if let Some(note) = largest(totals) {
            let _ = writeln!(text, "  {note}");
        }
        text
    }
}

/// Returns the line of an interval; `None` if nothing happened in it.
pub(super) fn line(
    (before, now): (&Totals, &Totals),
    (from, to): (Duration, Duration),
    sessions: usize,
) -> Option<String> {
    if before == now {
        return None;
    }
    let seconds = to.saturating_sub(from).as_secs_f64().max(1e-3);
    let moved = |before: Traffic, now: Traffic| {
        let datagrams = now.datagrams.saturating_sub(before.datagrams);
        let bits = now.bytes.saturating_sub(before.bytes) as f64 * 8.0;
        format!("{datagrams} ({:.2} Mbit/s)", bits / seconds / 1e6)
    };
    Some(format!(
        "{:>8.1} s  {}  to the peer {}  from the peer {}  dropped {}",
        to.as_secs_f64(),
        counted(sessions as u64, "session"),
        moved(before.to_peer, now.to_peer),
        moved(before.from_peer, now.from_peer),
        drops(now, before)
    ))
}

/// Returns the number of drops since `before`, with the reasons.
fn drops(now: &Totals, before: &Totals) -> String {
    let since = |reason| {
        now.dropped
            .of(reason)
            .saturating_sub(before.dropped.of(reason))
    };
    let reasons: Vec<_> = Reason::ALL
        .into_iter()
        .filter(|reason| since(*reason) > 0)
        .map(|reason| format!("{} {}", since(reason), reason.words()))
        .collect();
    let sum: u64 = Reason::ALL.into_iter().map(since).sum();
    if reasons.is_empty() {
        "0".to_owned()
    } else {
        format!("{sum}: {}", reasons.join(", "))
    }
}

/// Returns the note about datagrams that are too large, if there were any.
pub(super) fn largest(totals: &Totals) -> Option<String> {
    let (fits, refused) = (totals.largest_that_fits?, totals.largest_refused?);
    Some(format!(
        "datagrams of up to {refused} bytes were too large and were dropped: at most {fits} bytes fit (let the program \
         send smaller ones, as with a lower MTU)"
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::counters::{Counters, Reason};
    use super::{drops, largest, line};

    /// A line shows what changed, and a quiet interval has none.
    #[test]
    fn lines_show_what_changed() {
        let counters = Counters::default();
        let before = counters.totals();
        let times = (Duration::ZERO, Duration::from_secs(2));
        assert_eq!(line((&before, &before), times, 1), None);
        counters.taken(250_000);
        counters.too_large(65_507, 1_400);
        counters.drop_many(Reason::Expired, 2);
        let now = counters.totals();
        let text = line((&before, &now), times, 1).expect("something happened");
        assert!(
            text.contains("1 session  to the peer 1 (1.00 Mbit/s)"),
            "{text}"
        );
        assert!(
            text.ends_with("dropped 3: 1 too large, 2 expired"),
            "{text}"
        );
        assert_eq!(drops(&now, &now), "0");
        let note = largest(&now).expect("one was too large");
        assert!(note.contains("65507") && note.contains("1400"), "{note}");
    }
}
