//! A radio: its queue, the frame in service, and its backoff.

use std::fmt;

use crate::queue::{DropTail, Queue};
use crate::{NodeId, Packet, Stream};

/// The settings of a radio.
#[derive(Debug)]
pub struct RadioSpec {
    pub(super) queue: Box<dyn Queue>,
    pub(super) draws: Stream,
}

impl RadioSpec {
    /// Creates a radio with an unlimited queue that draws its backoffs from `backoff`.
    pub fn new(backoff: Stream) -> Self {
        Self {
            queue: Box::new(DropTail::unlimited()),
            draws: backoff,
        }
    }

    /// Sets the queue discipline. The queue does not hold the frame in service.
    pub fn queue(self, queue: impl Queue + 'static) -> Self {
        self.boxed_queue(Box::new(queue))
    }

    /// Sets the queue discipline, as built by a model.
    pub fn boxed_queue(mut self, queue: Box<dyn Queue>) -> Self {
        self.queue = queue;
        self
    }
}

/// The statistics of a radio.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct RadioStats {
    /// Frames sent, retransmissions included.
    pub attempts: u64,
    /// Frames that collided.
    pub collisions: u64,
    /// Frames that did not collide, but were corrupted.
    pub garbled: u64,
    /// Packets dropped after the last allowed attempt.
    pub given_up: u64,
    /// Packets lost because their station had left its access point.
    pub lost_at_hand_off: u64,
}

/// The packet in service at a radio.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Serving {
    pub(crate) packet: Packet,
    /// The number of its hop.
    pub(crate) hop: usize,
}

/// The role of a radio.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// An access point, with a hop for each station.
    AccessPoint { hops: Vec<(NodeId, usize)> },
    /// A station, with its hop up and the radio of its current access point, if it has one.
    Station { hop: usize, at: Option<usize> },
}

/// The state of a radio.
pub(crate) struct Radio {
    pub(crate) node: NodeId,
    pub(crate) role: Role,
    /// The number of its medium; `None` for a station in a hand-off.
    pub(crate) medium: Option<usize>,
    pub(crate) queue: Box<dyn Queue>,
    /// The number of packets in the queue.
    pub(crate) waiting: u32,
    pub(crate) serving: Option<Serving>,
    /// The slot in which it may send, on the grid of its medium.
    pub(crate) turn: u64,
    window: u32,
    pub(crate) attempts: u32,
    /// Whether the queue refuses all packets.
    pub(crate) is_down: bool,
    draws: Stream,
    pub(crate) stats: RadioStats,
}

impl Radio {
    pub(crate) fn new(node: NodeId, role: Role, medium: usize, spec: RadioSpec) -> Self {
        Self {
            node,
            role,
            medium: Some(medium),
            queue: spec.queue,
            waiting: 0,
            serving: None,
            turn: 0,
            window: 0,
            attempts: 0,
            is_down: false,
            draws: spec.draws,
            stats: RadioStats::default(),
        }
    }

    /// Returns the number of the hop that `packet` takes from here.
    pub(crate) fn hop_of(&self, packet: &Packet) -> Option<usize> {
        match &self.role {
            Role::Station { hop, .. } => Some(*hop),
            Role::AccessPoint { hops } => hops
                .iter()
                .find(|(station, _)| *station == packet.destination)
                .map(|(_, hop)| *hop),
        }
    }

    /// Draws a backoff from the current window, which is at least `least`.
    pub(crate) fn draw(&mut self, least: u32) {
        self.window = self.window.max(least);
        self.turn = self.draws.below(u64::from(self.window) + 1);
    }

    /// Resets attempts and window after a frame is sent or dropped, and draws a new backoff.
    pub(crate) fn restart(&mut self, cw_min: u32) {
        self.attempts = 0;
        self.window = cw_min;
        self.draw(cw_min);
    }

    /// Doubles the window up to `cw_max` after a frame without acknowledgement, and draws a new backoff.
    pub(crate) fn back_off(&mut self, (cw_min, cw_max): (u32, u32)) {
        self.window = (2 * self.window.max(cw_min) + 1).min(cw_max);
        self.draw(cw_min);
    }
}

impl fmt::Debug for Radio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Radio")
            .field("node", &self.node)
            .field("medium", &self.medium)
            .field("waiting", &self.waiting)
            .field("serving", &self.serving)
            .field("turn", &self.turn)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}
