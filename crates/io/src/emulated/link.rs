//! Links: how two hosts are joined.

use std::sync::Arc;
use std::time::Duration;

use fairwire_net::{
    BernoulliConfig, BlackHole, DropTailConfig, LinkContext, LinkSpec, LossModel, NodeId, Outage,
    QueueLimit, QueueModel, Streams, Topology, VariationConfig,
};
use fairwire_units::{Instant, Percent, Rate, Size};
use fairwire_wire::udp::PORT;

use super::error::LinkError;
use super::host::Host;
use super::network::Network;
use super::wire::MTU;
use crate::endpoint::Endpoint;

/// The longest wait in a queue unless another is set: 200 ms, as in many access routers.
const QUEUE: Duration = Duration::from_millis(200);

/// The description of a link between two hosts. Everything applies to both directions, unless [`back`](Self::back) sets
/// the second one.
#[derive(Clone, Debug)]
#[must_use = "call `join` or `hosts`"]
pub struct Link {
    rate: Rate,
    delay: Duration,
    queue: Queue,
    loss: f64,
    loss_models: Vec<Arc<dyn LossModel>>,
    variation: Option<VariationConfig>,
    rates: Vec<(Duration, Rate)>,
    outages: Vec<(Duration, Duration)>,
    path_mtu: u32,
    back: Option<Box<Self>>,
    seed: u64,
}

/// The queue in front of a link.
#[derive(Clone, Debug)]
enum Queue {
    /// First in, first out: what the link transmits in this time.
    Time(Duration),
    Model(Arc<dyn QueueModel>),
}

impl Link {
    /// Creates a link with this rate, in bits of IP packets, and this delay in each direction.
    ///
    /// It loses nothing. Its queue holds what it transmits in 200 ms.
    pub fn new(rate: Rate, delay: Duration) -> Self {
        Self {
            rate,
            delay,
            queue: Queue::Time(QUEUE),
            loss: 0.0,
            loss_models: Vec::new(),
            variation: None,
            rates: Vec::new(),
            outages: Vec::new(),
            path_mtu: MTU,
            back: None,
            seed: 0,
        }
    }

    /// Sets the longest wait in the queue, at the link's first rate. A packet that would wait longer is dropped.
    ///
    /// The queue is first in, first out, and holds at least one packet.
    pub fn queue(mut self, longest: Duration) -> Self {
        self.queue = Queue::Time(longest);
        self
    }

    /// Sets the queue discipline: [`DropTailConfig`], [`RedConfig`](super::net::RedConfig),
    /// [`CodelConfig`](super::net::CodelConfig) or another.
    pub fn queue_model(mut self, model: impl QueueModel) -> Self {
        self.queue = Queue::Model(Arc::new(model));
        self
    }

    /// Sets the share of packets that are lost, each independently of the others: 0.01 is one in a hundred.
    pub fn loss(mut self, share: f64) -> Self {
        self.loss = share;
        self
    }

    /// Adds another model of losses, such as [`GilbertElliottConfig`](super::net::GilbertElliottConfig) for losses in
    /// bursts.
    pub fn loss_model(mut self, model: impl LossModel) -> Self {
        self.loss_models.push(Arc::new(model));
        self
    }

    /// Lets the delay vary from packet to packet.
    pub fn delay_variation(mut self, variation: VariationConfig) -> Self {
        self.variation = Some(variation);
        self
    }

    /// Changes the rate, `at` after the network is made. At rate zero packets wait, and leave at the next change.
    ///
    /// A hand-off to a slower network is one change; a hand-off that takes a while is a change to zero and another one
    /// to the new rate.
    pub fn rate_from(mut self, at: Duration, rate: Rate) -> Self {
        self.rates.push((at, rate));
        self
    }

    /// Loses every packet that is sent in an interval, which begins `at` after the network is made.
    pub fn outage(mut self, at: Duration, lasting: Duration) -> Self {
        self.outages.push((at, lasting));
        self
    }

    /// Loses every IP packet longer than this, without an ICMP error: a path MTU black hole. 1,500 bytes by default.
    pub fn path_mtu(mut self, bytes: u32) -> Self {
        self.path_mtu = bytes;
        self
    }

    /// Describes the direction from the second host to the first one by another link. Its seed has no effect.
    pub fn back(mut self, back: Self) -> Self {
        self.back = Some(Box::new(back));
        self
    }

