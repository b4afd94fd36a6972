//! The subflow: one path of a connection, with a state machine of its own (RFC 4340, section 8.4).
//!
//! It has addresses and sequence numbers, both halves with their congestion control, the path MTU, and all timers of a
//! round trip. Its datagrams come from the [`Channel`](super::channel::Channel) and go there; it never holds one back.
//! A connection has one subflow today. The name is that of RFC 9897, which gives a connection several, each of them a
//! whole DCCP connection on the wire.
//!
//! - [`receive`]: steps 4 to 16 of RFC 4340, section 8.5, for an arriving packet; [`options`]: the effect of its
//!   options; [`integrity`]: whether its data is what was sent.
//! - [`handshake`] and [`closing`]: how it begins and ends; [`invite`]: how a server begins it.
//! - [`transmit`]: which packet leaves next; [`packet`]: how it is written; [`sync`]: Syncs; [`nonce`]: ECN nonces and
//!   skipped sequence numbers; [`short`]: 24-bit sequence numbers.
//! - [`dropped`] and [`reported`]: Data Dropped and Slow Receiver, sent and received; [`target`]: the bitrate that the
//!   application can follow.
//! - [`clock`]: every timer; [`mod@unreachable`]: ICMP errors; [`mtu`]: how large packets may be.
//! - [`migration`]: how it follows its peer to another address.
//! - [`features`]: what negotiated values change; [`halves`]: how half-connections are created and replaced.
//!
//! # Round-trip time
//! The sending half owns the estimate, which [`Tx::srtt`] reads. Under CCID 2 it belongs to the retransmission timer,
//! under CCID 3 and 4 to the controller, which needs it for its rate. The subflow keeps one estimate of its own for the
//! time before the half has one. It comes from the handshake, from a Timestamp Echo, or from a half that was replaced.
//! All timers and windows use `Subflow::rtt`: the estimate of the half, else that of the subflow, else [`DEFAULT_RTT`].
//! The receiving half gets it through [`Rx::set_rtt_hint`]; under TFRC it prefers its own measurement from the window
//! counters (RFC 4342, section 8.1).

mod clock;
mod closing;
mod dropped;
mod features;
mod halves;
mod handshake;
mod integrity;
mod invite;
mod migration;
mod mtu;
mod nonce;
mod options;
mod packet;
mod receive;
mod reported;
mod short;
mod stats;
mod sync;
mod target;
mod transmit;
mod unreachable;

use std::sync::Arc;

use fairwire_cc::DEFAULT_RTT;
use fairwire_units::{Duration, Instant};
use fairwire_wire::{Ccid, Seq, ServiceCode};

use super::call::Call;
use super::channel::Carrier;
use super::context::{Origin, State};
use super::parts;
use super::parts::agreed::Agreed;
use super::parts::arrivals::Arrivals;
use super::parts::backoff::Backoff;
use super::parts::ccids::{CcidChanges, ValidFrom};
use super::parts::dropped::Dropped;
use super::parts::icmp_errors::IcmpErrors;
use super::parts::liveness::Liveness;
use super::parts::migration::Migration;
use super::parts::nonces::NonceSource;
use super::parts::path_mtu::PathMtu;
use super::parts::reported::Reported;
use super::parts::sequence::Sequence;
use super::parts::short::ShortWatch;
use super::parts::size::Sizes;
use super::parts::syncs::Syncs;
use super::parts::target::Target;
use super::parts::timestamp::Timestamps;
use super::parts::unconfirmed::Unconfirmed;
use super::parts::window::WindowWatch;
use crate::config::Config;
use crate::event::CloseReason;
use crate::feature::{Negotiation, Role};
use crate::flow::Flow;
use crate::half::{Rx, Tx};
use crate::stats::Stats;

/// Which side began a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum BegunBy {
    /// Our application, by connecting or by inviting its client.
    Application,
    /// The peer that sent the Request.
    Peer,
}

/// Packets that must leave, whatever the application does.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// The Request, Response, `CloseReq` or Close that the state sends.
    handshake: bool,
    /// An Ack that completes or confirms the handshake.
    ack: bool,
}

