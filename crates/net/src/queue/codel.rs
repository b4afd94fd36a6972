//! Controlled Delay (RFC 8289), which drops at the head of the queue according to the time that packets waited.
//!
//! If the time in the queue stays above `target` for a whole `interval`, there is a standing queue. Packets are then
//! dropped at the head, each `interval / sqrt(n)` after the n-th drop, until the time in the queue is below `target`
//! again.

use std::collections::VecDeque;
use std::sync::Arc;

use fairwire_units::registry::Kind;
use fairwire_units::{Duration, Ecn, Instant, Packets, Size};

use super::discipline::{Admission, Backlog, Next, Queue, Queued};
use super::limit::QueueLimit;
use super::model::QueueModel;
use crate::{DropReason, LinkContext};

/// The parameters that decide when `CoDel` drops. The defaults are those of RFC 8289 (sections 4.2 and 4.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(default)
)]
pub struct CodelLaw {
    /// The acceptable time of a packet in the queue.
    #[cfg_attr(
        feature = "settings",
        schemars(extend(
            "exclusive_minimum_quantity" = "0 s",
            "advice" = "CoDel's target must be above zero and less than its interval"
        ))
    )]
    pub target: Duration,
    /// How long the target may be exceeded, of the order of a round-trip time.
    pub interval: Duration,
    /// A queue with at most this much left in it drops nothing. The default is one packet of the largest size.
    pub keeps: Size,
}

impl Default for CodelLaw {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            keeps: Size::new(1_500),
        }
    }
}

impl CodelLaw {
    /// Returns the parameter that conflicts with the others, and the reason.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        let message = "CoDel's target must be above zero and less than its interval";
        let ordered = self.target < self.interval;
        (!ordered).then(|| ("target", message.to_owned()))
    }
}

/// The settings of a [`Codel`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(default),
    schemars(extend("additionalProperties" = false))
)]
pub struct CodelConfig {
    /// When it drops.
    #[cfg_attr(feature = "settings", serde(flatten))]
    pub law: CodelLaw,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// The most packets that wait.
    #[cfg_attr(
        feature = "settings",
        schemars(extend(
            "minimum_quantity" = "1 packet",
            "maximum_quantity" = "10000000 packets",
            "advice" = "a queue must hold 1 to 10000000 packets"
        ))
    )]
    pub limit: Packets,
}

impl Default for CodelConfig {
    fn default() -> Self {
        Self {
            law: CodelLaw::default(),
            ecn: false,
            limit: Packets(1_000),
        }
    }
}

impl QueueModel for CodelConfig {
    fn build(&self, _link: &LinkContext<'_>) -> Box<dyn Queue> {
        Box::new(Codel::new(*self))
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
    let kind: Kind<dyn QueueModel> = Kind::new("codel", "Controlled Delay (RFC 8289).");
    #[cfg(feature = "settings")]
    let kind = kind.settings(|config: CodelConfig| Arc::new(config));
    kind.standard(|| Arc::new(CodelConfig::default()))
}

/// The relation of the next packet to the drop before it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum After {
    /// There was no drop just before it.
    Nothing,
    /// It follows the first drop of a cycle, and is sent in any case.
    First,
    /// It follows a later drop, and may itself be dropped.
    Another,
}

/// The state of a `CoDel` queue.
#[derive(Debug)]
pub struct Codel {
    config: CodelConfig,
    waiting: VecDeque<Queued>,
    bytes: u64,
    /// `first_above_time`: when the time in the queue will have been above the target for an interval.
    first_above: Option<Instant>,
    /// `drop_next`.
    drop_next: Instant,
    /// Packets dropped or marked in this cycle.
    count: u64,
    /// `lastcount`: the value of `count` when the cycle began.
    last_count: u64,
    dropping: bool,
    after: After,
}

impl Codel {
    /// Creates an empty queue.
    pub fn new(config: CodelConfig) -> Self {
        Self {
            config,
            waiting: VecDeque::new(),
            bytes: 0,
            first_above: None,
            drop_next: Instant::START,
            count: 0,
            last_count: 0,
            dropping: false,
            after: After::Nothing,
        }
    }

    /// Removes the head, whatever the control law says.
    pub(super) fn drop_head(&mut self) -> Option<Queued> {
        let head = self.waiting.pop_front()?;
        self.bytes -= u64::from(head.packet.wire_len);
        Some(head)
    }

    /// Removes the head, and returns it with whether it may be dropped (section 5.6, `dodequeue`).
    fn take(&mut self, now: Instant) -> Option<(Queued, bool)> {
        let Some(next) = self.waiting.pop_front() else {
            self.first_above = None;
            return None;
        };
        self.bytes -= u64::from(next.packet.wire_len);
        let waited = now.saturating_since(next.entered);
        if waited < self.config.law.target || self.bytes <= self.config.law.keeps.bytes() {
            self.first_above = None;
            return Some((next, false));
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + self.config.law.interval);
                Some((next, false))
            }
            Some(first) => Some((next, now >= first)),
        }
    }

    /// Returns when the next drop follows, `interval / sqrt(n)` after the n-th drop of a cycle (section 3.3).
    fn control_law(&self, from: Instant) -> Instant {
        from + self
            .config
            .law
            .interval
            .mul_f64(1.0 / (self.count as f64).sqrt())
    }

    /// Begins a cycle. If the last one ended recently, the new one continues at almost its drop rate.
    fn begin(&mut self, now: Instant) {
        let delta = self.count - self.last_count;
        let recent = now.saturating_since(self.drop_next) < self.config.law.interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
        self.dropping = true;
    }

    /// Drops the head, or marks and sends it.
    fn signal(&mut self, mut head: Queued, after: After) -> Next {
        if self.config.ecn && head.packet.ecn.is_capable() {
            head.packet.ecn = Ecn::Ce;
            return Next::Send(head);
        }
        self.after = after;
        Next::Drop(head, DropReason::Head)
    }
}

impl Queue for Codel {
    fn enqueue(&mut self, _now: Instant, arriving: Queued, transmitting: Option<u32>) -> Admission {
        if self.waiting.len() >= self.config.limit.0 as usize && transmitting.is_some() {
            return Admission::Dropped(arriving, DropReason::QueueFull);
        }
        self.bytes += u64::from(arriving.packet.wire_len);
        self.waiting.push_back(arriving);
        Admission::Accepted
    }

    fn dequeue(&mut self, now: Instant) -> Next {
        let after = std::mem::replace(&mut self.after, After::Nothing);
        let Some((head, may_drop)) = self.take(now) else {
            self.dropping = false;
            return Next::Empty;
        };
        if after == After::First {
            return Next::Send(head);
        }
        if self.dropping {
            if !may_drop {
                self.dropping = false;
                return Next::Send(head);
            }
            if after == After::Another {
                self.drop_next = self.control_law(self.drop_next);
            }
            if now < self.drop_next {
                return Next::Send(head);
            }
            self.count += 1;
            let answer = self.signal(head, After::Another);
            if matches!(answer, Next::Send(_)) {
                self.drop_next = self.control_law(self.drop_next);
            }
            return answer;
        }
        if may_drop {
            self.begin(now);
            return self.signal(head, After::First);
        }
        Next::Send(head)
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: u32::try_from(self.waiting.len()).unwrap_or(u32::MAX),
            bytes: self.bytes,
        }
    }
}

#[cfg(test)]
mod tests;
