//! One connection: a struct, its parts below it, and a file for each of its concerns above it.
//!
//! [`parts`] keep the books: which numbers are valid, what waits, what was dropped, what was agreed. None of
//! them knows the connection. The files beside this one say what the connection does, each for one concern:
//!
//! - [`receive`]: a packet's way through steps 4 to 16 of RFC 4340, section 8.5; [`options`]: what
//!   its options do; [`integrity`]: whether its data are what was sent.
//! - [`handshake`] and [`closing`]: how it begins and ends; [`invite`]: how a server begins it.
//! - [`transmit`]: what leaves next; [`packet`]: how it is written; [`sync`], [`nonce`], [`short`]: numbers that
//!   ask, that are passed over, that are short.
//! - [`application`]: the calls that fill and empty the queues; [`dropped`] and [`reported`]: Data Dropped and
//!   Slow Receiver, from either side.
//! - [`clock`]: every timer; [`mod@unreachable`]: ICMP errors; [`mtu`]: how large packets may be.
//! - [`features`]: what comes into force; [`halves`]: made, and replaced in mid-connection.
//! - [`footprint`]: what it all costs in memory.
//!
//! A connection never sends by itself: it is asked, and it tells the endpoint through its
//! [`Context`] what happened.
//!
//! # Who knows the round-trip time
//! The sending half owns the estimate, and [`Tx::srtt`] reads it: under CCID 2 it belongs to the retransmission
//! timer, under CCID 3 and 4 to the controller, which computes with it. The connection keeps one sample of its
//! own, of the handshake or of a Timestamp Echo, for the time before the half has one, and what the half knew
//! when it is replaced. All timers and windows ask `Connection::rtt`, which takes the first that there is, or
//! [`DEFAULT_RTT`]. The receiving half is told it ([`Rx::set_rtt_hint`]); under TFRC it measures from the window
//! counters first, as RFC 4342, section 8.1, has it.

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
mod receive;
mod reported;
mod short;
mod sync;
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
use crate::half::{Rx, Told, Tx};
use crate::id::ConnectionId;
use crate::reply::Replies;
use crate::stats::Stats;
use parts::agreed::Agreed;
use parts::backoff::{Backoff, FIRST_RETRY};
use parts::ccids::{CcidChanges, Since};
use parts::counted::Counted;
use parts::dropped::Dropped;
use parts::liveness::Liveness;
use parts::nonces::NonceSource;
use parts::path_mtu::PathMtu;
use parts::queue::SendQueue;
use parts::receive_queue::ReceiveQueue;
use parts::reported::Reported;
use parts::sequence::Sequence;
use parts::short::ShortWatch;
use parts::size::Sizes;
use parts::syncs::Syncs;
use parts::timestamp::Timestamps;
use parts::unconfirmed::Unconfirmed;
use parts::unreached::Unreached;
use parts::window::WindowWatch;

pub(crate) use footprint::NEW as NEW_FOOTPRINT;
pub(crate) use parts::nonces::NonceKey;

/// The states of RFC 4340, section 8.4, in its order, which comparisons rely on. LISTEN is a
/// listener, TIMEWAIT a name in a table of the endpoint.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum State {
    Closed,
    /// RFC 5596, 2.2.2: a server that sends Listens to its one client.
    Invited,
    /// RFC 5596, 2.2.2: the same, after its last Listen.
    Listen1,
    Request,
    Respond,
    PartOpen,
    Open,
    CloseReq,
    Closing,
}

/// What a connection needs while it works: the time, and where to put what it has to say.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) events: &'a mut VecDeque<ConnectionEvent>,
    pub(crate) replies: &'a mut Replies,
    /// Bytes left of the endpoint's memory.
    pub(crate) room: usize,
    /// Fates on their way from a half to the events; empty between calls.
    pub(crate) told: &'a mut Told,
}

/// Who wanted a connection first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum BegunBy {
    /// Our application: it connected, or invited its client.
    Application,
    /// Whoever sent the Request.
    Stranger,
}

/// What the application knows of a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Known {
    /// Nothing yet.
    Unknown,
    /// Nothing, and its client waits for a place in the accept queue.
    InLine,
    /// Its name, so that it will release it.
    Announced,
}

/// Packets that must leave, whatever the application does.
#[derive(Debug, Default)]
struct Due {
    /// The Request, Response, `CloseReq` or Close of the state.
    handshake: bool,
    /// An Ack that completes or confirms the handshake.
    ack: bool,
}

