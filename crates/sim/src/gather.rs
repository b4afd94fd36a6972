//! The values and series of a run, computed from its meters and readings.

mod voice;

use fairwire_measure::{Moments, jain, max_over_min};
use fairwire_units::{Duration, Instant};

use super::built::{Built, Watch};
use super::link_meter::{FlowDrops, LinkMeter};
use crate::results::{Metric, RunResult, Series, SeriesMetric, Subject, Value};
use fairwire_scenario::transport::Reading;
use fairwire_scenario::transport::flow_meter::{FlowMeter, FlowPeriod, FlowWindow};
use fairwire_scenario::transport::store::Store;
use fairwire_scenario::transport::windows::{Span, Windows};
use fairwire_scenario::{Flow, Scenario};

/// The readings at each moment, by flow: those of the sender's side and of the receiver's.
pub(crate) type Readings = Vec<(Instant, Vec<(Reading, Reading)>)>;

/// A function that picks a gauge from a reading.
type Gauge = fn(&Reading) -> Option<f64>;

/// One direction of a flow with its meters and readings.
struct Direction<'a> {
    subject: Subject,
    flow: Option<&'a Flow>,
    is_way_back: bool,
    meter: &'a FlowMeter,
    /// The meter of the other direction.
    back: &'a FlowMeter,
    drops: &'a FlowDrops,
    /// The readings at each moment: those of this direction's sender, and of its receiver.
    readings: Vec<(Instant, Reading, Reading)>,
}

impl Direction<'_> {
    /// Returns false for a direction back without data, as most are by design. A flow that never connected delivered
    /// nothing, which is a value.
    fn may_carry_data(&self) -> bool {
        self.meter.has_data || !self.is_way_back
    }
}

/// The collector of values. It keeps only the metrics that the scenario wants.
struct Collector<'a> {
    scenario: &'a Scenario,
    windows: &'a Windows,
    values: Vec<Value>,
    series: Vec<Series>,
}

impl Collector<'_> {
    fn add(&mut self, subject: &Subject, window: usize, metric: Metric, value: Option<f64>) {
        let Some(value) = value.filter(|_| self.scenario.measure.wants(metric)) else {
            return;
        };
        self.values.push(Value {
            subject: subject.clone(),
            window: self.windows.names[window].clone(),
            metric,
            value,
        });
    }

    fn series(&mut self, subject: &Subject, metric: SeriesMetric, values: Vec<f64>) {
        if values.iter().all(|value| value.is_nan()) {
            return;
        }
        self.series.push(Series {
            subject: subject.clone(),
            metric,
            values,
        });
    }
}

/// Returns the result of a run that has ended.
pub(crate) fn gather(
    scenario: &Scenario,
    (seed, perturbed): (u64, bool),
    built: Built,
    readings: &Readings,
) -> RunResult {
    let Built {
        network,
        flows,
        windows,
    } = built;
    let packet_hops = network.packet_hops();
    let (_, mut store, watch): (_, Store, Watch) = network.into_parts();
    let (digest, (mut links, capture)) = watch;
    let end = windows.spans[0].to;
    for link in links.links.iter_mut().flatten() {
        link.finish(&windows, end);
    }
    for (meter, drops) in store.meters.iter_mut().zip(&links.drops) {
        meter.end(end, &drops.newest);
    }
    let mut notes = store.notes;
    let mut collector = Collector {
        scenario,
        windows: &windows,
        values: Vec::new(),
        series: Vec::new(),
    };
    for (index, flow) in flows.iter().enumerate() {
        for (way, suffix) in [(0, ""), (1, "/back")] {
            let direction = Direction {
                subject: Subject::flow(&format!("{}{suffix}", flow.name)),
                flow: scenario.flows.get(&flow.name),
                is_way_back: way == 1,
                meter: &store.meters[2 * index + way],
                back: &store.meters[2 * index + 1 - way],
                drops: &links.drops[2 * index + way],
                readings: of_direction(readings, index, way == 1),
            };
            flow_values(&mut collector, &direction);
            flow_series(&mut collector, &direction);
            let note = no_delivery_note(&direction);
            notes.extend(note.map(|note| format!("{}: {note}", direction.subject)));
        }
    }
    for link in links.links.iter().flatten() {
        link_values(&mut collector, link);
    }
    fairness(&mut collector, &store.meters, flows.len());
    let Collector { values, series, .. } = collector;
    // A failed capture does not invalidate the numbers, so its error is reported beside them.
    let (captured, capture_failure) = match capture.map(super::capture::Capture::finish) {
        None => (None, None),
        Some(Ok(captured)) => (Some(captured), None),
        Some(Err(error)) => (None, Some(error.to_string())),
    };
    RunResult {
        seed,
        perturbed,
        digest: digest.value(),
        packet_hops,
        simulated: scenario.run.duration,
        values,
        period: windows.period,
        series,
        notes,
        captured,
        capture_failure,
    }
}

