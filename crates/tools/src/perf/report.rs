//! What came of a measurement, as values; `text` prints them, serde makes JSON of them.

use fairwire::{Ccid, Stats};
use serde::{Deserialize, Serialize};

use super::PerfError;
use super::meter::Counts;
use super::ranges::Missing;

/// Which end of a flow.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It sends the data.
    Sender,
    /// It receives them.
    Receiver,
}

/// One line: what a flow did between two moments.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The flow, from 1; `None` is the sum of all.
    pub flow: Option<u32>,
    /// Which end counted.
    pub role: Role,
    /// Seconds since the start.
    pub start: f64,
    /// Seconds since the start.
    pub end: f64,
    /// Bytes of messages.
    pub bytes: u64,
    /// Messages.
    pub datagrams: u64,
    /// Bits per second.
    pub bits_per_second: f64,
    /// Messages missing, as far as the receiver can tell yet.
    pub lost: Option<u64>,
    /// RFC 3550's jitter at the end of the interval.
    pub jitter_ms: Option<f64>,
    /// What the protocol knows at the end of the interval.
    pub path: Option<PathReport>,
}

/// What DCCP knows about the path of the data that we send.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct PathReport {
    /// The CCID agreed for our data.
    pub ccid: Option<u8>,
    /// Smoothed round-trip time.
    pub rtt_ms: Option<f64>,
    /// CCID 2's window.
    pub cwnd_packets: Option<f64>,
    /// The rate that CCID 3 and 4 allow, under CCID 4 that of 100 packets a second at most.
    pub rate_bits_per_second: Option<f64>,
    /// The loss event rate of CCID 3 and 4.
    pub loss_event_rate: Option<f64>,
    /// Datagrams that the peer reported missing; `None` under CCID 3 and 4, whose receiver counts loss
    /// events and does not tell which datagrams are missing.
    pub lost: Option<u64>,
    /// Datagrams that never left: those that waited when the path turned out to take less, or when
    /// the connection ended.
    #[serde(default)]
    pub never_sent: u64,
    /// Datagrams acknowledged with a congestion mark.
    pub marked: u64,
    /// Window or rate cuts.
    pub cuts: u64,
    /// Retransmission or nofeedback timeouts.
    pub timeouts: u64,
    /// Sync packets that we sent.
    pub syncs: u64,
    /// The largest IP packet that the path takes, as far as was found out, bytes.
    pub path_mtu: u16,
    /// Probes of it that we sent.
    pub mtu_probes: u64,
}

/// What the sender of a flow says at its end.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct SenderReport {
    /// Messages sent.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Seconds from the first to the last.
    pub seconds: f64,
    /// Bits per second over that time.
    pub bits_per_second: f64,
    /// Processor time of the whole process meanwhile.
    pub cpu_seconds: Option<f64>,
    /// What DCCP knows about the path.
    pub path: Option<PathReport>,
    /// The window law that CCID 2 sent by, as it is called where it is chosen.
    #[serde(default)]
    pub law: Option<String>,
    /// SHA-256 of the file.
    pub sha256: Option<String>,
}

/// What the receiver of a flow says at its end.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ReceiverReport {
    /// Messages received, each counted once.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Seconds from the first to the last.
    pub seconds: f64,
    /// Bits per second over that time.
    pub bits_per_second: f64,
    /// Messages that never arrived.
    pub lost: u64,
    /// Messages that came after one sent later (RFC 4737).
    pub reordered: u64,
    /// Messages that came more than once.
    pub duplicates: u64,
    /// Messages with a congestion mark.
    pub marked: u64,
    /// RFC 3550's jitter.
    pub jitter_ms: f64,
    /// Datagrams that the receiver's own queue had no room for; among the lost.
    pub dropped_here: u64,
    /// Processor time of the whole process meanwhile.
    pub cpu_seconds: Option<f64>,
    /// What is missing of the file.
    pub missing: Option<Missing>,
    /// Why the file was not saved, or not whole, though it should have been.
    pub not_saved: Option<String>,
    /// Where the file was saved.
    pub saved: Option<String>,
    /// SHA-256 of what was saved; none if more than half of the file is missing.
    pub sha256: Option<String>,
}

