//! Configurations drawn from an input.

use std::time::Duration;

use arbitrary::{Arbitrary, Result, Unstructured};
use fairwire_proto::laws::law;
use fairwire_proto::{
    Config, DamagedData, DataChecksum, Encapsulation, EndpointConfig, FeedbackRate, InitCookies,
    PathMtuDiscovery, QueueLimits, QueuePolicy, ReceiveQueuePolicy,
};
use fairwire_wire::Ccid;

/// Returns CCIDs from their numbers.
pub(crate) fn ccids_of(numbers: &[u8]) -> Vec<Ccid> {
    numbers.iter().copied().map(Ccid::new).collect()
}

/// Lists of CCIDs, best first.
const CCIDS: [&[u8]; 8] = [
    &[2],
    &[3],
    &[4],
    &[2, 3],
    &[3, 2],
    &[4, 3, 2],
    &[2, 3, 4],
    &[3, 4],
];

/// Returns the next byte of the input, or zero after its end.
pub(crate) fn byte(u: &mut Unstructured<'_>) -> u8 {
    u.arbitrary().unwrap_or(0)
}

/// Returns one of `choices`, selected by `by`.
pub(crate) fn pick<T: Copy>(choices: &[T], by: u8) -> T {
    choices[usize::from(by) % choices.len()]
}

/// The configuration of an endpoint and its connections, from eight bytes of the input.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// The endpoint's configuration.
    pub(crate) endpoint: EndpointConfig,
    /// The configuration of its connections.
    pub(crate) config: Config,
    /// Whether packets are carried in IP or in UDP.
    pub(crate) encapsulation: Encapsulation,
    /// Whether the path is IPv6.
    pub(crate) v6: bool,
    /// Whether the endpoint listens and the peer of the input connects, rather than the reverse.
    pub(crate) listens: bool,
}

impl<'a> Arbitrary<'a> for Setup {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let [roads, ccids, limits, switches] = [byte(u), byte(u), byte(u), byte(u)];
        let [checks, queues, paths, clocks] = [byte(u), byte(u), byte(u), byte(u)];
        let mut config = Config::default();
        config.send_ccids = ccids_of(pick(&CCIDS, ccids & 7));
        config.receive_ccids = ccids_of(pick(&CCIDS, ccids >> 3 & 7));
        switch(&mut config, switches);
        check(&mut config, checks);
        queue(&mut config, queues);
        path(&mut config, paths);
        clock(&mut config, clocks);
        config.close_timeout = match roads >> 3 & 3 {
            0 => config.drain_timeout,
            1 => Duration::from_secs(5),
            2 => Duration::ZERO,
            _ => Duration::from_millis(100),
        };
        config.sequence_window = match (config.short_seqnos, ccids >> 6) {
            (_, 0) => 1_024,
            (_, 1) => 32,
            (_, 2) | (true, _) => 100,
            (false, _) => 1 << 17,
        };
        Ok(Self {
            endpoint: limit(limits),
            config,
            encapsulation: match roads & 2 {
                0 => Encapsulation::Native,
                _ => Encapsulation::Udp,
            },
            v6: roads & 4 != 0,
            listens: roads & 1 == 0,
        })
    }
}

/// Returns the endpoint's configuration with its budgets.
fn limit(by: u8) -> EndpointConfig {
    let mut endpoint = EndpointConfig::default();
    endpoint.max_memory = pick(&[256 << 20, 1 << 20, 100_000, 40_000], by);
    endpoint.init_cookies = match by >> 2 & 3 {
        0 | 1 => InitCookies::default(),
        2 => InitCookies::Always,
        _ => InitCookies::WhenBusy { half_open: 1 },
    };
    if by & 0x10 != 0 {
        endpoint.max_connections = 2;
    }
    if by & 0x20 != 0 {
        endpoint.max_half_open = 1;
        endpoint.max_half_open_per_source = 1;
    }
    if by & 0x40 != 0 {
        endpoint.max_answers_per_source_per_s = 4;
        endpoint.max_resets_per_s = 2;
    }
    endpoint.answer_unbound_ports = by & 0x80 == 0;
    endpoint
}

fn switch(config: &mut Config, by: u8) {
    config.ecn = by & 1 == 0;
    config.ecn_nonce = by & 2 != 0;
    config.check_feedback = by & 4 == 0;
    config.short_seqnos = by & 8 != 0;
    config.report_fates = by & 16 == 0;
    config.send_rtt_estimate = by & 32 != 0;
    let name = pick(&["newreno", "cubic", "vegas", "veno"], by >> 6);
    config.ccid2.law = law(name).expect("it is built in and has defaults");
}

fn check(config: &mut Config, by: u8) {
    config.data_checksum = match by & 3 {
        0 | 1 => DataChecksum::Off,
        2 => DataChecksum::On,
        _ => DataChecksum::Required,
    };
    if by & 4 != 0 {
        config.damaged_data = DamagedData::Deliver;
    }
    config.resend = by & 0x80 != 0;
    config.checksum_coverage = pick(&[0, 1, 2, 15], by >> 3);
    config.minimum_checksum_coverage = pick(&[0, 1, 2, 15], by >> 5);
}

fn queue(config: &mut Config, by: u8) {
    config.receive_queue_packets = pick(&[4_096, 1, 3, 16], by);
    config.receive_queue_bytes = pick(&[4 << 20, 400, 3_000, 20_000], by >> 2);
    let (mut few, mut aged) = (QueueLimits::default(), QueueLimits::default());
    few.packets = 3;
    few.bytes = 2_000;
    aged.age = Some(Duration::from_millis(100));
    config.send_queue = pick(&[QueueLimits::default(), few, aged], by >> 4 & 3);
    if by & 0x40 != 0 {
        config.send_queue.policy = QueuePolicy::DropOldest;
    }
    if by & 0x80 != 0 {
        config.receive_queue_policy = ReceiveQueuePolicy::DropOldest;
    }
}

fn path(config: &mut Config, by: u8) {
    config.path_mtu = pick(&[1_500, 576, 1_280, 9_000], by);
    config.path_mtu_discovery = match by >> 2 & 3 {
        0 | 3 => PathMtuDiscovery::Probe,
        1 => PathMtuDiscovery::Icmp,
        _ => PathMtuDiscovery::Off,
    };
    config.slow_receiver_percent = pick(&[75, 0, 101, 50], by >> 4);
    config.ccid3.feedback = match by >> 6 {
        0 | 1 => FeedbackRate::PerRoundTrip(1),
        2 => FeedbackRate::PerRoundTrip(100),
        _ => FeedbackRate::Every(Duration::from_millis(1)),
    };
}

fn clock(config: &mut Config, by: u8) {
    if by & 1 != 0 {
        config.keep_alive = None;
    }
    if by & 2 != 0 {
        config.idle_timeout = Duration::from_millis(500);
    }
    if by & 4 != 0 {
        config.connect_timeout = Duration::from_millis(1_500);
    }
    config.drain_timeout = pick(
        &[
            Duration::from_secs(5),
            Duration::ZERO,
            Duration::from_millis(100),
        ],
        by >> 3 & 3,
    );
    if by & 0x20 != 0 {
        config.ccid_change_interval = Duration::ZERO;
    }
    if by & 0x40 != 0 {
        config.keep_alive = config.keep_alive.map(|_| Duration::from_secs(2));
    }
    if by & 0x80 != 0 {
        config.ccid2.min_rto = Duration::from_millis(1);
        config.ccid3.granularity = Duration::ZERO;
    }
}