fn of_direction(readings: &Readings, flow: usize, back: bool) -> Vec<(Instant, Reading, Reading)> {
    let pick = |(at, flows): &(Instant, Vec<(Reading, Reading)>)| {
        let (first, second) = flows[flow];
        let (sender, receiver) = if back {
            (second, first)
        } else {
            (first, second)
        };
        (*at, sender, receiver)
    };
    readings.iter().map(pick).collect()
}

fn flow_values(out: &mut Collector<'_>, flow: &Direction<'_>) {
    let baseline = out.scenario.measure.baseline.as_ref();
    let baseline = baseline.and_then(|name| out.windows.names.iter().position(|it| it == name));
    for (index, span) in out.windows.spans.clone().into_iter().enumerate() {
        let counts = &flow.meter.counts[index];
        let seconds = span.length();
        let goodputs = goodputs(flow.meter, out.windows, span);
        let steps = jitter_of_periods(flow.meter, out.windows, span);
        let mut add = |metric, value| out.add(&flow.subject, index, metric, value);
        add(Metric::Throughput, Some(counts.traffic.throughput(seconds)));
        if !flow.may_carry_data() {
            continue;
        }
        let rate = |index: usize| {
            let length = flow.meter.span(index).length();
            flow.meter.counts[index].traffic.throughput(length)
        };
        let whole = baseline.map(rate).filter(|whole| *whole > 0.0);
        let ratio = whole.map(|whole| 100.0 * rate(index) / whole);
        add(Metric::ThroughputRatio, ratio);
        add(Metric::Goodput, Some(counts.traffic.goodput(seconds)));
        let dropped = flow.drops.counts[index];
        add(Metric::Sent, Some(counts.sent as f64));
        add(Metric::Delivered, Some(counts.delivered as f64));
        let per_second = |packets: u64| Some(packets as f64 / seconds.as_secs_f64());
        add(Metric::SentRate, per_second(counts.sent));
        add(Metric::DeliveredRate, per_second(counts.delivered));
        let back = &flow.back.counts[index];
        add(
            Metric::AckRate,
            per_second(back.all_delays.1.saturating_sub(back.delivered)),
        );
        add(Metric::Dropped, Some(dropped as f64));
        let loss = (counts.sent > 0).then(|| 100.0 * dropped as f64 / counts.sent as f64);
        add(Metric::Loss, loss);
        let judged = counts.sent.saturating_sub(counts.open_in_time.sent);
        let timed = flow.meter.playout.is_some() && judged > 0;
        let timely = timed.then(|| 100.0 * counts.timely as f64 / judged as f64);
        add(Metric::Timely, timely);
        add(Metric::Refused, Some(counts.refused as f64));
        add(Metric::GoodputSpread, goodputs.deviation());
        let has_playout = flow.meter.playout.is_some();
        voice::values(&mut add, flow.flow, (counts, has_playout));
        short_flows(&mut add, counts);
        delays(&mut add, counts, &flow.back.counts[index]);
        add(Metric::JitterPeriods, steps);
        sampled(&mut add, flow, span);
        if index == 0 {
            add(
                Metric::FirstLoss,
                flow.drops.first.map(Instant::as_secs_f64),
            );
            add(
                Metric::Completed,
                flow.meter.completed.map(Instant::as_secs_f64),
            );
            let (peak, at) = peak(flow.meter, out.windows);
            out.add(&flow.subject, 0, Metric::PeakThroughput, peak);
            out.add(&flow.subject, 0, Metric::PeakAt, at);
        }
    }
}

