//! What a relay has done, as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::engine::Passed;
use crate::relay::Report;

impl Passed {
    /// Returns the datagrams that did not arrive.
    pub fn dropped(&self) -> u64 {
        let drops = &self.drops;
        drops.queue_full + drops.queue_management + drops.lost + drops.corrupted + drops.down
    }

    fn json(&self) -> Value {
        let drops = &self.drops;
        json!({
            "offered": self.offered,
            "delivered": self.delivered,
            "bytes": self.bytes,
            "duplicated": self.duplicated,
            "waiting": self.waiting,
            "longest_queue": self.longest_queue,
            "drops": {
                "queue_full": drops.queue_full,
                "queue_management": drops.queue_management,
                "lost": drops.lost,
                "corrupted": drops.corrupted,
                "down": drops.down,
            },
        })
    }
}

impl Report {
    /// Returns it as JSON. Times are in seconds, bytes are those of IP packets.
    pub fn json(&self) -> Value {
        let quantile = |share| self.lateness.quantile(share).map(|time| time.as_secs_f64());
        json!({
            "time_s": self.time.as_secs_f64(),
            "clients": self.clients,
            "there": self.there.json(),
            "back": self.back.json(),
            "refused": self.refused,
            "unsent": self.unsent,
            "strangers": self.strangers,
            "problems": self.problems,
            "late_p50_s": quantile(0.5),
            "late_p99_s": quantile(0.99),
            "late_most_s": self.lateness.most().as_secs_f64(),
        })
    }

    /// Returns a line for what passed since `before`: rate, queue and drops of both directions.
    pub fn line(&self, before: Option<&Self>) -> String {
        let mut line = format!("{:>7.1} s", self.time.as_secs_f64());
        let since = before.map_or(0.0, |before| before.time.as_secs_f64());
        let seconds = (self.time.as_secs_f64() - since).max(1e-9);
        let sides = [("there", &self.there), ("back", &self.back)];
        for (name, passed) in sides {
            let earlier = before.map(|before| {
                if name == "there" {
                    before.there
                } else {
                    before.back
                }
            });
            let earlier = earlier.unwrap_or_default();
            let bits = (passed.bytes - earlier.bytes) as f64 * 8.0;
            let _ = write!(
                line,
                "  {name} {:>9.1} kbit/s, {:>4} waiting, {:>5} dropped",
                bits / seconds / 1e3,
                passed.waiting,
                passed.dropped() - earlier.dropped(),
            );
        }
        line
    }

    /// Returns the summary at the end: what passed, what was dropped and why, and the link's own error.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for (name, passed) in [("there", &self.there), ("back", &self.back)] {
            let bits = passed.bytes as f64 * 8.0 / self.time.as_secs_f64().max(1e-9);
            let _ = writeln!(
                text,
                "{name:<6}{} came, {} arrived ({:.1} kbit/s of IP packets), at most {} waited",
                passed.offered,
                passed.delivered,
                bits / 1e3,
                passed.longest_queue,
            );
            let drops = &passed.drops;
            let reasons = [
                (drops.queue_full, "the queue was full"),
                (drops.queue_management, "dropped by the queue's management"),
                (drops.lost, "lost on the wire"),
                (drops.corrupted, "damaged"),
                (drops.down, "the link was down"),
                (passed.duplicated, "came twice"),
            ];
            for (count, reason) in reasons.into_iter().filter(|(count, _)| *count > 0) {
                let _ = writeln!(text, "      {count} {reason}");
            }
        }
        let counts = [
            (self.refused, "of clients for which there was no room"),
            (
                self.unsent,
                "not sent by this system: its buffers were full, or a datagram too large",
            ),
        ];
        for problem in &self.problems {
            let _ = writeln!(text, "      not changed: {problem}");
        }
        for (count, reason) in counts.into_iter().filter(|(count, _)| *count > 0) {
            let _ = writeln!(text, "      {count} {reason}");
        }
        if let (Some(half), Some(most)) =
            (self.lateness.quantile(0.5), self.lateness.quantile(0.99))
        {
            let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
            let _ = writeln!(
                text,
                "error  datagrams left {:.2} ms late (median), {:.2} ms (99 %), {:.2} ms at most",
                ms(half),
                ms(most),
                ms(self.lateness.most()),
            );
        }
        text
    }
}
