//! The table of congestion controls that a connection can run.
//!
//! Each row is a CCID: its number, its kind of feedback (Ack Vectors or TFRC options), and its controller. Experimental
//! CCIDs use numbers from 248 to 254 (RFC 4340, section 19.5).

use fairwire_units::{Duration, Instant};
use fairwire_wire::{Ccid, Seq, option_type};

use crate::ackvec;
use crate::config::Config;
use crate::half::{Rx, Tx};
use crate::tfrc::{Profile, TfrcRx, TfrcTx};

/// The input from which a half-connection is created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup<'a> {
    /// The connection's configuration.
    pub config: &'a Config,
    /// The largest datagram, bytes.
    pub max_datagram: u32,
    /// The round-trip time, if the handshake measured one.
    pub rtt: Option<Duration>,
    /// The first packet of the peer that feedback is about.
    pub first: Seq,
    /// Whether our data packets have 24-bit sequence numbers.
    pub short: bool,
    /// Whether the peer sends Loss Event Rate options (RFC 4342, section 8.4).
    pub loss_event_rate: bool,
}

/// One congestion control.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its CCID.
    pub(crate) ccid: Ccid,
    /// Creates the half that sends data.
    pub(crate) sender: fn(Instant, Setup<'_>) -> Box<dyn Tx>,
    /// Creates the half that receives data.
    pub(crate) receiver: fn(Instant, Setup<'_>) -> Box<dyn Rx>,
    /// The option types that its sending half reads.
    read_by_sender: &'static [u8],
    /// The option types that its receiving half reads.
    read_by_receiver: &'static [u8],
}

const ROWS: &[Row] = &[
    // RFC 4340, 10: CCID 2, TCP-like, is always available (RFC 4341).
    Row {
        ccid: Ccid::TCP_LIKE,
        sender: |now, setup| {
            let config = &setup.config.ccid2;
            let mut sender = ackvec::Sender::new(now, config, setup.max_datagram, setup.rtt);
            if setup.config.check_feedback {
                sender = sender.checking_reports();
            }
            if setup.config.ecn && setup.config.ecn_nonce {
                sender = sender.checking_nonces();
            }
            Box::new(sender)
        },
        receiver: |_, setup| {
            let receiver = ackvec::Receiver::new(Some(setup.first))
                .on_all_data(setup.config.ccid2.ack_vector_on_all_data);
            if setup.config.ecn {
                Box::new(receiver)
            } else {
                Box::new(receiver.without_ecn())
            }
        },
        read_by_sender: &[option_type::ACK_VECTOR_0, option_type::ACK_VECTOR_1],
        read_by_receiver: &[],
    },
    // RFC 4342: TFRC.
    Row {
        ccid: Ccid::TFRC,
        sender: |now, setup| tfrc_sender(now, setup, Profile::Ccid3),
        receiver: |now, setup| tfrc_receiver(now, setup, Profile::Ccid3),
        read_by_sender: &[
            option_type::LOSS_EVENT_RATE,
            option_type::LOSS_INTERVALS,
            option_type::RECEIVE_RATE,
        ],
        read_by_receiver: &[],
    },
    // RFC 5622: TFRC for small packets.
    Row {
        ccid: Ccid::TFRC_SP,
        sender: |now, setup| tfrc_sender(now, setup, small_packets(&setup)),
        receiver: |now, setup| tfrc_receiver(now, setup, small_packets(&setup)),
        read_by_sender: &[
            option_type::LOSS_EVENT_RATE,
            option_type::LOSS_INTERVALS,
            option_type::RECEIVE_RATE,
            option_type::DROPPED_PACKETS,
        ],
        read_by_receiver: &[],
    },
];

fn tfrc_sender(now: Instant, setup: Setup<'_>, profile: Profile) -> Box<dyn Tx> {
    let config = &setup.config.ccid3;
    let (mps, rtt, rate) = (setup.max_datagram, setup.rtt, setup.loss_event_rate);
    let half = TfrcTx::new(config, profile, mps, rtt, now, rate);
    if setup.config.check_feedback {
        Box::new(half.checking_reports())
    } else {
        Box::new(half)
    }
}

fn tfrc_receiver(now: Instant, setup: Setup<'_>, profile: Profile) -> Box<dyn Rx> {
    let newest = setup.first.prev();
    let config = &setup.config.ccid3;
    Box::new(TfrcRx::new(config, profile, setup.rtt, now, newest))
}

/// Returns the profile of CCID 4 for the path of this connection.
fn small_packets(setup: &Setup<'_>) -> Profile {
    Profile::small_packets(setup.config.path_mtu, setup.short)
}

/// Returns the row of a CCID.
pub(crate) fn row(ccid: Ccid) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.ccid == ccid)
}

impl Row {
    /// Returns whether its sending half reads options of this type.
    pub(crate) fn sender_reads(&self, option_type: u8) -> bool {
        self.read_by_sender.contains(&option_type)
    }

    /// Returns whether its receiving half reads options of this type.
    pub(crate) fn receiver_reads(&self, option_type: u8) -> bool {
        self.read_by_receiver.contains(&option_type)
    }
}

#[cfg(test)]
mod tests {
    use super::ROWS;
    use crate::constants::CCIDS;

    /// A configuration may name exactly the CCIDs that have a row.
    #[test]
    fn every_ccid_has_a_row() {
        assert_eq!(ROWS.iter().map(|row| row.ccid).collect::<Vec<_>>(), CCIDS);
    }
}