/// Adds the metrics of the short flows that began in a window.
fn short_flows(add: &mut impl FnMut(Metric, Option<f64>), counts: &FlowWindow) {
    if counts.flows == 0 {
        return;
    }
    let mut times: Vec<f64> = counts
        .completions
        .iter()
        .map(|took| took.as_secs_f64())
        .collect();
    times.sort_by(f64::total_cmp);
    let count = times.len();
    add(Metric::FlowsBegun, Some(counts.flows as f64));
    add(Metric::FlowsCompleted, Some(count as f64));
    let mean = (count > 0).then(|| times.iter().sum::<f64>() / count as f64);
    add(Metric::CompletionMean, mean);
    // The nearest rank: the least time that at least this percentage of the flows did not exceed.
    let rank = |percent: usize| times.get((count * percent).div_ceil(100).saturating_sub(1));
    add(Metric::CompletionP50, rank(50).copied());
    add(Metric::CompletionP95, rank(95).copied());
}

fn delays(add: &mut impl FnMut(Metric, Option<f64>), counts: &FlowWindow, back: &FlowWindow) {
    let seconds = |delay: Option<Duration>| delay.map(Duration::as_secs_f64);
    let mean =
        |(sum, count): (Duration, u64)| (count > 0).then(|| sum.as_secs_f64() / count as f64);
    add(Metric::DelayMean, seconds(counts.delays.mean()));
    add(Metric::DelayMin, seconds(counts.delays.least()));
    add(Metric::DelayP50, seconds(counts.delays.quantile(0.5)));
    add(Metric::DelayP95, seconds(counts.delays.quantile(0.95)));
    add(Metric::DelayP99, seconds(counts.delays.quantile(0.99)));
    add(Metric::DelayMax, seconds(counts.delays.greatest()));
    add(Metric::AppDelayMean, mean(counts.app_delays));
    let all = (
        counts.all_delays.0 + back.all_delays.0,
        counts.all_delays.1 + back.all_delays.1,
    );
    add(Metric::DelayAllMean, mean(all));
    if counts.delivered > 1 {
        let rfc = counts.jitter.interarrival.value();
        add(Metric::JitterRfc3550, Some(rfc.as_secs_f64()));
    }
    add(Metric::JitterMean, seconds(counts.jitter.variation.mean()));
    add(
        Metric::JitterSpread,
        seconds(counts.jitter.deviation.deviation()),
    );
    add(Metric::JitterGap, seconds(counts.jitter.gaps.mean()));
    let range = counts.delays.greatest().zip(counts.delays.least());
    add(
        Metric::JitterRange,
        seconds(range.map(|(most, least)| most - least)),
    );
}

/// Adds the metrics of the readings within a window.
fn sampled(add: &mut impl FnMut(Metric, Option<f64>), flow: &Direction<'_>, span: Span) {
    let within = || {
        flow.readings
            .iter()
            .filter(|(at, _, _)| span.from < *at && *at <= span.to)
    };
    let mean = |pick: &dyn Fn(&Reading) -> Option<f64>| {
        let (sum, count) = within()
            .filter_map(|(_, sender, _)| pick(sender))
            .fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    };
    add(Metric::CwndMean, mean(&|reading| reading.cwnd));
    let cwnds = within().filter_map(|(_, sender, _)| sender.cwnd);
    add(Metric::CwndMax, cwnds.max_by(f64::total_cmp));
    add(
        Metric::SrttMean,
        mean(&|reading| reading.srtt.map(Duration::as_secs_f64)),
    );
    let mut srtts = Moments::new();
    for (_, sender, _) in within() {
        if let Some(srtt) = sender.srtt {
            srtts.push(srtt.as_secs_f64());
        }
    }
    add(Metric::SrttMin, srtts.least());
    add(Metric::SrttMax, srtts.greatest());
    add(Metric::SrttSpread, srtts.deviation());
    let at = |moment: Instant| {
        let position = flow.readings.iter().find(|(at, _, _)| *at == moment);
        position.map_or_else(Default::default, |(_, sender, receiver)| {
            (*sender, *receiver)
        })
    };
    let (before, after): ((Reading, Reading), (Reading, Reading)) = (at(span.from), at(span.to));
    let difference = |before: Option<u64>, after: Option<u64>| {
        after.map(|after| after.saturating_sub(before.unwrap_or(0)) as f64)
    };
    add(
        Metric::Retransmitted,
        difference(before.0.retransmitted, after.0.retransmitted),
    );
    add(Metric::Cuts, difference(before.0.cuts, after.0.cuts));
    add(
        Metric::Timeouts,
        difference(before.0.timeouts, after.0.timeouts),
    );
    let syncs =
        |(sender, receiver): (Reading, Reading)| Some(sender.syncs? + receiver.syncs.unwrap_or(0));
    add(Metric::Syncs, difference(syncs(before), syncs(after)));
    let state = within()
        .filter_map(|(_, _, receiver)| receiver.ack_vector_state)
        .max();
    add(Metric::AckVectorState, state.map(|bytes| bytes as f64));
}

