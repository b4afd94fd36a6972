//! The features of a connection: the effect of agreed values, and the changes that the traffic needs.

use fairwire_units::Instant;
use fairwire_wire::Seq;
use fairwire_wire::feature::Feature;

use super::parts::agreed::Agreed;
use super::parts::sequence::INITIAL_WINDOW;
use super::{Call, State, Subflow};
use crate::feature::{Handled, Location};
use crate::work;

impl Subflow {
    /// Updates the cached results of negotiation. Called after a packet with negotiation options, and whenever we asked
    /// for a change or wrote an option.
    pub(super) fn refresh_agreed(&mut self) {
        work::step();
        let due = self.negotiation.next_timeout(self.rtt());
        self.agreed = Agreed {
            due,
            ..Agreed::of(&self.negotiation)
        };
        self.agreed.ect &= self.config.ecn;
    }

    /// Updates only the time of the next packet for negotiation.
    pub(super) fn refresh_negotiation_time(&mut self) {
        self.agreed.due = self.negotiation.next_timeout(self.rtt());
    }

    /// Applies a value that came into force with packet `seq` of the peer.
    pub(super) fn apply(&mut self, call: &mut Call<'_, '_>, seq: Seq, handled: Handled) {
        let Handled::Agreed {
            feature,
            location,
            value,
        } = handled
        else {
            return;
        };
        match (feature, location) {
            (Feature::SequenceWindow, Location::Local) => self.sequence.local_window = value,
            (Feature::SequenceWindow, Location::Remote) => self.widen_window(value),
            (Feature::AckRatio, Location::Remote) => {
                if let Some(rx) = &mut self.rx {
                    rx.set_ack_ratio(u16::try_from(value).unwrap_or(u16::MAX));
                }
            }
            (Feature::SendRttEstimate, Location::Remote) => {
                if let Some(rx) = &mut self.rx {
                    rx.set_rtt_estimates(value != 0);
                }
            }
            (Feature::AckRatio, Location::Local) => {
                if let Some(tx) = &mut self.tx {
                    tx.set_ack_ratio(u16::try_from(value).unwrap_or(u16::MAX));
                }
            }
            (Feature::SendLossEventRate, Location::Remote) => {
                if let Some(tx) = &mut self.tx {
                    tx.set_loss_event_rate(value != 0);
                }
            }
            _ => {}
        }
        if feature == Feature::Ccid && self.state >= State::PartOpen {
            let followed = self.ccids.follow(location);
            if !(followed && self.has_half(location, value)) {
                self.refresh_agreed();
                self.follow_ccid(call, seq, location);
            }
        }
    }

    /// Sets the peer's Sequence Window to `packets`.
    ///
    /// In RESPOND it is not yet wider than the initial window of every connection (RFC 4340, 7.5.2). The sender of the
    /// Request may have forged its address and could make the numbers jump as far as it likes. An honest client's
    /// packets beyond the window are recovered by the answer to our Sync.
    fn widen_window(&mut self, packets: u64) {
        self.sequence.remote_window = match self.state {
            State::Respond => packets.min(INITIAL_WINDOW),
            _ => packets,
        };
    }

    /// Applies the Sequence Window that the peer asked for in the handshake, which is now complete.
    pub(super) fn open_window(&mut self) {
        let (feature, there) = (Feature::SequenceWindow, Location::Remote);
        let packets = self.negotiation.current(feature, there);
        self.widen_window(packets);
    }

    /// Asks for the features that the traffic needs: a wide enough Sequence Window, 48-bit numbers where short ones are
    /// unsafe, and the Ack Ratio and NDP Counts that the sending half wants.
    pub(super) fn adapt_features(&mut self, now: Instant) {
        let mut asked = self.give_up_short(now);
        let Some(tx) = &self.tx else {
            return;
        };
        let (expected, ratio) = (tx.packets_per_rtt(), tx.wanted_ack_ratio());
        let wants_counts = tx.wants_ndp_counts();
        let (gss, gar) = (self.sequence.gss, self.sequence.gar);
        if tx.heeds_window()
            && let Some(window) = self.window.widen(now, self.rtt(), gss, gar, expected)
        {
            let (feature, here) = (Feature::SequenceWindow, Location::Local);
            asked |= self.negotiation.request_change(feature, here, window);
        }
        // RFC 4341, 6.1.2: the ratio changes at most once per round trip. An earlier request has to be answered first,
        // which takes a round trip; one that has not left yet may be replaced.
        let (feature, here) = (Feature::AckRatio, Location::Local);
        if let Some(ratio) = ratio.map(u64::from)
            && !self.negotiation.is_offered(feature, here, ratio)
            && !self.negotiation.is_awaited(feature, here)
        {
            asked |= self.negotiation.request_change(feature, here, ratio);
        }
        if wants_counts && !self.agreed.peer_ndp {
            // RFC 4341, 6.1.1: with NDP Counts, lost data is not mistaken for lost acknowledgements.
            asked |= self
                .negotiation
                .request_only(Feature::SendNdpCount, Location::Remote, 1);
        }
        if asked {
            self.refresh_negotiation_time();
        }
    }
}
