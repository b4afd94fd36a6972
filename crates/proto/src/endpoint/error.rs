//! Why a call of the application fails.

use std::error::Error;
use std::fmt;

/// Why a port cannot be listened on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ListenError {
    /// Somebody listens there already.
    PortInUse {
        /// The DCCP port.
        port: u16,
    },
    /// No service code was given, or the invalid one.
    InvalidService,
    /// The configuration asks for what does not exist.
    Config {
        /// What is wrong and what would do.
        what: &'static str,
    },
}

/// Why a connection cannot be begun.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ConnectError {
    /// The endpoint holds as many connections as it may.
    TooManyConnections,
    /// Every local port is in use towards that peer, or the one asked for is.
    NoPort,
    /// The invalid service code (RFC 4340, section 8.1.2).
    InvalidService,
    /// The configuration asks for what does not exist.
    Config {
        /// What is wrong and what would do.
        what: &'static str,
    },
}

/// Why a datagram was not taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SendError {
    /// The send queue is full; [`Event::Writable`](crate::Event::Writable) says when to try again.
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
    /// The peer's application has stopped to read, for good.
    NotListening,
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PortInUse { port } => write!(f, "DCCP port {port} already has a listener"),
            Self::InvalidService => f.write_str("a listener needs at least one valid service code"),
            Self::Config { what } => f.write_str(what),
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyConnections => f.write_str("the endpoint's connection limit is reached"),
            Self::NoPort => f.write_str("no free local DCCP port towards that peer"),
            Self::InvalidService => f.write_str("service code 4294967295 is reserved as invalid"),
            Self::Config { what } => f.write_str(what),
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

impl Error for ListenError {}
impl Error for ConnectError {}
impl Error for SendError {}
