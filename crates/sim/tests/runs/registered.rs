//! Models that a program registers itself: scenarios name them like the built-in ones.

use std::collections::VecDeque;
use std::sync::Arc;

use fairwire_net::{
    Admission, Backlog, DropReason, LinkContext, Loss, LossModel, Next, Packet, Queue, QueueLimit,
    QueueModel, Queued, Verdict,
};
use fairwire_proto::ccids::{
    Ccid, CcidProfile, Controller, Feedback, Flight, Gauges, Limit, Permit, register_ccid,
};
use fairwire_scenario::traffic::{FlowContext, Offer, PacketShape, Source, TrafficModel, When};
use fairwire_scenario::{Adjust, Cell, ScenarioError, file_schema};
use fairwire_sim::results::{Metric, Subject, WHOLE};
use fairwire_units::registry::{Kind, Registered};
use fairwire_units::{Duration, Instant};

use super::{once, read, with_set};

/// The settings of a queue that sends the last packet first.
#[derive(Clone, Copy, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct StackConfig {
    /// The greatest number of waiting packets.
    packets: u32,
}

impl QueueModel for StackConfig {
    fn build(&self, _link: &LinkContext<'_>) -> Box<dyn Queue> {
        Box::new(Stack {
            most: self.packets as usize,
            waiting: VecDeque::new(),
        })
    }

    fn limit(&self) -> QueueLimit {
        QueueLimit::Packets(self.packets)
    }
}

#[derive(Debug)]
struct Stack {
    most: usize,
    waiting: VecDeque<Queued>,
}

impl Queue for Stack {
    fn enqueue(&mut self, _now: Instant, arriving: Queued, _: Option<u32>) -> Admission {
        if self.waiting.len() < self.most {
            self.waiting.push_back(arriving);
            return Admission::Accepted;
        }
        Admission::Dropped(arriving, DropReason::QueueFull)
    }

    fn dequeue(&mut self, _now: Instant) -> Next {
        self.waiting.pop_back().map_or(Next::Empty, Next::Send)
    }

    fn backlog(&self) -> Backlog {
        let bytes = |queued: &Queued| u64::from(queued.packet.wire_len);
        Backlog {
            packets: u32::try_from(self.waiting.len()).unwrap_or(u32::MAX),
            bytes: self.waiting.iter().map(bytes).sum(),
        }
    }
}

/// A loss model that loses every packet after the first ones.
#[derive(Clone, Copy, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Severed {
    /// The number of packets that pass.
    after: u32,
}

impl LossModel for Severed {
    fn build(&self, _link: &LinkContext<'_>) -> Option<Box<dyn Loss>> {
        Some(Box::new(*self))
    }

    fn is_random(&self) -> bool {
        false
    }
}

impl Loss for Severed {
    fn verdict(&mut self, _now: Instant, _packet: &Packet) -> Verdict {
        match self.after.checked_sub(1) {
            Some(left) => {
                self.after = left;
                Verdict::Pass
            }
            None => Verdict::Drop,
        }
    }
}

/// A traffic model that sends several packets at a time.
#[derive(Clone, Copy, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Volleys {
    /// The number of packets at a time.
    packets: u32,
    /// The time between two groups of packets.
    every: Duration,
}

impl TrafficModel for Volleys {
    fn build(&self, flow: &FlowContext<'_>) -> Box<dyn Source> {
        Box::new(Volley {
            of: *self,
            bytes: flow.packet.payload,
            at: Instant::START,
            left: self.packets,
        })
    }

    fn packets_per_second(&self, _packet: &PacketShape) -> Option<u64> {
        Some(u64::from(self.packets) * 1_000_000_000 / self.every.as_nanos())
    }
}

#[derive(Debug)]
struct Volley {
    of: Volleys,
    bytes: u32,
    at: Instant,
    left: u32,
}

impl Source for Volley {
    fn begin(&mut self, at: Instant) {
        self.at = at;
    }

    fn next(&self) -> Option<Offer> {
        Some(Offer::new(When::At(self.at), self.bytes))
    }

    fn advance(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.left = self.of.packets;
            self.at += self.of.every;
        }
    }
}

