//! One connection: its state machine in one struct, with a file for each concern.
//!
//! [`parts`] hold the state: which sequence numbers are valid, what is queued, what was dropped, what was agreed. They
//! do not know the connection. The other files say what the connection does, each for one concern:
//!
//! - [`receive`]: steps 4 to 16 of RFC 4340, section 8.5, for an arriving packet; [`options`]: the effect of its
//!   options; [`integrity`]: whether its data is what was sent.
//! - [`handshake`] and [`closing`]: how a connection begins and ends; [`invite`]: how a server begins it.
//! - [`transmit`]: which packet leaves next; [`packet`]: how it is written; [`sync`]: Syncs; [`nonce`]: ECN nonces and
//!   skipped sequence numbers; [`short`]: 24-bit sequence numbers.
//! - [`application`]: the calls that fill and empty the queues; [`queued`]: datagrams that leave the send queue unsent;
//!   [`resend`]: those that are sent again; [`dropped`] and [`reported`]: Data Dropped and Slow Receiver, sent and
//!   received; [`target`]: the bitrate that the application can follow.
//! - [`clock`]: every timer; [`mod@unreachable`]: ICMP errors; [`mtu`]: how large packets may be.
//! - [`secured`]: the encryption.
//! - [`features`]: what negotiated values change; [`halves`]: how half-connections are created and replaced.
//! - [`footprint`]: memory use.
//!
//! A connection never sends by itself. The endpoint asks it for packets, and the connection reports events and replies
//! through its [`Context`].
//!
//! # Round-trip time
//! The sending half owns the estimate, which [`Tx::srtt`] reads. Under CCID 2 it belongs to the retransmission timer,
//! under CCID 3 and 4 to the controller, which needs it for its rate. The connection keeps one estimate of its own for
//! the time before the half has one. It comes from the handshake, from a Timestamp Echo, or from a half that was
//! replaced. All timers and windows use `Connection::rtt`: the estimate of the half, else that of the connection, else
//! [`DEFAULT_RTT`]. The receiving half gets it through [`Rx::set_rtt_hint`]; under TFRC it prefers its own measurement
//! from the window counters (RFC 4342, section 8.1).

mod application;
mod clock;
mod closing;
mod dropped;
mod features;
#[cfg(test)]
mod fingerprint;
mod footprint;
mod halves;
mod handshake;
#[cfg(feature = "inspect")]
mod inspection;
mod integrity;
mod invite;
mod mtu;
mod nonce;
mod options;
mod packet;
mod parts;
mod queued;
mod receive;
mod reported;
mod resend;
mod secured;
mod short;
mod sync;
mod target;
mod transmit;
mod unreachable;

use std::collections::VecDeque;
use std::sync::Arc;

use fairwire_cc::DEFAULT_RTT;
use fairwire_units::{Duration, Instant};
use fairwire_wire::{Seq, ServiceCode};

use crate::config::Config;
use crate::event::{ConnectionEvent, Event};
use crate::feature::{Negotiation, Role};
use crate::flow::Flow;
use crate::half::{FeedbackOutcome, Rx, Tx};
use crate::id::ConnectionId;
use crate::reply::Replies;
use crate::resend::{ResendBuffer, Window};
use crate::stats::Stats;
use parts::agreed::Agreed;
use parts::backoff::{Backoff, FIRST_RETRY};
use parts::ccids::{CcidChanges, ValidFrom};
use parts::counted::Counted;
use parts::dropped::Dropped;
use parts::groups::Groups;
use parts::icmp_errors::IcmpErrors;
use parts::liveness::Liveness;
use parts::nonces::NonceSource;
use parts::path_mtu::PathMtu;
use parts::queue::SendQueue;
use parts::receive_queue::ReceiveQueue;
use parts::reported::Reported;
use parts::secure::Secure;
use parts::sequence::Sequence;
use parts::short::ShortWatch;
use parts::size::Sizes;
use parts::syncs::Syncs;
use parts::target::Target;
use parts::timestamp::Timestamps;
use parts::unconfirmed::Unconfirmed;
use parts::window::WindowWatch;

pub(crate) use footprint::NEW as NEW_FOOTPRINT;
pub(crate) use parts::nonces::NonceKey;

