//! The errors of the application's calls.

use std::borrow::Cow;
use std::time::Duration;

use fairwire_wire::Ccid;

use crate::constants::DEFAULT_CCID;

/// Why a port cannot be listened on.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The port already has a listener.
    #[error("DCCP port {port} already has a listener")]
    PortInUse {
        /// The DCCP port.
        port: u16,
    },
    /// Any free port was asked for, but each dynamic port has a listener.
    #[error(
        "no free DCCP port: each dynamic one (49152 to 65535) has a listener; close one, or name a lower port"
    )]
    NoPort,
    /// No service code was given, or the invalid one.
    #[error("a listener needs at least one valid service code")]
    InvalidService,
    /// The endpoint is closed and takes no more connections.
    #[error("the endpoint is closed: bind another one")]
    EndpointClosed,
    /// A setting is invalid.
    #[error(transparent)]
    Config(ConfigError),
}

/// Why a connection cannot be started.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The endpoint has reached its connection limit.
    #[error("the endpoint's connection limit is reached")]
    TooManyConnections,
    /// The endpoint's memory is used up (`EndpointConfig::max_memory`).
    #[error(
        "the endpoint's memory budget is spent: close connections, read what has arrived, or raise max_memory"
    )]
    NoMemory,
    /// Every local port is in use towards that peer, or the requested one is.
    #[error("no free local DCCP port towards that peer")]
    NoPort,
    /// The service code is the invalid one (RFC 4340, section 8.1.2).
    #[error("service code 4294967295 is reserved as invalid")]
    InvalidService,
    /// A setting is invalid.
    #[error(transparent)]
    Config(ConfigError),
}

/// An invalid setting: its name, and what is valid.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ConfigError {
    field: Cow<'static, str>,
    problem: Cow<'static, str>,
}

impl ConfigError {
    /// Creates an error of the setting `field`; `problem` says what is wrong, and what is valid.
    pub fn new(field: impl Into<Cow<'static, str>>, problem: impl Into<Cow<'static, str>>) -> Self {
        Self {
            field: field.into(),
            problem: problem.into(),
        }
    }

    /// Returns the name of the field of [`Config`](crate::Config), for example `ccid2.initial_window`.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns what is wrong, and what is valid.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

/// Why a datagram was not queued.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The send queue is full, or the endpoint's memory is used up. [`Event::Writable`](crate::Event::Writable) says
    /// when to try again.
    #[error("the send queue is full")]
    Full,
    /// The datagram is larger than `max_datagram_size`.
    #[error("a datagram of {size} bytes is too large: send at most {max} bytes")]
    TooLarge {
        /// Size of the datagram, bytes.
        size: usize,
        /// Largest size that fits, bytes.
        max: usize,
    },
    /// The connection is over or closing.
    #[error("the connection is closed")]
    Closed,
    /// The peer's application has stopped reading for good.
    #[error("the peer's application no longer reads")]
    NotListening,
    /// The deadline is in the past, so the datagram could only leave late.
    #[error("the deadline has passed: drop the datagram, or allow it more time")]
    DeadlinePassed,
    /// Another member of the datagram's group expired, was dropped from the send queue or was lost, so the rest of the
    /// group is of no use.
    #[error(
        "group {group} is broken, because one of its datagrams expired, was dropped or was lost: \
         drop the rest of it, and send the next group"
    )]
    GroupBroken {
        /// The group.
        group: u64,
    },
    /// The datagram may be sent again ([`Resend`](crate::Resend)), but this was not agreed with the peer.
    #[error(
        "the peer does not take datagrams that are sent again: set `resend` in the configuration of both ends, \
         wait until the connection is open, or send without it"
    )]
    ResendNotAgreed,
    /// The datagram may be sent again ([`Resend`](crate::Resend)), but the CCID in force reports no single losses.
    #[error(
        "{ccid} reports no single losses, so nothing can be sent again: use {DEFAULT_CCID}, or send without it"
    )]
    ResendWithoutLosses {
        /// That CCID.
        ccid: Ccid,
    },
    /// The message needs several datagrams ([`Endpoint::send_message`](crate::Endpoint::send_message)), but this was not
    /// agreed with the peer.
    #[error(
        "the peer takes no messages of several datagrams: set `messages` in the configuration of both ends, wait until \
         the connection is open, or send a smaller one"
    )]
    MessagesNotAgreed,
}

impl SendError {
    /// Returns the error for an application that does not know of some of the bytes.
    pub(crate) fn without(self, bytes: usize) -> Self {
        match self {
            Self::TooLarge { size, max } => Self::TooLarge {
                size: size.saturating_sub(bytes),
                max: max.saturating_sub(bytes),
            },
            error => error,
        }
    }
}

/// The endpoint has had no memory for the encryption of a connection for too long (`EndpointConfig::max_memory`).
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "the endpoint's memory budget has no {needed} bytes for the handshake of an encrypted connection: close \
     connections, or raise max_memory"
)]
pub struct NoMemory {
    /// What its handshake needs at most, in bytes.
    pub needed: usize,
}

/// Why the CCID cannot be changed now.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeCcidError {
    /// The connection is not open yet, is closing, or is over.
    #[error("the CCID can be changed only while the connection is open")]
    NotOpen,
    /// The list is empty.
    #[error("name at least one CCID")]
    NoCcid,
    /// The list names a CCID that is neither built in nor registered.
    #[error("{ccid} is not implemented: use CCID {known}")]
    UnknownCcid {
        /// That CCID.
        ccid: Ccid,
        /// A list of those that are.
        known: String,
    },
    /// An earlier change for this direction is still being negotiated; [`Event::Ccid`](crate::Event::Ccid) reports its
    /// result.
    #[error("the CCID is being negotiated: wait for the answer")]
    InProgress,
    /// The CCID of this direction changed less than `Config::ccid_change_interval` ago.
    #[error("the CCID has just changed: try again in {}", fairwire_units::Duration::from(*.wait))]
    TooSoon {
        /// How long to wait before trying again.
        wait: Duration,
    },
}
