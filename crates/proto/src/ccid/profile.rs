//! The profile of a CCID: what distinguishes it from others (RFC 4340, section 10.4).

use std::fmt;

use fairwire_cc::{Controller, with_delivery_rate};
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

/// The input from which a CCID's controller is created.
///
/// If the handshake measured a round-trip time, the controller gets it as its first feedback.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ControllerSetup<'a> {
    /// The connection's configuration.
    pub config: &'a Config,
    /// The largest datagram, bytes.
    pub max_datagram: u32,
}

/// Creates the controller of a connection that sends.
type MakeController = Box<dyn Fn(ControllerSetup<'_>) -> Box<dyn Controller> + Send + Sync>;

/// The dialect of a CCID's feedback.
pub(super) enum Dialect {
    AckVectors(MakeController),
    Tfrc(fn(&Setup<'_>) -> Profile),
}

/// A congestion control identifier with its meaning (a profile of RFC 4340, section 10.4).
pub struct CcidProfile {
    pub(super) ccid: Ccid,
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    pub(super) dialect: Dialect,
    /// The option types that the sending half reads. Those of Data Dropped belong to the connection.
    pub(super) read_by_sender: &'static [u8],
    /// The keys and tables of [`Config`] that only some CCIDs read, as far as this one does.
    pub(super) settings: &'static [&'static str],
    /// The keys in these tables that it does not read.
    pub(super) without: &'static [&'static str],
}

/// The settings that every CCID with Ack Vectors reads.
const OF_ACK_VECTORS: &[&str] = &[
    "ecn_nonce",
    "resend",
    "ccid2.min_rto",
    "ccid2.ack_ratio",
    "ccid2.ack_ratio_follows",
    "ccid2.ack_vector_on_all_data",
];

impl CcidProfile {
    /// Creates a profile whose receiver acknowledges each packet in Ack Vectors. `controller` creates the controller of
    /// a connection that sends under it; the controller may keep a window or a rate.
    ///
    /// `name` is a word or two and `meaning` one sentence; both are for help and errors.
    ///
    /// Both ends of a connection must know the profile. Numbers 248 to 254 are for experiments (RFC 4340, section
    /// 19.5): all others are assigned by standards, so a peer may understand something else by them.
    pub fn with_ack_vectors(
        ccid: Ccid,
        name: &'static str,
        meaning: &'static str,
        controller: impl Fn(ControllerSetup<'_>) -> Box<dyn Controller> + Send + Sync + 'static,
    ) -> Self {
        Self {
            ccid,
            name,
            meaning,
            dialect: Dialect::AckVectors(Box::new(controller)),
            read_by_sender: &[option_type::ACK_VECTOR_0, option_type::ACK_VECTOR_1],
            settings: OF_ACK_VECTORS,
            without: &[],
        }
    }

    /// Returns the number.
    pub fn ccid(&self) -> Ccid {
        self.ccid
    }

    /// Returns the name, such as "TCP-like".
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the meaning, one sentence.
    pub fn meaning(&self) -> &'static str {
        self.meaning
    }

    /// Returns whether its receiver acknowledges each packet. Otherwise it reports loss event rates, as TFRC does.
    pub fn acknowledges_packets(&self) -> bool {
        matches!(self.dialect, Dialect::AckVectors(_))
    }

    /// Returns whether its window follows the law of the setting `ccid2.law`.
    pub fn has_window_law(&self) -> bool {
        self.reads("ccid2.law")
    }

    /// Returns whether it reads this setting of [`Config`], or a key in this table, and not every CCID does.
    pub fn reads(&self, setting: &str) -> bool {
        let is_in = |one: &str, table: &str| {
            let rest = one.strip_prefix(table);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let has = |known: &&str| is_in(setting, known) || is_in(known, setting);
        self.settings.iter().any(has) && !self.without.iter().any(|one| is_in(setting, one))
    }
}

impl CcidProfile {
    /// Creates the half that sends data.
    pub(crate) fn sender(&self, now: Instant, setup: Setup<'_>) -> Box<dyn Tx> {
        let (config, size, rtt) = (setup.config, setup.max_datagram, setup.rtt);
        match &self.dialect {
            Dialect::AckVectors(controller) => {
                let controller = with_delivery_rate(controller(ControllerSetup {
                    config,
                    max_datagram: size,
                }));
                let mut sender = ackvec::Sender::new(now, &config.ccid2, controller, size, rtt);
                if config.check_feedback {
                    sender = sender.checking_reports();
                }
                if config.ecn && config.ecn_nonce {
                    sender = sender.checking_nonces();
                }
                Box::new(sender)
            }
            Dialect::Tfrc(profile) => {
                let (profile, rate) = (profile(&setup), setup.loss_event_rate);
                let half = TfrcTx::new(&config.ccid3, profile, size, rtt, now, rate);
                if config.check_feedback {
                    Box::new(half.checking_reports())
                } else {
                    Box::new(half)
                }
            }
        }
    }

    /// Creates the half that receives data.
    pub(crate) fn receiver(&self, now: Instant, setup: Setup<'_>) -> Box<dyn Rx> {
        let config = setup.config;
        match &self.dialect {
            Dialect::AckVectors(_) => {
                let receiver = ackvec::Receiver::new(Some(setup.first))
                    .on_all_data(config.ccid2.ack_vector_on_all_data);
                if config.ecn {
                    Box::new(receiver)
                } else {
                    Box::new(receiver.without_ecn())
                }
            }
            Dialect::Tfrc(profile) => {
                let (profile, newest) = (profile(&setup), setup.first.prev());
                Box::new(TfrcRx::new(&config.ccid3, profile, setup.rtt, now, newest))
            }
        }
    }

    /// Returns whether its sending half reads options of this type. No receiving half reads any of its own.
    pub(crate) fn sender_reads(&self, option_type: u8) -> bool {
        self.read_by_sender.contains(&option_type)
    }
}

impl fmt::Debug for CcidProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.ccid, self.name)
    }
}

impl fmt::Display for CcidProfile {
    /// Writes the number and the name, as in "2 (TCP-like)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.ccid.number(), self.name)
    }
}
