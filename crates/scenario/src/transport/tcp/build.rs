//! Conversion of a scenario's TCP settings: the configuration and the controller.

use fairwire_cc::{Controller, Growth, RtoConfig};
use fairwire_tcp::{Config, DelayedAcks, EcnMode, RecoveryKind};
use fairwire_units::Duration;

use super::settings::Tcp;

/// The limit L of RFC 3465 in slow start, segments.
const ABC_LIMIT: u32 = 2;

/// The limit with `HyStart++` and without pacing (RFC 9406, section 4.3), segments.
const HYSTART_LIMIT: u32 = 8;

/// Returns the configuration of both sides of the connection.
pub(super) fn config(tcp: &Tcp, wire_bytes: u32) -> Config {
    Config {
        wire_size: wire_bytes,
        initial_window: tcp.initial_window.map(|window| f64::from(window.0)),
        receive_window: tcp.window.map(|window| window.0),
        delayed_acks: tcp.delayed_acks.then_some(DelayedAcks {
            every: 2,
            wait: tcp.ack_wait,
            quick: tcp.quick_acks.0,
            delay: tcp.ack_delay,
        }),
        handshake: tcp.handshake,
        recovery: tcp.recovery,
        sack_after_timeout: tcp.sack_after_timeout,
        limited_transmit: tcp.limited_transmit,
        max_burst: tcp.max_burst.0.max(1),
        growth: if tcp.abc {
            let limit = if tcp.hystart {
                HYSTART_LIMIT
            } else {
                ABC_LIMIT
            };
            Growth::ByteCounting { limit }
        } else {
            Growth::Tcp
        },
        rto: RtoConfig {
            initial: tcp.initial_rto,
            granularity: RtoConfig::TCP
                .granularity
                .max(tcp.tick.unwrap_or(Duration::ZERO)),
            ..RtoConfig::TCP.with_min(tcp.min_rto.duration())
        },
        fast_retransmit_restarts_timer: tcp.rearm,
        sample_every_ack: tcp.law.wants_every_sample() || tcp.recovery == RecoveryKind::Vegas,
        ecn: match (tcp.ecn, tcp.law.counts_marks()) {
            (false, _) => EcnMode::Off,
            (true, false) => EcnMode::Classic,
            (true, true) => EcnMode::Dctcp,
        },
        timestamps: tcp.timestamps,
        tick: tcp.tick,
        hystart: tcp.hystart,
        frto: tcp.frto,
        trace: false,
    }
}

/// Returns the congestion window with its law.
pub(super) fn controller(config: &Config, tcp: &Tcp) -> Box<dyn Controller> {
    let window = config.window(tcp.law.build());
    match tcp.initial_ssthresh {
        Some(packets) => Box::new(window.with_initial_ssthresh(f64::from(packets.0))),
        None => Box::new(window),
    }
}
