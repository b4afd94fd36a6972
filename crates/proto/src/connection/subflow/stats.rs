//! The counters and gauges.

use fairwire_cc::RoundTrip;
use fairwire_units::Rate;
use fairwire_wire::feature::Feature;

use super::Subflow;
use crate::connection::channel::{Carrier, Channel};
use crate::feature::Location;
use crate::stats::Stats;

impl Subflow {
    /// Returns the counters and gauges, those of the channel included.
    pub(crate) fn stats(&self, channel: &Channel) -> Stats {
        let mut stats = self.stats;
        channel.add_to(&mut stats);
        stats.sequence_window = self.sequence.local_window;
        stats.ack_ratio = self.negotiation.current(Feature::AckRatio, Location::Local);
        stats.srtt = self.round_trip().map(Into::into);
        stats.path_mtu = self.sizes.path_mtu();
        if let Some(tx) = &self.tx {
            stats.flight_packets = tx.flight().packets;
            stats.gauges = tx.gauges();
            let RoundTrip { latest, min, .. } = tx.round_trip();
            (stats.latest_rtt, stats.min_rtt) = (latest.map(Into::into), min.map(Into::into));
            stats.allowed_rate = self.allowed_rate(channel);
            stats.target_bitrate = self.target_bitrate(channel);
        }
        if let Some(rx) = &self.rx {
            stats.loss_events_seen = rx.loss_events();
            stats.loss_rate_seen = rx.loss_rate();
            stats.ack_vector_state = rx.state_len();
        }
        stats
    }

    /// Returns the rate that congestion control and the application's cap allow now.
    pub(super) fn allowed_rate(&self, channel: &Channel) -> Option<Rate> {
        let allowed = self.tx.as_ref().and_then(|tx| tx.allowed_rate());
        let allowed = allowed.or_else(|| self.window_rate())?;
        Some(channel.cap.rate().map_or(allowed, |cap| allowed.min(cap)))
    }

    /// Returns the window divided by the round-trip time, with the mean size of the packets sent so far.
    fn window_rate(&self) -> Option<Rate> {
        let tx = self.tx.as_ref()?;
        let (cwnd, srtt) = (tx.cwnd()?, tx.srtt()?);
        let size = match self.stats.data_sent {
            0 => self.sizes.max_datagram() as f64,
            sent => self.stats.bytes_sent as f64 / sent as f64,
        };
        let seconds = srtt.as_secs_f64();
        (seconds > 0.0).then(|| Rate::from_bytes_per_s(cwnd * size / seconds))
    }
}
