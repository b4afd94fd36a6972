//! Queues that hold a multiple of what their link and its round trips hold: `limit = "1 bdp"`, of the product of bandwidth and
//! delay.
//!
//! The product needs the flows and the network, so it is found in two steps: [`take`] puts a number in the place of each
//! such limit, the scenario is read, and [`put`] writes the packets that it comes to.

use std::collections::BTreeMap;

use fairwire_units::Duration;

use super::place::{Place, ScenarioError};
use super::tree::{Node, Value};
use super::{Flow, Scenario};

/// What follows the number.
const UNIT: &str = "bdp";

/// The most packets that a queue holds, as the format has it.
const MOST: f64 = 1e7;

/// A limit to be computed.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The link's table in `topology`, and is it its way back?
    link: String,
    is_back: bool,
    products: f64,
    place: Place,
}

/// How limits were computed, in words, by dotted path.
pub(super) type Computed = BTreeMap<String, String>;

impl Wanted {
    /// The names of the tables down to the limit.
    fn path(&self) -> Vec<&str> {
        let back = self.is_back.then_some("back");
        let above = ["topology"].into_iter().chain(self.link.split('.'));
        above.chain(back).chain(["queue", "limit"]).collect()
    }
}

/// Takes the limits out of `tree`, in which each way back of a link is complete, that are in products.
pub(super) fn take(tree: &mut Node) -> Result<Vec<Wanted>, ScenarioError> {
    let mut links = vec!["access".to_owned(), "bottleneck".to_owned()];
    let named = tree.below(&["topology", "links"]).map(Node::names);
    links.extend(
        named
            .into_iter()
            .flatten()
            .map(|name| format!("links.{name}")),
    );
    let mut all = Vec::new();
    for (link, is_back) in links.iter().flat_map(|link| [(link, false), (link, true)]) {
        let mut wanted = Wanted {
            link: link.clone(),
            is_back,
            products: 0.0,
            place: Place::nowhere(),
        };
        let Some(node) = tree.below_mut(&wanted.path()) else {
            continue;
        };
        let Value::Text(text) = &node.value else {
            continue;
        };
        let Some(number) = text.trim().strip_suffix(UNIT) else {
            continue;
        };
        let products = number.trim().parse().ok();
        let products = products.filter(|number: &f64| *number > 0.0 && number.is_finite());
        let Some(products) = products else {
            let message = "write how many products of bandwidth and delay the queue holds, as in \"1 bdp\" or \"0.5 bdp\"";
            return Err(ScenarioError::at(message, &node.place));
        };
        wanted.products = products;
        wanted.place = node.place.clone();
        node.value = Value::Text("1 packet".to_owned());
        all.push(wanted);
    }
    Ok(all)
}

/// Writes into `tree` what the limits come to in `scenario`, which was read from it.
pub(super) fn put(
    tree: &mut Node,
    scenario: &Scenario,
    all: &[Wanted],
) -> Result<Computed, ScenarioError> {
    let mut computed = Computed::new();
    for wanted in all {
        let (packets, words) = packets(scenario, wanted)
            .map_err(|message| ScenarioError::at(message, &wanted.place))?;
        if let Some(node) = tree.below_mut(&wanted.path()) {
            node.value = Value::Text(format!("{packets} packets"));
        }
        computed.insert(wanted.path().join("."), words);
    }
    Ok(computed)
}

/// The packets of a limit, and how they are computed; or why they cannot be.
fn packets(scenario: &Scenario, wanted: &Wanted) -> Result<(u64, String), String> {
    let topology = &scenario.topology;
    if topology.wlan().is_some() {
        return Err(
            "in a wlan a round trip depends on who else sends: write the queue in packets"
                .to_owned(),
        );
    }
    let crossing = |flow: &Flow| {
        let hops = topology.data_route(flow).into_iter();
        let mut hops = hops.chain(topology.ack_route(flow));
        hops.any(|hop| topology.path(hop.table) == wanted.link && hop.is_back == wanted.is_back)
    };
    let flows: Vec<&Flow> = scenario.enabled_flows().map(|(_, flow)| flow).collect();
    let flows: Vec<&Flow> = flows.into_iter().filter(|flow| crossing(flow)).collect();
    let rtt = flows.iter().map(|flow| scenario.empty_rtt(flow)).max();
    let bytes = flows.iter().map(|flow| flow.wire_bytes()).max();
    let (Some(rtt), Some(bytes)) = (rtt, bytes) else {
        return Err("no flow crosses this link: write the queue in packets".to_owned());
    };
    let name = wanted.link.rsplit('.').next().unwrap_or_default();
    let link = topology.link(name);
    let link = link.map(|link| {
        if wanted.is_back {
            link.reversed()
        } else {
            link
        }
    });
    let Some(rate) = link.and_then(|link| link.rate) else {
        return Err("a link with a trace has no one rate: write the queue in packets".to_owned());
    };
    let product = rate.bits_per_s() as f64 * rtt.as_secs_f64() / (8.0 * f64::from(bytes));
    // What is a whole number but for rounding is that number.
    let packets = (wanted.products * product - 1e-6).ceil().max(1.0);
    if packets > MOST {
        return Err(format!(
            "this comes to {packets} packets, and a queue holds at most {MOST} packets"
        ));
    }
    let words = format!(
        "{} bdp: {rate} x {} / {bytes} B",
        wanted.products,
        short(rtt)
    );
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 1 to 10 million"
    )]
    Ok((packets as u64, words))
}