/// A registered traffic model sends over every transport.
#[test]
fn traffic_of_ones_own_is_found() {
    let text = r#"
title = "volleys"
run = { duration = "10 s", start_offset = "none" }
topology.kind = "chain"
topology.links.wire = { rate = "10 Mbit/s", delay = "5 ms" }
flows.volleys = { traffic = { kind = "volleys", packets = 3, every = "100 ms" }, payload = "500 B", stop = "9 s", udp = {} }
"#;
    let with = |set: &str| read(text, &with_set(&[set]));
    let error = with("run.seeds=1").expect_err("not registered yet");
    assert!(
        error.message().contains("unknown value 'volleys'"),
        "{error}"
    );
    let kind: Kind<dyn TrafficModel> = Kind::new("volleys", "Several packets at a time.");
    <dyn TrafficModel>::registry()
        .register(kind.settings(|settings: Volleys| Arc::new(settings)))
        .expect("a new name");
    for transport in ["udp={}", "tcp={}", "dccp={ ccid = 2 }"] {
        let cells = with(&format!("flows.volleys.{transport}")).expect("registered");
        let result = once(&cells[0].scenario, 1);
        let subject = Subject::flow("volleys");
        let goodput = result.value(&subject, WHOLE, Metric::Goodput);
        // 90 volleys of 1500 bytes in 10 s; the first ones over DCCP wait for the handshake, so that none is lost.
        assert_eq!(goodput, Some(90.0 * 1_500.0 * 8.0 / 10.0), "{transport}");
    }
}

/// Returns the cells of a scenario that sends 100 packets a second over a link that carries 50.
fn cells(queue: &str, loss: &str) -> Result<Vec<Cell>, ScenarioError> {
    let text = format!(
        r#"
title = "kinds of one's own"
run = {{ duration = "10 s", start_offset = "none" }}
topology.kind = "chain"
topology.links.wire = {{ rate = "400 kbit/s", delay = "50 ms", queue = {queue}, loss = {loss}, back.loss = "0 %" }}
flows.voice = {{ traffic = {{ kind = "cbr", rate = "800 kbit/s" }}, wire = "1000 B", udp = {{}} }}
"#
    );
    read(&text, &Adjust::default())
}

/// A model that is registered after a scenario was read is available to the next one: in files, in the schema, and in
/// suggestions for a misspelt name.
#[test]
fn kinds_of_ones_own_are_found() {
    let (stack, severed) = (
        "{ kind = \"stack\", packets = 20 }",
        "{ kind = \"severed\", after = 100 }",
    );
    let error = cells(stack, "\"0 %\"").expect_err("not registered yet");
    assert!(error.message().contains("unknown value 'stack'"), "{error}");
    let kind: Kind<dyn QueueModel> = Kind::new("stack", "Last in, first out.");
    <dyn QueueModel>::registry()
        .register(kind.settings(|config: StackConfig| Arc::new(config)))
        .expect("a new name");
    cells(stack, "\"0 %\"").expect("registered");
    let error = cells(stack, severed).expect_err("not registered yet");
    assert!(
        error.message().contains("unknown value 'severed'"),
        "{error}"
    );
    let kind: Kind<dyn LossModel> = Kind::new("severed", "All is lost after some packets.");
    <dyn LossModel>::registry()
        .register(kind.settings(|config: Severed| Arc::new(config)))
        .expect("a new name");

    // The link sends 50 packets a second, so the first 100 take 2 s.
    let cells_of_both = cells(stack, severed).expect("registered");
    let result = once(&cells_of_both[0].scenario, 1);
    let of = |metric| result.value(&Subject::flow("voice"), WHOLE, metric);
    assert_eq!(of(Metric::Delivered), Some(100.0));
    // The newest packet is sent first, so it waits at most for the packet in transmission.
    let delay = of(Metric::DelayMean).expect("a delay");
    assert!(delay < 0.095, "{delay}");

    let schema = file_schema().to_string();
    for name in ["stack", "severed"] {
        assert!(schema.contains(&format!("\"const\":\"{name}\"")), "{name}");
    }
    for (queue, loss, says) in [
        (
            "{ kind = \"stak\", packets = 20 }",
            severed,
            "did you mean \"stack\"?",
        ),
        (
            stack,
            "{ kind = \"sevred\", after = 9 }",
            "did you mean \"severed\"?",
        ),
        (
            "{ kind = \"stack\", packet = 20 }",
            severed,
            "did you mean 'packets'?",
        ),
        ("{ kind = \"stack\" }", severed, "'packets' is missing"),
    ] {
        let error = cells(queue, loss).expect_err(says);
        assert!(error.message().contains(says), "{error}");
    }
}

