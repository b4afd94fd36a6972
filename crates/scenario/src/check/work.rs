//! The amount of work in a run: for refusing a run that would take hours, and for showing progress.

use std::collections::BTreeMap;

use super::checker::Checker;
use crate::place::ScenarioError;
use crate::transport::header::{IP_HEADER, UDP_HEADER};
use crate::{Scenario, Side, Topology};

/// The most packet-hops of a run; a larger run is refused.
const MAX_PACKET_HOPS: u128 = 20_000_000_000;

/// The most bits per second that a medium of 802.11g carries.
const FASTEST_WLAN: u64 = 54_000_000;
/// The work at both ends of a packet, in links that would take as long, roughly.
const ENDS: u128 = 4;
/// The packet-hops that a processor simulates in a second, roughly. The error for a refused run uses it.
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

/// Returns the most packets that a run moves over links: what the sources offer or the narrowest links carry, times
/// hops, acknowledgements included.
fn packet_hops(scenario: &Scenario) -> u128 {
    load(scenario, 0)
}

impl Scenario {
    /// Returns the amount of work in one run, in no unit, for measuring progress. It counts packets over links; the
    /// work at a packet's two ends counts as some links more.
    pub fn work(&self) -> u64 {
        u64::try_from(load(self, ENDS)).unwrap_or(u64::MAX)
    }
}

/// Returns the most packets over links, as if each route had `beside` links more.
fn load(scenario: &Scenario, beside: u128) -> u128 {
    let topology = &scenario.topology;
    // Access links belong to one flow each.
    let shared = match topology {
        Topology::Dumbbell(dumbbell) => Some(&dumbbell.bottleneck),
        _ => None,
    };
    // Over the air, through the switch and over the air again, whatever is between them.
    let least = if topology.wlan().is_some() { 4 } else { 0 };
    // By route, whose links its flows share: the packets per second that the flows offer together, those of them
    // without congestion control, what the links carry, and the hops.
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
        let is_uncontrolled = !flow.transport().is_connected();
        let packets = match source_limit {
            // The link drops what a source over UDP sends in excess; it limits all other sources.
            Some(source) if is_uncontrolled => source,
            Some(source) => source.min(at_most(narrowest)),
            None => at_most(narrowest),
        };
        let is_graph = matches!(topology, Topology::Graph(_));
        let sender = flow.sender.as_deref().filter(|_| is_graph);
        let way = (flow.from == Side::Left, sender, flow.receiver.as_deref());
        let [offered, uncontrolled, carried, hops] = ways.entry(way).or_default();
        let extra = usize::from(flow.extra_delay.is_some());
        *hops = (*hops).max((path.len().max(least) + extra) as u128 + beside);
        *offered += packets;
        *uncontrolled += if is_uncontrolled { packets } else { 0 };
        *carried = (*carried).max(at_most(shared));
    }
    let per_second = ways
        .into_values()
        .map(|[offered, uncontrolled, carried, hops]| {
            // Controlled flows are acknowledged, for every packet or every second one. The excess of the others is dropped
            // half way.
            let through = offered.min(carried).saturating_mul(hops);
            let acknowledgements = (offered - uncontrolled).min(carried).saturating_mul(hops) / 2;
            let dropped = uncontrolled
                .saturating_sub(carried)
                .saturating_mul(hops / 2);
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
