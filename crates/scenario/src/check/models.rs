//! Checks of the models of a link, of RTP, and of what is measured.

use fairwire_net::Distribution;

use super::checker::Checker;
use crate::place::ScenarioError;
use crate::{Flow, Link, Scenario, WHOLE};

/// Checks the models of both directions of the link at `path`.
pub(crate) fn link(checker: &Checker<'_>, path: &str, link: &Link) -> Result<(), ScenarioError> {
    one_way(checker, path, link)?;
    one_way(checker, &format!("{path}.back"), link.reversed())
}

/// Checks the models of one direction.
fn one_way(checker: &Checker<'_>, path: &str, link: &Link) -> Result<(), ScenarioError> {
    let queue = link.queue.problem().map(|problem| ("queue", problem));
    let loss = link.loss.as_ref().and_then(|loss| loss.problem());
    let loss = loss.map(|problem| ("loss", problem));
    if let Some((model, (key, message))) = queue.or(loss) {
        return checker.refuse(&format!("{path}.{model}.{key}"), message);
    }
    rate_changes(checker, path, link)?;
    let message = "a Pareto delay needs a mean: the link's delay is zero";
    let pareto = link
        .delay_variation
        .is_some_and(|variation| variation.distribution == Distribution::Pareto);
    let path = format!("{path}.delay_variation");
    checker.require(!pareto || !link.delay.is_zero(), &path, message)
}

/// Checks that the rate changes of one direction are in order.
fn rate_changes(checker: &Checker<'_>, path: &str, link: &Link) -> Result<(), ScenarioError> {
    let path = format!("{path}.rate_changes");
    let message = "a trace says when packets leave: write 'rate_changes' beside a 'rate'";
    let has_rate = link.rate_changes.is_empty() || link.rate.is_some();
    checker.require(has_rate, &path, message)?;
    let in_order = link.rate_changes.is_sorted_by(|one, next| one.at < next.at);
    let message =
        "write the changes of the rate in the order of their times, each at a time of its own";
    checker.require(in_order, &path, message)
}

/// Checks RTP in the flow at `path`.
pub(crate) fn rtp(checker: &Checker<'_>, path: &str, flow: &Flow) -> Result<(), ScenarioError> {
    let datagrams = flow.transport().has_datagrams();
    let message = "RTP is for datagrams here: a flow over DCCP or UDP";
    checker.require(!flow.rtp || datagrams, &format!("{path}.rtp"), message)?;
    let message = "nothing is left behind the RTP header of 12 bytes";
    let room = flow.payload_bytes() > flow.rtp_bytes();
    checker.require(!flow.rtp || room, path, message)
}

/// Checks the baseline window.
pub(crate) fn measure(checker: &Checker<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    let measure = &scenario.measure;
    let known = |name: &String| name == WHOLE || measure.windows.get(name).is_some();
    let message =
        "there is no such window: 'baseline' names one of [measure.windows], or \"whole\"";
    let baseline = measure.baseline.as_ref().is_none_or(known);
    checker.require(baseline, "measure.baseline", message)
}