/// Returns the greatest throughput of a period, and when a period within 1 % of it first ended, s. A last period that
/// the end of the run cuts short does not count, because one packet is a high rate in it.
fn peak(meter: &FlowMeter, windows: &Windows) -> (Option<f64>, Option<f64>) {
    let rates = throughputs(meter, windows).into_iter().enumerate();
    let rates: Vec<f64> = rates
        .filter(|(number, _)| *number == 0 || windows.is_whole(*number))
        .map(|(_, rate)| rate)
        .collect();
    let greatest = rates.iter().copied().max_by(f64::total_cmp);
    let Some(peak) = greatest.filter(|peak| *peak > 0.0) else {
        return (None, None);
    };
    let first = rates.iter().position(|rate| *rate >= peak * 0.99);
    let at = first.map(|number| windows.period_span(number).to.as_secs_f64());
    (Some(peak), at)
}

/// Returns the goodputs of the whole periods that lie within `span`.
fn goodputs(meter: &FlowMeter, windows: &Windows, span: Span) -> Moments {
    let mut goodputs = Moments::new();
    for (number, period) in meter.periods.iter().enumerate() {
        let period_span = windows.period_span(number);
        let is_within = span.from <= period_span.from && period_span.to <= span.to;
        if is_within && windows.is_whole(number) {
            goodputs.push(rate(period.payload_bytes, period_span));
        }
    }
    goodputs
}

/// Returns the mean step from the mean delay of a period within `span` to that of the next, s. A period in which
/// nothing arrived has no delay, so steps to it and from it are left out.
fn jitter_of_periods(meter: &FlowMeter, windows: &Windows, span: Span) -> Option<f64> {
    let within = meter.periods.iter().enumerate().filter(|(number, _)| {
        let period = windows.period_span(*number);
        span.from <= period.from && period.to <= span.to
    });
    let delays: Vec<Option<f64>> = within.map(|(_, period)| mean_delay(period)).collect();
    let steps = delays
        .windows(2)
        .filter_map(|pair| Some((pair[1]? - pair[0]?).abs()));
    let steps: Moments = steps.collect();
    steps.mean()
}

/// Returns the mean delay of the packets that arrived in a period, s.
fn mean_delay(period: &FlowPeriod) -> Option<f64> {
    (period.delivered > 0).then(|| period.delay.as_secs_f64() / period.delivered as f64)
}

fn rate(bytes: u64, span: Span) -> f64 {
    bytes as f64 * 8.0 / span.length().as_secs_f64()
}

fn throughputs(meter: &FlowMeter, windows: &Windows) -> Vec<f64> {
    let periods = meter.periods.iter().enumerate();
    periods
        .map(|(number, period)| rate(period.wire_bytes, windows.period_span(number)))
        .collect()
}

