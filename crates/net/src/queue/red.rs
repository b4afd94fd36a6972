//! Random Early Detection (Floyd and Jacobson, 1993).
//!
//! An average of the queue length decides, not the length itself. Below one threshold nothing happens. Between two
//! thresholds arriving packets are marked or dropped with a probability that grows with the average. Above the second
//! threshold all are dropped. Names are the paper's.

use std::collections::VecDeque;
#[cfg(feature = "settings")]
use std::sync::Arc;

use fairwire_units::registry::Kind;
use fairwire_units::{Duration, Ecn, Instant, Packets, Rate, Size};

use super::discipline::{Admission, Backlog, Next, Queue, Queued};
use super::limit::QueueLimit;
use super::model::QueueModel;
use crate::{DropReason, LinkContext, Stream};

/// The settings of [`Red`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(deny_unknown_fields)
)]
pub struct RedConfig {
    /// `min_th`: while the average is below this, no packet is marked or dropped.
    #[cfg_attr(
        feature = "settings",
        schemars(extend(
            "minimum_quantity" = "1 packet",
            "advice" = "RED's thresholds must be at least 1 packet"
        ))
    )]
    pub min: Packets,
    /// `max_th`: from this average on, every packet is dropped, unless `gentle`.
    pub max: Packets,
    /// `max_p`: the probability of a mark or drop when the average reaches `max`.
    #[cfg_attr(
        feature = "settings",
        serde(default = "max_p", with = "fairwire_units::settings::fraction"),
        schemars(
            with = "fairwire_units::Percent",
            extend(
                "exclusive_minimum_quantity" = "0 %",
                "advice" = "max_p must be above \"0 %\""
            )
        )
    )]
    pub max_p: f64,
    /// `w_q`: the weight of the newest sample in the average.
    #[cfg_attr(
        feature = "settings",
        serde(default = "weight"),
        schemars(
            range(max = 1),
            extend(
                "exclusiveMinimum" = 0.0,
                "advice" = "weight must be above 0 and at most 1, for example 0.002"
            )
        )
    )]
    pub weight: f64,
    /// Whether the probability grows from `max_p` to 1 while the average goes from `max` to twice `max` (Floyd, 2000).
    #[cfg_attr(feature = "settings", serde(default = "gentle"))]
    pub gentle: bool,
    /// Whether ECN-capable packets are marked instead of dropped, as long as the probability is below 1 (RFC 3168,
    /// section 7).
    #[cfg_attr(feature = "settings", serde(default))]
    pub ecn: bool,
    /// The most packets that wait.
    #[cfg_attr(
        feature = "settings",
        serde(default = "limit"),
        schemars(extend(
            "minimum_quantity" = "1 packet",
            "maximum_quantity" = "10000000 packets",
            "advice" = "a queue must hold 1 to 10000000 packets"
        ))
    )]
    pub limit: Packets,
    /// The typical size of an IP packet. It gives the number of packets that could have left while the link was idle.
    #[cfg_attr(
        feature = "settings",
        serde(default = "typical"),
        schemars(extend(
            "minimum_quantity" = "1 B",
            "advice" = "a typical packet has at least one byte"
        ))
    )]
    pub mean_packet: Size,
}

fn max_p() -> f64 {
    0.1
}

fn weight() -> f64 {
    0.002
}

fn gentle() -> bool {
    true
}

fn limit() -> Packets {
    Packets(1_000)
}

fn typical() -> Size {
    Size::new(1_000)
}

impl RedConfig {
    /// Creates settings with these thresholds and defaults for the rest.
    pub fn new(min: Packets, max: Packets) -> Self {
        Self {
            min,
            max,
            max_p: max_p(),
            weight: weight(),
            gentle: gentle(),
            ecn: false,
            limit: limit(),
            mean_packet: typical(),
        }
    }
}

impl QueueModel for RedConfig {
    fn build(&self, link: &LinkContext<'_>) -> Box<dyn Queue> {
        let framed = Size::new(self.mean_packet.bytes() + u64::from(link.framing));
        let config = Self {
            mean_packet: framed,
            ..*self
        };
        Box::new(Red::new(config, link.rate, link.stream("red")))
    }

    fn limit(&self) -> QueueLimit {
        QueueLimit::Packets(self.limit.0)
    }

    fn marks(&self) -> bool {
        self.ecn
    }

    fn is_random(&self) -> bool {
        true
    }

    fn problem(&self) -> Option<(&'static str, String)> {
        let ordered = self.min < self.max;
        let message = "RED's threshold 'min' must be less than 'max'";
        (!ordered).then(|| ("min", message.to_owned()))
    }
}