/// A time with the microseconds that matter here.
fn short(time: Duration) -> Duration {
    const STEP: u64 = 1_000;
    Duration::from_nanos((time.as_nanos() + STEP / 2) / STEP * STEP)
}

#[cfg(test)]
mod tests {
    use crate::scenario::{Adjust, Cell, ScenarioError, ScenarioFile, explain};

    const DUMBBELL: &str = r#"
title = "queues"
run.duration = "10 s"
topology.kind = "dumbbell"
topology.access = { rate = "100 Mbit/s", delay = "1 ms" }
topology.bottleneck = { rate = "10 Mbit/s", delay = "20 ms", queue = "1 bdp" }
flows.one = { traffic = "greedy", wire = "1500 B", tcp = {} }
flows.long = { traffic = "greedy", wire = "1000 B", extra_delay = "10 ms", tcp = {} }
"#;

    fn cells(text: &str, set: &[&str]) -> Result<Vec<Cell>, ScenarioError> {
        let adjust = Adjust {
            set: set.iter().map(|set| (*set).to_owned()).collect(),
            ..Adjust::default()
        };
        ScenarioFile::parse("bdp.toml", text)?.cells(&adjust)
    }

    fn queue(text: &str, set: &[&str], link: &str, is_back: bool) -> String {
        let cells = cells(text, set).unwrap_or_else(|error| panic!("{error}"));
        let link = cells[0].scenario.topology.link(link).expect("a link");
        let link = if is_back { link.reversed() } else { link };
        link.queue.limit().to_string()
    }

    /// The longest empty round trip of a flow on the link is 64 ms of delays, and what its packet of 1,000 bytes and 40
    /// bytes of acknowledgement take on three links each: 0.96 + 0.0384 ms. With 10 Mbit/s these are 81.2 kB: 54.2
    /// packets of the largest size, 1,500 bytes.
    #[test]
    fn a_product_is_rate_times_the_longest_round_trip() {
        let word = |set: &[&str]| queue(DUMBBELL, set, "bottleneck", false);
        assert_eq!(word(&[]), "55 packets");
        assert_eq!(word(&["topology.bottleneck.queue=0.5 bdp"]), "28 packets");
        assert_eq!(
            word(&["topology.bottleneck.queue.limit=2bdp"]),
            "109 packets"
        );
        assert_eq!(word(&["topology.bottleneck.queue=0.001 bdp"]), "1 packet");
        assert_eq!(word(&["flows.one.enabled=false"]), "82 packets");
        // Each direction by its own rate.
        let back = ["topology.bottleneck.back.rate=5 Mbit/s"];
        assert_eq!(queue(DUMBBELL, &back, "bottleneck", false), "55 packets");
        assert_eq!(queue(DUMBBELL, &back, "bottleneck", true), "28 packets");
    }

    /// `--explain` shows the packets, and how they are computed.
    #[test]
    fn the_calculation_is_shown() {
        let cells = cells(DUMBBELL, &[]).unwrap_or_else(|error| panic!("{error}"));
        let lines = explain(&cells[0]);
        let mut lines = lines.iter();
        let line = lines.find(|line| line.path == "topology.bottleneck.queue.limit");
        let line = line.expect("a line");
        assert_eq!(line.value, "\"55 packets\"");
        assert!(
            line.meaning
                .ends_with("(1 bdp: 10 Mbit/s x 64.998ms / 1500 B)"),
            "{}",
            line.meaning
        );
    }

    /// Where there is no one product a number is wanted.
    #[test]
    fn what_has_no_product_is_refused() {
        for (set, says) in [
            (
                &["topology.bottleneck.queue.limit=no bdp"][..],
                "as in \"1 bdp\"",
            ),
            (
                &["topology.bottleneck.queue.limit=-1 bdp"],
                "as in \"1 bdp\"",
            ),
            (
                &["topology.bottleneck.queue=1e12 bdp"],
                "at most 10000000 packets",
            ),
            (
                &["topology.bottleneck.queue={ kind = \"codel\", limit = \"1 bdb\" }"],
                "1 bdb",
            ),
        ] {
            let error = cells(DUMBBELL, set).expect_err(says).to_string();
            assert!(error.contains(says), "{set:?}: {error}");
        }
    }
}
