//! The results of a measurement as values; `text` prints them, serde writes them as JSON.

use fairwire::ccids::{CcidProfile, ccid_profile};
use fairwire::{Ccid, Stats};
use serde::{Deserialize, Serialize};

use super::PerfError;
use super::meter::Counts;
use super::ranges::Missing;

/// One end of a flow.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The end that sends the data.
    Sender,
    /// The end that receives the data.
    Receiver,
}

/// One line: what a flow did in one interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The flow, from 1; `None` is the sum of all flows.
    pub flow: Option<u32>,
    /// The end that counted.
    pub role: Role,
    /// The start of the interval, seconds since the start of the measurement.
    pub start: f64,
    /// The end of the interval, seconds since the start of the measurement.
    pub end: f64,
    /// The bytes of messages in the interval.
    pub bytes: u64,
    /// The number of messages in the interval.
    pub datagrams: u64,
    /// The rate, bits per second.
    pub bits_per_second: f64,
    /// The number of missing messages, as far as the receiver knows yet.
    pub lost: Option<u64>,
    /// The jitter of RFC 3550 at the end of the interval, ms.
    pub jitter_ms: Option<f64>,
    /// What DCCP knows at the end of the interval.
    pub path: Option<PathReport>,
}

/// What DCCP knows about the path of the data that this side sends.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct PathReport {
    /// The CCID that was negotiated for our data.
    pub ccid: Option<u8>,
    /// The smoothed round-trip time, ms.
    pub rtt_ms: Option<f64>,
    /// The congestion window, packets, if the CCID has one.
    pub cwnd_packets: Option<f64>,
    /// The rate that the CCID allows, bits per second, if it has one. Under CCID 4 it is at most 100 packets a second.
    pub rate_bits_per_second: Option<f64>,
    /// The loss event rate of CCID 3 or 4.
    pub loss_event_rate: Option<f64>,
    /// Datagrams that the peer reported missing. `None` under CCID 3 and 4: their receiver counts loss events and does
    /// not report which datagrams are missing.
    pub lost: Option<u64>,
    /// Datagrams that never left: they were in the queue when the path turned out to carry less, or when the connection
    /// ended.
    #[serde(default)]
    pub never_sent: u64,
    /// Datagrams that were acknowledged with a congestion mark.
    pub marked: u64,
    /// The number of window or rate cuts.
    pub cuts: u64,
    /// The number of retransmission or nofeedback timeouts.
    pub timeouts: u64,
    /// The number of Sync packets that this side sent.
    pub syncs: u64,
    /// The largest IP packet that the path is known to carry, bytes.
    pub path_mtu: u16,
    /// The number of path MTU probes that this side sent.
    pub mtu_probes: u64,
}

/// The report of the sender at the end of a flow.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SenderReport {
    /// The number of messages that left this host. Those that never left are not counted: they were in the queue when
    /// the path turned out to carry less, or when the connection ended.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The time from the beginning of the test to the end of sending, seconds.
    pub seconds: f64,
    /// The rate over that time, bits per second.
    pub bits_per_second: f64,
    /// The processor time of the whole process in the meantime, seconds.
    pub cpu_seconds: Option<f64>,
    /// What DCCP knows about the path.
    pub path: Option<PathReport>,
    /// The name of the window law that CCID 2 used.
    #[serde(default)]
    pub law: Option<String>,
    /// The SHA-256 of the file.
    pub sha256: Option<String>,
    /// Whether the file was sent to its end. `None` without a file, and from older versions.
    #[serde(default)]
    pub whole_file: Option<bool>,
}

/// The report of the receiver at the end of a flow.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ReceiverReport {
    /// The number of messages received, each counted once.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The time from the beginning of the test to the end of sending, or to the last message that arrived, seconds.
    pub seconds: f64,
    /// The rate over that time, bits per second.
    pub bits_per_second: f64,
    /// The number of messages that never arrived.
    pub lost: u64,
    /// The number of messages that arrived after one that was sent later (RFC 4737).
    pub reordered: u64,
    /// The number of messages that arrived more than once.
    pub duplicates: u64,
    /// The number of messages with a congestion mark.
    pub marked: u64,
    /// The jitter of RFC 3550, ms.
    pub jitter_ms: f64,
    /// Datagrams that the receiver's own queue had no room for; they are also counted as lost.
    pub dropped_here: u64,
    /// The processor time of the whole process in the meantime, seconds.
    pub cpu_seconds: Option<f64>,
    /// The missing parts of the file.
    pub missing: Option<Missing>,
    /// Why the file was not saved completely, if it should have been saved.
    pub not_saved: Option<String>,
    /// The path of the saved file.
    pub saved: Option<String>,
    /// The SHA-256 of the saved file; `None` if more than half of the file is missing.
    pub sha256: Option<String>,
}

/// The reports of both ends of one flow, as far as they are known here.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlowReport {
    /// The number of the flow, from 1.
    pub flow: u32,
    /// The sender's report.
    pub sender: Option<SenderReport>,
    /// The receiver's report.
    pub receiver: Option<ReceiverReport>,
    /// Why the flow ended early, if it did.
    pub error: Option<String>,
    /// The kind of this error, as in [`ErrorReport`].
    pub error_kind: Option<&'static str>,
}

/// The results of a whole measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The version of Fairwire.
    pub version: String,
    /// The side that reports: `client` or `server`.
    pub side: String,
    /// The protocol: `dccp`, `udp` or `tcp`.
    pub protocol: String,
    /// Whether DCCP was carried directly in IP.
    pub native: bool,
    /// Whether the data was encrypted.
    pub encrypted: bool,
    /// The other side's address.
    pub peer: String,
    /// The size of a message, bytes.
    pub length: u32,
    /// The highest rate of each flow, bits per second; zero is unlimited.
    pub rate_limit: u64,
    /// Whether the server sends.
    pub reverse: bool,
    /// The size of the file sent, bytes.
    pub file_size: Option<u64>,
    /// The intervals, one for each line.
    pub intervals: Vec<Interval>,
    /// The reports of the flows.
    pub flows: Vec<FlowReport>,
    /// Why the measurement ended early, if it did.
    pub error: Option<ErrorReport>,
}

