//! The two halves: how they are created, replaced in mid-connection, and restarted on a new path (RFC 4340, sections 10
//! and 10.5).
//!
//! A new half starts from the initial state of its CCID. Datagrams that the old half had in flight get the fate Sent,
//! because nobody reads feedback about them any more. The new half sees neither feedback on packets sent before, nor
//! packets that the peer sent before. Late packets of the old CCID therefore do no harm.

use fairwire_units::{Duration, Instant};
use fairwire_wire::feature::Feature;
use fairwire_wire::{Ccid, Seq};

use super::parts::ccids::ValidFrom;
use super::{Call, State, Subflow};
use crate::ccid::{CcidProfile, Setup, ccid_profile, list_ccids};
use crate::error::ChangeCcidError;
use crate::event::{Direction, Event};
use crate::feature::Location;
use crate::work;

/// Returns where the CCID of this direction is located.
fn location_of(direction: Direction) -> Location {
    match direction {
        Direction::Send => Location::Local,
        Direction::Receive => Location::Remote,
    }
}

/// Returns the direction of the data whose CCID is located there.
fn direction_of(location: Location) -> Direction {
    match location {
        Location::Local => Direction::Send,
        Location::Remote => Direction::Receive,
    }
}

impl Subflow {
    /// Asks for another CCID in mid-connection.
    pub(crate) fn change_ccid(
        &mut self,
        call: &mut Call<'_, '_>,
        direction: Direction,
        ccids: &[Ccid],
    ) -> Result<(), ChangeCcidError> {
        let now = call.now;
        if self.state != State::Open || call.channel.drain_until.is_some() {
            return Err(ChangeCcidError::NotOpen);
        }
        if ccids.is_empty() {
            return Err(ChangeCcidError::NoCcid);
        }
        if let Some(&ccid) = ccids.iter().find(|&&ccid| ccid_profile(ccid).is_none()) {
            let known = list_ccids("or", |_| true);
            return Err(ChangeCcidError::UnknownCcid { ccid, known });
        }
        let location = location_of(direction);
        if !self.negotiation.is_settled(Feature::Ccid, location) {
            return Err(ChangeCcidError::InProgress);
        }
        if let Some(wait) = self.ccid_lock(now, location) {
            return Err(ChangeCcidError::TooSoon { wait: wait.into() });
        }
        self.ccids.asked[location as usize] = true;
        self.negotiation.change_ccid(location, ccids);
        self.refresh_agreed();
        Ok(())
    }

    /// Returns how long the CCID at a location must still stay, if it must (RFC 4340, 10.5): a peer must not evade
    /// congestion control by changing it often.
    fn ccid_lock(&self, now: Instant, location: Location) -> Option<Duration> {
        let changed_at = self.ccids.changed_at[location as usize]?;
        let until = changed_at + self.config.ccid_change_interval.into();
        Some(until.saturating_since(now)).filter(|wait| !wait.is_zero())
    }

    /// Locks the CCIDs that must not change now, before the options of a packet are read.
    pub(super) fn lock_ccids(&mut self, now: Instant) {
        for location in [Location::Local, Location::Remote] {
            let locked = self.ccid_lock(now, location).is_some();
            self.negotiation.lock_ccid(location, locked);
        }
    }

    /// Reports to the application, after a negotiation option, the result of its request.
    pub(super) fn note_ccids(&mut self, call: &mut Call<'_, '_>) {
        for location in [Location::Local, Location::Remote] {
            if self.ccids.asked[location as usize]
                && self.negotiation.is_settled(Feature::Ccid, location)
            {
                self.tell_ccid(call, location);
            }
        }
    }

    fn tell_ccid(&mut self, call: &mut Call<'_, '_>, location: Location) {
        self.ccids.asked[location as usize] = false;
        if let Some(ccid) = self.negotiation.ccid(location) {
            let direction = direction_of(location);
            call.emit(Event::Ccid { direction, ccid });
        }
    }

    /// Creates or replaces a half after its CCID was agreed on, with packet `seq` of the peer.
    pub(super) fn follow_ccid(&mut self, call: &mut Call<'_, '_>, seq: Seq, location: Location) {
        let had = match location {
            Location::Local => self.stats.send_ccid,
            Location::Remote => self.stats.receive_ccid,
        };
        let agreed = match location {
            Location::Local => self.agreed.send,
            Location::Remote => self.agreed.receive,
        };
        let changes = had.is_some() && agreed.is_some_and(|profile| had != Some(profile.ccid()));
        let Some(profile) = agreed.filter(|_| changes) else {
            return self.make_halves(call);
        };
        self.learn_rtt();
        match location {
            Location::Local => self.make_sender(call, profile),
            Location::Remote => {
                // RFC 4340, 11.4: nothing is said of packets that the old half received, so that they are not reported
                // missing. The new half sees the present packet, unless it is late.
                let first = Seq::max(self.sequence.acknowledgeable.next(), seq);
                self.make_receiver(call.now, profile, first);
            }
        }
        self.ccids.changed_at[location as usize] = Some(call.now);
        // RFC 4340, 10.5: another option of the same packet must not change it again.
        self.negotiation.lock_ccid(location, true);
        self.tell_ccid(call, location);
    }