fn flow_series(out: &mut Collector<'_>, flow: &Direction<'_>) {
    let windows = out.windows;
    let subject = &flow.subject;
    out.series(
        subject,
        SeriesMetric::Throughput,
        throughputs(flow.meter, windows),
    );
    if !flow.may_carry_data() {
        return;
    }
    let periods = &flow.meter.periods;
    let goodput = periods.iter().enumerate();
    let goodput = goodput
        .map(|(number, period)| rate(period.payload_bytes, windows.period_span(number)))
        .collect();
    out.series(subject, SeriesMetric::Goodput, goodput);
    let dropped = flow.drops.periods.iter().map(|count| f64::from(*count));
    out.series(subject, SeriesMetric::Dropped, dropped.collect());
    let delay = periods
        .iter()
        .map(|period| mean_delay(period).unwrap_or(f64::NAN));
    out.series(subject, SeriesMetric::Delay, delay.collect());
    let gauges: [(SeriesMetric, Gauge); 5] = [
        (SeriesMetric::Cwnd, |reading| reading.cwnd),
        (SeriesMetric::Ssthresh, |reading| reading.ssthresh),
        (SeriesMetric::Rate, |reading| reading.rate_bits_per_s),
        (SeriesMetric::Srtt, |reading| {
            reading.srtt.map(Duration::as_secs_f64)
        }),
        (SeriesMetric::LossEventRate, |reading| reading.p),
    ];
    for (metric, pick) in gauges {
        let mut readings = flow.readings.iter().peekable();
        let values = (0..windows.periods).map(|number| {
            let end = windows.period_span(number).to;
            while readings.next_if(|(at, _, _)| *at < end).is_some() {}
            let reading = readings.peek().filter(|(at, _, _)| *at == end);
            reading
                .and_then(|(_, sender, _)| pick(sender))
                .unwrap_or(f64::NAN)
        });
        out.series(subject, metric, values.collect());
    }
}

fn link_values(out: &mut Collector<'_>, link: &LinkMeter) {
    let subject = Subject::link(&link.name);
    for (index, span) in out.windows.spans.clone().into_iter().enumerate() {
        let counts = link.counts[index];
        let length = span.length();
        let seconds = length.as_secs_f64();
        let used = link.utilisation(index, span);
        for (metric, value) in [
            (
                Metric::Throughput,
                Some(counts.wire_bytes as f64 * 8.0 / seconds),
            ),
            (Metric::Utilisation, used.map(|share| 100.0 * share)),
            (
                Metric::QueueMean,
                Some(counts.packet_time_ns as f64 / length.as_nanos() as f64),
            ),
            (Metric::QueueMax, Some(counts.queue_max as f64)),
            (Metric::QueueDrops, Some(counts.queue_drops as f64)),
            (Metric::LinkLosses, Some(counts.losses as f64)),
            (Metric::Marks, Some(counts.marks as f64)),
        ] {
            out.add(&subject, index, metric, value);
        }
    }
    let windows = out.windows;
    let queue = link
        .periods
        .iter()
        .enumerate()
        .map(|(number, packet_time)| {
            *packet_time as f64 / windows.period_span(number).length().as_nanos() as f64
        });
    out.series(&subject, SeriesMetric::Queue, queue.collect());
}

/// The notes on a flow that delivered nothing.
pub const NO_DELIVERY_NOTES: [&str; 3] = [
    "no data packet arrived in the run",
    "sent no data packet in the run",
    "never connected: nothing answered in the run",
];

/// Returns the note on a direction that delivered nothing in the whole run. Zero or missing numbers alone do not show
/// the reason.
fn no_delivery_note(flow: &Direction<'_>) -> Option<&'static str> {
    let connects = |flow: &Flow| flow.transport().is_connected();
    let needs_answer = flow.flow.is_some_and(connects);
    // Any packet of the other direction answers the handshake.
    let is_answered = !needs_answer || flow.back.counts[0].all_delays.1 > 0;
    match flow.meter.counts[0].delivered {
        0 if flow.meter.has_data => Some(NO_DELIVERY_NOTES[0]),
        0 if !flow.may_carry_data() => None,
        0 if is_answered => Some(NO_DELIVERY_NOTES[1]),
        0 => Some(NO_DELIVERY_NOTES[2]),
        _ => None,
    }
}

/// Adds Jain's index and the greatest ratio of the throughputs, over the flows' own directions.
fn fairness(out: &mut Collector<'_>, meters: &[FlowMeter], flows: usize) {
    if flows < 2 {
        return;
    }
    for (index, span) in out.windows.spans.clone().into_iter().enumerate() {
        let rate = |flow: usize| {
            let counts = &meters[2 * flow].counts[index];
            counts.traffic.throughput(span.length())
        };
        let rates: Vec<f64> = (0..flows).map(rate).collect();
        out.add(&Subject::All, index, Metric::Jain, jain(&rates));
        let factor = max_over_min(&rates);
        out.add(&Subject::All, index, Metric::MaxOverMin, factor);
    }
}
