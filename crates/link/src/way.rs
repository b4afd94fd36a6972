//! One direction of a link: its settings, and the simulator's link that they make.

use std::sync::Arc;
use std::time::Duration;

use fairwire_net::{
    BernoulliConfig, BlackHole, CodelConfig, DelayVariation, Distribution, DropTailConfig,
    FqCodelConfig, GilbertElliottConfig, LinkContext, LinkSpec, Loss, LossModel, Packet,
    QueueLimit, QueueModel, Streams, Trace, Verdict,
};
use fairwire_units::{Instant, Packets, Percent, Rate, Size};

/// A link without a rate has this one: a packet of 1,500 bytes takes 12 ns.
const NO_RATE: u64 = 1_000_000_000_000;

/// What one direction of a link does.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    pub(crate) rate: Option<Rate>,
    pub(crate) trace: Option<Arc<Trace>>,
    pub(crate) overhead: u32,
    pub(crate) delay: Duration,
    pub(crate) jitter: Option<Jitter>,
    pub(crate) losses: Losses,
    /// The share of packets that are sent twice.
    pub(crate) duplicate: f64,
    /// The share of packets that are damaged, so that their receiver drops them.
    pub(crate) corrupt: f64,
    pub(crate) reorder: f64,
    pub(crate) gap: u32,
    pub(crate) ecn: bool,
    pub(crate) limit: QueueLimit,
    /// Instead of `limit`: what leaves in this time at the rate.
    pub(crate) longest_wait: Option<Duration>,
    pub(crate) discipline: Discipline,
    pub(crate) mtu: Option<u32>,
    pub(crate) is_down: bool,
}

impl Default for Way {
    fn default() -> Self {
        Self {
            rate: None,
            trace: None,
            overhead: 0,
            delay: Duration::ZERO,
            jitter: None,
            losses: Losses::None,
            duplicate: 0.0,
            corrupt: 0.0,
            reorder: 0.0,
            gap: 1,
            ecn: false,
            // As netem has it.
            limit: QueueLimit::Packets(1_000),
            longest_wait: None,
            discipline: Discipline::DropTail,
            mtu: None,
            is_down: false,
        }
    }
}

/// How the delay varies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Jitter {
    /// Of a uniform distribution half of its width, of the others the standard deviation.
    pub(crate) spread: Duration,
    pub(crate) shape: Shape,
}

/// The distribution of the delay.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shape {
    Uniform,
    Normal,
    Pareto,
}

/// Which packets are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Losses {
    None,
    Random(f64),
    Bursts {
        good_to_bad: f64,
        bad_to_good: f64,
        loss_bad: f64,
        loss_good: f64,
    },
}

/// The queue in front of the rate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Discipline {
    DropTail,
    Codel,
    FqCodel,
}

/// Signals congestion in place of a loss.
#[derive(Debug)]
struct Marks(Box<dyn Loss>);

impl Loss for Marks {
    fn verdict(&mut self, now: Instant, packet: &Packet) -> Verdict {
        match self.0.verdict(now, packet) {
            Verdict::Drop => Verdict::Mark,
            other => other,
        }
    }
}

