//! The effects of the peer's Data Dropped and Slow Receiver (RFC 4340, sections 11.6 and 11.7).

use fairwire_units::Instant;
use fairwire_wire::{DropCode, Seq};

use super::{Call, Subflow};
use crate::event::Event;
use crate::packet_options::PacketOptions;

impl Subflow {
    /// Processes what a packet says about the peer's host. Returns whether there is anything new, also for the sending
    /// half.
    pub(super) fn read_host_report(
        &mut self,
        call: &mut Call<'_, '_>,
        options: &PacketOptions<'_>,
        ackno: Option<Seq>,
    ) -> bool {
        if options.drops.is_empty() && !options.is_slow {
            return false;
        }
        let ackno = ackno.filter(|ack| !ack.is_after(self.sequence.gss));
        if !self.reported.read(options, ackno, self.sequence.iss) {
            return false;
        }
        let rtt = self.rtt();
        if self.reported.new.slow {
            self.stats.slow_receivers += 1;
            if !self.reported.is_slow(call.now) {
                call.emit(Event::SlowReceiver);
            }
            self.reported.slow_until = Some(call.now + rtt);
        }
        let (mut refused, mut not_listening) = (false, false);
        for run in &self.reported.new.drops {
            self.stats.dropped_by_peer[usize::from(run.code.number())] += run.packets();
            refused |= run.code == DropCode::ProtocolConstraints;
            not_listening |= run.code == DropCode::NotListening;
        }
        if refused {
            // RFC 4340, 11.7.2: nothing is sent while the constraint seems to hold. A negotiation takes a round trip.
            self.reported.refused_until = Some(call.now + rtt);
        }
        if not_listening && !std::mem::replace(&mut call.channel.readers.has_peer_stopped, true) {
            // RFC 4340, 11.7.2: nobody will ever read what we send.
            call.channel.refuse_queued(call.ctx);
            call.emit(Event::NotListening);
        }
        true
    }

    /// Returns whether the peer has asked within the last round trip for no more data than it gets.
    pub(crate) fn is_receiver_slow(&self, now: Instant) -> bool {
        self.reported.is_slow(now)
    }
}
