//! The meter of one direction of a flow, by window and period.

use fairwire_measure::{DelayHistogram, Jitter, Traffic};
use fairwire_units::{Duration, Instant};

use super::frames::Frames;
use super::pending::{Pending, Times};
use super::windows::{Span, Windows};

/// The counts of one window.
#[derive(Clone, Debug, Default)]
pub struct FlowWindow {
    /// Packets that the application offered.
    pub offered: u64,
    /// Of the packets offered in this window: those that the receiving application got.
    pub got: u64,
    /// Those of them that came after the playout limit.
    pub overdue: u64,
    /// Frames that the application offered.
    pub frames: u64,
    /// Frames that came whole.
    pub frames_whole: u64,
    /// Frames that came whole within the playout limit.
    pub frames_timely: u64,
    /// Short flows that began.
    pub flows: u64,
    /// The times that short flows took to complete.
    pub completions: Vec<Duration>,
    /// Sum and number of the times from offer to delivery, of packets that were not overdue.
    pub on_time: (Duration, u64),
    /// Data packets that left the sender.
    pub sent: u64,
    /// Of the packets that left in this window: those that arrived within the playout limit.
    pub timely: u64,
    /// Packets that the application offered and the send queue refused.
    pub refused: u64,
    /// Data packets that arrived.
    pub delivered: u64,
    /// Everything that arrived. Payload is counted as the application got it.
    pub traffic: Traffic,
    /// One-way delays of data packets.
    pub delays: DelayHistogram,
    /// The jitter of data packets, by several definitions.
    pub jitter: Jitter,
    /// Sum and number of one-way delays of all packets.
    pub all_delays: (Duration, u64),
    /// Sum and number of times from the application's offer to delivery.
    pub app_delays: (Duration, u64),
    /// What may still arrive after the end of the run.
    pub open: Open,
    /// What may still arrive within the playout limit.
    pub open_in_time: Open,
}

/// The numbers of packets and frames that may still arrive after the end of the run. Nobody can say yet whether they
/// are lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open {
    /// Packets by the time of their offer.
    pub offered: u64,
    /// Frames.
    pub frames: u64,
    /// Packets by the time at which they left the sender.
    pub sent: u64,
}

/// The data packets of a flow that the network dropped, if they are newer than those that had arrived by then.
#[derive(Clone, Debug, Default)]
pub struct Dropped {
    /// By the time of the offer; only for datagrams.
    offered: Times,
    /// By the time at which they left the sender.
    sent: Times,
}

/// The counts of one period.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowPeriod {
    /// Bytes of everything that arrived, as IP packets.
    pub wire_bytes: u64,
    /// Bytes of payload that the application got.
    pub payload_bytes: u64,
    /// Sum of the one-way delays.
    pub delay: Duration,
    /// Data packets that arrived.
    pub delivered: u64,
}

/// One direction of a flow.
#[derive(Clone, Debug)]
pub struct FlowMeter {
    windows: Windows,
    /// The counts of each window.
    pub counts: Vec<FlowWindow>,
    /// The counts of each period.
    pub periods: Vec<FlowPeriod>,
    /// Whether it has carried any data.
    pub has_data: bool,
    /// The playout limit: a packet that arrives later than this after its offer is overdue.
    pub playout: Option<Duration>,
    /// The frames with missing packets, if the application offers frames.
    frames: Option<Frames>,
    /// The packets that may be on their way, by the time of the offer and by that of leaving.
    offers: Pending,
    departures: Pending,
    /// The payload that the flow sends in total, bytes, if there is an end.
    pub total: Option<u64>,
    payload_bytes: u64,
    /// The time at which all of it had arrived.
    pub completed: Option<Instant>,
}

impl FlowMeter {
    /// Makes a meter of a flow that has carried nothing.
    pub fn new(windows: &Windows, playout: Option<Duration>) -> Self {
        Self {
            counts: vec![FlowWindow::default(); windows.spans.len()],
            periods: vec![FlowPeriod::default(); windows.periods],
            windows: windows.clone(),
            has_data: false,
            playout,
            frames: None,
            offers: Pending::default(),
            departures: Pending::default(),
            total: None,
            payload_bytes: 0,
            completed: None,
        }
    }

    /// Starts counting frames.
    pub fn count_frames(&mut self) {
        self.frames = Some(Frames::default());
    }

    /// Returns the span of window `index`.
    pub fn span(&self, index: usize) -> Span {
        self.windows.spans[index]
    }

    /// Returns the counts of the windows that hold `at`.
    fn at(&mut self, at: Instant) -> impl Iterator<Item = &mut FlowWindow> {
        let spans: &[Span] = &self.windows.spans;
        self.counts
            .iter_mut()
            .zip(spans)
            .filter(move |(_, span)| span.holds(at))
            .map(|(counts, _)| counts)
    }

    /// Counts a data packet that left.
    pub fn sent(&mut self, now: Instant) {
        self.has_data = true;
        self.departures.add(now);
        self.at(now).for_each(|counts| counts.sent += 1);
    }

    /// Counts a packet that the application offered.
    pub fn offered(&mut self, now: Instant) {
        self.offers.add(now);
        self.at(now).for_each(|counts| counts.offered += 1);
        if self
            .frames
            .as_mut()
            .is_some_and(|frames| frames.offered(now))
        {
            self.at(now).for_each(|counts| counts.frames += 1);
        }
    }

    /// Counts `bytes` bytes that the application wrote to a stream.
    pub fn written(&mut self, now: Instant, bytes: u64) {
        let frames = self.frames.as_mut();
        if frames.is_some_and(|frames| frames.written(now, bytes)) {
            self.at(now).for_each(|counts| counts.frames += 1);
        }
    }