    /// Sets the seed of everything random: losses, and the secrets of the endpoints. Zero by default.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Makes a network of this link and an endpoint at each end, at UDP port 6511, with default options.
    ///
    /// # Errors
    /// See [`LinkError`].
    pub fn join(&self) -> Result<(Endpoint, Endpoint), LinkError> {
        let (a, b) = self.hosts()?;
        Ok((a.bind(PORT)?, b.bind(PORT)?))
    }

    /// Makes a network of this link, and returns the hosts at its ends.
    ///
    /// # Errors
    /// See [`LinkError`].
    #[expect(clippy::missing_panics_doc, reason = "the topology has both nodes")]
    pub fn hosts(&self) -> Result<(Host, Host), LinkError> {
        let mut topology = Topology::new();
        let (a, b): (NodeId, NodeId) = (topology.node(), topology.node());
        topology.duplex(a, b, self.specs("link", Streams::new(self.seed))?);
        let network = Network::new(topology, self.seed)?;
        let host = |node| network.host(node).expect("the topology has this node");
        Ok((host(a), host(b)))
    }

    /// Returns the two directions as links of the simulator, for a [`Topology`] with more nodes.
    ///
    /// The names of their random streams begin with `name`.
    ///
    /// # Errors
    /// See [`LinkError`].
    pub fn specs(&self, name: &str, streams: Streams) -> Result<(LinkSpec, LinkSpec), LinkError> {
        let there = self.direction(&format!("{name}/there"), streams)?;
        let back = self.back.as_deref().unwrap_or(self);
        Ok((there, back.direction(&format!("{name}/back"), streams)?))
    }

    fn direction(&self, name: &str, streams: Streams) -> Result<LinkSpec, LinkError> {
        self.check()?;
        let link = LinkContext {
            name,
            rate: self.rate,
            framing: 0,
            streams,
        };
        let queue = match &self.queue {
            Queue::Model(model) => model.build(&link),
            Queue::Time(longest) => self.queue_of(*longest).build(&link),
        };
        let mut spec = LinkSpec::new(self.rate, self.delay.into()).boxed_queue(queue);
        for &(at, rate) in &self.rates {
            spec = spec.rate_from(moment(at), rate);
        }
        if let Some(variation) = &self.variation {
            spec = spec.variation(variation.build(&link));
        }
        for &(at, lasting) in &self.outages {
            spec = spec.loss(Outage::new(moment(at), moment(at.saturating_add(lasting))));
        }
        if self.path_mtu < MTU {
            spec = spec.loss(BlackHole::new(self.path_mtu));
        }
        let independent = BernoulliConfig {
            rate: Percent::of(self.loss),
        };
        if let Some(loss) = independent.build(&link) {
            spec = spec.boxed_loss(loss);
        }
        for (number, model) in (1..).zip(&self.loss_models) {
            // Each has its own random numbers.
            let name = &format!("{name}/{number}");
            if let Some(loss) = model.build(&LinkContext { name, ..link }) {
                spec = spec.boxed_loss(loss);
            }
        }
        Ok(spec)
    }

    /// Returns the queue in which a packet waits for at most `longest`.
    fn queue_of(&self, longest: Duration) -> DropTailConfig {
        let bytes = self.rate.bytes_per_s() * longest.as_secs_f64();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float-to-integer cast saturates"
        )]
        let bytes = (bytes as u64).max(MTU.into());
        DropTailConfig {
            limit: QueueLimit::Bytes(Size::new(bytes)),
            ..DropTailConfig::default()
        }
    }

    fn check(&self) -> Result<(), LinkError> {
        let later = self.rates.iter().map(|(_, rate)| *rate).max();
        if self.rate.max(later.unwrap_or_default()) == Rate::ZERO {
            return Err(LinkError::NoRate);
        }
        if !(0.0..=1.0).contains(&self.loss) {
            return Err(LinkError::Loss { share: self.loss });
        }
        if !(576..=MTU).contains(&self.path_mtu) {
            let bytes = self.path_mtu;
            return Err(LinkError::PathMtu { bytes });
        }
        let queue = match &self.queue {
            Queue::Model(model) => model.problem(),
            Queue::Time(_) => None,
        };
        let losses = self.loss_models.iter().find_map(|model| model.problem());
        match queue.or(losses) {
            Some((setting, problem)) => Err(LinkError::Setting { setting, problem }),
            None => Ok(()),
        }
    }
}

/// Returns the time of the network that is `after` its start.
fn moment(after: Duration) -> Instant {
    Instant::START + after.into()
}
