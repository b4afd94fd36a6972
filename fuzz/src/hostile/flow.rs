//! One flow as the peer knows it: what it has sent and received.

use fairwire_proto::Path;
use fairwire_wire::{DccpOption, Packet, Seq};

/// The number of the endpoint's sequence numbers that the peer remembers.
const NUMBERS: usize = 512;

/// A Change of the endpoint that awaits its Confirm.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// Whether the feature is located at the endpoint.
    pub(super) left: bool,
    pub(super) feature: u8,
    pub(super) value: Vec<u8>,
}

/// The peer's state of one flow.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// The path as the endpoint sees it.
    pub(super) path: Path,
    /// The peer's port.
    pub(super) local_port: u16,
    /// The endpoint's port.
    pub(super) remote_port: u16,
    /// Whether the endpoint connects.
    pub(super) is_ours: bool,
    /// The first number sent, and the greatest that is likely to be valid.
    pub(super) first: Seq,
    pub(super) last: Seq,
    /// The endpoint's first number, and its greatest.
    pub(super) heard_first: Seq,
    pub(super) heard: Seq,
    /// The endpoint's numbers, oldest first.
    pub(super) numbers: Vec<Seq>,
    pub(super) asks: Vec<Ask>,
    pub(super) timestamp: u32,
    pub(super) cookie: Vec<u8>,
    /// Whether its latest numbers were short.
    pub(super) is_short: bool,
}

impl Flow {
    pub(super) fn new(path: Path, local_port: u16, remote_port: u16, is_ours: bool) -> Self {
        Self {
            path,
            local_port,
            remote_port,
            is_ours,
            first: Seq::ZERO,
            last: Seq::ZERO,
            heard_first: Seq::ZERO,
            heard: Seq::ZERO,
            numbers: Vec::new(),
            asks: Vec::new(),
            timestamp: 0,
            cookie: Vec::new(),
            is_short: false,
        }
    }

    /// Starts a new connection of the peer with this first number.
    pub(super) fn restart(&mut self, first: Seq) {
        let new = Self::new(self.path, self.local_port, self.remote_port, self.is_ours);
        *self = Self {
            first,
            last: first.prev(),
            ..new
        };
    }

    /// Sets the peer's first number; what it has received stays.
    pub(super) fn restart_peer(&mut self, first: Seq) {
        self.first = first;
        self.last = first.prev();
    }

    /// Records that the peer sends this number.
    pub(super) fn note_sent(&mut self, seq: Seq) {
        if seq.is_after(self.last) && self.last.distance(seq) < 1 << 18 {
            self.last = seq;
        }
    }

    /// Processes a packet that the endpoint has sent.
    pub(super) fn hear(&mut self, packet: &Packet<'_>) {
        let seq = packet.seq.extend(self.heard);
        self.is_short = packet.is_short();
        if self.numbers.is_empty() {
            self.heard_first = seq;
            self.heard = seq;
        }
        self.heard = Seq::max(self.heard, seq);
        if self.numbers.len() >= NUMBERS {
            self.numbers.drain(..NUMBERS / 2);
        }
        self.numbers.push(seq);
        let mut asks = Vec::new();
        for raw in packet.options {
            match raw.decode() {
                Ok(DccpOption::ChangeL { feature, value }) => asks.push(Ask {
                    left: true,
                    feature,
                    value: value.to_vec(),
                }),
                Ok(DccpOption::ChangeR { feature, value }) => asks.push(Ask {
                    left: false,
                    feature,
                    value: value.to_vec(),
                }),
                Ok(DccpOption::Timestamp(word)) => self.timestamp = word,
                Ok(DccpOption::InitCookie(cookie)) => self.cookie = cookie.to_vec(),
                _ => {}
            }
        }
        if !asks.is_empty() {
            self.asks = asks;
        }
    }
}
