//! What a connection is begun with, and what it needs during a call.

use std::collections::VecDeque;
use std::sync::Arc;

use fairwire_units::Instant;
use fairwire_wire::{Seq, ServiceCode};

use super::parts::draws::DrawKey;
use crate::config::Config;
use crate::event::ConnectionEvent;
use crate::feature::Role;
use crate::flow::Flow;
use crate::half::FeedbackOutcome;
use crate::id::ConnectionId;
use crate::records::Records;
use crate::reply::Replies;

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
    /// Where records are sealed and opened.
    pub(crate) records: &'a mut Records,
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
    pub(crate) nonce_key: DrawKey,
    pub(crate) config: Arc<Config>,
}
