//! How much a run computes: for refusing one that would not end, and for telling how far it is.

use std::collections::BTreeMap;

use super::checker::Checker;
use crate::scenario::place::ScenarioError;
use crate::scenario::{Scenario, Side, Topology};
use crate::transport::header::{IP_HEADER, UDP_HEADER};

/// A run that would take more packet-hops than this is refused rather than begun.
const MAX_PACKET_HOPS: u128 = 20_000_000_000;

/// What a medium of 802.11g carries at most, bits per second.
const FASTEST_WLAN: u64 = 54_000_000;
/// As long as so many links takes what the two ends of a packet do with it, roughly.
const ENDS: u128 = 4;
/// What a processor moves in a second, roughly: for telling how long a refused run would take.
const HOPS_PER_SECOND: u128 = 1_000_000;

/// Refuses a run that would take hours.
pub(crate) fn size_of_run(checker: &Checker<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    let hops = packet_hops(scenario);
    if hops > MAX_PACKET_HOPS {
        let hours = hops / HOPS_PER_SECOND / 3_600;
        let message = format!(
            "this run would move up to {hops} packets over links, more than the limit of \
             {MAX_PACKET_HOPS}, and compute for about {hours} hours: take a shorter duration or lower rates"
        );
        return checker.refuse("run.duration", message);
    }
    Ok(())
}

/// How many packets a run moves over links at most: what the sources or the narrowest links can
/// carry, times hops, acknowledgements included.
fn packet_hops(scenario: &Scenario) -> u128 {
    load(scenario, 0)
}

impl Scenario {
    /// How much there is to compute in one run, in no unit: what progress is measured by. It counts packets over
    /// links; what a packet's two ends do with it takes as long as some links.
    pub fn work(&self) -> u64 {
        u64::try_from(load(self, ENDS)).unwrap_or(u64::MAX)
    }
}

/// Packets over links at most, as if each way were longer by `beside` links.
fn load(scenario: &Scenario, beside: u128) -> u128 {
    let topology = &scenario.topology;
    // Access links are each flow's own.
    let shared = match topology {
        Topology::Dumbbell(dumbbell) => Some(&dumbbell.bottleneck),
        _ => None,
    };
    // Over the air, the switch and the air again, whatever is between them.
    let least = if topology.wlan().is_some() { 4 } else { 0 };
    // Packets a second by the way that they take, whose links its flows share: what they offer together, of
    // that what nothing holds back, and what the links carry.
    let mut ways: BTreeMap<_, [u128; 4]> = BTreeMap::new();
    for (_, flow) in scenario.enabled_flows() {
        let path = topology.data_route(flow);
        let narrowest = path
            .iter()
            .map(|hop| hop.link.mean_rate().bits_per_s())
            .min();
        let narrowest = narrowest.unwrap_or(FASTEST_WLAN);
        let shared = shared.map_or(narrowest, |link| link.mean_rate().bits_per_s());
        let smallest = flow.wire_bytes().max(IP_HEADER + UDP_HEADER);
        let at_most = |rate: u64| u128::from(rate) / (u128::from(smallest) * 8) + 1;
        let source_limit = flow
            .packets_per_second()
            .map(|packets| u128::from(packets) + 1);
        let is_unheld = !flow.transport().is_connected();
        let packets = match source_limit {
            // A source over UDP sends what the link then drops; all others are held back by it.
            Some(source) if is_unheld => source,
            Some(source) => source.min(at_most(narrowest)),
            None => at_most(narrowest),
        };
        let is_graph = matches!(topology, Topology::Graph(_));
        let sender = flow.sender.as_deref().filter(|_| is_graph);
        let way = (flow.from == Side::Left, sender, flow.receiver.as_deref());
        let [offered, unheld, carried, hops] = ways.entry(way).or_default();
        let extra = usize::from(flow.extra_delay.is_some());
        *hops = (*hops).max((path.len().max(least) + extra) as u128 + beside);
        *offered += packets;
        *unheld += if is_unheld { packets } else { 0 };
        *carried = (*carried).max(at_most(shared));
    }
    let per_second = ways.into_values().map(|[offered, unheld, carried, hops]| {
        // What is held back is acknowledged, every second packet or each; what is not is dropped half way.
        let through = offered.min(carried).saturating_mul(hops);
        let acknowledgements = (offered - unheld).min(carried).saturating_mul(hops) / 2;
        let dropped = unheld.saturating_sub(carried).saturating_mul(hops / 2);
        through
            .saturating_add(acknowledgements)
            .saturating_add(dropped)
    });
    let per_second = per_second.fold(0, u128::saturating_add);
    let mut flows = scenario.enabled_flows();
    let both = flows.any(|(_, flow)| flow.transport().is_two_way());
    let seconds = u128::from(scenario.run.duration.as_nanos() / 1_000_000_000 + 1);
    per_second
        .saturating_mul(seconds)
        .saturating_mul(if both { 2 } else { 1 })
}
