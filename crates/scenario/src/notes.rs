//! Notes on the cells themselves, independent of the results of their runs.

use fairwire_units::Duration;

use super::file::Cell;
use super::{Flow, Scenario, Topology};

/// The most cells that a note names.
const NAMED: usize = 6;

/// Returns the notes on `cells`, each once. A note that does not apply to all cells names those to which it applies.
pub fn notes(cells: &[Cell]) -> Vec<String> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for cell in cells {
        for note in &cell.notes {
            match all.iter_mut().find(|(known, _)| known == note) {
                Some((_, names)) => names.push(&cell.name),
                None => all.push((note.clone(), vec![&cell.name])),
            }
        }
    }
    all.extend(phase_note(cells));
    all.extend(by_note(cells, |scenario| {
        unequal_ecn(scenario).into_iter().collect()
    }));
    all.extend(by_note(cells, too_large));
    let lines = all.into_iter().map(|(note, names)| {
        if names.len() == cells.len() {
            return note;
        }
        let more = match names.len() {
            count if count > NAMED => format!(" and {} more", count - NAMED),
            _ => String::new(),
        };
        let first: Vec<&str> = names.into_iter().take(NAMED).collect();
        format!("{note} (in {}{more})", first.join(", "))
    });
    lines.collect()
}

/// Returns the note on phase effects and the cells that it concerns. It names the first of their queues, and a jitter
/// that is enough for all of them.
fn phase_note(cells: &[Cell]) -> Option<(String, Vec<&str>)> {
    let concerned = cells.iter().filter_map(|cell| {
        let link = phases(&cell.scenario)?;
        Some((&*cell.name, link, sufficient_jitter(&cell.scenario, link)))
    });
    let concerned: Vec<(&str, &str, Duration)> = concerned.collect();
    let (_, link, _) = concerned.first()?;
    let jitter = concerned.iter().map(|(_, _, jitter)| *jitter).max()?;
    let note = format!(
        "flows share the DropTail queue of '{link}', and nothing delays their packets at random: phase effects can decide \
         whose packets are dropped; give the flows a jitter of {jitter} or more (docs/models/drop-tail.md)"
    );
    Some((note, concerned.iter().map(|(name, _, _)| *name).collect()))
}

/// The names of a flow and of its protocol's table.
type FlowTable<'a> = (&'a str, &'a str);

/// Returns the notes that `notes_on` returns, each once, with the cells that each concerns.
fn by_note(
    cells: &[Cell],
    notes_on: impl Fn(&Scenario) -> Vec<String>,
) -> Vec<(String, Vec<&str>)> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for cell in cells {
        for note in notes_on(&cell.scenario) {
            match all.iter_mut().find(|(known, _)| *known == note) {
                Some((_, names)) => names.push(&cell.name),
                None => all.push((note, vec![&cell.name])),
            }
        }
    }
    all
}

