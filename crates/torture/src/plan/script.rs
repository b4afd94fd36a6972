//! The script: the acts of the applications.

use fairwire_proto::{Resend, SendOptions};
use fairwire_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// One act of an application.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The time, in ms.
    pub at_ms: u64,
    /// The connection.
    pub connection: u16,
    /// The endpoint of the connection.
    pub side: Side,
    /// The act.
    pub act: Act,
}

/// An endpoint of a connection.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Side {
    /// The host that connects.
    Client,
    /// The host that listens.
    Server,
}

/// An act of an application.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub enum Act {
    /// Opens the connection, or opens it again. The server of an invited connection invites.
    Open,
    /// Offers `count` datagrams of `size` bytes at once.
    Burst {
        /// The number of datagrams.
        count: u32,
        /// Bytes per datagram. A larger size than fits is reduced to what fits, unless `oversize`.
        size: u32,
        /// Whether datagrams that are too large are offered unchanged.
        oversize: bool,
    },
    /// Offers `count` datagrams of `size` bytes, one every `every_us`.
    Stream {
        /// The number of datagrams.
        count: u32,
        /// Bytes per datagram.
        size: u32,
        /// The time between two datagrams, in microseconds.
        every_us: u64,
    },
    /// Sends all datagrams from now on with options.
    SendWith(With),
    /// Calls `purge`.
    Purge,
    /// Reads one datagram every `every_ms` instead of all at once; 0 reads all at once again.
    ReadEvery {
        /// The time between two reads, in ms.
        every_ms: u64,
    },
    /// Stops reading until another entry of the script.
    Pause,
    /// Calls `stop_reading`.
    StopReading,
    /// Calls `close`.
    Close,
    /// Calls `discard`.
    Discard,
    /// Calls `abort`.
    Abort,
    /// Calls `abandon`.
    Abandon,
    /// Calls `change_ccid`.
    ChangeCcid {
        /// Whether it changes the CCID of the data that this side sends.
        sending: bool,
        /// The preference list.
        wanted: Vec<u8>,
    },
    /// Calls `path_changed`.
    PathChanged,
    /// Calls `limit_path_mtu`.
    LimitPathMtu {
        /// The MTU, in bytes.
        mtu: u16,
    },
    /// Calls `rediscover_path_mtu`.
    RediscoverPathMtu,
    /// Calls `set_slow`.
    Slow(bool),
    /// Calls `report_dropped` for the datagram that was read last.
    ReportDropped,
    /// Calls `unlisten` for the server's port.
    Unlisten,
}

/// The options with which an application sends.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct With {
    /// How long a datagram may wait before it leaves, in ms; 0 is no limit.
    pub deadline_ms: u64,
    /// For how long a lost datagram is sent again, in ms; 0 sends it once.
    pub resend_ms: u64,
    /// How many priorities the datagrams have in turn; 0 is one.
    pub priorities: u8,
    /// How many datagrams in succession form a group; 0 forms none.
    pub group: u32,
}

impl With {
    /// Returns the options of the datagram with this number, if it is `now`.
    pub(crate) fn options(self, now: Instant, number: u64) -> SendOptions {
        let after = |time: u64| now + Duration::from_millis(time);
        let mut options = SendOptions::default();
        options.deadline = (self.deadline_ms > 0).then(|| after(self.deadline_ms));
        if self.resend_ms > 0 {
            options.resend = Resend::Until(after(self.resend_ms));
        }
        let priority = number % u64::from(self.priorities.max(1));
        // Some are below the priority of a datagram without options.
        options.priority = i8::try_from(priority).unwrap_or(0) - 1;
        if self.priorities == 0 {
            options.priority = 0;
        }
        options.group = number.checked_div(self.group.into());
        options
    }
}

impl Act {
    /// Returns the name of the act in the report.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Burst { .. } => "burst",
            Self::Stream { .. } => "stream",
            Self::SendWith(_) => "send with",
            Self::Purge => "purge",
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
