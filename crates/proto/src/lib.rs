//! The DCCP endpoint and connection as state machines without I/O (RFC 4340).
//!
//! An [`Endpoint`] takes datagrams, ICMP errors and the time. It returns packets to send, events, and the time at which
//! to wake it. It draws no random numbers, opens no socket and reads no clock, so one implementation serves sockets,
//! the simulator and a fuzzer.
//!
//! # Run loop
//! 1. Change something: [`Endpoint::handle_datagram`], [`Endpoint::handle_timeout`], or a call of the application such
//!    as [`Endpoint::send`].
//! 2. Call [`Endpoint::poll_transmit`] until it returns `None`, and send each packet.
//! 3. Call [`Endpoint::poll_event`] until it returns `None`.
//! 4. Sleep until [`Endpoint::next_timeout`] or the next datagram, and start again.

#[cfg(test)]
extern crate self as fairwire_proto;

mod ackvec;
mod ccid;
mod config;
mod connection;
mod constants;
mod endpoint;
mod error;
mod error_text;
mod event;
mod feature;
mod flow;
mod half;
mod id;
#[cfg(any(test, feature = "inspect"))]
mod inspect;
mod marks;
mod packet_options;
mod part;
mod payload;
mod rate_limit;
mod records;
mod reply;
mod resend;
mod ring;
mod seal;
mod security;
mod sending;
mod shard;
mod stats;
mod suspicion;
mod tfrc;
mod transmit;
mod work;

pub use fairwire_cc::tfrc::{
    Bursts, EquationForm, FirstIntervalLife, FirstRate, LossMean, ReceiveLimit, ReductionFrom,
};
pub use fairwire_cc::{
    EncoderConfig, EncoderInput, EncoderTarget, Gauges, IdleRule, LimitedBy, SlowStart,
    TargetBitrate,
};

/// Window laws: the registered ones, how to choose one, and the parts of a law of your own.
///
/// A law runs in the simulator and on sockets, so it reads no clock. [`Instant`](laws::Instant) and
/// [`Duration`](laws::Duration) are nanoseconds of its connection's own time, and convert to and from
/// [`std::time::Duration`].
pub mod laws {
    pub use fairwire_cc::{
        Adjustment, Cubic, CubicVersion, Dctcp, Flight, Law, NewReno, RateSample, Round, Signal,
        ThresholdWindow, Vegas, Veno, Window, WindowLaw, default_law, law, laws, register_law,
    };
    pub use fairwire_units::registry::{ChooseError, Chosen, Kind, NameTaken};
    pub use fairwire_units::{Duration, Ecn, Instant};
}

/// Congestion control identifiers: the built-in and registered ones, and the parts of a CCID of your own.
///
/// A CCID of your own has a number, Ack Vectors as feedback and a [`Controller`](ccids::Controller), which keeps a
/// window or a rate. It runs in the simulator and on sockets, so it reads no clock.
pub mod ccids {
    pub use crate::ccid::{
        CcidProfile, ControllerSetup, RegisterCcidError, ccid_profile, ccid_profiles, list_ccids,
        register_ccid,
    };
    pub use fairwire_cc::{
        Congestion, Controller, Delivery, Feedback, Flight, Gauges, HostLimits, Limit, Permit,
        RateSample, RoundTrip, Signal,
    };
    pub use fairwire_units::{Duration, Ecn, Instant};
    pub use fairwire_wire::Ccid;
}

#[cfg(feature = "settings")]
pub use config::Key;
pub use config::{
    AckRatioFollows, Ccid2Config, Ccid3Config, Config, DamagedData, DataChecksum, EndpointConfig,
    FeedbackRate, FirstInterval, InitCookies, LossEvents, PathMtuDiscovery, Profile, QueueLimits,
    QueuePolicy, ReceiveQueuePolicy, ReceiveRateOver, ReceiverRtt, Reports, Segment, WindowCounts,
};
pub use constants::DATAGRAM_OVERHEAD;
pub use endpoint::{Admit, AdmitHook, Attempt, Endpoint};
pub use error::{ChangeCcidError, ConfigError, ListenError, NoMemory, SendError, StartError};
pub use error_text::ErrorText;
pub use event::{CloseReason, Direction, Event, Fate, Received};
pub use id::{ConnectionId, DatagramId};
#[cfg(any(test, feature = "inspect"))]
pub use inspect::{EndpointInspection, Inspection};
pub use payload::{Arriving, Payload};
pub use security::{
    Look, Opened, PathCheck, PathFacts, Rest, Security, SecurityError, Session, SessionOutput,
    SessionStage,
};
pub use sending::{Resend, SendOptions, Waiting};
pub use shard::Shard;
pub use stats::{EndpointStats, Stats};
pub use transmit::{
    ChecksumRule, Encapsulation, IcmpError, IcmpQuote, Meta, Path, Transmit, Unreachable,
};
#[cfg(any(test, feature = "inspect"))]
pub use work::within as within_steps;
