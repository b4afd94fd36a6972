//! Packets that leave outside of any live connection: answers to strangers, and the Reset that ends a connection.

use std::collections::VecDeque;

use fairwire_units::{Ecn, Instant};
use fairwire_wire::{DccpOption, Encoder, HeadBuf, Kind, Packet, Ports, ResetCode, Seq};

use crate::error_text::ErrorText;
use crate::flow::Flow;
use crate::id::ConnectionId;
use crate::payload::Payload;
use crate::rate_limit::RateLimit;
use crate::seal::seal;
use crate::transmit::{Path, Transmit};

/// A Reset about to leave.
#[derive(Debug)]
pub(crate) struct Reset {
    pub(crate) flow: Flow,
    pub(crate) seq: Seq,
    pub(crate) ack: Seq,
    pub(crate) code: ResetCode,
    pub(crate) data: [u8; 3],
    /// Its Error Text.
    pub(crate) text: Option<ErrorText>,
    /// The NDP Count to carry; zero for none.
    pub(crate) ndp_count: u64,
    /// The connection that it ends, if there was one.
    pub(crate) connection: Option<ConnectionId>,
}

/// Maximum number of stateless Responses in the queue. More are dropped, as on a full link.
const MAX_RESPONSES: usize = 1_024;

/// A packet in the queue.
#[derive(Debug)]
enum Waiting {
    Reset(Reset),
    /// A Response with an Init Cookie, whose connection has no state here.
    Response(Transmit, Box<HeadBuf>),
}

/// The queue of packets without a live connection.
#[derive(Debug)]
pub(crate) struct Replies {
    waiting: VecDeque<Waiting>,
    responses: usize,
    limit: RateLimit,
    /// Number of Resets sent without a connection.
    pub(crate) sent: u64,
}

impl Replies {
    /// Returns an empty queue that permits at most `per_s` answers to strangers per second.
    pub(crate) fn new(per_s: u32) -> Self {
        Self {
            waiting: VecDeque::new(),
            responses: 0,
            limit: RateLimit::per_second(per_s, (per_s / 16).max(1)),
            sent: 0,
        }
    }

    /// Returns whether a stranger may be answered now, and counts the answer if so.
    pub(crate) fn may_answer(&mut self, now: Instant) -> bool {
        self.limit.allow(now)
    }

    /// Queues the Reset that ends a connection. It is not rate-limited, because each connection ends once. For one that
    /// ends as it begins, the caller asks [`Self::may_answer`].
    pub(crate) fn end(&mut self, mut reset: Reset) {
        reset.connection = reset.connection.filter(|&id| id != ConnectionId::NONE);
        self.waiting.push_back(Waiting::Reset(reset));
    }

    /// Returns whether another stateless Response has room.
    pub(crate) fn has_room(&self) -> bool {
        self.responses < MAX_RESPONSES
    }

    /// Queues a Response of a connection that is forgotten at once.
    pub(crate) fn respond(&mut self, transmit: Transmit, head: Box<HeadBuf>) {
        self.responses += 1;
        self.waiting.push_back(Waiting::Response(transmit, head));
    }

    /// Answers a packet of a flow whose sequence numbers we do not know with a Reset.
    pub(crate) fn answer(
        &mut self,
        now: Instant,
        path: Path,
        packet: &Packet<'_>,
        code: ResetCode,
        data: [u8; 3],
    ) {
        let is_reset = matches!(packet.kind, Kind::Reset { .. });
        // RFC 4340, 8.5, steps 2 and 3: Resets are never answered, or two ends could go on for ever. RFC 4340, 8.1.3:
        // at a limited rate.
        if is_reset || !self.may_answer(now) {
            return;
        }
        // RFC 4340, 8.3.1: the numbers come from the packet; the upper bits of short ones are zero.
        let seq = match packet.ack() {
            Some(ack) if packet.is_short() => Seq::new(u64::from(ack.short())).next(),
            Some(ack) => ack.extend(Seq::ZERO).next(),
            None => Seq::ZERO,
        };
        let seq = if packet.is_short() {
            Seq::new(u64::from(seq.short()))
        } else {
            seq
        };
        let ack = match packet.seq.long() {
            Some(seq) => seq,
            None => Seq::new(u64::from(packet.seq.short())),
        };
        self.sent += 1;
        self.waiting.push_back(Waiting::Reset(Reset {
            flow: Flow::of_received(path, packet),
            seq,
            ack,
            code,
            data,
            text: None,
            ndp_count: 0,
            connection: None,
        }));
    }

    /// Encodes and returns the next packet.
    pub(crate) fn poll_transmit(&mut self, head: &mut HeadBuf) -> Option<Transmit> {
        let reset = match self.waiting.pop_front()? {
            Waiting::Reset(reset) => reset,
            Waiting::Response(transmit, ready) => {
                self.responses -= 1;
                head.clone_from(&ready);
                return Some(transmit);
            }
        };
        let ports: Ports = reset.flow.ports();
        let kind = Kind::Reset {
            ack: reset.ack.into(),
            code: reset.code,
            data: reset.data,
        };
        let mut encoder = Encoder::new(head, ports, reset.seq.into(), &kind, 0, 0);
        if reset.ndp_count > 0 {
            let option = DccpOption::NdpCount(reset.ndp_count);
            let written = encoder.option(&option);
            debug_assert!(written.is_ok(), "an empty head has room");
        }
        let payload = reset.text.map_or(Payload::EMPTY, |text| {
            Payload::from(text.as_str().as_bytes().to_vec())
        });
        seal(encoder, &reset.flow.path, &payload, 0);
        Some(Transmit {
            path: reset.flow.path,
            ecn: Ecn::NotEct,
            // RFC 4340, 14.2: Resets may be fragmented.
            dont_fragment: false,
            payload,
            connection: reset.connection,
            id: None,
        })
    }
}
