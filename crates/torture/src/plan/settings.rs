//! Configurations as differences from the defaults, so that a shrunk plan shows what matters.

use std::sync::Arc;
use std::time::Duration;

use fairwire_proto::laws::{Chosen, Law, ThresholdWindow, law};
use fairwire_proto::{
    Ccid2Config, Ccid3Config, Config, DamagedData, DataChecksum, EndpointConfig, FeedbackRate,
    InitCookies, PathMtuDiscovery, QueuePolicy, ReceiveQueuePolicy,
};
use fairwire_wire::Ccid;
use serde::{Deserialize, Serialize};

/// One difference from the default [`Config`].
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum Setting {
    /// `send_ccids`.
    SendCcids(Vec<u8>),
    /// `receive_ccids`.
    ReceiveCcids(Vec<u8>),
    /// Turns `ecn` off.
    NoEcn,
    /// Turns `ecn_nonce` on.
    EcnNonce,
    /// Turns `check_feedback` off.
    BelieveFeedback,
    /// Turns `report_fates` on.
    ReportFates,
    /// The send queue's limit, in packets.
    SendPackets(usize),
    /// The send queue's limit, in bytes.
    SendBytes(usize),
    /// The send queue's age limit, in ms.
    SendAge(u64),
    /// A full send queue drops the oldest datagram.
    SendDropsOldest,
    /// The receive queue's limit, in packets.
    ReceivePackets(usize),
    /// The receive queue's limit, in bytes.
    ReceiveBytes(usize),
    /// A full receive queue drops the oldest datagram.
    ReceiveDropsOldest,
    /// `slow_receiver_percent`.
    SlowPercent(u8),
    /// `connect_timeout`, in ms.
    ConnectTimeout(u64),
    /// `idle_timeout`, in ms.
    IdleTimeout(u64),
    /// `keep_alive`, in ms; 0 turns it off.
    KeepAlive(u64),
    /// `drain_timeout` and `close_timeout`, in ms.
    CloseTimes(u64),
    /// `close_timeout` only, in ms.
    CloseTimeout(u64),
    /// `sequence_window`.
    SequenceWindow(u64),
    /// `max_sequence_window`.
    MaxSequenceWindow(u64),
    /// `ccid_change_interval`, in ms.
    CcidChangeInterval(u64),
    /// Turns `short_seqnos` on.
    ShortSeqnos,
    /// `path_mtu`.
    PathMtu(u16),
    /// Turns path MTU discovery off.
    NoPathMtuDiscovery,
    /// Discovers the path MTU from ICMP only.
    IcmpPathMtuDiscovery,
    /// `checksum_coverage`.
    ChecksumCoverage(u8),
    /// `minimum_checksum_coverage`.
    MinimumChecksumCoverage(u8),
    /// Turns `resend` on.
    Resend,
    /// Turns `send_rtt_estimate` on.
    SendRttEstimate,
    /// Sends Data Checksums.
    DataChecksum,
    /// Requires Data Checksums.
    RequireDataChecksum,
    /// Delivers damaged data.
    DeliverDamaged,
    /// CCID 2's window law, by its position in a list.
    Law(u8),
    /// CCID 2's initial window, in packets.
    InitialWindow(u8),
    /// CCID 2's minimum retransmission timeout, in ms.
    MinRto(u64),
    /// The number of TFRC feedback packets per round trip.
    FeedbackPerRoundTrip(u16),
    /// Turns the oscillation reduction of TFRC off.
    NoOscillationReduction,
}

/// The number of the last window law.
pub(super) const LAST_LAW: u8 = 6;

/// All built-in window laws; plans refer to them by position.
const LAWS: [&str; LAST_LAW as usize + 1] = [
    "newreno",
    THRESHOLD_WINDOW,
    "vegas",
    "veno",
    "cubic",
    "cubic-8312",
    "dctcp",
];

/// The law whose settings have no defaults.
const THRESHOLD_WINDOW: &str = "threshold-window";

/// Returns the law with this number.
fn law_of(number: u8) -> Chosen<dyn Law> {
    let name = LAWS[usize::from(number) % LAWS.len()];
    if name == THRESHOLD_WINDOW {
        return Chosen::of(name, Arc::new(ThresholdWindow::new(f64::INFINITY, 0.125)));
    }
    law(name).expect("it is built in and has defaults")
}

/// Returns the CCIDs with these numbers.
pub(crate) fn ccids_of(numbers: &[u8]) -> Vec<Ccid> {
    numbers.iter().copied().map(Ccid::new).collect()
}

/// Returns the default configuration with these differences.
pub fn config(settings: &[Setting]) -> Config {
    let mut config = Config::default();
    for setting in settings {
        setting.apply(&mut config);
    }
    config
}

