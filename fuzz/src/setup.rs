//! Configurations drawn from an input.

use arbitrary::{Arbitrary, Result, Unstructured};
use fairwire_proto::{Config, Encapsulation, EndpointConfig, InitCookies};
use fairwire_wire::Ccid;

/// Returns CCIDs from their numbers.
pub(crate) fn ccids_of(numbers: &[u8]) -> Vec<Ccid> {
    numbers.iter().copied().map(Ccid::new).collect()
}

/// Lists of CCIDs, best first. They are fixed, because bits of the stored inputs select one.
const CCIDS: &[&str] = &["2", "3", "4", "2,3", "3,2", "4,3,2", "2,3,4", "3,4"];

/// The settings of connections: which of the eight bytes selects the value, how many of its lower bits do not, the key,
/// and the values. An empty one leaves the key as it is.
const SETTINGS: &[(usize, u8, &str, &[&str])] = &[
    (1, 0, "send_ccids", CCIDS),
    (1, 3, "receive_ccids", CCIDS),
    (
        1,
        6,
        "sequence_window",
        &["", "32 packets", "100 packets", "131072 packets"],
    ),
    (3, 0, "ecn", &["", "false"]),
    (3, 1, "ecn_nonce", &["", "true"]),
    (3, 2, "check_feedback", &["", "false"]),
    (3, 3, "short_seqnos", &["", "true"]),
    (3, 4, "report_fates", &["true", ""]),
    (3, 5, "send_rtt_estimate", &["", "true"]),
    (3, 6, "ccid2.law", &["", "cubic", "vegas", "veno"]),
    (4, 0, "data_checksum", &["", "", "on", "required"]),
    (4, 2, "damaged_data", &["", "deliver"]),
    (4, 3, "checksum_coverage", &["", "1", "2", "15"]),
    (4, 5, "minimum_checksum_coverage", &["", "1", "2", "15"]),
    (4, 7, "resend", &["", "true"]),
    (
        5,
        0,
        "receive_queue_packets",
        &["", "1 packet", "3 packets", "16 packets"],
    ),
    (5, 2, "receive_queue_bytes", &["", "400 B", "3 kB", "20 kB"]),
    (5, 4, "send_queue.packets", &["", "3 packets", "", ""]),
    (5, 4, "send_queue.bytes", &["", "2 kB", "", ""]),
    (5, 4, "send_queue.age", &["", "", "100 ms", ""]),
    (5, 6, "send_queue.policy", &["", "drop-oldest"]),
    (5, 7, "receive_queue_policy", &["", "drop-oldest"]),
    (6, 0, "path_mtu", &["", "576 B", "1280 B", "9 kB"]),
    (6, 2, "path_mtu_discovery", &["", "icmp", "off", ""]),
    (6, 4, "slow_receiver_percent", &["", "0", "101", "50"]),
    (6, 6, "ccid3.feedback", &["", "", "100 per rtt", "1 ms"]),
    (7, 6, "keep_alive", &["", "2 s"]),
    (7, 0, "keep_alive", &["", "none"]),
    (7, 1, "idle_timeout", &["", "500 ms"]),
    (7, 2, "connect_timeout", &["", "1500 ms"]),
    (7, 3, "drain_timeout", &["", "0 s", "100 ms", ""]),
    (7, 5, "ccid_change_interval", &["", "0 s"]),
    (7, 7, "ccid2.min_rto", &["", "1 ms"]),
    (7, 7, "ccid3.granularity", &["", "0 s"]),
    (0, 3, "close_timeout", &["", "", "0 s", "100 ms"]),
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
        let bytes: [u8; 8] = std::array::from_fn(|_| byte(u));
        let [roads, _, limits, ..] = bytes;
        let mut config = Config::default();
        for &(at, shift, key, values) in SETTINGS {
            let value = pick(values, bytes[at] >> shift);
            if !value.is_empty() {
                config.set(key, value).expect("each value is valid");
            }
        }
        if roads & 0x18 == 0 {
            config.close_timeout = config.drain_timeout;
        }
        if config.short_seqnos && config.sequence_window > 1_024 {
            config.sequence_window = 100;
        }
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