/// Both ends of one flow, as far as they are known here.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlowReport {
    /// The flow, from 1.
    pub flow: u32,
    /// The sender's side.
    pub sender: Option<SenderReport>,
    /// The receiver's side.
    pub receiver: Option<ReceiverReport>,
    /// Why it ended early, if it did.
    pub error: Option<String>,
    /// The kind of that, as in [`ErrorReport`].
    pub error_kind: Option<&'static str>,
}

/// A whole measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Fairwire's version.
    pub version: String,
    /// `client` or `server`.
    pub side: String,
    /// `dccp`, `udp` or `tcp`.
    pub protocol: String,
    /// Did DCCP travel directly in IP?
    pub native: bool,
    /// The other side.
    pub peer: String,
    /// Bytes per message.
    pub length: u32,
    /// Bits per second and flow at most; zero is unlimited.
    pub rate_limit: u64,
    /// Does the server send?
    pub reverse: bool,
    /// Size of the file sent.
    pub file_size: Option<u64>,
    /// Line by line.
    pub intervals: Vec<Interval>,
    /// Flow by flow.
    pub flows: Vec<FlowReport>,
    /// Why it ended early, if it did.
    pub error: Option<ErrorReport>,
}

/// An error for programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorReport {
    /// `usage`, `local`, `peer` or `interrupted`.
    pub kind: String,
    /// What happened and what to do.
    pub message: String,
    /// The command's exit status.
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
            // CCID 4 sends no more than 100 packets a second whatever its equation allows.
            rate_bits_per_second: (stats.gauges.rate_bytes_per_s.and(stats.allowed_rate))
                .map(|rate| rate.bits_per_s() as f64),
            loss_event_rate: stats.gauges.p,
            lost: (!matches!(stats.send_ccid, Some(Ccid::TFRC | Ccid::TFRC_SP)))
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
    /// Takes what became of the datagrams from `stats`, which came later, and leaves the rest: once
    /// the flow is idle, windows and timeouts say nothing about it, and the receiver was told them
    /// as they are here.
    pub(crate) fn count(&mut self, stats: &Stats) {
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
    /// The counters of a flow that was sent, all that was handed over: what the receiver is told, for its last
    /// word comes behind what waits.
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
        }
    }

    /// Names the window law in force, if CCID 2 is.
    pub(crate) fn by(mut self, law: &str) -> Self {
        let ccid = self.path.as_ref().and_then(|path| path.ccid);
        self.law = (ccid == Some(2)).then(|| law.to_owned());
        self
    }

    /// Keeps what has left, once the flow is over: where it was cut off, something may have waited.
    pub(crate) fn settle(&mut self, counts: &Counts) {
        (self.datagrams, self.bytes) = counts.left();
        self.bits_per_second = rate(self.bytes, self.seconds);
    }
}

impl ReceiverReport {
    /// The counters of a flow that was received; `sent` is the number of messages, if it is known.
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
    /// Says why it ended early.
    pub(crate) fn failed(mut self, error: &PerfError) -> Self {
        self.error = Some(error.to_string());
        self.error_kind = Some(error.kind());
        self
    }
}

impl Outcome {
    /// Makes the first flow's failure that of the measurement, if it has none of its own.
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

    /// The exit status of a command that measured this.
    pub fn exit_code(&self) -> u8 {
        match &self.error {
            Some(error) => error.exit,
            None => u8::from(self.flows.iter().any(|flow| flow.error.is_some())),
        }
    }
}

/// Bits per second; zero over no time.
pub(crate) fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        bytes as f64 * 8.0 / seconds
    } else {
        0.0
    }
}
