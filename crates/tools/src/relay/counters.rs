//! What a relay counts: sessions, datagrams in each direction, and a reason for each datagram that it dropped.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// Why a datagram was not delivered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reason {
    /// It is larger than what fits into a packet of the path.
    TooLarge,
    /// It was the oldest when the send queue was full.
    QueueFull,
    /// It waited longer than it may.
    Expired,
    /// Its sender would have needed a session beyond the limit.
    SessionLimit,
    /// Too many datagrams waited for the connection already.
    WaitingFull,
    /// Its session had no connection: the attempt failed, the connection was lost, or the pause before the next attempt
    /// was not over.
    SessionLost,
    /// The host of the UDP program answered that nobody listens there (ICMP).
    FarRefused,
    /// The system refused to send it.
    NotSent,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 8] = [
        Self::TooLarge,
        Self::QueueFull,
        Self::Expired,
        Self::SessionLimit,
        Self::WaitingFull,
        Self::SessionLost,
        Self::FarRefused,
        Self::NotSent,
    ];

    /// Returns its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::QueueFull => "queue_full",
            Self::Expired => "expired",
            Self::SessionLimit => "session_limit",
            Self::WaitingFull => "waiting_full",
            Self::SessionLost => "session_lost",
            Self::FarRefused => "far_refused",
            Self::NotSent => "not_sent",
        }
    }

    /// Returns its name in text.
    pub fn words(self) -> &'static str {
        match self {
            Self::TooLarge => "too large",
            Self::QueueFull => "queue full",
            Self::Expired => "expired",
            Self::SessionLimit => "over the limit of sessions",
            Self::WaitingFull => "too many waiting for a connection",
            Self::SessionLost => "without a connection",
            Self::FarRefused => "refused at the far end",
            Self::NotSent => "not sent by the system",
        }
    }
}

/// Datagrams of one direction and their bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Traffic {
    /// Datagrams.
    pub datagrams: u64,
    /// Their bytes, without headers. Datagrams that the send queue dropped are taken out with their mean size.
    pub bytes: u64,
}

impl Traffic {
    fn add(&mut self, bytes: usize) {
        self.datagrams += 1;
        self.bytes += bytes as u64;
    }
}

/// The number of drops for each reason.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Drops([u64; Reason::ALL.len()]);

impl Drops {
    /// Returns the number of drops for this reason.
    pub fn of(&self, reason: Reason) -> u64 {
        self.0[reason as usize]
    }

    /// Returns the number of drops for any reason.
    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl Serialize for Drops {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for reason in Reason::ALL {
            map.serialize_entry(reason.name(), &self.of(reason))?;
        }
        map.end()
    }
}

/// Everything that a relay counts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// Sessions that began: clients of the near side, connections of the far side.
    pub sessions_begun: u64,
    /// Sessions that ended after silence, or because the peer closed them.
    pub sessions_ended: u64,
    /// Connections that were lost: the peer was silent or had forgotten them.
    pub sessions_lost: u64,
    /// Attempts to connect that failed.
    pub failed_attempts: u64,
    /// Connections that were refused because of the limit of sessions.
    pub sessions_refused: u64,
    /// UDP datagrams that were sent into a connection.
    pub to_peer: Traffic,
    /// Datagrams of a connection that were sent as UDP.
    pub from_peer: Traffic,
    /// Datagrams that were dropped, by reason.
    pub dropped: Drops,
    /// Empty datagrams among those that were sent into a connection.
    pub empty: u64,
    /// The largest datagram that fitted when one was too large, bytes.
    pub largest_that_fits: Option<usize>,
    /// The largest datagram that was too large, bytes.
    pub largest_refused: Option<usize>,
}

/// The counters of a relay, which its tasks share.
#[derive(Debug, Default)]
pub(super) struct Counters(Mutex<Totals>);

impl Counters {
    /// Returns the counters now.
    pub(super) fn totals(&self) -> Totals {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the counters.
    pub(super) fn change(&self, change: impl FnOnce(&mut Totals)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Counts datagrams that were dropped.
    pub(super) fn drop_many(&self, reason: Reason, datagrams: u64) {
        self.change(|totals| totals.dropped.0[reason as usize] += datagrams);
    }

    /// Counts a datagram that was dropped.
    pub(super) fn drop_one(&self, reason: Reason) {
        self.drop_many(reason, 1);
    }

    /// Counts a datagram that does not fit.
    pub(super) fn too_large(&self, size: usize, fits: usize) {
        self.change(|totals| {
            totals.dropped.0[Reason::TooLarge as usize] += 1;
            totals.largest_that_fits = Some(fits);
            totals.largest_refused = totals.largest_refused.max(Some(size));
        });
    }

    /// Counts a datagram that a connection took.
    pub(super) fn taken(&self, bytes: usize) {
        self.change(|totals| {
            totals.to_peer.add(bytes);
            totals.empty += u64::from(bytes == 0);
        });
    }

    /// Counts datagrams that a connection took and did not send.
    pub(super) fn not_sent_after_all(&self, reason: Reason, datagrams: u64, bytes: u64) {
        self.change(|totals| {
            totals.dropped.0[reason as usize] += datagrams;
            let sent = &mut totals.to_peer;
            sent.datagrams = sent.datagrams.saturating_sub(datagrams);
            sent.bytes = sent.bytes.saturating_sub(bytes);
        });
    }

    /// Counts a datagram that was sent as UDP.
    pub(super) fn delivered(&self, bytes: usize) {
        self.change(|totals| totals.from_peer.add(bytes));
    }

    /// Counts a datagram that was sent as UDP, and then refused by the far host.
    pub(super) fn refused_after_all(&self) {
        self.change(|totals| {
            totals.dropped.0[Reason::FarRefused as usize] += 1;
            totals.from_peer.datagrams = totals.from_peer.datagrams.saturating_sub(1);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{Counters, Reason};

    /// Every reason has a place and a name of its own, and what the queue drops later is not counted as sent.
    #[test]
    fn every_datagram_is_counted_once() {
        let counters = Counters::default();
        for _ in 0..3 {
            counters.taken(10);
        }
        counters.not_sent_after_all(Reason::Expired, 2, 20);
        counters.too_large(65_507, 1_400);
        counters.too_large(2_000, 1_300);
        let totals = counters.totals();
        assert_eq!((totals.to_peer.datagrams, totals.dropped.sum()), (1, 4));
        assert_eq!(totals.largest_refused, Some(65_507));
        assert_eq!(totals.largest_that_fits, Some(1_300));
        let json = serde_json::to_value(totals).expect("serializable");
        let dropped = json["dropped"].as_object().expect("a map");
        assert_eq!(dropped.len(), Reason::ALL.len(), "{json}");
        assert_eq!(dropped["expired"], 2);
        for (at, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, at);
        }
    }
}
