//! The results of a flow of datagrams at both applications: packets that arrived, packets that arrived too late, and
//! the quality of a call.

use fairwire_measure::{Call, mos};

use crate::results::Metric;
use fairwire_scenario::Flow;
use fairwire_scenario::transport::flow_meter::FlowWindow;

/// Adds the values of `flow` in a window.
pub(super) fn values(
    add: &mut impl FnMut(Metric, Option<f64>),
    flow: Option<&Flow>,
    (counts, has_playout): (&FlowWindow, bool),
) {
    let (open, open_in_time) = (counts.open, counts.open_in_time);
    if counts.frames > 0 {
        let frames = |frames, open| share(frames, counts.frames.saturating_sub(open));
        let whole = frames(counts.frames_whole, open.frames);
        let timely = frames(counts.frames_timely, open_in_time.frames);
        add(Metric::Frames, Some(counts.frames as f64));
        add(Metric::FramesWhole, whole.map(percent));
        add(
            Metric::FramesTimely,
            timely.filter(|_| has_playout).map(percent),
        );
    }
    // TCP is offered a stream of bytes, not packets.
    if counts.offered == 0 {
        return;
    }
    add(Metric::Offered, Some(counts.offered as f64));
    // A greedy source offers only packets that it can send.
    let Some(flow) = flow.filter(|flow| flow.packets_per_second().is_some()) else {
        return;
    };
    let judged = counts.offered.saturating_sub(open.offered);
    let lost = share(judged.saturating_sub(counts.got), judged);
    let judged = counts.offered.saturating_sub(open_in_time.offered);
    let (sum, in_time) = counts.on_time;
    let unplayed = share(judged.saturating_sub(in_time), judged);
    add(Metric::Overdue, Some(counts.overdue as f64));
    add(Metric::LossOffered, lost.map(percent));
    add(Metric::LossPlayout, unplayed.map(percent));
    // No call has a score before anything of it can be judged.
    let Some(unplayed) = unplayed else {
        return;
    };
    let Some((codec, frame)) = flow.codec.zip(flow.interval()) else {
        return;
    };
    let rating = if in_time == 0 {
        // Nothing was heard.
        0.0
    } else {
        let delay = sum.as_secs_f64() / in_time as f64 + frame.as_secs_f64();
        Call::new(codec.quality(), 1e3 * delay, unplayed).rating()
    };
    add(Metric::RFactor, Some(rating));
    add(Metric::Mos, Some(mos(rating)));
}

/// Returns `part` of those of `judged`; `None` if none can be judged.
fn share(part: u64, judged: u64) -> Option<f64> {
    (judged > 0).then(|| part as f64 / judged as f64)
}

fn percent(share: f64) -> f64 {
    100.0 * share
}
