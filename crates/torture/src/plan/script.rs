//! What the applications do.

use serde::{Deserialize, Serialize};

/// One thing that an application does.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// When.
    pub at_ms: u64,
    /// To which connection.
    pub connection: u16,
    /// At which end of it.
    pub side: Side,
    /// What.
    pub act: Act,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Side {
    /// The host that connects.
    Client,
    /// The host that listens.
    Server,
}

/// What an application does.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub enum Act {
    /// Opens the connection, or opens it again. At the server of an invited connection: invites.
    Open,
    /// Offers `count` datagrams of `size` bytes at once.
    Burst {
        /// How many.
        count: u32,
        /// Bytes of each; more than fits is cut to what fits, unless `oversize`.
        size: u32,
        /// Is what does not fit offered all the same?
        oversize: bool,
    },
    /// Offers `count` datagrams of `size` bytes, one each `every_us`.
    Stream {
        /// How many.
        count: u32,
        /// Bytes of each.
        size: u32,
        /// The time between two, microseconds.
        every_us: u64,
    },
    /// Reads one datagram each `every_ms`, instead of each at once; 0 reads all at once again.
    ReadEvery {
        /// The time between two, ms.
        every_ms: u64,
    },
    /// Reads nothing until further notice.
    Pause,
    /// `stop_reading`.
    StopReading,
    /// `close`.
    Close,
    /// `discard`.
    Discard,
    /// `abort`.
    Abort,
    /// `abandon`.
    Abandon,
    /// `change_ccid`.
    ChangeCcid {
        /// The CCID of what this side sends?
        sending: bool,
        /// The preference list.
        wanted: Vec<u8>,
    },
    /// `path_changed`.
    PathChanged,
    /// `limit_path_mtu`.
    LimitPathMtu {
        /// Bytes.
        mtu: u16,
    },
    /// `rediscover_path_mtu`.
    RediscoverPathMtu,
    /// `set_slow`.
    Slow(bool),
    /// `report_dropped` for the datagram read last.
    ReportDropped,
    /// `unlisten`: the server's port.
    Unlisten,
}

impl Act {
    /// The act's name, for the report.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Burst { .. } => "burst",
            Self::Stream { .. } => "stream",
            Self::ReadEvery { .. } => "read every",
            Self::Pause => "pause",
            Self::StopReading => "stop reading",
            Self::Close => "close",
            Self::Discard => "discard",
            Self::Abort => "abort",
            Self::Abandon => "abandon",
            Self::ChangeCcid { .. } => "change ccid",
            Self::PathChanged => "path changed",
            Self::LimitPathMtu { .. } => "limit path mtu",
            Self::RediscoverPathMtu => "rediscover path mtu",
            Self::Slow(_) => "slow",
            Self::ReportDropped => "report dropped",
            Self::Unlisten => "unlisten",
        }
    }
}
