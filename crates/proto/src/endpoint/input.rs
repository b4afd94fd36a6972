//! Processing of received packets and ICMP errors (RFC 4340, section 8.5, steps 1 to 3).

use fairwire_units::{Ecn, Instant};
use fairwire_wire::{Kind, Packet, ResetCode, Seq};

use super::source::Source;
use super::{Endpoint, source_limits};
use crate::connection::State;
use crate::flow::Flow;
use crate::payload::Arriving;
use crate::seal::verify;
use crate::transmit::{IcmpError, IcmpQuote, Meta, Path, Unreachable};

impl Endpoint {
    /// Handles a received datagram.
    ///
    /// `head` is the DCCP header with its options, `payload` the rest. A caller that has both in one piece, as from a
    /// socket, passes it as `head` with an empty `payload`, which then says how the rest is kept: borrowed bytes are
    /// copied if the datagram enters a receive queue, a [slice](Arriving::Slice) of a buffer that holds `head` is not.
    pub fn handle_datagram<'a>(
        &mut self,
        now: Instant,
        meta: Meta,
        head: &'a [u8],
        payload: impl Into<Arriving<'a>>,
    ) {
        let payload = payload.into();
        // Step 1. A packet that fails here is not answered.
        let Ok(packet) = Packet::decode_head(head, payload.len()) else {
            self.stats.malformed += 1;
            return;
        };
        let Some(payload) = whole_payload(&packet, head, payload) else {
            self.stats.malformed += 1;
            return;
        };
        let checked = verify(&packet, &meta.path, head, &payload);
        // RFC 6773, 3.8: any UDP port is accepted; it is part of the flow.
        let flow = Flow::of_received(meta.path, &packet);
        // Step 2.
        let slot = self.table.find(&flow);
        if checked.is_err() {
            self.stats.checksum_errors += 1;
            if let Some(connection) = slot.and_then(|slot| self.connections.get_mut(slot)) {
                connection.subflow_mut().count_checksum_error();
            }
            return;
        }
        // Every Request is answered, so forged Requests must not make us send without limit.
        if matches!(packet.kind, Kind::Request { .. }) && !self.take_allowance(now, &flow, 1) {
            return;
        }
        match slot.filter(|&slot| self.keep_or_drop_spare(slot, &packet)) {
            Some(slot) if self.defer_if_full(now, slot, &packet) => self.stats.deferred += 1,
            Some(slot) if self.handle_second(now, slot, &meta, &packet, &payload) => {}
            Some(slot) => self.deliver(now, slot, &packet, payload, meta.ecn),
            None if self.handle_echoed_request(now, &meta.path, &packet) => {}
            None if self.handle_elsewhere(now, &meta, &packet, &payload, &flow) => {
                self.stats.elsewhere += 1;
            }
            // Its peer has not followed a connection that went elsewhere more than once: a Reset would end that.
            None if self.mobile.may_have_left(&flow) => self.stats.elsewhere += 1,
            None => self.handle_stray(now, meta, &packet, payload, flow),
        }
    }

    /// Handles a Request of our own that the other end sends back. Returns whether it was one.
    ///
    /// It is not answered, because the answer would come back too. The connection decides whether its attempt ends.
    fn handle_echoed_request(&mut self, now: Instant, path: &Path, packet: &Packet<'_>) -> bool {
        let is_request = matches!(packet.kind, Kind::Request { .. });
        // A connection from an address to itself receives its own Requests legitimately.
        if !is_request || self.connecting.is_empty() || path.local == path.remote {
            return false;
        }
        let flow = Flow {
            path: *path,
            local_port: packet.ports.source,
            remote_port: packet.ports.destination,
        };
        let (Some(slot), Some(seq)) = (self.table.find(&flow), packet.seq.long()) else {
            return false;
        };
        let mut echoed = false;
        self.with_connection(now, slot, |connection, ctx| {
            echoed = connection.with(ctx, |subflow, call| subflow.on_echo(call, seq));
        });
        echoed
    }

    #[inline]
    pub(super) fn deliver(
        &mut self,
        now: Instant,
        slot: usize,
        packet: &Packet<'_>,
        payload: Arriving<'_>,
        ecn: Ecn,
    ) {
        self.with_connection(now, slot, |connection, ctx| {
            connection.with(ctx, |subflow, call| {
                subflow.handle_packet(call, packet, payload, ecn);
            });
        });
    }

    /// Handles a packet that belongs to no connection.
    fn handle_stray(
        &mut self,
        now: Instant,
        meta: Meta,
        packet: &Packet<'_>,
        payload: Arriving<'_>,
        flow: Flow,
    ) {
        let waits = !self.time_wait.is_empty()
            && self.time_wait.contains(now, self.secret.flow_hash(&flow));
        let listener = self.listeners.at(flow.local_port);
        let answered = self.config.answer_unbound_ports || waits || listener.is_some();
        let refusal = match (packet.kind, listener) {
            // RFC 5596, 2.2.2: only a client in REQUEST may react to a Listen.
            (Kind::Listen { .. }, _) => return,
            // Step 2: TIMEWAIT.
            _ if waits => ResetCode::NoConnection,
            (_, Some(_)) => {
                let Err(refusal) = self.handle_listen(now, meta, packet, payload, flow) else {
                    return;
                };
                refusal
            }
            // RFC 4340, 8.1.3, and RFC 5595, 3.3.1: there is no listener on that port.
            (Kind::Request { .. }, None) => {
                self.stats.unmatched += 1;
                ResetCode::ConnectionRefused
            }
            _ => {
                self.stats.unmatched += 1;
                ResetCode::NoConnection
            }
        };
        // RFC 4340, 8.5, steps 2 and 3: Resets are never answered.
        let is_reset = matches!(packet.kind, Kind::Reset { .. });
        if answered && !is_reset && self.take_allowance(now, &flow, source_limits::RESET_COST) {
            self.replies.answer(now, meta.path, packet, refusal, [0; 3]);
        }
    }

    /// Returns whether the source of `flow` may get an answer of this cost, and if so charges it.
    pub(super) fn take_allowance(&mut self, now: Instant, flow: &Flow, cost: u64) -> bool {
        let networks = self.secret.networks(Source::of(flow.path.remote.ip()));
        let may = self.source_limits.take(now, networks, cost);
        self.stats.rate_limited += u64::from(!may);
        may
    }

    /// Handles an ICMP error about a packet that was sent along `path`.
    pub fn handle_icmp(&mut self, now: Instant, path: Path, quote: IcmpQuote<'_>) {
        match quote.error {
            IcmpError::TooBig { mtu } => self.handle_too_big(now, path, mtu, quote.head),
            IcmpError::Unreachable { why } => self.handle_unreachable(now, path, why, quote.head),
        }
    }

    /// Handles an ICMP error that says that a packet did not reach the peer.
    fn handle_unreachable(&mut self, now: Instant, path: Path, why: Unreachable, head: &[u8]) {
        let quoted = usize::from(path.encapsulation.quoted());
        if head.len() < quoted.max(PORTS_LEN) {
            if quoted < PORTS_LEN {
                // RFC 6773, 3.6: only the UDP path is known; every attempt along it has failed.
                self.notify_connecting(now, path, why);
            }
            return;
        }
        let seq = quoted_seq(head);
        if seq.is_none() && head.len() >= NUMBERED_LEN {
            return; // The quote is long enough for a 48-bit sequence number, but has none.
        }
        if let Some(slot) = self.quoted_slot(path, head) {
            self.with_connection(now, slot, |connection, ctx| {
                connection.with(ctx, |subflow, call| subflow.on_unreachable(call, seq, why));
            });
        }
    }

    /// Returns the connection of a quoted packet, if that left on the path in use.
    fn quoted_slot(&mut self, path: Path, head: &[u8]) -> Option<usize> {
        let slot = self.table.find(&quoted_flow(path, head)?)?;
        let second = self.seconds.get(&slot);
        second.is_none_or(|flow| flow.path != path).then_some(slot)
    }

    /// Tells all connections in REQUEST along `path` about the error, and no others.
    fn notify_connecting(&mut self, now: Instant, path: Path, why: Unreachable) {
        let mut from = 0;
        while let Some(slot) = self
            .connecting
            .range((path, from)..=(path, usize::MAX))
            .next()
        {
            let slot = slot.1;
            from = slot + 1;
            self.with_connection(now, slot, |connection, ctx| {
                connection.with(ctx, |subflow, call| subflow.on_unreachable(call, None, why));
            });
        }
    }

    /// Handles an ICMP error that says that a packet was too big for a link.
    fn handle_too_big(&mut self, now: Instant, path: Path, mtu: u32, head: &[u8]) {
        // RFC 6773, 3.6: without the DCCP ports the error may concern any connection of this path, and without a
        // sequence number it proves nothing. It is ignored.
        if let Some(slot) = self.quoted_slot(path, head) {
            self.with_connection(now, slot, |connection, ctx| {
                connection.with(ctx, |subflow, call| {
                    subflow.on_too_big(call, quoted_seq(head), mtu);
                });
            });
        }
    }

    /// Updates the endpoint when a connection has left a state. Only REQUEST and RESPOND matter.
    pub(super) fn on_state_change(&mut self, slot: usize, before: State, after: State) {
        if before == State::Respond {
            self.backlog.remove(slot);
            self.spare.remove(slot);
            if let Some(connection) = self.connections.get(slot)
                && after == State::Open
            {
                let source = Source::of(connection.flow().path.remote.ip());
                let networks = self.secret.networks(source);
                self.source_limits.give_back(networks);
            }
        }
        if before == State::Request
            && let Some(connection) = self.connections.get(slot)
        {
            self.connecting.remove(&(connection.flow().path, slot));
        }
    }
}

