//! ICMP errors which say that packets do not reach the peer (RFC 4340, section 14.1).
//!
//! Anybody can send such an error, so its effect depends on what it proves (RFC 5927). The proof is the 48-bit number
//! of a packet of ours that is still in the network.
//!
//! - **An attempt to connect** ends at once if a hard error quotes the number of one of its Requests. A soft error does
//!   not end it, nor does a hard one whose quote is too short for a number (RFC 6773, 3.6). Then Requests are repeated
//!   until `Config::connect_timeout`, and the error becomes the reason of the failure.
//! - **An open or closing connection** ends after two errors from the peer's own host (port or protocol) with a proof.
//!   The second must be about a packet that left after the first error came, and nothing may arrive from the peer in
//!   between. The first makes us ask the peer with a Sync. Guessing one number out of 2^48 would be as hard as for a
//!   Reset. The second error is required because of RFC 5927, 5.2: a firewall that restarts, or a route that briefly
//!   leads to the wrong host, rejects a packet or two of a connection that is still good. A server that follows its
//!   client waits for three seconds more.
//! - **A half-open connection of a server, and one that invites its client**, rely on their timers (RFC 5596, 2.2.2).

use fairwire_units::Duration;
use fairwire_wire::{ResetCode, Seq};

use super::migration::PATIENCE;
use super::parts::syncs::Sender;
use super::{Call, State, Subflow};
use crate::event::CloseReason;
use crate::transmit::Unreachable;

impl Subflow {
    /// Handles an ICMP error, which says that a packet of this flow did not reach the peer, and `why`. `seq` is the
    /// packet's number, if the quote was long enough to contain it.
    pub(crate) fn on_unreachable(
        &mut self,
        call: &mut Call<'_, '_>,
        seq: Option<Seq>,
        why: Unreachable,
    ) {
        match self.state {
            State::Request => self.on_attempt_unreachable(call, seq, why),
            State::PartOpen | State::Open | State::CloseReq | State::Closing => {
                let Some(seq) = seq.filter(|_| why.ends_open()) else {
                    return;
                };
                self.on_peer_gone(call, seq, why);
            }
            // RFC 5596, 2.2.2: an error about a Listen is ignored.
            State::Closed | State::Invited | State::Listen1 | State::Respond => {}
        }
    }

    fn on_attempt_unreachable(
        &mut self,
        call: &mut Call<'_, '_>,
        seq: Option<Seq>,
        why: Unreachable,
    ) {
        let (iss, gss) = (self.sequence.iss, self.sequence.gss);
        // RFC 4340, 14.1: trusted only about a Request that we sent.
        if gss.is_before(iss) || seq.is_some_and(|seq| !seq.in_window(iss, gss)) {
            return;
        }
        self.icmp_errors.last = Some(why);
        // RFC 1122, 4.2.3.9: a soft error must not end the attempt, a hard one should. RFC 5927: an attacker chooses
        // how much a forged error quotes; only the number shows that it is about our Request.
        if why.is_hard() && seq.is_some() {
            self.end(call, CloseReason::Unreachable { why }, false);
        }
    }

    /// Handles an error of the peer's host which says that the connection's program is gone.
    fn on_peer_gone(&mut self, call: &mut Call<'_, '_>, seq: Seq, why: Unreachable) {
        // RFC 4340, 14.1: the number of a packet that may still be in the network. If a later packet was acknowledged,
        // the peer was there after this one was sent.
        if !self.sequence.is_ack_valid(seq) || !seq.is_after(self.sequence.gar) {
            return;
        }
        let (gss, heard_at) = (self.sequence.gss, self.sequence.heard_at);
        // A client that has another address is not heard for a moment, and nobody is where it was.
        let patience = if self.follows() {
            PATIENCE
        } else {
            Duration::ZERO
        };
        if self
            .icmp_errors
            .confirms(call.now, seq, gss, heard_at, patience)
        {
            // If the peer is there after all, the Reset tells it.
            let reason = CloseReason::Unreachable { why };
            self.reset(call, ResetCode::Aborted, [0; 3], reason);
        } else if self.state == State::Open {
            // In the other states the packet of the state is repeated anyway.
            self.syncs
                .ask(call.now, self.sequence.acknowledgeable, Sender::OnPath);
        }
    }
}
