//! The state that decides a connection's future, for the exhaustive search in `endpoint::tests::worlds`.
//!
//! Every field is named here, so that a new field does not compile until somebody has decided about it. Left out are:
//! - the configuration, which is the same in all states of one search and is never changed;
//! - the counters, except those on which decisions depend;
//! - the target bitrate, on which no packet depends;
//! - the last count of memory, which follows from the other fields;
//! - the last packet as the negotiation keeps it: only whether it moves FGSR matters, and that is included
//!   (`Negotiation::between_packets`).

use std::fmt::{self, Write};

use super::{Channel, Connection, Subflow};
use crate::feature::{KNOWN, Location, Role};
use crate::stats::Stats;

/// Writes the fields of a value, each of which is named: those that decide, and those that do not.
macro_rules! decides {
    ($of:expr, $type:ident, $out:expr, $($field:ident),* ; $($ignored:ident),*) => {
        let $type { $($field,)* $($ignored: _,)* } = $of;
        $(write!($out, "{:?};", $field)?;)*
    };
}

impl Connection {
    pub(crate) fn is_server(&self) -> bool {
        self.subflow.role == Role::Server
    }

    /// Returns whether the application has asked to close.
    pub(crate) fn is_to_close(&self) -> bool {
        self.channel.drain_until.is_some()
    }

    /// Returns the values in force: those of our features, and those of the peer's.
    pub(crate) fn features_in_force(&self) -> [[u64; KNOWN.len()]; 2] {
        let negotiation = &self.subflow.negotiation;
        [Location::Local, Location::Remote]
            .map(|location| KNOWN.map(|feature| negotiation.current(feature, location)))
    }

    /// Writes all state that decides what the connection will do.
    pub(crate) fn fingerprint(&self, out: &mut impl Write) -> fmt::Result {
        let Self {
            channel,
            subflow,
            counted: _,
        } = self;
        decides!(
            channel, Channel, out, id, known, queue, groups, kept, copies, next_message, assembly, received, dropped, secure, drain_until, codes, cap,
            readers; reports_fates, slow_receiver_percent, counts
        );
        decides!(
            subflow, Subflow, out, flow, role, state, service, sizes, mtu, sequence, agreed, tx, rx, arrivals, dropped,
            reported, timestamps, window, short, syncs, nonces, liveness, icmp_errors, due, retry, fired_at, deadline,
            pace_at, next_ack_at, rest_deferred_until, ndp_run, handshake_sent, response_limit, older_peer, echoed,
            unconfirmed, peer_first, own_valid_from, peer_valid_from, ccids, rtt, cookies, cookie_until, listens,
            took_handshake_data, is_peer_aggressive, begun_by, migration, moved_from, ended; config, target, negotiation, stats
        );
        write!(out, "{:?};", subflow.negotiation.between_packets())?;
        let Stats {
            packets_sent,
            lost,
            send_ccid,
            receive_ccid,
            ..
        } = &subflow.stats;
        let has_sent = *packets_sent > 0;
        write!(out, "{has_sent} {lost} {send_ccid:?} {receive_ccid:?}")
    }
}