    /// Counts the packet that was offered last as refused by the send queue.
    pub fn refused(&mut self, now: Instant) {
        self.offers.refuse();
        self.at(now).for_each(|counts| counts.refused += 1);
    }

    /// Counts a packet that arrived and had left at `sent_at`.
    pub fn arrived(&mut self, now: Instant, sent_at: Instant, wire_len: u32, is_data: bool) {
        let delay = now.saturating_since(sent_at);
        for counts in self.at(now) {
            counts.traffic.add(u64::from(wire_len), 0);
            counts.all_delays.0 += delay;
            counts.all_delays.1 += 1;
            if is_data {
                counts.delivered += 1;
                counts.delays.record(delay);
                counts.jitter.packet(sent_at, now);
            }
        }
        if is_data {
            self.departures.arrive(sent_at);
        }
        if is_data && self.playout.is_some_and(|limit| delay <= limit) {
            self.at(sent_at).for_each(|counts| counts.timely += 1);
        }
        let number = self.windows.period_of(now);
        if let Some(period) = self.periods.get_mut(number) {
            period.wire_bytes += u64::from(wire_len);
            if is_data {
                period.delay += delay;
                period.delivered += 1;
            }
        }
    }

    /// Counts `bytes` bytes that the application got. They were offered to the sender at `offered_at`, if that is
    /// known.
    pub fn received(&mut self, now: Instant, bytes: u64, offered_at: Option<Instant>) {
        for counts in self.at(now) {
            counts.traffic.payload_bytes += bytes;
            if let Some(offered_at) = offered_at {
                counts.app_delays.0 += now.saturating_since(offered_at);
                counts.app_delays.1 += 1;
            }
        }
        if let Some(offered_at) = offered_at {
            self.offers.arrive(offered_at);
            self.played(offered_at, now.saturating_since(offered_at));
        }
        if self.frames.is_some() {
            self.received_of_frames(now, bytes, offered_at);
        }
        let number = self.windows.period_of(now);
        if let Some(period) = self.periods.get_mut(number) {
            period.payload_bytes += bytes;
        }
        self.payload_bytes += bytes;
        if self.total.is_some_and(|total| self.payload_bytes >= total) {
            self.completed.get_or_insert(now);
        }
    }

    /// Assigns received data to its frame: a packet that was offered at `offered_at`, or bytes of a stream.
    fn received_of_frames(&mut self, now: Instant, bytes: u64, offered_at: Option<Instant>) {
        let Some(mut frames) = self.frames.take() else {
            return;
        };
        match offered_at {
            Some(offered_at) if frames.received(offered_at) => self.whole_frame(now, offered_at),
            Some(_) => {}
            None => {
                frames.read(bytes);
                while let Some(offered_at) = frames.next_whole() {
                    self.whole_frame(now, offered_at);
                }
            }
        }
        self.frames = Some(frames);
    }

    /// Counts a frame whose last missing part arrived.
    fn whole_frame(&mut self, now: Instant, offered_at: Instant) {
        let delay = now.saturating_since(offered_at);
        let timely = self.playout.is_some_and(|limit| delay <= limit);
        for counts in self.at(offered_at) {
            counts.frames_whole += 1;
            counts.frames_timely += u64::from(timely);
        }
    }

    /// Adds a data packet to those that were `dropped`, which left at `sent_at`, and was offered at `offered_at` if that
    /// is known.
    pub fn note_drop(&self, dropped: &mut Dropped, sent_at: Instant, offered_at: Option<Instant>) {
        self.departures.note_drop(&mut dropped.sent, sent_at);
        if let Some(offered_at) = offered_at {
            self.offers.note_drop(&mut dropped.offered, offered_at);
        }
    }

    /// Counts what may still arrive after `end`, the end of the run.
    pub fn end(&mut self, end: Instant, dropped: &Dropped) {
        for is_limited in [false, true] {
            let limit = self.playout.filter(|_| is_limited);
            let offers: Times = self.offers.open(end, limit, &dropped.offered).collect();
            let departures: Times = self.departures.open(end, limit, &dropped.sent).collect();
            let frames = self.frames.as_ref();
            let frames = frames.map_or_else(Vec::new, |it| it.open(end, limit, &offers));
            for (counts, span) in self.counts.iter_mut().zip(&self.windows.spans) {
                let within = |times: &Times| {
                    let within = times.range(span.from..span.to);
                    within.map(|(_, count)| u64::from(*count)).sum()
                };
                let frames = frames.iter().filter(|at| span.holds(**at));
                let open = Open {
                    offered: within(&offers),
                    frames: frames.count() as u64,
                    sent: within(&departures),
                };
                if is_limited {
                    counts.open_in_time = open;
                } else {
                    counts.open = open;
                }
            }
        }
    }

    /// Counts a short flow that began.
    pub fn flow_began(&mut self, now: Instant) {
        self.at(now).for_each(|counts| counts.flows += 1);
    }

    /// Counts a short flow that began at `began` and completed now.
    pub fn flow_completed(&mut self, began: Instant, now: Instant) {
        let took = now.saturating_since(began);
        self.at(began)
            .for_each(|counts| counts.completions.push(took));
    }

    /// Counts a packet that was offered at `offered_at` and arrived after `delay`, in time or overdue.
    fn played(&mut self, offered_at: Instant, delay: Duration) {
        let overdue = self.playout.is_some_and(|limit| delay > limit);
        for counts in self.at(offered_at) {
            counts.got += 1;
            if overdue {
                counts.overdue += 1;
            } else {
                counts.on_time.0 += delay;
                counts.on_time.1 += 1;
            }
        }
    }
}