/// A controller that sends at a fixed rate, whatever happens.
#[derive(Debug)]
struct Steady {
    bytes_per_s: f64,
    next: Instant,
}

impl Controller for Steady {
    fn permit(&self, now: Instant, _flight: Flight, _size: u32) -> Permit {
        if now < self.next {
            Permit::At(self.next)
        } else {
            Permit::Now
        }
    }

    fn on_sent(&mut self, now: Instant, _flight: Flight, size: u32) {
        self.next =
            now.max(self.next) + Duration::from_secs_f64(f64::from(size) / self.bytes_per_s);
    }

    fn on_feedback(&mut self, _now: Instant, _flight: Flight, _feedback: &Feedback) {}

    fn reset(&mut self, _now: Instant) {}

    fn limit(&self) -> Limit {
        Limit::Rate(self.bytes_per_s)
    }

    fn gauges(&self) -> Gauges {
        Gauges::default()
    }
}

/// A registered CCID by rate is valid in scenarios from then on, and its controller paces the packets. Errors list the
/// registered ones, and a key that the CCID does not read is refused.
#[test]
fn a_ccid_of_ones_own_is_found() {
    let with = |dccp: &str| {
        let text = format!(
            r#"
title = "a CCID of one's own"
run = {{ duration = "10 s", start_offset = "none" }}
topology.kind = "chain"
topology.links.wire = {{ rate = "10 Mbit/s", delay = "5 ms" }}
flows.steady = {{ traffic = "greedy", payload = "500 B", dccp = {{ {dccp} }} }}
"#
        );
        read(&text, &Adjust::default())
    };
    let built_in = "the CCID is 2 (TCP-like), 3 (TFRC) or 4 (TFRC for small packets)";
    let error = with("ccid = 250").expect_err("not registered yet");
    assert!(error.message().contains(built_in), "{error}");
    let profile = CcidProfile::with_ack_vectors(
        Ccid::new(250),
        "steady",
        "50 packets of 500 bytes a second.",
        |_| {
            Box::new(Steady {
                bytes_per_s: 25_000.0,
                next: Instant::START,
            })
        },
    );
    register_ccid(profile).expect("a new number");
    let cells = with("ccid = 250").expect("registered");
    let result = once(&cells[0].scenario, 1);
    let sent = result.value(&Subject::flow("steady"), WHOLE, Metric::Sent);
    // From the end of the handshake, 10 ms after the start, a packet every 20 ms.
    assert_eq!(sent, Some(500.0));
    // Any data of a connection may be of this CCID, and it may change to it.
    for dccp in [
        "ccid = 2, back_ccid = 250",
        "ccid = 3, ccid_changes = [{ at = \"1 s\", ccid = 250 }]",
        "ccid = 250, ccid2.min_rto = \"1 s\"",
    ] {
        assert!(with(dccp).is_ok(), "{dccp}");
    }
    for (dccp, says) in [
        (
            "ccid = 249",
            "2 (TCP-like), 3 (TFRC), 4 (TFRC for small packets) or 250 (steady)",
        ),
        ("ccid = 251", "or 250 (steady)"),
        (
            "ccid = 250, ccid2.law = \"vegas\"",
            "'ccid2.law' is for CCID 2, and this flow has CCID 250",
        ),
        (
            "ccid = 250, ccid3.b = 2.0",
            "'ccid3.b' is for CCID 3 and 4,",
        ),
        (
            "ccid = 250, preset = \"linux-6.1\"",
            "linux-6.1 has no CCID 250",
        ),
    ] {
        let error = with(dccp).expect_err(says);
        assert!(error.message().contains(says), "{error}");
    }
}
