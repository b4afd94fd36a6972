//! The results of a flow of datagrams at both applications: packets that arrived, packets that arrived too late, and
//! the quality of a call.

use fairwire_measure::{Call, mos};

use crate::results::Metric;
use crate::scenario::Flow;
use crate::transport::flow_meter::FlowWindow;

/// Adds the values of `flow` in a window.
pub(super) fn values(
    add: &mut impl FnMut(Metric, Option<f64>),
    flow: Option<&Flow>,
    (counts, has_playout): (&FlowWindow, bool),
) {
    if counts.frames > 0 {
        let share = |frames: u64| 100.0 * frames as f64 / counts.frames as f64;
        add(Metric::Frames, Some(counts.frames as f64));
        add(Metric::FramesWhole, Some(share(counts.frames_whole)));
        let timely = has_playout.then(|| share(counts.frames_timely));
        add(Metric::FramesTimely, timely);
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
    let share = |lost: u64| lost as f64 / counts.offered as f64;
    let lost = counts.offered.saturating_sub(counts.got);
    let unplayed = lost + counts.overdue;
    add(Metric::Overdue, Some(counts.overdue as f64));
    add(Metric::LossOffered, Some(100.0 * share(lost)));
    add(Metric::LossPlayout, Some(100.0 * share(unplayed)));
    let Some((codec, frame)) = flow.codec.zip(flow.interval()) else {
        return;
    };
    let (sum, count) = counts.on_time;
    let rating = if count == 0 {
        // Nothing was heard.
        0.0
    } else {
        let delay = sum.as_secs_f64() / count as f64 + frame.as_secs_f64();
        Call::new(codec.quality(), 1e3 * delay, share(unplayed)).rating()
    };
    add(Metric::RFactor, Some(rating));
    add(Metric::Mos, Some(mos(rating)));
}