/// How a connection began, which its first packet decides.
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
    received: ReceiveQueue,
    /// What we tell of the peer's data that did not reach our application.
    dropped: Dropped,
    /// What the peer tells of ours.
    reported: Reported,
    timestamps: Timestamps,
    window: WindowWatch,
    short: ShortWatch,
    syncs: Syncs,
    /// The ECN nonces to send.
    nonces: NonceSource,
    liveness: Liveness,
    unreached: Unreached,
    due: Due,
    /// Retransmission of the packet that the state repeats.
    retry: Backoff,
    /// When a timer last went off.
    fired_at: Option<Instant>,
    /// When the state gives up.
    deadline: Option<Instant>,
    /// The application asked to close: until when the queue may drain.
    drain_until: Option<Instant>,
    /// When the controller permits the next datagram.
    pace_at: Option<Instant>,
    /// An Ack has just left; whoever still wants one now waits until then.
    ack_floor: Option<Instant>,
    /// The last Ack had no room for all that it should have said: until when the rest waits.
    unsaid_until: Option<Instant>,
    /// Packets without data sent in a row, the last ones (RFC 4340, section 7.7).
    ndp_run: u64,
    /// The last Request or Response sent, for a round-trip sample.
    handshake_sent: Option<(Seq, Instant)>,
    /// In RESPOND: bytes that the Response may have.
    response_limit: usize,
    /// In REQUEST: the Sync of a peer that still has an older connection on our flow.
    older_peer: Option<Seq>,
    /// In REQUEST: the first of our own Requests that came back.
    echoed: Option<Seq>,
    /// Of a server: its client may still be in PARTOPEN.
    unconfirmed: Option<Unconfirmed>,
    /// The first number of the peer's after the handshake: what feedback is about.
    peer_from: Seq,
    /// Which of our packets feedback may be about, and which of the peer's it is given on.
    own_since: Since,
    peer_since: Since,
    ccids: CcidChanges,
    /// The connection's own estimate of the round trip.
    rtt: Option<Duration>,
    /// Init Cookie options: of a client as they came, to be echoed in PARTOPEN; of a server that
    /// is to forget the connection, for its Response.
    cookies: Vec<u8>,
    /// Until when the cookie with which it began may begin another on this flow.
    cookie_until: Option<Instant>,
    /// Listens sent, or heard and acted upon (RFC 5596).
    listens: u8,
    /// Was the data of a Request or Response passed on?
    took_handshake_data: bool,
    /// Did the peer lie about what it received, for too long?
    is_deceived: bool,
    begun_by: BegunBy,
    /// The bytes of memory that it took when they were last counted.
    counted: Counted,
    known: Known,
    /// Over: must the flow stay in TIMEWAIT? Set once, taken by the endpoint.
    ended: Option<bool>,
    stats: Stats,
}

impl Connection {
    /// A connection that has sent nothing yet.
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
            received: ReceiveQueue::new(&config),
            dropped: Dropped::new(config.receive_queue_packets),
            reported: Reported::default(),
            timestamps: Timestamps::new(origin.timestamp_offset),
            window: WindowWatch::new(config.sequence_window, config.max_sequence_window),
            short: ShortWatch::default(),
            syncs: Syncs::new(),
            nonces: NonceSource::new(origin.nonce_key),
            liveness: Liveness::new(now, &config),
            unreached: Unreached::default(),
            due: Due::default(),
            retry: Backoff::new(FIRST_RETRY),
            fired_at: None,
            deadline: None,
            drain_until: None,
            pace_at: None,
            ack_floor: None,
            unsaid_until: None,
            ndp_run: 0,
            handshake_sent: None,
            response_limit: usize::MAX,
            older_peer: None,
            echoed: None,
            unconfirmed: None,
            peer_from: Seq::ZERO,
            own_since: Since::default(),
            peer_since: Since::default(),
            ccids: CcidChanges::default(),
            rtt: None,
            cookies: Vec::new(),
            cookie_until: None,
            listens: 0,
            took_handshake_data: false,
            is_deceived: false,
            begun_by: match state {
                State::Respond => BegunBy::Stranger,
                _ => BegunBy::Application,
            },
            counted: Counted::default(),
            known: match origin.role {
                Role::Client => Known::Announced,
                Role::Server => Known::Unknown,
            },
            ended: None,
            stats: Stats::default(),
            config,
        }
    }

    /// The Sequence Windows in force: ours, the peer's.
    #[cfg(test)]
    pub(crate) fn windows(&self) -> (u64, u64) {
        (self.sequence.local_window, self.sequence.remote_window)
    }

    /// Replaces the sending half.
    #[cfg(test)]
    pub(crate) fn set_tx(&mut self, tx: Box<dyn Tx>) {
        self.tx = Some(tx);
    }

    /// GSR.
    #[cfg(test)]
    pub(crate) fn greatest_received(&self) -> Seq {
        self.sequence.gsr
    }

    /// Uses up numbers as if their packets had been lost.
    #[cfg(test)]
    pub(crate) fn skip(&mut self, numbers: u64) {
        for _ in 0..numbers {
            self.sequence.next_sent();
        }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// The service that it is for.
    pub(crate) fn service(&self) -> ServiceCode {
        self.service
    }

    /// Did it begin with a Request that nobody here had asked for?
    pub(crate) fn has_come(&self) -> bool {
        self.begun_by == BegunBy::Stranger
    }

    /// Does the application know of it, so that it will release it?
    pub(crate) fn is_announced(&self) -> bool {
        self.known == Known::Announced
    }

    /// The port whose listener began it, while its handshake is under way.
    pub(crate) fn awaited_at(&self) -> Option<u16> {
        let awaited = self.state == State::Respond && !self.is_announced();
        awaited.then_some(self.flow.local_port)
    }

    /// Does it stand in line for a place in the accept queue?
    pub(crate) fn is_in_line(&self) -> bool {
        self.known == Known::InLine
    }

    /// If it is over and the endpoint has not seen it yet: must its flow stay in TIMEWAIT?
    pub(crate) fn take_ended(&mut self) -> Option<bool> {
        self.ended.take()
    }

    /// The best round-trip time there is.
    fn rtt(&self) -> Duration {
        let measured = self.tx.as_ref().and_then(|tx| tx.srtt()).or(self.rtt);
        measured.unwrap_or(DEFAULT_RTT)
    }

    /// Datagrams in the send queue, as the controllers count them.
    fn waiting(&self) -> u32 {
        u32::try_from(self.queue.len()).unwrap_or(u32::MAX)
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

    /// A hundred thousand connections, without what they hold elsewhere, fit into half a gigabyte.
    #[test]
    fn not_too_large() {
        assert!(
            size_of::<Connection>() <= 5_000,
            "{}",
            size_of::<Connection>()
        );
    }
}
