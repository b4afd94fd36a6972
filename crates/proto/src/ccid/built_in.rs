//! The CCIDs that Fairwire comes with: 2 (RFC 4341), 3 (RFC 4342) and 4 (RFC 5622).

use fairwire_cc::{
    Controller, Growth, RtoConfig, WindowUnit, Windowed, rfc3390_window, rfc6928_window,
};
use fairwire_wire::{Ccid, option_type};

use super::profile::{CcidProfile, ControllerSetup, Dialect};
use crate::config::WindowCounts;
use crate::constants::DEFAULT_ACK_RATIO;
use crate::tfrc::Profile;

/// The bytes that headers add to a packet, where bytes are counted (RFC 5622, section 5).
const HEADERS: f64 = 36.0;

pub(super) fn profiles() -> impl IntoIterator<Item = CcidProfile> {
    [
        // RFC 4340, 10: CCID 2 is always available.
        CcidProfile {
            settings: &["ecn_nonce", "resend", "ccid2"],
            ..CcidProfile::with_ack_vectors(
                Ccid::TCP_LIKE,
                "TCP-like",
                "A congestion window that grows and shrinks like a TCP's.",
                |setup| setup.window(),
            )
        },
        CcidProfile {
            ccid: Ccid::TFRC,
            name: "TFRC",
            meaning: "A rate that changes smoothly.",
            dialect: Dialect::Tfrc(|_| Profile::Ccid3),
            read_by_sender: &[
                option_type::LOSS_EVENT_RATE,
                option_type::LOSS_INTERVALS,
                option_type::RECEIVE_RATE,
            ],
            settings: &["ccid3", "send_rtt_estimate"],
            without: &[],
        },
        CcidProfile {
            ccid: Ccid::TFRC_SP,
            name: "TFRC for small packets",
            meaning: "As 3, for small packets, at most 100 per second (experimental).",
            dialect: Dialect::Tfrc(|setup| {
                Profile::small_packets(setup.config.path_mtu, setup.short)
            }),
            read_by_sender: &[
                option_type::LOSS_EVENT_RATE,
                option_type::LOSS_INTERVALS,
                option_type::RECEIVE_RATE,
                option_type::DROPPED_PACKETS,
            ],
            settings: &["ccid3", "send_rtt_estimate"],
            // Its segments have 1,460 bytes in the equation.
            without: &["ccid3.segment"],
        },
    ]
}

impl ControllerSetup<'_> {
    /// Returns the window of CCID 2 with the configured law.
    pub(crate) fn window(self) -> Box<dyn Controller> {
        let config = &self.config.ccid2;
        let rto = RtoConfig::CCID2.with_min(config.min_rto.into());
        let initial_window = config
            .initial_window
            .unwrap_or_else(|| match config.window_counts {
                // RFC 4341, 5: at most four packets, as in RFC 3390.
                WindowCounts::Packets => rfc3390_window(self.max_datagram),
                // RFC 9002, 7.2.
                WindowCounts::Bytes => rfc6928_window(self.max_datagram),
            });
        let (unit, growth) = match config.window_counts {
            WindowCounts::Packets => {
                let growth = Growth::Ccid2 {
                    ack_ratio: DEFAULT_ACK_RATIO.into(),
                    slow_start: config.slow_start,
                };
                (WindowUnit::Packets, growth)
            }
            WindowCounts::Bytes => {
                let segment = f64::from(self.max_datagram) + HEADERS;
                let header = HEADERS;
                // RFC 9002, 7.3.1: by the bytes acknowledged.
                let growth = Growth::ByteCounting { limit: u32::MAX };
                (WindowUnit::Segments { segment, header }, growth)
            }
        };
        let window = Windowed::new(config.law.build(), initial_window)
            .with_unit(unit)
            .with_growth(growth)
            .with_growth_after_cut(config.growth_after_cut)
            .with_growth_unused(config.growth_unused)
            .with_idle(config.idle)
            .with_first_timeout(rto.initial.max(rto.min));
        match config.initial_ssthresh {
            Some(packets) => Box::new(window.with_initial_ssthresh(packets)),
            None => Box::new(window),
        }
    }
}