/// Returns the entry of the registry.
pub(super) fn kind() -> Kind<dyn QueueModel> {
    let kind: Kind<dyn QueueModel> =
        Kind::new("red", "Random Early Detection (Floyd and Jacobson, 1993).");
    #[cfg(feature = "settings")]
    let kind = kind.settings(|config: RedConfig| Arc::new(config));
    kind
}

/// The state of a RED queue. The queue is what waits, not counting the packet in transmission.
#[derive(Debug)]
pub struct Red {
    config: RedConfig,
    rate: Rate,
    stream: Stream,
    /// `avg`: the average queue length in packets.
    average: f64,
    /// `count`: packets since the last mark or drop; -1 while the average is below `min_th`.
    count: i64,
    /// `q_time`: since when the link has been idle.
    idle_since: Instant,
    waiting: VecDeque<Queued>,
    bytes: u64,
}

/// What the average decides about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Signal {
    None,
    /// Signal with this probability, before the correction for `count`: `p_b`.
    Perhaps(f64),
    Certain,
}

impl Red {
    /// Creates an empty queue for a link with this `rate`; its decisions draw from `stream`.
    pub fn new(config: RedConfig, rate: Rate, stream: Stream) -> Self {
        Self {
            config,
            rate,
            stream,
            average: 0.0,
            count: -1,
            idle_since: Instant::START,
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Returns the average queue length in packets.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// Updates the average, a low-pass filter (section 4).
    ///
    /// An idle link counts as empty samples, one for each typical packet that it could have sent.
    fn average_in(&mut self, now: Instant, transmitting: bool) {
        let weight = self.config.weight;
        if self.waiting.is_empty() && !transmitting {
            let packet = self.rate.time_for(self.config.mean_packet);
            let idle = now.saturating_since(self.idle_since);
            let samples = idle.as_secs_f64() / packet.max(Duration::from_nanos(1)).as_secs_f64();
            self.average *= libm::pow(1.0 - weight, samples);
        } else {
            self.average += weight * (self.waiting.len() as f64 - self.average);
        }
    }

    fn signal(&self) -> Signal {
        let RedConfig { max_p, gentle, .. } = self.config;
        let [min_th, max_th] = [self.config.min, self.config.max].map(|it| f64::from(it.0));
        let average = self.average;
        if average < min_th {
            Signal::None
        } else if average < max_th {
            Signal::Perhaps(max_p * (average - min_th) / (max_th - min_th))
        } else if gentle && average < 2.0 * max_th {
            Signal::Perhaps(max_p + (1.0 - max_p) * (average - max_th) / max_th)
        } else {
            Signal::Certain
        }
    }

    /// Returns whether this packet is marked or dropped. The gaps between signals are uniform (section 7, second
    /// method).
    fn chosen(&mut self, signal: Signal) -> bool {
        let chosen = match signal {
            Signal::None => {
                self.count = -1;
                return false;
            }
            Signal::Perhaps(p_b) => {
                self.count += 1;
                let room = 1.0 - self.count as f64 * p_b;
                let p_a = if room > p_b { p_b / room } else { 1.0 };
                self.stream.bool(p_a)
            }
            Signal::Certain => true,
        };
        if chosen {
            self.count = 0;
        }
        chosen
    }
}

impl Queue for Red {
    fn enqueue(&mut self, now: Instant, arriving: Queued, transmitting: Option<u32>) -> Admission {
        let mut arriving = arriving;
        self.average_in(now, transmitting.is_some());
        let signal = self.signal();
        if self.chosen(signal) {
            let marks = self.config.ecn && signal != Signal::Certain;
            if !(marks && arriving.packet.ecn.is_capable()) {
                return Admission::Dropped(arriving, DropReason::Early);
            }
            arriving.packet.ecn = Ecn::Ce;
        }
        if self.waiting.len() >= self.config.limit.0 as usize && transmitting.is_some() {
            self.count = 0;
            return Admission::Dropped(arriving, DropReason::QueueFull);
        }
        self.bytes += u64::from(arriving.packet.wire_len);
        self.waiting.push_back(arriving);
        Admission::Accepted
    }

    fn dequeue(&mut self, now: Instant) -> Next {
        let Some(next) = self.waiting.pop_front() else {
            return Next::Empty;
        };
        self.bytes -= u64::from(next.packet.wire_len);
        if self.waiting.is_empty() {
            let size = Size::new(u64::from(next.packet.wire_len));
            self.idle_since = now + self.rate.time_for(size);
        }
        Next::Send(next)
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
