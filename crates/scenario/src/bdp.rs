//! Queue limits in bandwidth-delay products, `limit = "1 bdp"`, and in time, `limit = "300 ms"`.
//!
//! They depend on the flows and the network, so they are computed in two steps. [`take`] replaces each such limit
//! by a number. After the scenario is read, [`put`] writes the number of packets.

use std::collections::BTreeMap;

use fairwire_units::Duration;

use super::place::{Place, ScenarioError};
use super::tree::{Node, Value};
use super::{Flow, Scenario};

/// The unit of such a limit.
const UNIT: &str = "bdp";

/// The most packets that a queue may hold.
const MOST: f64 = 1e7;

/// A limit that is to be computed.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The path of the link's table below `topology`.
    link: String,
    /// Whether the limit is that of the link's way back.
    is_back: bool,
    amount: Amount,
    place: Place,
}

/// How much a queue holds.
#[derive(Clone, Copy, Debug)]
enum Amount {
    /// Products of the rate and the longest round trip.
    Products(f64),
    /// What the link sends in this time.
    Time(Duration),
}

impl Amount {
    /// Parses a limit; `None` if it is in packets or bytes.
    fn parse(text: &str) -> Option<Result<Self, &'static str>> {
        if let Ok(time) = text.parse::<Duration>() {
            let message = "a queue must hold packets: write a time above zero, as in \"300 ms\"";
            return Some((!time.is_zero()).then_some(Self::Time(time)).ok_or(message));
        }
        let number = text.trim().strip_suffix(UNIT)?;
        let products = number.trim().parse().ok();
        let products = products.filter(|number: &f64| *number > 0.0 && number.is_finite());
        let message = "write how many products of bandwidth and delay the queue holds, as in \"1 bdp\" or \"0.5 bdp\"";
        Some(products.map(Self::Products).ok_or(message))
    }
}

/// How limits were computed, in words, by dotted path.
pub(super) type Computed = BTreeMap<String, String>;

impl Wanted {
    /// Returns the names of the tables on the path to the limit.
    fn path(&self) -> Vec<&str> {
        let back = self.is_back.then_some("back");
        let above = ["topology"].into_iter().chain(self.link.split('.'));
        above.chain(back).chain(["queue", "limit"]).collect()
    }
}

/// Takes the limits in bandwidth-delay products and in time out of `tree`, in which the way back of each link is
/// complete.
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
            amount: Amount::Products(0.0),
            place: Place::nowhere(),
        };
        let Some(node) = tree.below_mut(&wanted.path()) else {
            continue;
        };
        let Value::Text(text) = &node.value else {
            continue;
        };
        let Some(parsed) = Amount::parse(text) else {
            continue;
        };
        let amount = parsed.map_err(|message| ScenarioError::at(message, &node.place))?;
        wanted.amount = amount;
        wanted.place = node.place.clone();
        node.value = Value::Text("1 packet".to_owned());
        all.push(wanted);
    }
    Ok(all)
}

/// Writes the computed limits into `tree`, from which `scenario` was read.
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

/// Returns the packets of a limit and how they were computed, or why they cannot be computed.
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
    let (factor, time) = match wanted.amount {
        Amount::Products(products) => (products, rtt),
        Amount::Time(time) => (1.0, time),
    };
    let product = rate.bits_per_s() as f64 * time.as_secs_f64() / (8.0 * f64::from(bytes));
    // A product that is a whole number up to rounding errors is not rounded up.
    let packets = (factor * product - 1e-6).ceil().max(1.0);
    if packets > MOST {
        return Err(format!(
            "this comes to {packets} packets, and a queue holds at most {MOST} packets"
        ));
    }
    let words = match wanted.amount {
        Amount::Products(products) => {
            format!("{products} bdp: {rate} x {} / {bytes} B", short(rtt))
        }
        Amount::Time(time) => format!("{time}: {rate} x {time} / {bytes} B"),
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 1 to 10 million"
    )]
    Ok((packets as u64, words))
}

/// Returns a time rounded to microseconds.
fn short(time: Duration) -> Duration {
    const STEP: u64 = 1_000;
    Duration::from_nanos((time.as_nanos() + STEP / 2) / STEP * STEP)
}
