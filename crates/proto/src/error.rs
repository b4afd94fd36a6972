//! Why a call of the application fails.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use fairwire_wire::Ccid;

/// Why a port cannot be listened on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ListenError {
    /// Somebody listens there already.
    PortInUse {
        /// The DCCP port.
        port: u16,
    },
    /// Any port would do, and each dynamic one has a listener.
    NoPort,
    /// No service code was given, or the invalid one.
    InvalidService,
    /// The endpoint is closed, and takes no more connections.
    EndpointClosed,
    /// The configuration asks for what cannot be.
    Config(ConfigError),
}

/// Why a connection cannot be begun.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum StartError {
    /// The endpoint holds as many connections as it may.
    TooManyConnections,
    /// The endpoint's budget of memory is spent (`EndpointConfig::max_memory`).
    NoMemory,
    /// Every local port is in use towards that peer, or the one asked for is.
    NoPort,
    /// The invalid service code (RFC 4340, section 8.1.2).
    InvalidService,
    /// The configuration asks for what cannot be.
    Config(ConfigError),
}

/// A setting that cannot be: which one, and what would do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ConfigError {
    field: &'static str,
    problem: &'static str,
}

impl ConfigError {
    pub(crate) const fn new(field: &'static str, problem: &'static str) -> Self {
        Self { field, problem }
    }

    /// The field of [`Config`](crate::Config), as in `ccid2.initial_window`; two of them, joined by "or", where one of
    /// the two is wrong.
    pub fn field(&self) -> &'static str {
        self.field
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.problem)
    }
}

impl Error for ConfigError {}

/// Why a datagram was not taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SendError {
    /// The send queue is full, or the endpoint's memory is spent;
    /// [`Event::Writable`](crate::Event::Writable) says when to try again.
    Full,
    /// Larger than `max_datagram_size`.
    TooLarge {
        /// Bytes given.
        size: usize,
        /// Bytes that fit.
        max: usize,
    },
    /// The connection is over or closing.
    Closed,
    /// The peer's application stopped reading, for good.
    NotListening,
}

/// Why another CCID cannot be asked for now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ChangeCcidError {
    /// The connection is not open yet, closing, or over.
    NotOpen,
    /// The list is empty.
    NoCcid,
    /// The list names a CCID that is not there.
    UnknownCcid {
        /// Which one.
        ccid: Ccid,
    },
    /// An earlier wish for this direction is not answered yet; [`Event::Ccid`](crate::Event::Ccid)
    /// answers it.
    InProgress,
    /// The CCID of this direction has changed only just (`Config::ccid_change_interval`).
    TooSoon {
        /// How long it has to stay.
        wait: Duration,
    },
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PortInUse { port } => write!(f, "DCCP port {port} already has a listener"),
            Self::NoPort => f.write_str(
                "no free DCCP port: each dynamic one (49152 to 65535) has a listener; close one, or name a lower port",
            ),
            Self::EndpointClosed => f.write_str("the endpoint is closed: bind another one"),
            Self::InvalidService => f.write_str("a listener needs at least one valid service code"),
            Self::Config(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyConnections => f.write_str("the endpoint's connection limit is reached"),
            Self::NoMemory => f.write_str("the endpoint's memory budget is spent: close connections, read what has arrived, or raise max_memory"),
            Self::NoPort => f.write_str("no free local DCCP port towards that peer"),
            Self::InvalidService => f.write_str("service code 4294967295 is reserved as invalid"),
            Self::Config(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the send queue is full"),
            Self::TooLarge { size, max } => {
                write!(f, "a datagram of {size} bytes does not fit: at most {max}")
            }
            Self::Closed => f.write_str("the connection is closed"),
            Self::NotListening => f.write_str("the peer's application no longer reads"),
        }
    }
}

impl fmt::Display for ChangeCcidError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpen => f.write_str("the CCID of an open connection can be changed, no other"),
            Self::NoCcid => f.write_str("name at least one CCID"),
            Self::UnknownCcid { ccid } => write!(f, "there is no {ccid} here: use CCID 2, 3 or 4"),
            Self::InProgress => f.write_str("the CCID is being negotiated: wait for the answer"),
            Self::TooSoon { wait } => {
                write!(
                    f,
                    "the CCID has just changed: try again in {}",
                    fairwire_units::Duration::from(*wait)
                )
            }
        }
    }
}

impl Error for ListenError {}
impl Error for StartError {}
impl Error for SendError {}
impl Error for ChangeCcidError {}