/// An error, for programs that read JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorReport {
    /// The kind: `usage`, `local`, `peer` or `interrupted`.
    pub kind: String,
    /// What happened and what to do.
    pub message: String,
    /// The exit status of the command.
    pub exit: u8,
}

impl From<&PerfError> for ErrorReport {
    fn from(error: &PerfError) -> Self {
        Self {
            kind: error.kind().to_owned(),
            message: error.to_string(),
            exit: error.exit_code(),
        }
    }
}

impl From<&Stats> for PathReport {
    fn from(stats: &Stats) -> Self {
        Self {
            ccid: stats.send_ccid.map(Ccid::number),
            rtt_ms: stats.srtt.map(|rtt| rtt.as_secs_f64() * 1e3),
            cwnd_packets: stats.gauges.cwnd_packets,
            // CCID 4 sends at most 100 packets a second, whatever its equation allows.
            rate_bits_per_second: (stats.gauges.rate_bytes_per_s.and(stats.allowed_rate))
                .map(|rate| rate.bits_per_s() as f64),
            loss_event_rate: stats.gauges.p,
            lost: stats
                .send_ccid
                .and_then(ccid_profile)
                .is_none_or(CcidProfile::acknowledges_packets)
                .then_some(stats.lost),
            never_sent: stats.refused + stats.expired,
            marked: stats.marked,
            cuts: stats.gauges.cuts,
            timeouts: stats.gauges.timeouts,
            syncs: stats.syncs_sent,
            path_mtu: stats.path_mtu,
            mtu_probes: stats.mtu_probes_sent,
        }
    }
}

impl PathReport {
    /// Updates the counts of datagrams from later statistics, and leaves the rest.
    ///
    /// Once the flow is idle, windows and timeouts say nothing about it. They also stay as the receiver was told.
    pub(crate) fn update_counts(&mut self, stats: &Stats) {
        let Self {
            lost,
            never_sent,
            marked,
            ..
        } = stats.into();
        self.lost = lost;
        self.never_sent = never_sent;
        self.marked = marked;
    }
}

impl SenderReport {
    /// Makes the report from the counters of a flow, with all messages that were handed over.
    pub(crate) fn of(counts: &Counts, cpu_seconds: Option<f64>) -> Self {
        Self {
            datagrams: counts.datagrams,
            bytes: counts.bytes,
            seconds: counts.seconds(),
            bits_per_second: rate(counts.bytes, counts.seconds()),
            cpu_seconds,
            path: counts.stats.as_ref().map(PathReport::from),
            law: None,
            sha256: None,
            whole_file: None,
        }
    }

    /// Adds the name of the window law, if the CCID in use has one.
    pub(crate) fn with_law(mut self, law: &str) -> Self {
        let ccid = self.path.as_ref().and_then(|path| path.ccid);
        let profile = ccid.and_then(|ccid| ccid_profile(ccid.into()));
        let has_law = profile.is_some_and(CcidProfile::has_window_law);
        self.law = has_law.then(|| law.to_owned());
        self
    }

    /// Reduces the counts to what has left.
    pub(crate) fn keep_sent(&mut self, counts: &Counts) {
        (self.datagrams, self.bytes) = counts.left_queue();
        self.bits_per_second = rate(self.bytes, self.seconds);
    }
}

impl ReceiverReport {
    /// Makes the report from the counters of a flow; `sent` is the number of messages sent, if it is known.
    pub(crate) fn of(counts: &Counts, sent: Option<u64>, cpu_seconds: Option<f64>) -> Self {
        let account = &counts.account;
        Self {
            datagrams: counts.datagrams,
            bytes: counts.bytes,
            seconds: counts.seconds(),
            bits_per_second: rate(counts.bytes, counts.seconds()),
            lost: sent.map_or(account.lost(), |sent| account.lost_of(sent)),
            reordered: account.reordered(),
            duplicates: account.duplicates(),
            marked: counts.marked,
            jitter_ms: counts.jitter.value().as_secs_f64() * 1e3,
            dropped_here: counts.stats.map_or(0, |stats| stats.receive_drops),
            cpu_seconds,
            missing: None,
            not_saved: None,
            saved: None,
            sha256: None,
        }
    }
}

impl FlowReport {
    /// Adds the reason why the flow ended early.
    pub(crate) fn failed(mut self, error: &PerfError) -> Self {
        self.error = Some(error.to_string());
        self.error_kind = Some(error.kind());
        self
    }
}

impl Outcome {
    /// Takes the first flow's error as that of the measurement, if it has none of its own.
    pub(crate) fn conclude(&mut self) {
        if self.error.is_some() {
            return;
        }
        let first = self.flows.iter().find_map(|flow| {
            let message = flow.error.clone()?;
            Some((flow.error_kind?, message))
        });
        self.error = first.map(|(kind, message)| ErrorReport {
            kind: kind.to_owned(),
            message,
            exit: 1,
        });
    }

    /// Returns the exit status of the command.
    pub fn exit_code(&self) -> u8 {
        match &self.error {
            Some(error) => error.exit,
            None => u8::from(self.flows.iter().any(|flow| flow.error.is_some())),
        }
    }
}

/// Returns bits per second; zero if no time passed.
pub(crate) fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        bytes as f64 * 8.0 / seconds
    } else {
        0.0
    }
}
