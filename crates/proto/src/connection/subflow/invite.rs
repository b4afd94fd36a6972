//! Simultaneous open (RFC 5596): a server that knows its client invites it.
//!
//! A NAT or firewall in front of the server lets a client's Request in only after a packet has gone out to that client.
//! Three Listens serve this purpose. They are not part of the connection and use none of its sequence numbers.

use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{Encoder, HeadBuf, Kind, Packet, ResetCode, Seq};

use super::handshake::four_msl;
use super::parts::backoff::{Backoff, FIRST_RETRY};
use super::{Call, Origin, State, Subflow};
use crate::payload::Payload;
use crate::seal::seal;
use crate::transmit::Outgoing;

/// Time from one Listen to the next (RFC 5596, 2.2.2).
const LISTEN_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum number of Listens: the first and two more (RFC 5596, 2.2.2).
const MAX_LISTENS: u8 = 3;

impl Subflow {
    /// Creates a server that is about to invite its client.
    pub(crate) fn invite(now: Instant, origin: Origin) -> Self {
        let mut this = Self::new(now, origin, State::Invited);
        this.due.handshake = true;
        this.deadline = Some(now + this.config.connect_timeout.into());
        this.refresh_agreed();
        this
    }

    /// Asks the client to continue, because the accept queue has room again.
    pub(crate) fn ask_to_continue(&mut self) {
        self.syncs.request_answer(self.sequence.acknowledgeable);
    }

    /// Writes a Listen, if one is due.
    pub(super) fn transmit_listen(
        &mut self,
        call: &mut Call<'_, '_>,
        head: &mut HeadBuf,
    ) -> Option<Outgoing> {
        if !std::mem::take(&mut self.due.handshake) {
            return None;
        }
        // Without back-off, unlike other packets.
        self.retry = Backoff::new(LISTEN_INTERVAL);
        self.retry.start(call.now);
        self.listens += 1;
        self.stats.packets_sent += 1;
        // RFC 5596, 2.2.1: number, CCVal and CsCov are zero, there are no options and no data.
        let service = self.service;
        let (ports, kind) = (self.flow.ports(), Kind::Listen { service });
        let encoder = Encoder::new(head, ports, Seq::ZERO.into(), &kind, 0, 0);
        seal(encoder, &self.flow.path, &Payload::EMPTY, 0);
        Some(Outgoing {
            ecn: Ecn::NotEct,
            dont_fragment: false,
            payload: Payload::EMPTY,
            id: None,
            to: None,
        })
    }

    /// Sends the next Listen, or enters LISTEN1 after the last: no Request has come since the last Listen.
    pub(super) fn on_listen_timeout(&mut self) {
        if self.listens < MAX_LISTENS {
            self.due.handshake = true;
        } else {
            self.state = State::Listen1;
        }
    }

    /// Steps 2a and 2b: handles a packet for a server that waits for its client. Returns true if it is the Request,
    /// which continues with the next steps.
    pub(super) fn take_invitation(&mut self, call: &mut Call<'_, '_>, packet: &Packet<'_>) -> bool {
        // RFC 5596, 2.2.2: LISTEN1 changes to RESPOND at once.
        let code = match (packet.kind, packet.seq.long()) {
            (Kind::Request { service }, Some(isr)) if service == self.service => {
                self.state = State::Respond;
                self.retry = Backoff::new(FIRST_RETRY);
                self.due.handshake = false;
                self.deadline = Some(call.now + four_msl());
                self.sequence.begin_receiving(isr);
                return true;
            }
            // RFC 4340, 8.1.2: only one service is offered here.
            (Kind::Request { .. }, _) => ResetCode::BadServiceCode,
            // RFC 5596, 2.2.2: two servers that wait for each other.
            (Kind::Listen { .. }, _) => return false,
            _ => ResetCode::NoConnection,
        };
        let path = self.flow.path;
        call.ctx
            .replies
            .answer(call.now, path, packet, code, [0; 3]);
        false
    }

    /// Handles a Listen in REQUEST (RFC 5596, 2.2.3.1). The path to the server is now open, but our Request may have
    /// come too early. The first Listen makes us send it again at once.
    pub(super) fn on_listen(&mut self, packet: &Packet<'_>) {
        let service = self.service;
        if packet.kind == (Kind::Listen { service }) && self.listens == 0 {
            self.listens = 1;
            self.retry.end();
            self.due.handshake = true;
        }
    }
}
