//! Counts of what clients are doing, and of how their connections ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What a client is doing.
#[derive(Clone, Copy)]
pub(crate) enum Doing {
    Connecting,
    Sending,
    Resting,
    Closing,
}

/// How a client's connection ended, or why it never opened.
#[derive(Clone, Copy)]
pub(crate) enum End {
    ClosedByClient,
    ClosedByServer,
    AbortedByClient,
    AbortedByServer,
    Vanished,
    Muted,
    Refused,
    Cancelled,
    Failed,
}

const DOING: [&str; 4] = ["connecting", "sending", "idle", "closing"];

const ENDS: [&str; 9] = [
    "closed by the client",
    "closed by the server",
    "aborted by the client",
    "aborted by the server",
    "vanished with its socket",
    "vanished behind a silent path",
    "refused",
    "cancelled in the handshake",
    "timed out, or failed in another way that nobody caused",
];

/// The counts of one round.
#[derive(Default)]
pub(crate) struct Counts {
    doing: [AtomicUsize; DOING.len()],
    ends: [AtomicU64; ENDS.len()],
    pub(crate) datagrams: AtomicU64,
    pub(crate) junk: AtomicU64,
    told: AtomicU64,
}

/// A guard that counts one client as doing something while it lives.
pub(crate) struct While<'a>(&'a AtomicUsize);

impl Drop for While<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counts {
    pub(crate) fn shared() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn during(&self, doing: Doing) -> While<'_> {
        let count = &self.doing[doing as usize];
        count.fetch_add(1, Ordering::Relaxed);
        While(count)
    }

    pub(crate) fn ended(&self, end: End) {
        self.ends[end as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Describes what clients are doing now.
    pub(crate) fn now(&self) -> String {
        let counts = DOING.iter().zip(&self.doing);
        let mut text: Vec<_> = counts
            .map(|(name, count)| format!("{name} {}", count.load(Ordering::Relaxed)))
            .collect();
        let ended: u64 = self
            .ends
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .sum();
        text.push(format!("ended {ended}"));
        text.push(format!(
            "datagrams {}",
            self.datagrams.load(Ordering::Relaxed)
        ));
        text.push(format!("junk {}", self.junk.load(Ordering::Relaxed)));
        text.join(", ")
    }

    /// Describes how connections ended.
    pub(crate) fn totals(&self) -> String {
        let counts = ENDS.iter().zip(&self.ends);
        let lines =
            counts.map(|(name, count)| format!("{:>9} {name}", count.load(Ordering::Relaxed)));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Records a connection that failed for no planned reason; prints the first ten.
    pub(crate) fn failed(&self, how: &str) -> End {
        if self.told.fetch_add(1, Ordering::Relaxed) < 10 {
            eprintln!("note: a client's connection: {how}");
        }
        End::Failed
    }

    /// Returns a note about failed connections, if there are any.
    pub(crate) fn note(&self) -> Option<String> {
        let count = self.ends[End::Failed as usize].load(Ordering::Relaxed);
        (count > 0).then(|| {
            format!(
                "note: {count} clients timed out or failed; on a busy machine peers do, and it counts only what is \
                 left of them"
            )
        })
    }

    /// Returns the planned ways to end that never occurred. Failed connections are shown but are no complaint: on a
    /// busy machine peers time out. They must leave nothing behind either.
    pub(crate) fn missing(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        for (i, (name, count)) in ENDS.iter().zip(&self.ends).enumerate() {
            let count = count.load(Ordering::Relaxed);
            let must = i < End::Failed as usize;
            if must && count == 0 {
                complaints.push(format!("no connection was {name}"));
            }
        }
        complaints
    }
}
