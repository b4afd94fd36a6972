//! Observation of links: queues over time, and drops by link and flow.

use std::collections::VecDeque;
use std::sync::Arc;

use fairwire_net::{DropReason, LinkId, Observation, Observer, Place, Trace};
use fairwire_units::{Ecn, Instant};

use fairwire_scenario::transport::flow_meter::Dropped;
use fairwire_scenario::transport::store::Store;
use fairwire_scenario::transport::windows::{Span, Windows};
use fairwire_scenario::{Link, TraceFile};

/// The counts of one window of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkWindow {
    /// Bytes that left for the wire, with framing.
    pub(crate) departed_bytes: u64,
    /// Bytes of IP packets that arrived at the far end.
    pub(crate) wire_bytes: u64,
    /// The sum over packets of the time that each spent in the queue and the transmitter.
    pub(crate) packet_time_ns: u128,
    pub(crate) queue_max: u64,
    pub(crate) queue_drops: u64,
    pub(crate) losses: u64,
    pub(crate) marks: u64,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub(crate) struct LinkMeter {
    pub(crate) name: String,
    /// The rate from each time on, bits per second.
    rates: Vec<(Instant, u64)>,
    trace: Option<Arc<Trace>>,
    framing: u64,
    /// The arrival time of each packet in the queue and transmitter, and whether it was marked then.
    inside: VecDeque<(Instant, bool)>,
    pub(crate) counts: Vec<LinkWindow>,
    /// Packet time per period.
    pub(crate) periods: Vec<u128>,
}

/// The data packets that one direction of a flow lost, counted in the window in which they were sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowDrops {
    pub(crate) counts: Vec<u64>,
    /// The counts by the period of the drop.
    pub(crate) periods: Vec<u32>,
    /// The time of the first drop.
    pub(crate) first: Option<Instant>,
    /// The newest packets that were dropped.
    pub(crate) newest: Dropped,
}

/// The observer of a run.
#[derive(Clone, Debug)]
pub(crate) struct LinkMeters {
    windows: Windows,
    /// The meters by link number; `None` for links that are not measured.
    pub(crate) links: Vec<Option<LinkMeter>>,
    /// The drops by flow number.
    pub(crate) drops: Vec<FlowDrops>,
}

impl LinkMeters {
    pub(crate) fn new(windows: &Windows, links: usize, flows: usize) -> Self {
        let drops = FlowDrops {
            counts: vec![0; windows.spans.len()],
            periods: vec![0; windows.periods],
            first: None,
            newest: Dropped::default(),
        };
        Self {
            windows: windows.clone(),
            links: vec![None; links],
            drops: vec![drops; flows],
        }
    }

    /// Starts measuring `link`.
    pub(crate) fn watch(&mut self, id: LinkId, name: &str, link: &Link) {
        if let Some(place) = self.links.get_mut(id.0 as usize) {
            *place = Some(LinkMeter {
                name: name.to_owned(),
                rates: rates(link),
                trace: link.trace.as_ref().and_then(TraceFile::trace).cloned(),
                framing: link.framing_bytes(),
                inside: VecDeque::new(),
                counts: vec![LinkWindow::default(); self.windows.spans.len()],
                periods: vec![0; self.windows.periods],
            });
        }
    }

    fn link(&mut self, place: Place) -> Option<(&mut LinkMeter, &Windows)> {
        let Place::Link(id) = place else {
            return None;
        };
        let meter = self.links.get_mut(id.0 as usize)?.as_mut()?;
        Some((meter, &self.windows))
    }

    fn flow_dropped(&mut self, seen: &Observation<'_, Store>) {
        let slot = seen.store.slot(seen.packet.handle);
        // Conversations of a flow have numbers beyond the flow's, in steps of the count of flow numbers.
        let place = seen.packet.flow.0 as usize % self.drops.len().max(1);
        let Some(drops) = self.drops.get_mut(place) else {
            return;
        };
        if !slot.is_data {
            return;
        }
        for (count, span) in drops.counts.iter_mut().zip(&self.windows.spans) {
            *count += u64::from(span.holds(slot.sent_at));
        }
        if let Some(count) = drops.periods.get_mut(self.windows.period_of(seen.at)) {
            *count = count.saturating_add(1);
        }
        drops.first.get_or_insert(seen.at);
        if let Some(meter) = seen.store.meters.get(place) {
            let offered_at = slot.payload.tag().map(Instant::from_nanos);
            meter.note_drop(&mut drops.newest, slot.sent_at, offered_at);
        }
    }
}

impl LinkMeter {
    /// Counts a packet that was inside from `entered` until `left`.
    fn was_inside(&mut self, windows: &Windows, entered: Instant, left: Instant) {
        for (counts, span) in self.counts.iter_mut().zip(&windows.spans) {
            counts.packet_time_ns += u128::from(span.overlap(entered, left).as_nanos());
        }
        let (first, last) = (windows.period_of(entered), windows.period_of(left));
        if first == last
            && let Some(period) = self.periods.get_mut(first)
        {
            *period += u128::from(left.saturating_since(entered).as_nanos());
            return;
        }
        for number in first..=last.min(windows.periods.saturating_sub(1)) {
            let time = windows.period_span(number).overlap(entered, left);
            if let Some(period) = self.periods.get_mut(number) {
                *period += u128::from(time.as_nanos());
            }
        }
    }