/// Bytes of a quoted header that contain its ports.
const PORTS_LEN: usize = 4;

/// Bytes of a quoted header that contain its sequence number (RFC 4340, 14.1).
const NUMBERED_LEN: usize = 16;

/// Returns the flow of a quoted packet that we sent; `None` if the quote is too short for the ports.
fn quoted_flow(path: Path, head: &[u8]) -> Option<Flow> {
    let &[s0, s1, d0, d1] = head.first_chunk::<PORTS_LEN>()?;
    Some(Flow {
        path,
        local_port: u16::from_be_bytes([s0, s1]),
        remote_port: u16::from_be_bytes([d0, d1]),
    })
}

/// Returns the sequence number in a quoted header, if the quote is long enough.
///
/// RFC 4340, 14.1: sixteen bytes are. Short numbers do not count: 24 bits are too easy to guess.
fn quoted_seq(head: &[u8]) -> Option<Seq> {
    const IS_LONG: u8 = 1;
    let head = head.first_chunk::<NUMBERED_LEN>()?;
    let number = head[10..]
        .iter()
        .fold(0, |n, &byte| n << 8 | u64::from(byte));
    (head[8] & IS_LONG != 0).then(|| Seq::new(number))
}

/// Returns the whole payload, taken from the end of `head` or from `payload`; `None` if both hold some.
fn whole_payload<'a>(
    packet: &Packet<'_>,
    head: &'a [u8],
    payload: Arriving<'a>,
) -> Option<Arriving<'a>> {
    let rest = head.get(packet.data_offset..).unwrap_or_default();
    match (rest, payload.is_empty()) {
        ([], _) => Some(payload),
        (rest, true) => Some(match payload {
            Arriving::Slice { of, .. } => Arriving::Slice { of, bytes: rest },
            _ => Arriving::Borrowed(rest),
        }),
        (_, false) => None,
    }
}