/// Returns the note on the first queue that marks packets of one flow and drops those of another. UDP is left out: it
/// has no ECN in any scenario.
fn unequal_ecn(scenario: &Scenario) -> Option<String> {
    let topology = &scenario.topology;
    if matches!(topology, Topology::Wlan(_)) {
        return None;
    }
    let shared = topology.measured_links();
    let mut seen: Vec<(&str, bool, [Option<FlowTable<'_>>; 2])> = Vec::new();
    for (name, flow) in scenario.enabled_flows() {
        let Some((table, transport)) = flow.transports().next() else {
            continue;
        };
        if !transport.is_connected() {
            continue;
        }
        for hop in topology.data_route(flow) {
            if !shared.contains(&hop.table) || !hop.link.queue.marks() {
                continue;
            }
            let of_queue = (hop.table, hop.is_back);
            let at = seen.iter().position(|one| (one.0, one.1) == of_queue);
            let at = at.unwrap_or_else(|| {
                seen.push((hop.table, hop.is_back, [None; 2]));
                seen.len() - 1
            });
            let first = &mut seen[at].2[usize::from(transport.is_ecn_capable())];
            *first = first.or(Some((name, table)));
        }
    }
    let differ = seen.iter().find_map(|(link, _, flows)| match flows {
        [Some(without), Some(with)] => Some((*link, *without, *with)),
        _ => None,
    });
    let (link, (without, its_table), (with, table)) = differ?;
    // Some settings of a flow need ECN.
    let advice = [(without, its_table, true), (with, table, false)];
    let advice = advice
        .into_iter()
        .filter(|(name, _, ecn)| can_have_ecn(scenario, name, *ecn));
    let advice = advice.map(|(name, table, ecn)| format!("flows.{name}.{table}.ecn = {ecn}"));
    let advice = advice.collect::<Vec<_>>().join(", or ");
    Some(format!(
        "the queue of '{link}' marks packets of flows with ECN ({with}) and drops those of flows without ({without}), so \
         their losses differ: to compare them, set {advice}"
    ))
}

/// Returns whether the flow `name` is valid with this value of `ecn`.
fn can_have_ecn(scenario: &Scenario, name: &str, ecn: bool) -> bool {
    let Some(mut flow) = scenario.flows.get(name).cloned() else {
        return false;
    };
    if let Some(tcp) = &mut flow.tcp {
        tcp.ecn = ecn;
    }
    if let Some(dccp) = &mut flow.dccp {
        dccp.config.ecn = ecn;
    }
    flow.transport().check().is_ok()
}

/// The name of a flow and the size of its full data packets, with headers, in bytes.
type SizedFlow<'a> = (&'a str, u64);

/// Returns a note for each link whose MTU is smaller than every full data packet of a flow. Flows that look for a smaller
/// size are left out.
fn too_large(scenario: &Scenario) -> Vec<String> {
    let topology = &scenario.topology;
    if matches!(topology, Topology::Wlan(_)) {
        return Vec::new();
    }
    let mut links: Vec<(&str, u64, Vec<SizedFlow<'_>>)> = Vec::new();
    for (name, flow) in scenario.enabled_flows() {
        let transport = flow.transport();
        if transport.probes_path_mtu() {
            continue;
        }
        let mut hops = topology.data_route(flow);
        if transport.is_two_way() {
            hops.extend(topology.ack_route(flow));
        }
        let bytes = u64::from(flow.wire_bytes());
        let small = hops.into_iter().find_map(|hop| {
            let mtu = hop.link.mtu?.bytes();
            (mtu < bytes).then_some((hop.table, mtu))
        });
        let Some((link, mtu)) = small else {
            continue;
        };
        match links.iter_mut().find(|one| one.0 == link) {
            Some((.., flows)) => flows.push((name, bytes)),
            None => links.push((link, mtu, vec![(name, bytes)])),
        }
    }
    let note = |(link, mtu, flows): &(&str, u64, Vec<SizedFlow<'_>>)| {
        let shown = flows.iter().take(NAMED);
        let shown: Vec<String> = shown
            .map(|(name, bytes)| format!("{name}: {bytes} B"))
            .collect();
        let more = match flows.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!("; {more} more"),
        };
        let dccp = flows.iter().find(|(name, _)| {
            scenario
                .flows
                .get(name)
                .is_some_and(|flow| flow.dccp.is_some())
        });
        let probing = dccp.map_or_else(String::new, |(name, _)| {
            format!(", or set flows.{name}.dccp.probe_path_mtu = true")
        });
        format!(
            "the link '{link}' drops packets of more than {mtu} B, and so all full data packets of these flows ({}{more}, with \
             headers): make the packets smaller, or the link's mtu larger{probing}",
            shown.join("; ")
        )
    };
    links.iter().map(note).collect()
}

/// Returns the link whose DropTail queue is shared by flows whose packets nothing delays at random. Packets of each
/// flow then arrive at the same point of the queue's cycle again and again (Floyd and Jacobson, "On Traffic Phase
/// Effects in Packet-Switched Gateways", 1992).
fn phases(scenario: &Scenario) -> Option<&str> {
    let topology = &scenario.topology;
    if matches!(topology, Topology::Wlan(_)) {
        return None;
    }
    let shared = topology.measured_links();
    let mut counts = vec![[0_u32; 2]; shared.len()];
    for (_, flow) in scenario.enabled_flows() {
        if has_random_timing(topology, flow) {
            continue;
        }
        for hop in topology.data_route(flow) {
            let at = shared.iter().position(|name| *name == hop.table);
            if let Some(at) = at.filter(|_| hop.link.queue.kind() == "droptail") {
                counts[at][usize::from(hop.is_back)] += 1;
            }
        }
    }
    let is_shared = |ways: &[u32; 2]| ways.iter().any(|count| *count > 1);
    let at = counts.iter().position(is_shared)?;
    Some(shared[at])
}

/// Returns whether the times at which packets of `flow` arrive at a queue are random.
fn has_random_timing(topology: &Topology, flow: &Flow) -> bool {
    let hops = topology
        .data_route(flow)
        .into_iter()
        .chain(topology.ack_route(flow));
    let mut hops = hops.map(|hop| {
        let loss = hop.link.loss.as_ref();
        hop.link.delay_variation.is_some() || loss.is_some_and(|loss| loss.is_random())
    });
    flow.is_random() || hops.any(|is_random| is_random)
}

/// Returns the time that the link takes to send the largest packet of any flow, rounded up to 0.1 ms.
fn sufficient_jitter(scenario: &Scenario, link: &str) -> Duration {
    let rate = scenario.topology.link(link).map(super::Link::mean_rate);
    let largest = scenario
        .enabled_flows()
        .map(|(_, flow)| flow.wire_bytes())
        .max();
    let time = rate
        .zip(largest)
        .map(|(rate, bytes)| rate.time_for(fairwire_units::Size::new(u64::from(bytes))));
    // Rounds up to the next 0.1 ms, so that the note shows a short number.
    let step = 100_000;
    let nanos = time.map_or(0, Duration::as_nanos).div_ceil(step) * step;
    Duration::from_nanos(nanos)
}