    /// Ends the run at `end`: counts packets that are still inside as inside until then.
    pub(crate) fn finish(&mut self, windows: &Windows, end: Instant) {
        while let Some((entered, _)) = self.inside.pop_front() {
            self.was_inside(windows, entered, end);
        }
    }

    /// Returns the share of the link's capacity that was used in window `index`, which is `span`, from 0 to 1; `None`
    /// if there was no capacity.
    pub(crate) fn utilisation(&self, index: usize, span: Span) -> Option<f64> {
        let capacity = match &self.trace {
            Some(trace) => (bytes_before(trace, span.to) - bytes_before(trace, span.from)) as f64,
            None => bytes_within(&self.rates, span),
        };
        let departed = self.counts.get(index)?.departed_bytes as f64;
        (capacity > 0.0).then(|| departed / capacity)
    }
}

/// Returns the rate of `link` from each time on, bits per second.
fn rates(link: &Link) -> Vec<(Instant, u64)> {
    let first = (Instant::START, link.mean_rate().bits_per_s());
    let later = link.rate_changes.iter();
    let later = later.map(|it| (Instant::START + it.at, it.rate.bits_per_s()));
    std::iter::once(first).chain(later).collect()
}

/// Returns the bytes that can leave within `span` at `rates`.
fn bytes_within(rates: &[(Instant, u64)], span: Span) -> f64 {
    let ends = rates.iter().skip(1).map(|(at, _)| *at);
    let ends = ends.chain([Instant::MAX]);
    let parts = rates.iter().zip(ends).map(|((from, rate), to)| {
        let time = span.overlap(*from, to);
        *rate as f64 / 8.0 * time.as_secs_f64()
    });
    parts.sum()
}

/// Returns the bytes that a trace lets leave before `end`. A window excludes its last moment for departures as well.
fn bytes_before(trace: &Trace, end: Instant) -> u64 {
    let last = end.as_nanos().checked_sub(1);
    last.map_or(0, |last| trace.bytes_by(Instant::from_nanos(last)))
}

impl Observer<Store> for LinkMeters {
    fn entered(&mut self, seen: &Observation<'_, Store>) {
        let Some((meter, windows)) = self.link(seen.place) else {
            return;
        };
        meter
            .inside
            .push_back((seen.at, seen.packet.ecn == Ecn::Ce));
        let inside = meter.inside.len() as u64;
        for (counts, span) in meter.counts.iter_mut().zip(&windows.spans) {
            if span.holds(seen.at) {
                counts.queue_max = counts.queue_max.max(inside);
            }
        }
    }

    fn departed(&mut self, seen: &Observation<'_, Store>) {
        let Some((meter, windows)) = self.link(seen.place) else {
            return;
        };
        let bytes = u64::from(seen.packet.wire_len) + meter.framing;
        for (counts, span) in meter.counts.iter_mut().zip(&windows.spans) {
            if span.holds(seen.at) {
                counts.departed_bytes += bytes;
            }
        }
        // Assumes first in, first out. A discipline that reorders would need packets to be identified here.
        let Some((entered, was_marked)) = meter.inside.pop_front() else {
            return;
        };
        meter.was_inside(windows, entered, seen.at);
        if was_marked || seen.packet.ecn != Ecn::Ce {
            return;
        }
        for (counts, span) in meter.counts.iter_mut().zip(&windows.spans) {
            counts.marks += u64::from(span.holds(seen.at));
        }
    }

    fn withdrawn(&mut self, seen: &Observation<'_, Store>) {
        if let Some((meter, windows)) = self.link(seen.place)
            && let Some((entered, _)) = meter.inside.pop_front()
        {
            meter.was_inside(windows, entered, seen.at);
        }
    }

    fn delivered(&mut self, seen: &Observation<'_, Store>) {
        let Some((meter, windows)) = self.link(seen.place) else {
            return;
        };
        let bytes = u64::from(seen.packet.wire_len);
        for (counts, span) in meter.counts.iter_mut().zip(&windows.spans) {
            if span.holds(seen.at) {
                counts.wire_bytes += bytes;
            }
        }
    }

    fn dropped(&mut self, seen: &Observation<'_, Store>, reason: DropReason) {
        self.flow_dropped(seen);
        let Some((meter, windows)) = self.link(seen.place) else {
            return;
        };
        // Only a packet that is dropped at the head has been inside; any other was refused, or has left already.
        if reason == DropReason::Head
            && let Some((entered, _)) = meter.inside.pop_front()
        {
            meter.was_inside(windows, entered, seen.at);
        }
        for (counts, span) in meter.counts.iter_mut().zip(&windows.spans) {
            if !span.holds(seen.at) {
                continue;
            }
            match reason {
                DropReason::QueueFull | DropReason::Early | DropReason::Head => {
                    counts.queue_drops += 1;
                }
                _ => counts.losses += 1,
            }
        }
    }
}