/// The states of RFC 4340, section 8.4, in its order, on which comparisons rely. LISTEN is a listener of the endpoint,
/// TIMEWAIT an entry in a table of the endpoint.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum State {
    Closed,
    /// RFC 5596, 2.2.2: a server that sends Listens to its only client.
    Invited,
    /// RFC 5596, 2.2.2: the same server after its last Listen.
    Listen1,
    Request,
    Respond,
    PartOpen,
    Open,
    CloseReq,
    Closing,
}

/// What a connection needs during a call: the time, and where to put events and replies.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) events: &'a mut VecDeque<ConnectionEvent>,
    pub(crate) replies: &'a mut Replies,
    /// Bytes of the endpoint's memory that the connection may take for its queues.
    pub(crate) room: usize,
    /// Bytes of the endpoint's memory that are left.
    pub(crate) budget: usize,
    /// Buffer for fates on their way from a half to the events; empty between calls.
    pub(crate) outcome: &'a mut FeedbackOutcome,
}

/// Which side began a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum BegunBy {
    /// Our application, by connecting or by inviting its client.
    Application,
    /// The peer that sent the Request.
    Peer,
}

/// Whether the application knows the connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Visibility {
    /// It does not.
    Unknown,
    /// It does not; the client waits for a place in the accept queue.
    AwaitingAccept,
    /// It knows the connection's id, so it will release the connection.
    Announced,
}

/// Packets that must leave, whatever the application does.
#[derive(Debug, Default)]
struct Due {
    /// The Request, Response, `CloseReq` or Close that the state sends.
    handshake: bool,
    /// An Ack that completes or confirms the handshake.
    ack: bool,
}

/// The properties of a connection that are fixed when it begins.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) id: ConnectionId,
    pub(crate) flow: Flow,
    pub(crate) role: Role,
    pub(crate) service: ServiceCode,
    pub(crate) iss: Seq,
    pub(crate) timestamp_offset: u32,
    pub(crate) nonce_key: NonceKey,
    pub(crate) config: Arc<Config>,
}

/// A DCCP connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) id: ConnectionId,
    pub(crate) flow: Flow,
    role: Role,
    state: State,
    service: ServiceCode,
    config: Arc<Config>,
    sizes: Sizes,
    mtu: PathMtu,
    sequence: Sequence,
    negotiation: Negotiation,
    agreed: Agreed,
    tx: Option<Box<dyn Tx>>,
    rx: Option<Box<dyn Rx>>,
    queue: SendQueue,
    groups: Groups,
    /// Datagrams in flight that may have to be sent again.
    kept: Option<Box<ResendBuffer>>,
    /// The peer's datagrams that were delivered, by the number of the packet in which each was first sent; once the
    /// peer may send them again.
    copies: Option<Window>,
    received: ReceiveQueue,
    /// What encrypts the connection, if anything does.
    secure: Option<Box<Secure>>,
    /// What we report of the peer's data that did not reach our application.
    dropped: Dropped,
    /// What the peer reports of our data.
    reported: Reported,
    timestamps: Timestamps,
    window: WindowWatch,
    short: ShortWatch,
    syncs: Syncs,
    /// The ECN nonces to send.
    nonces: NonceSource,
    liveness: Liveness,
    icmp_errors: IcmpErrors,
    due: Due,
    /// Retransmission timer of the packet that the state repeats.
    retry: Backoff,
    /// When a timer last fired.
    fired_at: Option<Instant>,
    /// When the connection gives up in this state.
    deadline: Option<Instant>,
    /// Set once the application asked to close: until when the send queue may drain.
    drain_until: Option<Instant>,
    /// Boxed, because it is large and an endpoint may have many connections.
    target: Box<Target>,
    /// When the controller permits the next datagram.
    pace_at: Option<Instant>,
    /// An Ack has just left; the next one waits until this time.
    next_ack_at: Option<Instant>,
    /// The last Ack had no room for all of its options: until when the rest waits.
    rest_deferred_until: Option<Instant>,
    /// Number of packets without data sent since the last data packet (RFC 4340, section 7.7).
    ndp_run: u64,
    /// The last Request or Response sent, for a round-trip sample.
    handshake_sent: Option<(Seq, Instant)>,
    /// In RESPOND: maximum size of the Response, bytes.
    response_limit: usize,
    /// In REQUEST: the number of the Sync from a peer that still has an older connection on our flow.
    older_peer: Option<Seq>,
    /// In REQUEST: the first of our own Requests that came back.
    echoed: Option<Seq>,
    /// On a server: set while its client may still be in PARTOPEN.
    unconfirmed: Option<Unconfirmed>,
    /// The peer's first number after the handshake, where our feedback starts.
    peer_first: Seq,
    /// From which of our packets on we accept feedback, and from which of the peer's on we give it.
    own_valid_from: ValidFrom,
    peer_valid_from: ValidFrom,
    ccids: CcidChanges,
    /// The connection's own round-trip estimate.
    rtt: Option<Duration>,
    /// Init Cookie options. On a client: as received, to echo in PARTOPEN. On a server that is to forget the
    /// connection: for its Response.
    cookies: Vec<u8>,
    /// Until when the cookie that began this connection may begin another one on this flow.
    cookie_until: Option<Instant>,
    /// Number of Listens sent, or received and acted upon (RFC 5596).
    listens: u8,
    /// Whether the data of a Request or Response was delivered.
    took_handshake_data: bool,
    /// Whether the peer gave false feedback so often that the connection has to end.
    is_peer_aggressive: bool,
    begun_by: BegunBy,
    /// Bytes of memory in use, as last counted.
    counted: Counted,
    known: Visibility,
    /// Set when the connection is over, and taken by the endpoint: whether the flow must stay in TIMEWAIT.
    ended: Option<bool>,
    stats: Stats,
}

