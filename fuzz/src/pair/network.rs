//! Packets in flight, and everything that a network can do to them.

use std::collections::VecDeque;

use arbitrary::Unstructured;
use fairwire_kit::reseal_bytes;
use fairwire_proto::{Encapsulation, IcmpError, IcmpQuote, Meta, Unreachable};
use fairwire_units::{Duration, Ecn, Instant};

use super::World;
use crate::setup::{byte, pick};
use crate::trace;
use crate::watched::Sent;

/// The delay of a packet without impairment.
const DELAY: Duration = Duration::from_millis(20);

/// The offset of `CCVal` and `CsCov` in a header.
const CSCOV: usize = 5;

/// The most packets in flight; further ones are lost.
const FLYING: usize = 512;

/// The number of past packets remembered, which may be sent again.
const REMEMBERED: usize = 256;

#[derive(Clone, Debug)]
struct Flying {
    from: usize,
    arrives: Instant,
    sent: Sent,
    is_changed: bool,
}

/// The network.
#[derive(Debug, Default)]
pub(super) struct Network {
    flying: VecDeque<Flying>,
    past: VecDeque<Flying>,
}

impl Network {
    pub(super) fn launch(&mut self, now: Instant, from: usize, sent: Sent) {
        let flying = Flying {
            from,
            arrives: now + DELAY,
            sent,
            is_changed: false,
        };
        if self.past.len() >= REMEMBERED {
            self.past.pop_front();
        }
        self.past.push_back(flying.clone());
        if self.flying.len() < FLYING {
            self.flying.push_back(flying);
        }
    }

    fn at(&self, which: usize) -> Option<usize> {
        which.checked_rem(self.flying.len())
    }

    /// Returns when the first packet in the queue arrives.
    pub(super) fn next_arrival(&self) -> Option<Instant> {
        self.flying.front().map(|flying| flying.arrives)
    }

    pub(super) fn drop(&mut self, which: usize) {
        if let Some(at) = self.at(which) {
            self.flying.remove(at);
        }
    }

    pub(super) fn drop_all(&mut self) {
        self.flying.clear();
    }

    /// Duplicates a packet in flight.
    pub(super) fn copy(&mut self, which: usize) {
        if let Some(at) = self.at(which).filter(|_| self.flying.len() < FLYING) {
            self.flying.push_back(self.flying[at].clone());
        }
    }

    /// Sends a past packet again, first or last in the queue.
    pub(super) fn replay(&mut self, back: u8, how: u8) {
        let back = usize::from(back) % self.past.len().max(1);
        let Some(old) = self.past.iter().nth_back(back).cloned() else {
            return;
        };
        if self.flying.len() < FLYING {
            match how & 1 {
                0 => self.flying.push_front(old),
                _ => self.flying.push_back(old),
            }
        }
    }

    /// Marks a packet, as a router does, if it is ECN-capable.
    pub(super) fn mark(&mut self, which: usize) {
        if let Some(at) = self.at(which)
            && self.flying[at].sent.ecn.is_capable()
        {
            self.flying[at].sent.ecn = Ecn::Ce;
        }
    }
}

impl World {
    /// Delivers the packet at this place now.
    pub(super) fn arrive(&mut self, which: usize) {
        let Some(flying) = self
            .network
            .at(which)
            .and_then(|at| self.network.flying.remove(at))
        else {
            return;
        };
        let to = 1 - flying.from;
        let meta = Meta {
            path: self.paths[to],
            ecn: flying.sent.ecn,
        };
        let sent = &flying.sent;
        let (head, payload) = sent.bytes.split_at(sent.head_len.min(sent.bytes.len()));
        let now = self.now;
        trace::line(format_args!("{now} at {to}:"));
        self.ends[to].call(now, |end| end.handle_datagram(now, meta, head, payload));
        self.collect(to);
    }

    /// Cuts a packet or changes one bit of it, with or without a new checksum.
    pub(super) fn change(&mut self, which: usize, u: &mut Unstructured<'_>) {
        let (place, how) = (byte(u), byte(u));
        let Some(at) = self.network.at(which) else {
            return;
        };
        let in_udp = self.setups[0].encapsulation == Encapsulation::Udp;
        let flying = &mut self.network.flying[at];
        let sent = &mut flying.sent;
        let at = usize::from(place) + usize::from(how >> 6) * 256;
        let at = at % sent.bytes.len().max(1);
        // The Internet checksum detects each change of a single bit that it covers. In UDP, where our checksum is not
        // used, a change stands for one that the UDP checksum missed.
        let covers_all = sent
            .bytes
            .get(CSCOV)
            .is_some_and(|by| by.trailing_zeros() >= 4)
            && at != CSCOV;
        let is_seen = how & 0x18 == 0x10 && covers_all && !in_udp && !flying.is_changed;
        self.harm.forged += usize::from(!is_seen);
        flying.is_changed = true;
        match how & 8 {
            0 => {
                if let Some(byte) = sent.bytes.get_mut(at) {
                    *byte ^= 1 << (how & 7);
                }
            }
            _ => sent.bytes.truncate(at),
        }
        if how & 16 == 0 {
            let path = sent.path;
            reseal_bytes(&mut sent.bytes, &path);
        }
    }

    /// Delivers an ICMP error about a packet in flight, which stays in flight.
    pub(super) fn icmp(&mut self, which: usize, u: &mut Unstructured<'_>) {
        let (how, len) = (byte(u), byte(u));
        let Some(flying) = self.network.at(which).map(|at| &self.network.flying[at]) else {
            return;
        };
        let whys = [
            Unreachable::Network,
            Unreachable::Host,
            Unreachable::Port,
            Unreachable::Prohibited,
        ];
        let error = match how & 1 {
            0 => IcmpError::TooBig {
                mtu: pick(&[1_400, 1_280, 576, 575, 68, 0, 1_499, u32::MAX], how >> 1),
            },
            _ => IcmpError::Unreachable {
                why: pick(&whys, how >> 1),
            },
        };
        let mut head = flying.sent.bytes.clone();
        head.truncate(usize::from(len));
        let (to, path, now) = (flying.from, flying.sent.path, self.now);
        let quote = IcmpQuote { error, head: &head };
        self.ends[to].call(now, |end| end.handle_icmp(now, path, quote));
        self.collect(to);
    }
}
