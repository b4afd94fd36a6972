//! Simultaneous open (RFC 5596): a server that knows its client opens the way to itself.
//!
//! A NAT or firewall before the server lets a client's Request in only after something has gone
//! out to that client. Three Listens do that; they are no part of the connection, and use none of
//! its sequence numbers.

use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{Encoder, HeadBuf, Kind, Packet, ResetCode, Seq};

use super::handshake::four_msl;
use super::parts::backoff::{Backoff, FIRST_RETRY};
use super::{Connection, Context, Known, Origin, State};
use crate::payload::Payload;
use crate::seal::seal;
use crate::transmit::Transmit;

/// RFC 5596, 2.2.2: from one Listen to the next.
const LISTEN_INTERVAL: Duration = Duration::from_millis(200);

/// RFC 5596, 2.2.2: the first Listen and two more.
const MAX_LISTENS: u8 = 3;

impl Connection {
    /// A server that is about to invite its client.
    pub(crate) fn invite(now: Instant, origin: Origin) -> Self {
        let mut this = Self::new(now, origin, State::Invited);
        // It was asked for by name, and is known by it.
        this.known = Known::Announced;
        this.due.handshake = true;
        this.deadline = Some(now + this.config.connect_timeout.into());
        this.refresh_agreed();
        this
    }

    /// The accept queue is full, and the client has gone on.
    pub(crate) fn stand_in_line(&mut self) {
        self.known = Known::InLine;
    }

    /// There is room in the accept queue: asks the client to go on.
    pub(crate) fn call(&mut self) {
        self.known = Known::Unknown;
        self.syncs.call(self.sequence.acknowledgeable);
    }

    /// A Listen, if one is due.
    pub(super) fn transmit_listen(
        &mut self,
        ctx: &mut Context<'_>,
        head: &mut HeadBuf,
    ) -> Option<Transmit> {
        if !std::mem::take(&mut self.due.handshake) {
            return None;
        }
        // Not further apart each time, as other packets are.
        self.retry = Backoff::new(LISTEN_INTERVAL);
        self.retry.start(ctx.now);
        self.listens += 1;
        self.stats.packets_sent += 1;
        // RFC 5596, 2.2.1: number, CCVal and CsCov are zero, there are no options and no data.
        let service = self.service;
        let (ports, kind) = (self.flow.ports(), Kind::Listen { service });
        let encoder = Encoder::new(head, ports, Seq::ZERO.into(), &kind, 0, 0);
        seal(encoder, &self.flow.path, &Payload::EMPTY, 0);
        Some(Transmit {
            path: self.flow.path,
            ecn: Ecn::NotEct,
            dont_fragment: false,
            payload: Payload::EMPTY,
            connection: Some(self.id),
            id: None,
        })
    }

    /// No Request has come since the last Listen.
    pub(super) fn on_listen_timeout(&mut self) {
        if self.listens < MAX_LISTENS {
            self.due.handshake = true;
        } else {
            self.state = State::Listen1;
        }
    }

    /// Steps 2a and 2b: a packet for a server that waits for its client. True if it is the Request,
    /// which goes on through the steps that follow.
    pub(super) fn take_invitation(&mut self, ctx: &mut Context<'_>, packet: &Packet<'_>) -> bool {
        // RFC 5596, 2.2.2: LISTEN1 is left at once for RESPOND.
        let code = match (packet.kind, packet.seq.long()) {
            (Kind::Request { service }, Some(isr)) if service == self.service => {
                self.state = State::Respond;
                self.retry = Backoff::new(FIRST_RETRY);
                self.due.handshake = false;
                self.deadline = Some(ctx.now + four_msl());
                self.sequence.begin_receiving(isr);
                return true;
            }
            // RFC 4340, 8.1.2: one service is offered here.
            (Kind::Request { .. }, _) => ResetCode::BadServiceCode,
            // RFC 5596, 2.2.2: two servers that wait for each other.
            (Kind::Listen { .. }, _) => return false,
            _ => ResetCode::NoConnection,
        };
        let path = self.flow.path;
        ctx.replies.answer(ctx.now, path, packet, code, [0; 3]);
        false
    }

    /// RFC 5596, 2.2.3.1: a Listen reached us in REQUEST, so the way is open now; our Request may have
    /// come too early. It is sent again at once, the first time only.
    pub(super) fn on_listen(&mut self, packet: &Packet<'_>) {
        let service = self.service;
        if packet.kind == (Kind::Listen { service }) && self.listens == 0 {
            self.listens = 1;
            self.retry.end();
            self.due.handshake = true;
        }
    }
}
