//! The receiver: which frames are complete, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::camera::Part;

/// What has arrived of each frame.
#[derive(Default)]
pub struct Viewer {
    arriving: BTreeMap<u32, Arriving>,
    complete: Vec<Complete>,
    /// Frames that were complete before; a copy of one of their datagrams changes nothing.
    seen: BTreeSet<u32>,
}

#[derive(Default)]
struct Arriving {
    parts: BTreeSet<u16>,
    bytes: usize,
}

struct Complete {
    /// From the capture to the arrival of the last part.
    delay: Duration,
    bytes: usize,
}

/// What became of the frames of a run.
pub struct Outcome {
    /// The share of frames that were complete when they were to be shown.
    pub in_time: f64,
    /// The share of frames that were complete later.
    pub late: f64,
    /// The share of frames of which a part never arrived, or that were not sent as a whole.
    pub incomplete: f64,
    /// The delay that one complete frame in twenty exceeds.
    pub delay_95: Option<Duration>,
    /// The data of frames in time, kbit/s.
    pub kbit_per_s: f64,
}

impl Viewer {
    /// Takes a datagram that arrived `now`, counted from the start of the run.
    pub fn take(&mut self, now: Duration, datagram: &[u8]) {
        let Some(part) = Part::read(datagram) else {
            return;
        };
        if self.seen.contains(&part.frame) {
            return;
        }
        let arriving = self.arriving.entry(part.frame).or_default();
        if arriving.parts.insert(part.part) {
            arriving.bytes += part.size;
        }
        if arriving.parts.len() == part.parts.into() {
            let bytes = arriving.bytes;
            self.arriving.remove(&part.frame);
            self.seen.insert(part.frame);
            let delay = now.saturating_sub(Duration::from_nanos(part.captured_ns));
            self.complete.push(Complete { delay, bytes });
        }
    }

    /// Judges a run in which `frames` frames were captured.
    pub fn judge(mut self, frames: u32, playout: Duration, length: Duration) -> Outcome {
        self.complete.sort_by_key(|complete| complete.delay);
        let in_time = self
            .complete
            .partition_point(|complete| complete.delay <= playout);
        let all = f64::from(frames.max(1));
        let bytes: usize = self.complete[..in_time]
            .iter()
            .map(|complete| complete.bytes)
            .sum();
        let at = self.complete.len() * 95 / 100;
        Outcome {
            in_time: in_time as f64 / all,
            late: (self.complete.len() - in_time) as f64 / all,
            incomplete: 1.0 - self.complete.len() as f64 / all,
            delay_95: self.complete.get(at).map(|complete| complete.delay),
            kbit_per_s: bytes as f64 * 8.0 / 1_000.0 / length.as_secs_f64(),
        }
    }
}