/// A path of a connection.
#[derive(Debug)]
pub(crate) struct Subflow {
    pub(super) flow: Flow,
    pub(super) role: Role,
    pub(super) state: State,
    pub(super) service: ServiceCode,
    pub(super) config: Arc<Config>,
    pub(super) sizes: Sizes,
    pub(super) mtu: PathMtu,
    pub(super) sequence: Sequence,
    pub(super) negotiation: Negotiation,
    pub(super) agreed: Agreed,
    pub(super) tx: Option<Box<dyn Tx>>,
    pub(super) rx: Option<Box<dyn Rx>>,
    /// Which of the peer's packets have arrived.
    pub(super) arrivals: Arrivals,
    /// What we report of the peer's data that did not reach our application.
    pub(super) dropped: Dropped,
    /// What the peer reports of our data.
    pub(super) reported: Reported,
    pub(super) timestamps: Timestamps,
    pub(super) window: WindowWatch,
    pub(super) short: ShortWatch,
    pub(super) syncs: Syncs,
    /// The ECN nonces to send.
    pub(super) nonces: NonceSource,
    pub(super) liveness: Liveness,
    pub(super) icmp_errors: IcmpErrors,
    pub(super) due: Due,
    /// Retransmission timer of the packet that the state repeats.
    pub(super) retry: Backoff,
    /// When a timer last fired.
    pub(super) fired_at: Option<Instant>,
    /// When the connection gives up in this state.
    pub(super) deadline: Option<Instant>,
    /// Boxed, because it is large and an endpoint may have many connections.
    pub(super) target: Box<Target>,
    /// When the controller permits the next datagram.
    pub(super) pace_at: Option<Instant>,
    /// An Ack has just left; the next one waits until this time.
    pub(super) next_ack_at: Option<Instant>,
    /// The last Ack had no room for all of its options: until when the rest waits.
    pub(super) rest_deferred_until: Option<Instant>,
    /// Number of packets without data sent since the last data packet (RFC 4340, section 7.7).
    pub(super) ndp_run: u64,
    /// The last Request or Response sent, for a round-trip sample.
    pub(super) handshake_sent: Option<(Seq, Instant)>,
    /// In RESPOND: maximum size of the Response, bytes.
    pub(super) response_limit: usize,
    /// In REQUEST: the number of the Sync from a peer that still has an older connection on our flow.
    pub(super) older_peer: Option<Seq>,
    /// In REQUEST: the first of our own Requests that came back.
    pub(super) echoed: Option<Seq>,
    /// On a server: set while its client may still be in PARTOPEN.
    pub(super) unconfirmed: Option<Unconfirmed>,
    /// The peer's first number after the handshake, where our feedback starts.
    pub(super) peer_first: Seq,
    /// From which of our packets on we accept feedback, and from which of the peer's on we give it.
    pub(super) own_valid_from: ValidFrom,
    pub(super) peer_valid_from: ValidFrom,
    pub(super) ccids: CcidChanges,
    /// The connection's own round-trip estimate.
    pub(super) rtt: Option<Duration>,
    /// Init Cookie options. On a client: as received, to echo in PARTOPEN. On a server that is to forget the
    /// connection: for its Response.
    pub(super) cookies: Vec<u8>,
    /// Until when the cookie that began this connection may begin another one on this flow.
    pub(super) cookie_until: Option<Instant>,
    /// Number of Listens sent, or received and acted upon (RFC 5596).
    pub(super) listens: u8,
    /// Whether the data of a Request or Response was delivered.
    pub(super) took_handshake_data: bool,
    /// Whether the peer gave false feedback so often that the connection has to end.
    pub(super) is_peer_aggressive: bool,
    pub(super) begun_by: BegunBy,
    /// The checks of other addresses, if the connection is encrypted.
    pub(super) migration: Option<Box<Migration>>,
    /// Set when the connection has moved, and taken by the endpoint: its flow before.
    pub(super) moved_from: Option<Box<Flow>>,
    /// Set when the connection is over, and taken by the endpoint: whether the flow must stay in TIMEWAIT.
    pub(super) ended: Option<bool>,
    pub(super) stats: Stats,
}

impl Subflow {
    /// Returns a subflow that has sent nothing yet.
    fn new(now: Instant, origin: Origin, state: State) -> Self {
        let config = origin.config;
        let negotiation = Negotiation::new(origin.role, &config);
        Self {
            flow: origin.flow,
            role: origin.role,
            state,
            service: origin.service,
            sizes: Sizes::new(&origin.flow.path, config.path_mtu),
            mtu: PathMtu::new(now, &origin.flow.path, &config),
            sequence: Sequence::new(origin.iss),
            agreed: Agreed::of(&negotiation),
            negotiation,
            tx: None,
            rx: None,
            arrivals: Arrivals::default(),
            dropped: Dropped::new(config.receive_queue_packets),
            reported: Reported::default(),
            timestamps: Timestamps::new(origin.timestamp_offset),
            window: WindowWatch::new(config.sequence_window, config.max_sequence_window),
            short: ShortWatch::default(),
            syncs: Syncs::new(),
            nonces: NonceSource::new(origin.nonce_key),
            liveness: Liveness::new(now, &config),
            icmp_errors: IcmpErrors::default(),
            due: Due::default(),
            retry: Backoff::new(config.request_timeout.into()),
            fired_at: None,
            deadline: None,
            target: Box::default(),
            pace_at: None,
            next_ack_at: None,
            rest_deferred_until: None,
            ndp_run: 0,
            handshake_sent: None,
            response_limit: usize::MAX,
            older_peer: None,
            echoed: None,
            unconfirmed: None,
            peer_first: Seq::ZERO,
            own_valid_from: ValidFrom::default(),
            peer_valid_from: ValidFrom::default(),
            ccids: CcidChanges::default(),
            rtt: None,
            cookies: Vec::new(),
            cookie_until: None,
            listens: 0,
            took_handshake_data: false,
            is_peer_aggressive: false,
            begun_by: match state {
                State::Respond => BegunBy::Peer,
                _ => BegunBy::Application,
            },
            migration: None,
            moved_from: None,
            ended: None,
            stats: Stats::default(),
            config,
        }
    }

