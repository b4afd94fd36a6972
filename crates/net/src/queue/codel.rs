//! Controlled Delay (RFC 8289): time in the queue decides, at its head.
//!
//! A queue that never fell below `target` during a whole `interval` stands: packets are dropped at its
//! head, the n-th of them `interval / sqrt(n)` after the one before, until the time in the queue is
//! below `target` again.

use std::collections::VecDeque;
use std::sync::Arc;

use fairwire_units::registry::Kind;
use fairwire_units::{Duration, Ecn, Instant, Packets, Size};

use super::discipline::{Admission, Backlog, Next, Queue, Queued};
use super::limit::QueueLimit;
use super::model::QueueModel;
use crate::{DropReason, LinkContext};

/// When `CoDel` drops. The default has RFC 8289's values (sections 4.2 and 4.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(default)
)]
pub struct CodelLaw {
    /// The time in the queue that is accepted as standing.
    #[cfg_attr(
        feature = "settings",
        schemars(extend(
            "exclusive_minimum_quantity" = "0 s",
            "advice" = "CoDel's target is above zero and less than its interval"
        ))
    )]
    pub target: Duration,
    /// How long it may be exceeded; the order of a round trip.
    pub interval: Duration,
    /// A queue with at most so much left in it drops nothing: one packet of the largest size.
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
    /// What does not fit together: the key and why.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        let message = "CoDel's target is above zero and less than its interval";
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
    /// Mark ECN-capable packets instead of dropping them?
    pub ecn: bool,
    /// Packets that may wait.
    #[cfg_attr(
        feature = "settings",
        schemars(extend(
            "minimum_quantity" = "1 packet",
            "maximum_quantity" = "10000000 packets",
            "advice" = "a queue holds one packet at least and ten million at most"
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

    fn problem(&self) -> Option<(&'static str, String)> {
        self.law.problem()
    }
}

/// What the registry holds.
pub(super) fn kind() -> Kind<dyn QueueModel> {
    let kind: Kind<dyn QueueModel> = Kind::new("codel", "Controlled Delay (RFC 8289).");
    #[cfg(feature = "settings")]
    let kind = kind.settings(|config: CodelConfig| Arc::new(config));
    kind.standard(|| Arc::new(CodelConfig::default()))
}

/// What the packet that is taken next has to do with the drop before it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum After {
    /// Nothing.
    Nothing,
    /// It follows the first drop of a cycle: it is sent whatever it says.
    First,
    /// It follows a later drop: it says whether there is another to come.
    Another,
}

/// The discipline.
#[derive(Debug)]
pub struct Codel {
    config: CodelConfig,
    waiting: VecDeque<Queued>,
    bytes: u64,
    /// `first_above_time`: from when on a time above the target has lasted an interval.
    first_above: Option<Instant>,
    /// `drop_next`.
    drop_next: Instant,
    /// Packets dropped or marked in this cycle.
    count: u64,
    /// `lastcount`: what `count` was when the cycle began.
    last_count: u64,
    dropping: bool,
    after: After,
}

impl Codel {
    /// An empty queue.
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

    /// Takes the head away, whatever the law says.
    pub(super) fn drop_head(&mut self) -> Option<Queued> {
        let head = self.waiting.pop_front()?;
        self.bytes -= u64::from(head.packet.wire_len);
        Some(head)
    }

    /// Section 5.6, `dodequeue`: takes the head, and says whether it may be dropped.
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

    /// Section 3.3: the n-th drop of a cycle is followed after `interval / sqrt(n)`.
    fn control_law(&self, from: Instant) -> Instant {
        from + self
            .config
            .law
            .interval
            .mul_f64(1.0 / (self.count as f64).sqrt())
    }

    /// A cycle begins. Where the last one ended shortly before, it goes on at nearly its rate.
    fn begin(&mut self, now: Instant) {
        let delta = self.count - self.last_count;
        let recent = now.saturating_since(self.drop_next) < self.config.law.interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
        self.dropping = true;
    }

    /// The head is dropped, or marked and sent.
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
