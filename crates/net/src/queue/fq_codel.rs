//! Flow queueing with `CoDel` (RFC 8290): a queue for each flow, served in turn.
//!
//! A hash of the flow assigns each packet to a queue. Queues take turns of `quantum` bytes; queues that have just
//! become active go before the others. Each queue has its own `CoDel`. A flow that sends less than a quantum per turn
//! hardly waits, whatever the other flows do.

use std::collections::VecDeque;
use std::sync::Arc;

use fairwire_units::registry::Kind;
use fairwire_units::{Instant, Packets, Size};

use super::codel::{Codel, CodelConfig, CodelLaw};
use super::discipline::{Admission, Backlog, Next, Queue, Queued};
use super::limit::QueueLimit;
use super::model::QueueModel;
use crate::{DropReason, LinkContext, Packet, Stream};

/// The settings of [`FqCodel`]. The defaults are those of RFC 8290 (section 5.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(default),
    schemars(extend("additionalProperties" = false))
)]
pub struct FqCodelConfig {
    /// The number of queues over which flows are spread.
    #[cfg_attr(
        feature = "settings",
        schemars(
            range(min = 1, max = 65_536),
            extend("advice" = "flows must be 1 to 65536")
        )
    )]
    pub flows: u32,
    /// Bytes of IP packets that a queue sends in one turn.
    #[cfg_attr(
        feature = "settings",
        schemars(extend(
            "minimum_quantity" = "1 B",
            "maximum_quantity" = "16 MB",
            "advice" = "quantum must be 1 B to 16 MB"
        ))
    )]
    pub quantum: Size,
    /// The most packets that wait in all queues together.
    #[cfg_attr(
        feature = "settings",
        schemars(extend(
            "minimum_quantity" = "1 packet",
            "maximum_quantity" = "10000000 packets",
            "advice" = "a queue must hold 1 to 10000000 packets"
        ))
    )]
    pub limit: Packets,
    /// When each queue drops.
    #[cfg_attr(feature = "settings", serde(flatten))]
    pub law: CodelLaw,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for FqCodelConfig {
    fn default() -> Self {
        Self {
            flows: 1_024,
            quantum: Size::new(1_514),
            limit: Packets(10_240),
            law: CodelLaw::default(),
            ecn: true,
        }
    }
}

impl FqCodelConfig {
    /// Returns the settings of each queue.
    fn codel(&self) -> CodelConfig {
        CodelConfig {
            law: self.law,
            ecn: self.ecn,
            // Section 5.2.3: the limit applies to all queues together.
            limit: Packets(u32::MAX),
        }
    }
}

/// The random salt decides only which flows share a queue, so the model does not count as random: if nothing else in a
/// run is random, start times are still varied.
impl QueueModel for FqCodelConfig {
    fn build(&self, link: &LinkContext<'_>) -> Box<dyn Queue> {
        Box::new(FqCodel::new(*self, link.stream("fq-codel")))
    }

    fn limit(&self) -> QueueLimit {
        QueueLimit::Packets(self.limit.0)
    }

    fn marks(&self) -> bool {
        self.ecn
    }

    fn problem(&self) -> Option<(&'static str, String)> {
        self.law.problem()
    }
}

/// Returns the entry of the registry.
pub(super) fn kind() -> Kind<dyn QueueModel> {
    let kind: Kind<dyn QueueModel> = Kind::new(
        "fq-codel",
        "Flow queueing with CoDel (RFC 8290): a queue for each flow, served in turn.",
    );
    #[cfg(feature = "settings")]
    let kind = kind.settings(|config: FqCodelConfig| Arc::new(config));
    kind.standard(|| Arc::new(FqCodelConfig::default()))
}

/// The state of an `FQ-CoDel` queue.
#[derive(Debug)]
pub struct FqCodel {
    quantum: i64,
    limit: u32,
    /// The salt of the flow hash.
    salt: u64,
    flows: Vec<Flow>,
    /// Queues that have become active, in the order of service.
    new: VecDeque<usize>,
    /// Queues that have had a turn.
    old: VecDeque<usize>,
    waiting: Backlog,
}

