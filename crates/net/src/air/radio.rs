//! A sender on the air: its queue, the frame it is at, and its backoff.

use std::fmt;

use crate::queue::{DropTail, Queue};
use crate::{NodeId, Packet, Stream};

/// How a radio is made.
#[derive(Debug)]
pub struct RadioSpec {
    pub(super) queue: Box<dyn Queue>,
    pub(super) draws: Stream,
}

impl RadioSpec {
    /// A radio that draws its backoffs from `backoff`; everyone may wait for it.
    pub fn new(backoff: Stream) -> Self {
        Self {
            queue: Box::new(DropTail::unlimited()),
            draws: backoff,
        }
    }

    /// The discipline of its queue, the frame it is at not counted.
    pub fn queue(self, queue: impl Queue + 'static) -> Self {
        self.boxed_queue(Box::new(queue))
    }

    /// The discipline of its queue, as a model builds it.
    pub fn boxed_queue(mut self, queue: Box<dyn Queue>) -> Self {
        self.queue = queue;
        self
    }
}

/// What a radio did so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct RadioStats {
    /// Frames sent, repetitions included.
    pub attempts: u64,
    /// Of these, those that collided.
    pub collisions: u64,
    /// Of these, those that came alone and were garbled.
    pub garbled: u64,
    /// Packets given up after as many attempts as there may be.
    pub given_up: u64,
    /// Packets that the station they were for did not get because it had left.
    pub stranded: u64,
}

/// The packet that a radio is at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Serving {
    pub(crate) packet: Packet,
    /// The number of its hop.
    pub(crate) hop: usize,
}

/// Which part a radio plays.
#[derive(Clone, Debug)]
pub(crate) enum Role {
    /// An access point with its hops, by the stations at their ends.
    AccessPoint { hops: Vec<(NodeId, usize)> },
    /// A station with its hop up and the radio of the access point it belongs to, if it does now.
    Station { hop: usize, at: Option<usize> },
}

/// A radio at work.
pub(crate) struct Radio {
    pub(crate) node: NodeId,
    pub(crate) role: Role,
    /// The number of the medium it is on; a station that changes over is on none.
    pub(crate) medium: Option<usize>,
    pub(crate) queue: Box<dyn Queue>,
    /// How many packets the queue holds.
    pub(crate) waiting: u32,
    pub(crate) serving: Option<Serving>,
    /// The slot in which it may send, counted on its medium's grid.
    pub(crate) turn: u64,
    window: u32,
    pub(crate) attempts: u32,
    /// Nothing is taken into the queue.
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

    /// The number of the hop that `packet` takes from here.
    pub(crate) fn hop_of(&self, packet: &Packet) -> Option<usize> {
        match &self.role {
            Role::Station { hop, .. } => Some(*hop),
            Role::AccessPoint { hops } => hops
                .iter()
                .find(|(station, _)| *station == packet.destination)
                .map(|(_, hop)| *hop),
        }
    }

    /// Draws a backoff from the window as it is, which is never less than `least`.
    pub(crate) fn draw(&mut self, least: u32) {
        self.window = self.window.max(least);
        self.turn = self.draws.below(u64::from(self.window) + 1);
    }

    /// The frame is done with, one way or the other: from the first window again.
    pub(crate) fn restart(&mut self, cw_min: u32) {
        self.attempts = 0;
        self.window = cw_min;
        self.draw(cw_min);
    }

    /// The frame was not acknowledged: twice the window, up to `cw_max`.
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
