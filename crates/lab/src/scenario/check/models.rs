//! What makes sense of the models of a link, of speech, and of what is measured about it.

use fairwire_units::Duration;

use super::{Checker, ScenarioError};
use crate::results::WHOLE;
use crate::scenario::{
    Distribution, Flow, Link, Protocol, QueueCounts, QueueLimit, Scenario, Traffic,
};

/// The models of one direction of the link at `path`.
pub(super) fn link(checker: &Checker<'_>, path: &str, link: &Link) -> Result<(), ScenarioError> {
    if let Some(bursts) = link.burst_loss {
        let message = "a bad link gets good again: write bad_to_good above \"0 %\"";
        let ends = bursts.bad_to_good.fraction() > 0.0;
        checker.require(ends, &format!("{path}.burst_loss.bad_to_good"), message)?;
    }
    let message = "bit_errors is the share of wrong bits, from 0 up to less than 1, as 1e-6";
    let share = link
        .bit_errors
        .is_none_or(|rate| (0.0..1.0).contains(&rate));
    checker.require(share, &format!("{path}.bit_errors"), message)?;
    let ways = [
        link.loss.is_some(),
        link.burst_loss.is_some(),
        link.bit_errors.is_some(),
    ];
    let message = "a link loses packets in one way: 'loss', 'burst_loss' or 'bit_errors'";
    let one = ways.into_iter().filter(|given| *given).count() <= 1;
    checker.require(one, path, message)?;
    variation(checker, path, link)?;
    queue(checker, path, link)
}

fn variation(checker: &Checker<'_>, path: &str, link: &Link) -> Result<(), ScenarioError> {
    let Some(variation) = link.delay_variation else {
        return Ok(());
    };
    let path = format!("{path}.delay_variation");
    let message = "a deviation or hold of more than an hour is surely not meant";
    let hour = Duration::from_secs(3_600);
    let short = variation.deviation <= hour && variation.hold.unwrap_or_default() <= hour;
    checker.require(short, &path, message)?;
    let message = "a Pareto delay needs a mean: the link's delay is zero";
    let pareto = variation.distribution == Distribution::Pareto;
    checker.require(!pareto || !link.delay.is_zero(), &path, message)
}

fn queue(checker: &Checker<'_>, path: &str, link: &Link) -> Result<(), ScenarioError> {
    let message = "a queue has one discipline: 'red' or 'codel'";
    let one = link.red.is_none() || link.codel.is_none();
    checker.require(one, path, message)?;
    if link.red.is_some() || link.codel.is_some() {
        let message = "RED and CoDel count packets: write the queue as \"100 packets\"";
        let packets = matches!(link.queue, QueueLimit::Packets(_));
        checker.require(packets, &format!("{path}.queue"), message)?;
        let message = "RED and CoDel count what waits: 'queue_counts' is for DropTail";
        let waiting = link.queue_counts == QueueCounts::Waiting;
        checker.require(waiting, &format!("{path}.queue_counts"), message)?;
    }
    if let Some(red) = link.red {
        let path = format!("{path}.red");
        let message = "RED's thresholds are at least a packet, and 'min' is less than 'max'";
        let ordered = red.min.0 > 0 && red.min < red.max;
        checker.require(ordered, &format!("{path}.min"), message)?;
        let message = "RED that never signals is DropTail: write max_p above \"0 %\"";
        let signals = red.max_p.fraction() > 0.0;
        checker.require(signals, &format!("{path}.max_p"), message)?;
        let message = "the weight of a sample is above 0 and at most 1, as 0.002";
        let weighs = red.weight > 0.0 && red.weight <= 1.0;
        checker.require(weighs, &format!("{path}.weight"), message)?;
        let message = "a typical packet has at least one byte";
        let typical = red.mean_packet.bytes() > 0;
        checker.require(typical, &format!("{path}.mean_packet"), message)?;
    }
    if let Some(codel) = link.codel {
        let message = "CoDel's target is above zero and less than its interval";
        let ordered = !codel.target.is_zero() && codel.target < codel.interval;
        checker.require(ordered, &format!("{path}.codel.target"), message)?;
    }
    Ok(())
}

/// RTP and talk spurts of the flow at `path`.
pub(super) fn voice(checker: &Checker<'_>, path: &str, flow: &Flow) -> Result<(), ScenarioError> {
    let datagrams = !matches!(flow.protocol(), Protocol::Tcp(_));
    let message = "RTP is for datagrams here: a flow over DCCP or UDP";
    checker.require(!flow.rtp || datagrams, &format!("{path}.rtp"), message)?;
    let message = "nothing is left behind the RTP header of 12 bytes";
    let room = flow.payload_bytes() > flow.rtp_bytes();
    checker.require(!flow.rtp || room, path, message)?;
    let talks = flow.traffic == Traffic::TalkSpurts;
    let message = "'spurts' is for traffic = \"talk-spurts\"";
    let table = format!("{path}.spurts");
    checker.require(talks || flow.spurts.is_none(), &table, message)?;
    let message = "a talk spurt lasts: write a mean as \"1 s\"";
    let lasts = flow.spurts.is_none_or(|spurts| !spurts.talk.is_zero());
    checker.require(lasts, &format!("{table}.talk"), message)
}

/// What is measured of speech, and against what.
pub(super) fn measure(checker: &Checker<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    let measure = &scenario.measure;
    let known = |name: &String| name == WHOLE || measure.windows.get(name).is_some();
    let message =
        "there is no such window: 'baseline' names one of [measure.windows], or \"whole\"";
    let baseline = measure.baseline.as_ref().is_none_or(known);
    checker.require(baseline, "measure.baseline", message)
}