/// One of the queues.
#[derive(Debug)]
struct Flow {
    queue: Codel,
    /// Bytes that it may still send in its turn.
    credits: i64,
    /// Whether it is in one of the lists.
    is_active: bool,
}

impl FqCodel {
    /// Creates empty queues. A draw from `salt` decides which flows share one.
    pub fn new(config: FqCodelConfig, mut salt: Stream) -> Self {
        let flow = |_| Flow {
            queue: Codel::new(config.codel()),
            credits: 0,
            is_active: false,
        };
        Self {
            quantum: i64::try_from(config.quantum.bytes().max(1)).unwrap_or(i64::MAX),
            limit: config.limit.0,
            salt: salt.bits(),
            flows: (0..config.flows.max(1)).map(flow).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            waiting: Backlog::default(),
        }
    }

    /// Returns the queue of a packet: a salted hash of source, destination and flow (section 4.1).
    fn queue_of(&self, packet: &Packet) -> usize {
        let ends = u64::from(packet.source.0) << 32 | u64::from(packet.destination.0);
        let hash = mixed(mixed(ends ^ self.salt) ^ u64::from(packet.flow.0));
        usize::try_from(hash % self.flows.len() as u64).unwrap_or(0)
    }

    /// Drops the head of the queue with the most bytes, to make room (section 4.1).
    fn drop_from_longest(&mut self) -> Option<Queued> {
        let active = self.new.iter().chain(&self.old);
        let fattest = active.max_by_key(|flow| self.flows[**flow].queue.backlog().bytes)?;
        let gone = self.flows[*fattest].queue.drop_head()?;
        self.left(&gone);
        Some(gone)
    }

    fn left(&mut self, gone: &Queued) {
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(gone.packet.wire_len);
    }

    /// Returns the queue whose turn it is, and whether it is a new one (section 4.2).
    ///
    /// A queue without credits gets a quantum and moves to the end of the old ones.
    fn turn(&mut self) -> Option<(usize, bool)> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let flow = *list.front()?;
            if self.flows[flow].credits > 0 {
                return Some((flow, is_new));
            }
            self.flows[flow].credits += self.quantum;
            list.pop_front();
            self.old.push_back(flow);
        }
    }
}

/// Returns a hash of `x` in which every bit depends on every bit of `x` (the last step of `SplitMix64`).
fn mixed(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Queue for FqCodel {
    fn enqueue(&mut self, now: Instant, arriving: Queued, transmitting: Option<u32>) -> Admission {
        let number = self.queue_of(&arriving.packet);
        self.waiting.packets += 1;
        self.waiting.bytes += u64::from(arriving.packet.wire_len);
        let flow = &mut self.flows[number];
        flow.queue.enqueue(now, arriving, None);
        if !flow.is_active {
            flow.is_active = true;
            flow.credits = self.quantum;
            self.new.push_back(number);
        }
        // A packet that comes to an idle link does not wait.
        if self.waiting.packets > self.limit
            && transmitting.is_some()
            && let Some(gone) = self.drop_from_longest()
        {
            return Admission::Dropped(gone, DropReason::QueueFull);
        }
        Admission::Accepted
    }

    fn dequeue(&mut self, now: Instant) -> Next {
        while let Some((number, is_new)) = self.turn() {
            let flow = &mut self.flows[number];
            match flow.queue.dequeue(now) {
                Next::Send(next) => {
                    flow.credits -= i64::from(next.packet.wire_len);
                    self.left(&next);
                    return Next::Send(next);
                }
                // When asked again, the same queue still has its turn.
                Next::Drop(gone, why) => {
                    self.left(&gone);
                    return Next::Drop(gone, why);
                }
                // A new queue that is empty lets all old ones go before it becomes inactive. Otherwise it could return
                // as a new one again and again and starve them.
                Next::Empty if is_new => {
                    self.new.pop_front();
                    self.old.push_back(number);
                }
                Next::Empty => {
                    flow.is_active = false;
                    self.old.pop_front();
                }
            }
        }
        Next::Empty
    }

    fn backlog(&self) -> Backlog {
        self.waiting
    }
}

#[cfg(test)]
mod tests;