    /// Returns the Sequence Windows in force: ours, the peer's.
    #[cfg(test)]
    pub(crate) fn windows(&self) -> (u64, u64) {
        (self.sequence.local_window, self.sequence.remote_window)
    }

    /// Replaces the sending half.
    #[cfg(test)]
    pub(crate) fn set_tx(&mut self, tx: Box<dyn Tx>) {
        self.tx = Some(tx);
    }

    /// Returns GSR, the greatest sequence number received.
    #[cfg(test)]
    pub(crate) fn greatest_received(&self) -> Seq {
        self.sequence.gsr
    }

    /// Skips numbers, as if their packets had been lost.
    #[cfg(any(test, feature = "inspect"))]
    pub(crate) fn skip(&mut self, numbers: u64) {
        for _ in 0..numbers {
            self.sequence.next_sent();
        }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// Returns its flow.
    pub(crate) fn flow(&self) -> Flow {
        self.flow
    }

    /// Returns its flow, and the number of its first packet.
    pub(crate) fn origin(&self) -> (Flow, Seq) {
        (self.flow, self.sequence.iss)
    }

    /// Returns its service code.
    pub(crate) fn service(&self) -> ServiceCode {
        self.service
    }

    /// Returns whether it began with a Request from the peer, without an invitation.
    pub(crate) fn is_incoming(&self) -> bool {
        self.begun_by == BegunBy::Peer
    }

    /// Returns, once after the connection has ended, whether its flow must stay in TIMEWAIT.
    pub(crate) fn take_ended(&mut self) -> Option<bool> {
        self.ended.take()
    }

    /// Returns whether it is over.
    pub(crate) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Returns how long the queue may drain after a close.
    pub(crate) fn drain_timeout(&self) -> Duration {
        self.config.drain_timeout.into()
    }

    /// Counts a packet of this flow with a wrong checksum.
    pub(crate) fn count_checksum_error(&mut self) {
        self.stats.checksum_errors += 1;
    }

    /// Resets the connection if its encryption failed.
    #[inline]
    pub(super) fn end_if_insecure(&mut self, call: &mut Call<'_, '_>) {
        if let Some((error, text)) = call.channel.failure() {
            self.abort_for(call, text, CloseReason::Security { error });
        }
    }

    /// Returns the bytes of its halves and histories.
    pub(super) fn footprint(&self) -> usize {
        let halves = self.tx.as_ref().map_or(0, |tx| tx.footprint())
            + self.rx.as_ref().map_or(0, |rx| rx.footprint());
        let histories = self.dropped.footprint() + self.reported.footprint();
        let migration = self.migration.as_ref().map_or(0, |of| size_of_val(&**of));
        halves + histories + self.cookies.capacity() + migration
    }

    /// Returns the number of the packet that is written next. `Subflow::sent` uses it up.
    pub(super) fn next_seq(&self) -> Seq {
        self.sequence.gss.next()
    }

    /// Returns the best round-trip estimate available.
    pub(super) fn rtt(&self) -> Duration {
        self.round_trip().unwrap_or(DEFAULT_RTT)
    }
}

impl Carrier for Subflow {
    #[inline]
    fn is_open(&self) -> bool {
        matches!(self.state, State::PartOpen | State::Open)
    }

    #[inline]
    fn takes_data(&self) -> bool {
        matches!(self.state, State::Request | State::PartOpen | State::Open)
    }

    #[inline]
    fn max_datagram(&self) -> usize {
        self.sizes.max_datagram()
    }

    #[inline]
    fn next_seq(&self) -> Seq {
        Self::next_seq(self)
    }

    #[inline]
    fn round_trip(&self) -> Option<Duration> {
        self.tx.as_ref().and_then(|tx| tx.srtt()).or(self.rtt)
    }

    #[inline]
    fn sends_copies(&self) -> bool {
        self.agreed.copies
    }

    #[inline]
    fn takes_copies(&self) -> bool {
        self.agreed.peer_copies
    }

    fn sends_parts(&self) -> bool {
        self.agreed.parts
    }

    fn takes_parts(&self) -> bool {
        self.agreed.peer_parts
    }

    fn blind_ccid(&self) -> Option<Ccid> {
        match (&self.tx, self.agreed.send) {
            (Some(tx), Some(profile)) if !tx.acknowledges_packets() => Some(profile.ccid()),
            _ => None,
        }
    }
}