    /// Returns whether the half of this location exists and has CCID `number`.
    pub(super) fn has_half(&self, location: Location, number: u64) -> bool {
        let has = match location {
            Location::Local => self.stats.send_ccid,
            Location::Remote => self.stats.receive_ccid,
        };
        has.is_some_and(|ccid| u64::from(ccid.number()) == number)
    }

    /// Keeps the round-trip estimate of the sending half, which is about to be replaced.
    fn learn_rtt(&mut self) {
        self.rtt = self.tx.as_ref().and_then(|tx| tx.srtt()).or(self.rtt);
    }

    /// Creates the halves for the CCIDs in force, unless they exist already.
    pub(super) fn make_halves(&mut self, call: &mut Call<'_, '_>) {
        if let Some(profile) = self.agreed.send
            && self.stats.send_ccid != Some(profile.ccid())
        {
            self.make_sender(call, profile);
        }
        if let Some(profile) = self.agreed.receive
            && self.stats.receive_ccid != Some(profile.ccid())
        {
            self.make_receiver(call.now, profile, self.peer_first);
        }
        if let Some(rtt) = self.rtt {
            self.tell_rtt(call.now, rtt);
        }
    }

    fn setup(&self) -> Setup<'_> {
        Setup {
            config: &self.config,
            max_datagram: u32::try_from(self.sizes.max_datagram()).unwrap_or(u32::MAX),
            rtt: self.rtt,
            first: self.peer_first,
            short: self.agreed.short,
            loss_event_rate: self
                .negotiation
                .is_on(Feature::SendLossEventRate, Location::Remote),
        }
    }

    fn make_sender(&mut self, call: &mut Call<'_, '_>, profile: &CcidProfile) {
        work::step();
        let mut tx = profile.sender(call.now, self.setup());
        let (feature, here) = (Feature::AckRatio, Location::Local);
        let ratio = self.negotiation.current(feature, here);
        tx.set_ack_ratio(u16::try_from(ratio).unwrap_or(u16::MAX));
        if let Some(mut old) = self.tx.replace(tx) {
            old.finish(call.ctx.outcome);
            self.own_valid_from = ValidFrom(Some(self.next_seq()));
        }
        self.target.restart();
        self.stats.send_ccid = Some(profile.ccid());
        self.settle_outcome(call);
    }

    /// Creates a receiving half for packets from `first` on.
    pub(super) fn make_receiver(&mut self, now: Instant, profile: &CcidProfile, first: Seq) {
        work::step();
        self.peer_first = first;
        let mut rx = profile.receiver(now, self.setup());
        let (feature, there) = (Feature::AckRatio, Location::Remote);
        let ratio = self.negotiation.current(feature, there);
        rx.set_ack_ratio(u16::try_from(ratio).unwrap_or(u16::MAX));
        rx.set_rtt_estimates(self.agreed.peer_rtt_estimates);
        if let Some(rtt) = self.rtt {
            rx.set_rtt_hint(rtt);
        }
        if self.rx.replace(rx).is_some() {
            self.peer_valid_from = ValidFrom(Some(first));
        }
        self.stats.receive_ccid = Some(profile.ccid());
    }

    /// Restarts path-dependent state, because the network path has changed.
    pub(crate) fn path_changed(&mut self, call: &mut Call<'_, '_>) {
        if !matches!(self.state, State::PartOpen | State::Open) {
            return;
        }
        // Another path may take packets of another size.
        self.rediscover_path_mtu(call);
        self.restart_halves(call, None);
    }

    /// Replaces what knows the old path in both halves. `rtt` is the round trip of the new one, if it is known.
    pub(super) fn restart_halves(&mut self, call: &mut Call<'_, '_>, rtt: Option<Duration>) {
        // RFC 4340, 10.5: sender and receiver start again as on a new connection.
        self.rtt = rtt;
        self.handshake_sent = None;
        if let Some(profile) = self.agreed.send {
            self.make_sender(call, profile);
        }
        let holds = self.rx.as_ref().is_some_and(|rx| rx.holds_path_state());
        if holds && let Some(profile) = self.agreed.receive {
            self.make_receiver(call.now, profile, self.sequence.acknowledgeable.next());
        }
    }

    /// Takes a round trip that the connection measured.
    pub(super) fn measured(&mut self, now: Instant, rtt: Duration) {
        self.rtt = Some(rtt);
        self.tell_rtt(now, rtt);
    }

    fn tell_rtt(&mut self, now: Instant, rtt: Duration) {
        if let Some(tx) = &mut self.tx {
            tx.on_rtt_sample(now, rtt);
        }
        if let Some(rx) = &mut self.rx {
            rx.set_rtt_hint(rtt);
        }
    }
}