impl Way {
    /// Returns what does not go together.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.gap > 1 && self.reorder == 0.0 {
            return Err("gap: it says how far apart the packets of 'reorder 25%' are".to_owned());
        }
        if self.reorder > 0.0 && self.delay.is_zero() {
            return Err(
                "reorder: only where there is a delay can a packet overtake those that wait: add 'delay 10ms'"
                    .to_owned(),
            );
        }
        if self.longest_wait.is_some() && self.rate.is_none() {
            return Err(
                "queue: a time needs a rate, at which it is counted; else write a size".to_owned(),
            );
        }
        if self.mtu.is_some_and(|mtu| mtu < 68) {
            return Err("mtu: IPv4 has at least 68 bytes (RFC 791)".to_owned());
        }
        Ok(())
    }

    /// Returns whether both have the same queue.
    pub(crate) fn has_queue_of(&self, other: &Self) -> bool {
        let is_timed = self.longest_wait.is_some();
        (self.limit, self.longest_wait, self.discipline)
            == (other.limit, other.longest_wait, other.discipline)
            && !(is_timed && self.rate != other.rate)
    }

    /// Makes the link of the simulator. The names of its random streams begin with `name`.
    pub(crate) fn link(&self, name: &str, streams: Streams) -> LinkSpec {
        let rate = self.rate.unwrap_or(Rate::from_bits_per_s(NO_RATE));
        let context = LinkContext {
            name,
            rate,
            framing: self.overhead,
            streams,
        };
        let mut spec = LinkSpec::new(rate, self.delay.into())
            .framing(self.overhead)
            .boxed_queue(self.queue_of(rate).build(&context));
        if let Some(trace) = &self.trace {
            spec = spec.trace(Arc::clone(trace));
        }
        if let Some(variation) = self.variation(&context) {
            spec = spec.variation(variation);
        }
        if let Some(mtu) = self.mtu {
            spec = spec.loss(BlackHole::new(mtu));
        }
        match self.loss(&context) {
            Some(loss) if self.ecn => spec.loss(Marks(loss)),
            Some(loss) => spec.boxed_loss(loss),
            None => spec,
        }
    }

    fn variation(&self, link: &LinkContext<'_>) -> Option<DelayVariation> {
        if self.jitter.is_none() && self.reorder == 0.0 {
            return None;
        }
        let (shape, spread) = self
            .jitter
            .map_or((Shape::Uniform, Duration::ZERO), |jitter| {
                (jitter.shape, jitter.spread)
            });
        let (distribution, deviation) = match shape {
            // Half of the width is sqrt(3) deviations.
            Shape::Uniform => (Distribution::Uniform, spread.div_f64(f64::sqrt(3.0))),
            Shape::Normal => (Distribution::Normal, spread),
            Shape::Pareto => (Distribution::Pareto, spread),
        };
        // As with netem, packets that draw a shorter delay overtake.
        let variation =
            DelayVariation::new(distribution, deviation.into(), link.stream("delay")).reordering();
        Some(if self.reorder > 0.0 {
            variation.overtaking(self.reorder, self.gap)
        } else {
            variation
        })
    }

    fn loss(&self, link: &LinkContext<'_>) -> Option<Box<dyn Loss>> {
        match self.losses {
            Losses::None => None,
            Losses::Random(share) => BernoulliConfig {
                rate: Percent::of(share),
            }
            .build(link),
            Losses::Bursts {
                good_to_bad,
                bad_to_good,
                loss_bad,
                loss_good,
            } => GilbertElliottConfig {
                good_to_bad,
                bad_to_good,
                loss_good,
                loss_bad,
            }
            .build(link),
        }
    }

    fn queue_of(&self, rate: Rate) -> Box<dyn QueueModel> {
        let limit = match self.longest_wait {
            Some(longest) => {
                let bytes = rate.bytes_per_s() * longest.as_secs_f64();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a float-to-integer cast saturates"
                )]
                let bytes = bytes as u64;
                // One packet fits in any case.
                QueueLimit::Bytes(Size::new(bytes.max(1_500)))
            }
            None => self.limit,
        };
        let packets = match limit {
            QueueLimit::Packets(packets) => Packets(packets),
            QueueLimit::Bytes(size) => {
                Packets(u32::try_from(size.bytes().div_ceil(1_500)).unwrap_or(u32::MAX))
            }
        };
        match self.discipline {
            Discipline::DropTail => Box::new(DropTailConfig {
                limit,
                ..DropTailConfig::default()
            }),
            Discipline::Codel => Box::new(CodelConfig {
                limit: packets,
                ..CodelConfig::default()
            }),
            Discipline::FqCodel => Box::new(FqCodelConfig {
                limit: packets,
                ..FqCodelConfig::default()
            }),
        }
    }
}
