//! The application at one end of one connection: what it still has to send, and how it reads.

use std::collections::VecDeque;

use fairwire_proto::SendOptions;
use fairwire_units::{Duration, Instant};
use fairwire_wire::Seq;

use crate::plan::script::{Side, With};

/// The state of an application at one end of a connection.
#[derive(Debug)]
pub(super) struct Live {
    /// The number by which the script refers to the connection.
    pub(super) connection: u16,
    pub(super) side: Side,
    pub(super) is_closed: bool,
    pub(super) streams: Vec<Stream>,
    /// Bursts that did not fit into the queue yet.
    pub(super) bursts: VecDeque<Burst>,
    pub(super) reading: Reading,
    /// The options with which it sends, and how many datagrams it has offered with them.
    pub(super) with: Option<(With, u64)>,
    /// The packet of the datagram that was read last.
    pub(super) last_read: Option<Seq>,
}

/// Datagrams at a constant rate. Those that do not fit are not offered again.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) next: Instant,
    pub(super) every: Duration,
    pub(super) size: usize,
    pub(super) left: u32,
}

/// Datagrams at once. Those that do not fit wait for room.
#[derive(Debug)]
pub(super) struct Burst {
    pub(super) size: usize,
    pub(super) left: u32,
    pub(super) oversize: bool,
}

/// How the application reads.
#[derive(Debug)]
pub(super) enum Reading {
    AtOnce,
    Never,
    Every { next: Instant, every: Duration },
}

impl Live {
    pub(super) fn new(connection: u16, side: Side) -> Self {
        Self {
            connection,
            side,
            is_closed: false,
            streams: Vec::new(),
            bursts: VecDeque::new(),
            reading: Reading::AtOnce,
            with: None,
            last_read: None,
        }
    }

    /// Returns when the application acts next on its own.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let streams = self.streams.iter().map(|stream| stream.next);
        let read = match self.reading {
            Reading::Every { next, .. } => Some(next),
            Reading::AtOnce | Reading::Never => None,
        };
        streams.chain(read).min()
    }

    /// Stops sending, because the connection is over or the peer no longer reads.
    pub(super) fn stop_sending(&mut self) {
        self.streams.clear();
        self.bursts.clear();
    }

    /// Returns the options of the next datagram, if the host's clock shows `local`.
    pub(super) fn options(&mut self, local: Instant) -> SendOptions {
        let Some((with, number)) = &mut self.with else {
            return SendOptions::default();
        };
        *number += 1;
        with.options(local, *number)
    }

    /// Returns the size of a datagram that a stream offers now, if there is one.
    pub(super) fn due(&mut self, now: Instant) -> Option<usize> {
        let stream = self.streams.iter_mut().find(|stream| stream.next <= now)?;
        stream.next += stream.every;
        stream.left -= 1;
        let size = stream.size;
        self.streams.retain(|stream| stream.left > 0);
        Some(size)
    }

    /// Returns whether a slow reader reads a datagram now.
    pub(super) fn reads(&mut self, at: Instant) -> bool {
        match &mut self.reading {
            Reading::Every { next, every } if *next <= at => {
                *next = at + *every;
                true
            }
            _ => false,
        }
    }
}