impl Setting {
    fn apply(&self, config: &mut Config) {
        let ms = Duration::from_millis;
        match self {
            Self::SendCcids(ccids) => config.send_ccids = ccids_of(ccids),
            Self::ReceiveCcids(ccids) => config.receive_ccids = ccids_of(ccids),
            Self::NoEcn => config.ecn = false,
            Self::EcnNonce => config.ecn_nonce = true,
            Self::BelieveFeedback => config.check_feedback = false,
            Self::ReportFates => config.report_fates = true,
            Self::SlowPercent(percent) => config.slow_receiver_percent = *percent,
            Self::ConnectTimeout(time) => config.connect_timeout = ms(*time),
            Self::IdleTimeout(time) => config.idle_timeout = ms(*time),
            Self::KeepAlive(time) => config.keep_alive = (*time > 0).then(|| ms(*time)),
            Self::CloseTimes(time) => {
                config.drain_timeout = ms(*time);
                config.close_timeout = ms(*time);
            }
            Self::CloseTimeout(time) => config.close_timeout = ms(*time),
            Self::SequenceWindow(window) => config.sequence_window = *window,
            Self::MaxSequenceWindow(window) => config.max_sequence_window = *window,
            Self::CcidChangeInterval(time) => config.ccid_change_interval = ms(*time),
            Self::ShortSeqnos => config.short_seqnos = true,
            Self::Resend => config.resend = true,
            Self::SendRttEstimate => config.send_rtt_estimate = true,
            Self::Law(_) | Self::InitialWindow(_) | Self::MinRto(_) => {
                self.ccid2(&mut config.ccid2);
            }
            Self::FeedbackPerRoundTrip(_) | Self::NoOscillationReduction => {
                self.ccid3(&mut config.ccid3);
            }
            _ => self.apply_rest(config),
        }
    }

    /// Applies settings of queues, sizes and checksums.
    fn apply_rest(&self, config: &mut Config) {
        match self {
            Self::SendPackets(packets) => config.send_queue.packets = *packets,
            Self::SendBytes(bytes) => config.send_queue.bytes = *bytes,
            Self::SendAge(age) => config.send_queue.age = Some(Duration::from_millis(*age)),
            Self::SendDropsOldest => config.send_queue.policy = QueuePolicy::DropOldest,
            Self::ReceivePackets(packets) => config.receive_queue_packets = *packets,
            Self::ReceiveBytes(bytes) => config.receive_queue_bytes = *bytes,
            Self::ReceiveDropsOldest => {
                config.receive_queue_policy = ReceiveQueuePolicy::DropOldest;
            }
            Self::PathMtu(mtu) => config.path_mtu = *mtu,
            Self::NoPathMtuDiscovery => config.path_mtu_discovery = PathMtuDiscovery::Off,
            Self::IcmpPathMtuDiscovery => config.path_mtu_discovery = PathMtuDiscovery::Icmp,
            Self::ChecksumCoverage(coverage) => config.checksum_coverage = *coverage,
            Self::MinimumChecksumCoverage(least) => config.minimum_checksum_coverage = *least,
            Self::DataChecksum => config.data_checksum = DataChecksum::On,
            Self::RequireDataChecksum => config.data_checksum = DataChecksum::Required,
            Self::DeliverDamaged => config.damaged_data = DamagedData::Deliver,
            _ => {}
        }
    }

    fn ccid2(&self, config: &mut Ccid2Config) {
        match self {
            Self::Law(number) => config.law = law_of(*number),
            Self::InitialWindow(packets) => config.initial_window = Some(f64::from(*packets)),
            Self::MinRto(time) => config.min_rto = Duration::from_millis(*time),
            _ => {}
        }
    }

    fn ccid3(&self, config: &mut Ccid3Config) {
        match self {
            Self::FeedbackPerRoundTrip(n) => config.feedback = FeedbackRate::PerRoundTrip(*n),
            Self::NoOscillationReduction => config.oscillation_reduction = false,
            _ => {}
        }
    }
}

/// One difference from the default [`EndpointConfig`].
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum EndpointSetting {
    /// `max_connections`.
    Connections(usize),
    /// `max_memory`, bytes.
    Memory(usize),
    /// `max_connections_per_source`.
    ConnectionsPerSource(usize),
    /// `max_half_open`.
    HalfOpen(usize),
    /// `max_half_open_per_source`.
    HalfOpenPerSource(usize),
    /// Each Request is answered with an Init Cookie.
    CookiesAlways,
    /// No Request is answered with an Init Cookie.
    CookiesNever,
    /// Requests are answered with Init Cookies while at least this many connections are half open.
    CookiesWhenBusy(usize),
    /// `max_resets_per_s`.
    Resets(u32),
    /// `max_answers_per_source_per_s`.
    AnswersPerSource(u32),
    /// Packets for unbound ports are not answered.
    SilentPorts,
}

/// Returns the default configuration with these differences.
pub fn endpoint_config(settings: &[EndpointSetting]) -> EndpointConfig {
    use EndpointSetting as E;
    let mut config = EndpointConfig::default();
    for setting in settings {
        match *setting {
            E::Connections(n) => config.max_connections = n,
            E::Memory(bytes) => config.max_memory = bytes,
            E::ConnectionsPerSource(n) => config.max_connections_per_source = n,
            E::HalfOpen(n) => config.max_half_open = n,
            E::HalfOpenPerSource(n) => config.max_half_open_per_source = n,
            E::CookiesAlways => config.init_cookies = InitCookies::Always,
            E::CookiesNever => config.init_cookies = InitCookies::Never,
            E::CookiesWhenBusy(half_open) => {
                config.init_cookies = InitCookies::WhenBusy { half_open };
            }
            E::Resets(n) => config.max_resets_per_s = n,
            E::AnswersPerSource(n) => config.max_answers_per_source_per_s = n,
            E::SilentPorts => config.answer_unbound_ports = false,
        }
    }
    config
}

#[cfg(test)]
mod tests {
    use fairwire_proto::laws::{Kind, laws};

    use super::{LAST_LAW, LAWS, law_of};

    /// Every built-in law can be drawn, and each has its own number.
    #[test]
    fn every_law_has_a_number() {
        let known = laws();
        let known: Vec<&str> = known.iter().map(Kind::name).collect();
        assert_eq!(LAWS.to_vec(), known);
        for number in 0..=LAST_LAW {
            assert_eq!(law_of(number).kind(), LAWS[usize::from(number)]);
        }
    }
}
