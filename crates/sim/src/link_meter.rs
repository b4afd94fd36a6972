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

impl LinkWindow {
    /// Adds the counts of a part of the window.
    fn add(&mut self, part: &Self) {
        self.departed_bytes += part.departed_bytes;
        self.wire_bytes += part.wire_bytes;
        self.packet_time_ns += part.packet_time_ns;
        self.queue_max = self.queue_max.max(part.queue_max);
        self.queue_drops += part.queue_drops;
        self.losses += part.losses;
        self.marks += part.marks;
    }
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
    /// The counts of the present stretch, which are not in those of windows and periods yet.
    newest: LinkWindow,
    stretch: Span,
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
    /// The moments at which a window or a period begins or ends. Between two of them, in a stretch, all that happens
    /// counts for the same windows and the same period.
    edges: Vec<Instant>,
    /// The meters by link number; `None` for links that are not measured.
    pub(crate) links: Vec<Option<Box<LinkMeter>>>,
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
            edges: windows.readings(),
            windows: windows.clone(),
            links: vec![None; links],
            drops: vec![drops; flows],
        }
    }

    /// Starts measuring `link`.
    pub(crate) fn watch(&mut self, id: LinkId, name: &str, link: &Link) {
        if let Some(place) = self.links.get_mut(id.0 as usize) {
            *place = Some(Box::new(LinkMeter {
                name: name.to_owned(),
                rates: rates(link),
                trace: link.trace.as_ref().and_then(TraceFile::trace).cloned(),
                framing: link.framing_bytes(),
                inside: VecDeque::new(),
                counts: vec![LinkWindow::default(); self.windows.spans.len()],
                periods: vec![0; self.windows.periods],
                newest: LinkWindow::default(),
                stretch: stretch(&self.edges, Instant::START),
            }));
        }
    }

    /// Returns the meter of a link, in the stretch of `at`.
    #[inline]
    fn link(&mut self, place: Place, at: Instant) -> Option<(&mut LinkMeter, &Windows)> {
        let Place::Link(id) = place else {
            return None;
        };
        let meter = self.links.get_mut(id.0 as usize)?.as_deref_mut()?;
        if at >= meter.stretch.to {
            meter.end_stretch(&self.windows);
            meter.stretch = stretch(&self.edges, at);
        }
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

/// Returns the stretch between two `edges` that `at` lies in.
fn stretch(edges: &[Instant], at: Instant) -> Span {
    let next = edges.partition_point(|edge| *edge <= at);
    let before = next.checked_sub(1).map(|before| edges[before]);
    Span {
        from: before.unwrap_or(Instant::START),
        to: edges.get(next).copied().unwrap_or(Instant::MAX),
    }
}

impl LinkMeter {
    /// Adds the counts of the present stretch to those of its windows and its period.
    #[cold]
    fn end_stretch(&mut self, windows: &Windows) {
        let newest = std::mem::take(&mut self.newest);
        for (counts, span) in self.counts.iter_mut().zip(&windows.spans) {
            if span.holds(self.stretch.from) {
                counts.add(&newest);
            }
        }
        let period = windows.period_of(self.stretch.from);
        if let Some(period) = self.periods.get_mut(period) {
            *period += newest.packet_time_ns;
        }
    }

    /// Counts a packet that was inside from `entered` until `left`, a moment of the present stretch or its end.
    #[inline]
    fn was_inside(&mut self, windows: &Windows, entered: Instant, left: Instant) {
        if entered >= self.stretch.from {
            let time = left.saturating_since(entered);
            self.newest.packet_time_ns += u128::from(time.as_nanos());
        } else {
            self.was_inside_long(windows, entered, left);
        }
    }

    #[cold]
    fn was_inside_long(&mut self, windows: &Windows, entered: Instant, left: Instant) {
        for (counts, span) in self.counts.iter_mut().zip(&windows.spans) {
            counts.packet_time_ns += u128::from(span.overlap(entered, left).as_nanos());
        }
        let (first, last) = (windows.period_of(entered), windows.period_of(left));
        for number in first..=last.min(windows.periods.saturating_sub(1)) {
            let time = windows.period_span(number).overlap(entered, left);
            if let Some(period) = self.periods.get_mut(number) {
                *period += u128::from(time.as_nanos());
            }
        }
    }

    /// Ends the run at `end`: counts packets that are still inside as inside until then.
    pub(crate) fn finish(&mut self, windows: &Windows, end: Instant) {
        self.end_stretch(windows);
        while let Some((entered, _)) = self.inside.pop_front() {
            self.was_inside_long(windows, entered, end);
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
    #[inline]
    fn entered(&mut self, seen: &Observation<'_, Store>) {
        let Some((meter, _)) = self.link(seen.place, seen.at) else {
            return;
        };
        meter
            .inside
            .push_back((seen.at, seen.packet.ecn == Ecn::Ce));
        meter.newest.queue_max = meter.newest.queue_max.max(meter.inside.len() as u64);
    }

    #[inline]
    fn departed(&mut self, seen: &Observation<'_, Store>) {
        let Some((meter, windows)) = self.link(seen.place, seen.at) else {
            return;
        };
        meter.newest.departed_bytes += u64::from(seen.packet.wire_len) + meter.framing;
        // Assumes first in, first out. A discipline that reorders would need packets to be identified here.
        let Some((entered, was_marked)) = meter.inside.pop_front() else {
            return;
        };
        meter.was_inside(windows, entered, seen.at);
        meter.newest.marks += u64::from(!was_marked && seen.packet.ecn == Ecn::Ce);
    }

    fn withdrawn(&mut self, seen: &Observation<'_, Store>) {
        if let Some((meter, windows)) = self.link(seen.place, seen.at)
            && let Some((entered, _)) = meter.inside.pop_front()
        {
            meter.was_inside(windows, entered, seen.at);
        }
    }

    #[inline]
    fn delivered(&mut self, seen: &Observation<'_, Store>) {
        if let Some((meter, _)) = self.link(seen.place, seen.at) {
            meter.newest.wire_bytes += u64::from(seen.packet.wire_len);
        }
    }

    fn dropped(&mut self, seen: &Observation<'_, Store>, reason: DropReason) {
        self.flow_dropped(seen);
        let Some((meter, windows)) = self.link(seen.place, seen.at) else {
            return;
        };
        // Only a packet that is dropped at the head has been inside; any other was refused, or has left already.
        if reason == DropReason::Head
            && let Some((entered, _)) = meter.inside.pop_front()
        {
            meter.was_inside(windows, entered, seen.at);
        }
        match reason {
            DropReason::QueueFull | DropReason::Early | DropReason::Head => {
                meter.newest.queue_drops += 1;
            }
            _ => meter.newest.losses += 1,
        }
    }
}
