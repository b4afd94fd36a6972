//! Data Dropped and Slow Receiver, sender's side: what the peer's acknowledgements say about its host (RFC 4340,
//! sections 11.6 and 11.7).
//!
//! Reports repeat themselves; this part finds what is new in them, for every CCID. The sending half decides what it
//! means for the window or the rate.

use fairwire_units::Instant;
use fairwire_wire::{DropBlock, EntryState, Seq};

use super::codes::Codes;
use crate::half::{DropRun, HostReport};
use crate::packet_options::{PacketOptions, Vectors};

/// What the peer has reported, and what the present packet adds.
#[derive(Debug)]
pub(crate) struct Reported {
    codes: Codes,
    pub(crate) new: HostReport,
    /// All runs that the present packet reports, newest first.
    runs: Vec<DropRun>,
    /// Whether a report of drops is not acknowledged yet.
    owed: bool,
    /// When a report was last acknowledged.
    acknowledged_at: Option<Instant>,
    /// Until when the last Slow Receiver counts.
    pub(crate) slow_until: Option<Instant>,
    /// Until when no data leaves, because the peer may not take it.
    pub(crate) refused_until: Option<Instant>,
}

impl Default for Reported {
    fn default() -> Self {
        Self {
            codes: Codes::growing(),
            new: HostReport::default(),
            runs: Vec::new(),
            owed: false,
            acknowledged_at: None,
            slow_until: None,
            refused_until: None,
        }
    }
}

impl Reported {
    /// Returns the bytes of memory on the heap.
    pub(crate) fn footprint(&self) -> usize {
        let runs = self.runs.capacity() + self.new.drops.capacity();
        self.codes.footprint() + runs * size_of::<DropRun>()
    }

    /// Reads the present packet, which acknowledges `ackno`; `iss` is the first number ever sent. Returns whether it
    /// reports anything new.
    pub(crate) fn read(
        &mut self,
        options: &PacketOptions<'_>,
        ackno: Option<Seq>,
        iss: Seq,
    ) -> bool {
        self.new.drops.clear();
        self.new.slow = options.is_slow;
        if let Some(ackno) = ackno
            && !options.drops.is_empty()
        {
            self.owed = true;
            // RFC 4340, 11.7: a report is ignored if it covers more packets than were sent, disagrees with the Ack
            // Vector beside it, or changes an earlier report.
            let plausible = self.collect(options, ackno, iss)
                && !contradicts(&options.vectors, ackno, &self.runs)
                && !self.changes();
            if plausible {
                self.note_news(ackno);
            }
        }
        self.new.slow || !self.new.drops.is_empty()
    }

    /// Collects the runs of drops; returns false if they cover more packets than were ever sent.
    fn collect(&mut self, options: &PacketOptions<'_>, ackno: Seq, iss: Seq) -> bool {
        self.runs.clear();
        let mut left = iss.distance(ackno) + 1;
        let mut high = ackno;
        for block in options.drop_blocks() {
            let run = u64::from(block.run());
            if run > left {
                return false;
            }
            left -= run;
            let low = high.sub(run - 1);
            if let DropBlock::Dropped { code, .. } = block {
                match self.runs.last_mut() {
                    Some(last) if last.code == code && last.low == high.next() => last.low = low,
                    _ => self.runs.push(DropRun { high, low, code }),
                }
            }
            high = low.prev();
        }
        true
    }

    /// Returns whether a packet gets another code than it had. A packet without a code may get one: data can be dropped
    /// from the receive buffer long after it arrived.
    fn changes(&self) -> bool {
        self.runs.iter().any(|run| self.codes.contradict(run))
    }

    /// Stores the runs; packets that had no code are new.
    fn note_news(&mut self, ackno: Seq) {
        if let Some(oldest) = self.runs.last() {
            self.codes.reach(ackno, oldest.low);
        }
        let drops = &mut self.new.drops;
        for run in &self.runs {
            let code = run.code;
            self.codes.set_new(run, |high, packets| {
                let low = high.sub(packets - 1);
                match drops.last_mut() {
                    Some(last) if last.code == code && last.low == high.next() => last.low = low,
                    _ => drops.push(DropRun { high, low, code }),
                }
            });
        }
    }

    /// Returns whether the peer's report should be acknowledged. RFC 4342, 6.3: while data flows, about once per round
    /// trip.
    pub(crate) fn wants_ack(&self, now: Instant, rtt: fairwire_units::Duration) -> bool {
        let recent = |at| now.saturating_since(at) < rtt;
        self.owed && !self.acknowledged_at.is_some_and(recent)
    }

    /// Notes that a packet with an acknowledgement number left.
    pub(crate) fn acknowledged(&mut self, now: Instant) {
        if std::mem::take(&mut self.owed) {
            self.acknowledged_at = Some(now);
        }
    }

    /// Returns whether the peer has asked within the last round trip for no more data than it gets.
    pub(crate) fn is_slow(&self, now: Instant) -> bool {
        self.slow_until.is_some_and(|until| now < until)
    }
}

/// Returns whether the Ack Vectors beside the report say that one of the packets in `runs` has not arrived.
fn contradicts(vectors: &Vectors<'_>, ackno: Seq, runs: &[DropRun]) -> bool {
    let mut runs = runs.iter().peekable();
    let mut high = ackno;
    for entry in vectors.entries() {
        let low = high.sub(u64::from(entry.run()) - 1);
        // Both lists go from new to old.
        while runs.next_if(|run| run.low.is_after(high)).is_some() {}
        let Some(run) = runs.peek() else {
            return false;
        };
        if entry.state() == EntryState::NotReceived && !run.high.is_before(low) {
            return true;
        }
        high = low.prev();
    }
    false
}

#[cfg(test)]
mod tests;
