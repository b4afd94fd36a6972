//! The application at one end of one connection: what it still has to send and how it reads.

use std::collections::VecDeque;

use fairwire_units::{Duration, Instant};
use fairwire_wire::Seq;

use crate::plan::script::Side;

/// An end of a connection that its application holds.
#[derive(Debug)]
pub(super) struct Live {
    /// What the script calls it.
    pub(super) connection: u16,
    pub(super) side: Side,
    pub(super) is_closed: bool,
    pub(super) streams: Vec<Stream>,
    /// What did not fit yet.
    pub(super) bursts: VecDeque<Burst>,
    pub(super) reading: Reading,
    /// The packet of the datagram read last.
    pub(super) last_read: Option<Seq>,
}

/// Datagrams at a constant rate; those that do not fit are not offered again.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) next: Instant,
    pub(super) every: Duration,
    pub(super) size: usize,
    pub(super) left: u32,
}

/// Datagrams at once; those that do not fit wait for room.
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
            last_read: None,
        }
    }

    /// When the application does something next of its own accord.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let streams = self.streams.iter().map(|stream| stream.next);
        let read = match self.reading {
            Reading::Every { next, .. } => Some(next),
            Reading::AtOnce | Reading::Never => None,
        };
        streams.chain(read).min()
    }

    /// The connection is over, or sending on it is.
    pub(super) fn stop_sending(&mut self) {
        self.streams.clear();
        self.bursts.clear();
    }

    /// The size of a datagram that a stream offers now, if one does.
    pub(super) fn due(&mut self, now: Instant) -> Option<usize> {
        let stream = self.streams.iter_mut().find(|stream| stream.next <= now)?;
        stream.next += stream.every;
        stream.left -= 1;
        let size = stream.size;
        self.streams.retain(|stream| stream.left > 0);
        Some(size)
    }

    /// Does the application read a datagram now, in its own time?
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