impl Connection {
    /// Returns a connection that has sent nothing yet.
    fn new(now: Instant, origin: Origin, state: State) -> Self {
        let config = origin.config;
        let negotiation = Negotiation::new(origin.role, &config);
        Self {
            id: origin.id,
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
            queue: SendQueue::new(config.send_queue),
            groups: Groups::default(),
            kept: config
                .resend
                .then(|| Box::new(ResendBuffer::new(config.send_queue.bytes))),
            copies: None,
            received: ReceiveQueue::new(&config),
            secure: None,
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
            retry: Backoff::new(FIRST_RETRY),
            fired_at: None,
            deadline: None,
            drain_until: None,
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
            counted: Counted::default(),
            known: match origin.role {
                Role::Client => Visibility::Announced,
                Role::Server => Visibility::Unknown,
            },
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
    #[cfg(test)]
    pub(crate) fn skip(&mut self, numbers: u64) {
        for _ in 0..numbers {
            self.sequence.next_sent();
        }
    }

    pub(crate) fn state(&self) -> State {
        self.state
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

    /// Returns whether the application knows it and will release it.
    pub(crate) fn is_announced(&self) -> bool {
        self.known == Visibility::Announced
    }

    /// Returns the port whose listener began it, during the handshake.
    pub(crate) fn pending_port(&self) -> Option<u16> {
        let awaited = self.state == State::Respond && !self.is_announced();
        awaited.then_some(self.flow.local_port)
    }

    /// Returns whether it waits for a place in the accept queue.
    pub(crate) fn awaits_accept(&self) -> bool {
        self.known == Visibility::AwaitingAccept
    }

    /// Returns, once after the connection has ended, whether its flow must stay in TIMEWAIT.
    pub(crate) fn take_ended(&mut self) -> Option<bool> {
        self.ended.take()
    }

    /// Returns the best round-trip estimate available.
    fn rtt(&self) -> Duration {
        let measured = self.tx.as_ref().and_then(|tx| tx.srtt()).or(self.rtt);
        measured.unwrap_or(DEFAULT_RTT)
    }

    /// Returns the number of datagrams that wait to leave, for the controllers.
    fn waiting(&self) -> u32 {
        let own = self.secure.as_ref().map_or(0, |secure| secure.own_len());
        u32::try_from(self.queue.len() + own).unwrap_or(u32::MAX)
    }

    fn emit(&self, ctx: &mut Context<'_>, event: Event) {
        if self.is_announced() {
            ctx.events.push_back((self.id, event));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Connection;

    /// A hundred thousand connections fit into half a gibibyte, without the memory that they hold elsewhere.
    #[test]
    fn not_too_large() {
        assert!(
            size_of::<Connection>() <= (512 << 20) / 100_000,
            "{}",
            size_of::<Connection>()
        );
    }
}
