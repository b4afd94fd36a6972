//! What can be set, and what it is when nobody sets it.

mod ccids;
#[cfg(feature = "settings")]
mod written;

use std::time::Duration;

use fairwire_wire::Ccid;

use crate::constants::{CCIDS, DATAGRAM_OVERHEAD, MAX_SHORT_WINDOW, MIN_PATH_MTU};
use crate::error::ConfigError;

pub use ccids::{
    Ccid2Config, Ccid3Config, FeedbackRate, FirstInterval, LossEvents, ReceiveRateOver, Reports,
    Segment,
};

/// What an [`Endpoint`](crate::Endpoint) as a whole may do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EndpointConfig {
    /// Connections at most, closed ones counted until they are released, those in TIMEWAIT not. The
    /// default `max_memory` has room for some 20,000 that do little.
    pub max_connections: usize,
    /// Bytes of memory handed out to all connections together: some ten kilobytes for each, what waits in
    /// queues, and what is remembered of packets. A connection has at most a sixteenth of what is left,
    /// so that some that take much leave room for the others. Once seven eighths are spent, new connections
    /// are refused (Reset 9, Too Busy), data that arrives is dropped (Drop Code 2) and `send` says Full,
    /// but for one datagram each way of each connection; all else goes on. What is remembered of packets
    /// cannot be refused, and may take more: up to some 200 kB for a connection that sends little.
    pub max_memory: usize,
    /// Incoming connections from one IPv4 address, or one IPv6 network of 64 bits, at most, half-open ones not
    /// counted. Further Requests from there get Reset 9, Too Busy.
    pub max_connections_per_source: usize,
    /// Half-open incoming connections at most. Beyond it one of them, drawn at random, makes room
    /// for the next: first of those whose clients have an Init Cookie, which costs only clients
    /// that do not echo it.
    pub max_half_open: usize,
    /// Half-open incoming connections from one IPv4 address, or one IPv6 network of 64 bits, at
    /// most. Further Requests from there get an Init Cookie, or Reset 9, Too Busy, without them.
    pub max_half_open_per_source: usize,
    /// When listeners keep no state before the handshake is complete.
    pub init_cookies: InitCookies,
    /// Resets and answers to packets of no connection, per second, at most (RFC 4340, 8.1.3 allows 1,024).
    pub max_resets_per_s: u32,
    /// Answers to packets from one IPv4 address, or one IPv6 network of 64 bits, per second, at most, four
    /// times as many at once: Responses, and Resets, which count as four. Who completes the
    /// handshake does not count. Requests beyond it are ignored, for their addresses may be forged
    /// to make us flood somebody.
    pub max_answers_per_source_per_s: u32,
    /// Answer packets for ports that nobody here has bound? False on a host's raw socket that is not exclusive.
    pub answer_unbound_ports: bool,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            max_connections: 65_536,
            max_memory: 256 << 20,
            // Two thousand clients behind one NAT are served.
            max_connections_per_source: 4_096,
            max_half_open: 1_024,
            max_half_open_per_source: 256,
            init_cookies: InitCookies::default(),
            max_resets_per_s: 1_024,
            max_answers_per_source_per_s: 1_024,
            answer_unbound_ports: true,
        }
    }
}

/// When a listener answers a Request with an Init Cookie (RFC 4340, section 8.1.4).
///
/// With a cookie the client keeps what the server would have to remember, so that forged
/// Requests push nobody out. In exchange the data of a Request is dropped, and a repeated Request
/// gets a Response of its own with new numbers. RFC 4340 wants cookies echoed, but some clients
/// (the Linux kernel's) ignore them: those need the server to remember all the same.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum InitCookies {
    /// Never.
    Never,
    /// While there are this many half-open connections without one, unless one that is older than
    /// ten seconds can make room. The rest of `max_half_open` goes to connections whose clients
    /// have a cookie, for those that do not echo it: they are served while there is room, and
    /// under a flood by lot, as with `Never`; a client that does echo it is always served. Where
    /// this is `max_half_open` or more, nothing is kept beside a cookie, and those that come
    /// without it are answered with Reset 10.
    WhenBusy {
        /// Half-open connections.
        half_open: usize,
    },
    /// For each Request, and nothing is kept: clients that do not echo cookies are refused with
    /// Reset 10.
    Always,
}

impl Default for InitCookies {
    /// While half of the default `max_half_open` are half open.
    fn default() -> Self {
        Self::WhenBusy { half_open: 512 }
    }
}

/// What one connection does; a listener's is cloned for each it accepts. Times of more than 584 years count as that.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent yes-or-no settings"
)]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// CCIDs for the data we send, best first (feature 1, located here).
    pub send_ccids: Vec<Ccid>,
    /// CCIDs for the data we receive, best first.
    pub receive_ccids: Vec<Ccid>,
    /// Send data as ECT(0) and answer marks? False also tells the peer that we cannot read marks (RFC 4340, 12.1).
    pub ecn: bool,
    /// Send data under CCID 2 as ECT(0) or ECT(1) at random, the ECN nonce (RFC 4340, 12.2), and
    /// hold the peer's echoes against it? A receiver that hides losses or marks is then slowed
    /// down, and after some round trips reset with code 11. So is an honest one behind a path that
    /// rewrites ECN fields, and routers of L4S (RFC 9331) take ECT(1) for their own: hence off, as
    /// RFC 8311, section 6, has it.
    pub ecn_nonce: bool,
    /// Hold what receivers report against what was sent? A receive rate, a loss interval or an Elapsed
    /// Time that cannot be is cut to what can (RFC 5348, 10), and now and then a sequence number is
    /// passed over: nobody can receive it, so a receiver that reports it as received hides losses
    /// (RFC 4342, 9). It is slowed down, and in the end reset with code 11. An honest receiver loses
    /// nothing but that its application counts these numbers as lost datagrams
    /// ([`Received::lost_before`](crate::Received::lost_before)): none of the first 256 packets, then one
    /// in 256 until eight were reported honestly, then one in 2,048; more, up to one in 32, for the moment
    /// after the path seems to have become shorter, and one in 8 under suspicion. No number is passed over towards a
    /// CCID 3 receiver that sends no Loss Intervals, as that of Linux: it cannot be checked in this way.
    pub check_feedback: bool,
    /// What waits to be sent.
    pub send_queue: QueueLimits,
    /// What waits to be read: datagrams at most. What is dropped beyond it is reported to the peer
    /// as Drop Code 2, and it slows down (RFC 4340, 11.7.2). A report reaches back over 131,072 packets at
    /// most: what a queue of more packets than that drops at its old end is not told.
    pub receive_queue_packets: usize,
    /// What waits to be read: bytes at most, [`DATAGRAM_OVERHEAD`] for each
    /// datagram included. More than that, or no datagram fits.
    pub receive_queue_bytes: usize,
    /// What a full receive queue drops.
    pub receive_queue_policy: ReceiveQueuePolicy,
    /// How full the receive queue is, percent, from which on Slow Receiver keeps the peer from
    /// speeding up (RFC 4340, 11.6); more than 100 never says it.
    /// [`Endpoint::set_slow`](crate::Endpoint::set_slow) says it in any case.
    pub slow_receiver_percent: u8,
    /// Give up on a Request after this long.
    pub connect_timeout: Duration,
    /// Give up on a peer that leaves a packet unanswered for this long, more than zero. With
    /// `keep_alive` there always is such a packet, so a peer that vanished is given up in every
    /// state, after `keep_alive` and `idle_timeout` at most. A Close is such a packet too.
    pub idle_timeout: Duration,
    /// Send a Sync, which the peer answers, when nothing was sent or heard for this long; 15 seconds by
    /// default. It holds NAT bindings and finds out that the peer is gone. With `None` a connection that
    /// only receives stays until its application ends it: then the application must have a timer.
    pub keep_alive: Option<Duration>,
    /// How long `close` lets the send queue drain before it sends the Close; what has not left by then is
    /// discarded.
    pub drain_timeout: Duration,
    /// How long the Close is repeated when the peer does not answer it, before the connection is reset
    /// ([`CloseReason::CloseTimeout`](crate::CloseReason::CloseTimeout)).
    ///
    /// At least three Closes leave, with their back-off, and the last one has its time to be answered:
    /// 14 round trips, if that is longer (but no longer than `idle_timeout`). A peer that has owed us an
    /// answer for `idle_timeout` is given up earlier, a Close being something to answer. So a `close` takes at
    /// most `drain_timeout` and `close_timeout`, or `drain_timeout` and `idle_timeout` where the round trip is long.
    pub close_timeout: Duration,
    /// Sequence Window asked for in the handshake, packets: 32 to 2^46 - 1 (RFC 4340, 7.5.2).
    pub sequence_window: u64,
    /// How far it may be doubled.
    pub max_sequence_window: u64,
    /// How long a CCID that has changed in mid-connection has to stay (RFC 4340, 10.5: each change
    /// begins congestion control anew). Sooner, neither end's wish is granted; a Mandatory one of the
    /// peer's ends the connection.
    pub ccid_change_interval: Duration,
    /// Ask for 24-bit sequence numbers on Data, Ack and `DataAck`, and grant them to a peer that
    /// asks (RFC 4340, 7.6)? Heads are then four bytes shorter, eight with an acknowledgement. What
    /// comes from outside is guessed more easily: once in 16,384 tries beside the widest window
    /// allowed, 1,024 packets. Beyond it, or beyond 65,536 packets a second, numbers are long again.
    pub short_seqnos: bool,
    /// The largest IP packet ever sent, bytes, and the size assumed to pass until something shows
    /// otherwise (RFC 4340, 14.1: the MTU of the interface, to which sockets lower it). At least 576.
    pub path_mtu: u16,
    /// How a path that takes less is found out.
    pub path_mtu_discovery: PathMtuDiscovery,
    /// Report what became of each datagram?
    pub report_fates: bool,
    /// Checksum coverage of our data packets (`CsCov`, RFC 4340, 9.2): 0 covers everything, n from 1
    /// to 15 the first 4 (n - 1) bytes of data. Once the peer has agreed to take as little; until
    /// then, and if it does not, everything is covered.
    pub checksum_coverage: u8,
    /// Ask that data of CCID 3 or 4 carries its sender's round-trip time, both ways (RFC 6323), so
    /// that receivers need not guess it? Where the peer asks, it is granted anyway.
    pub send_rtt_estimate: bool,
    /// The least coverage of the peer's data that we take (RFC 4340, 9.2.1): 0 only what is covered
    /// completely, n from 1 to 15 this `CsCov` and larger ones too. Data with less are dropped and
    /// reported as Drop Code 0.
    pub minimum_checksum_coverage: u8,
    /// Send a Data Checksum with each datagram (RFC 4340, 9.3)? Those that come are always checked.
    pub data_checksum: DataChecksum,
    /// What becomes of data that their Data Checksum contradicts.
    pub damaged_data: DamagedData,
    /// CCID 2's parameters.
    pub ccid2: Ccid2Config,
    /// CCID 3's parameters, and but for the segment size CCID 4's.
    pub ccid3: Ccid3Config,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            send_ccids: vec![Ccid::TCP_LIKE, Ccid::TFRC],
            receive_ccids: vec![Ccid::TCP_LIKE, Ccid::TFRC],
            ecn: true,
            ecn_nonce: false,
            check_feedback: true,
            send_queue: QueueLimits::default(),
            receive_queue_packets: 4_096,
            receive_queue_bytes: 4 << 20,
            receive_queue_policy: ReceiveQueuePolicy::DropNewest,
            slow_receiver_percent: 75,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            keep_alive: Some(Duration::from_secs(15)),
            drain_timeout: Duration::from_secs(5),
            close_timeout: Duration::from_secs(5),
            sequence_window: 1_024,
            max_sequence_window: 1 << 20,
            ccid_change_interval: Duration::from_secs(60),
            short_seqnos: false,
            path_mtu: 1_500,
            path_mtu_discovery: PathMtuDiscovery::Probe,
            report_fates: false,
            checksum_coverage: 0,
            send_rtt_estimate: false,
            minimum_checksum_coverage: 0,
            data_checksum: DataChecksum::Off,
            damaged_data: DamagedData::Drop,
            ccid2: Ccid2Config::default(),
            ccid3: Ccid3Config::default(),
        }
    }
}

impl Config {
    /// What is wrong with it, if something is.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let mut ccids = self.send_ccids.iter().chain(&self.receive_ccids);
        if self.send_ccids.is_empty() || self.receive_ccids.is_empty() {
            return Err(ConfigError::new(
                "send_ccids or receive_ccids",
                "a connection needs a CCID for each direction: TCP_LIKE, TFRC or TFRC_SP (2, 3, 4)",
            ));
        }
        if !ccids.all(|ccid| CCIDS.contains(ccid)) {
            return Err(ConfigError::new(
                "send_ccids or receive_ccids",
                "there is no such CCID: use TCP_LIKE, TFRC or TFRC_SP (2, 3, 4)",
            ));
        }
        if self.path_mtu < MIN_PATH_MTU {
            return Err(ConfigError::new(
                "path_mtu",
                "too small: use at least 576 bytes",
            ));
        }
        // RFC 4340, 7.5.2: Wmin and Wmax. Doubling a window of 0 would never end.
        if !(32..1 << 46).contains(&self.sequence_window) {
            return Err(ConfigError::new(
                "sequence_window",
                "use at least 32 and at most 2^46 - 1 packets",
            ));
        }
        if self.short_seqnos && self.sequence_window > MAX_SHORT_WINDOW {
            return Err(ConfigError::new(
                "sequence_window",
                "short sequence numbers (short_seqnos) need one of at most 1024 packets",
            ));
        }
        if self.send_queue.packets == 0 {
            return Err(ConfigError::new(
                "send_queue.packets",
                "the queue needs room for at least one datagram",
            ));
        }
        if self.receive_queue_packets == 0 || self.receive_queue_bytes <= DATAGRAM_OVERHEAD {
            return Err(ConfigError::new(
                "receive_queue_packets or receive_queue_bytes",
                "the queue needs room for at least one datagram, and 160 bytes more",
            ));
        }
        if self.idle_timeout.is_zero() {
            return Err(ConfigError::new(
                "idle_timeout",
                "no time gives up before any answer: use some seconds",
            ));
        }
        if self.checksum_coverage > 15 || self.minimum_checksum_coverage > 15 {
            return Err(ConfigError::new(
                "checksum_coverage or minimum_checksum_coverage",
                "use 0 for everything, or 1 to 15",
            ));
        }
        self.ccid2.check()?;
        self.ccid3.check()
    }
}

/// Data Checksums on what we send: a CRC-32c of each datagram (RFC 4340, section 9.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum DataChecksum {
    /// None.
    Off,
    /// On each datagram; the peer is asked to check them, and may decline.
    On,
    /// On each datagram; a peer that does not check them cannot be talked to.
    Required,
}

/// What becomes of data that their Data Checksum contradicts (RFC 4340, section 9.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum DamagedData {
    /// Dropped, and reported as Drop Code 3.
    Drop,
    /// Delivered with a note, [`Received::corrupt`](crate::Received::corrupt), and reported as Drop
    /// Code 7.
    Deliver,
}

/// How a connection finds out what its path takes (RFC 4340, section 14.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum PathMtuDiscovery {
    /// Not at all: `path_mtu` is believed, and ICMP errors are not.
    Off,
    /// By ICMP errors, Too Big, that quote a packet of ours. Where a firewall drops them, so do
    /// large packets disappear.
    Icmp,
    /// By padded Syncs too, which the peer answers (RFC 8899): a few packets at the beginning of a
    /// connection that sends packets larger than every path takes (576 bytes, 1,280 with IPv6),
    /// and again when such packets disappear, or after ten minutes if more may pass by then.
    Probe,
}

/// The bounds of the send queue. Datagrams die in queues: each bound says how.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct QueueLimits {
    /// Datagrams at most.
    pub packets: usize,
    /// Bytes at most.
    pub bytes: usize,
    /// A datagram that has waited longer expires; `None` lets it wait.
    pub age: Option<Duration>,
    /// What happens when one more does not fit.
    pub policy: QueuePolicy,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self {
            packets: 256,
            bytes: 1 << 20,
            age: None,
            policy: QueuePolicy::BackPressure,
        }
    }
}

/// What a full send queue does.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum QueuePolicy {
    /// Refuse the new datagram: the application waits.
    #[default]
    #[cfg_attr(feature = "settings", serde(rename = "refuse"))]
    BackPressure,
    /// Drop the oldest for it: the newest data is worth most.
    DropOldest,
}

/// What a full receive queue drops. Whatever it is, the peer is told and slows down; it cannot be made to wait.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum ReceiveQueuePolicy {
    /// The datagram that arrives.
    #[default]
    DropNewest,
    /// The oldest, which the peer has seen acknowledged long ago: its fate stays
    /// [`Fate::Acknowledged`](crate::Fate::Acknowledged).
    DropOldest,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use fairwire_cc::ThresholdWindow;
    use fairwire_units::registry::Chosen;

    use super::{Ccid3Config, Config, FeedbackRate};

    /// A parameter that would make the throughput equation or a window senseless is refused with
    /// what would do, not carried into the controller.
    #[test]
    fn senseless_parameters_are_refused() {
        assert_eq!(Config::default().check(), Ok(()));
        for b in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            let mut config = Config::default();
            config.ccid3.b = b;
            assert!(config.check().is_err(), "b = {b}");
            config.ccid3 = Ccid3Config {
                t_rto_rtts: b,
                ..Ccid3Config::default()
            };
            assert!(config.check().is_err(), "t_RTO = {b}");
        }
        for (feedback, is_sound) in [
            (FeedbackRate::PerRoundTrip(0), false),
            (FeedbackRate::PerRoundTrip(100), true),
            (FeedbackRate::Every(Duration::ZERO), false),
            (FeedbackRate::Every(Duration::from_millis(100)), true),
        ] {
            let mut config = Config::default();
            config.ccid3.feedback = feedback;
            assert_eq!(config.check().is_ok(), is_sound, "{feedback:?}");
        }
        for (window, fits) in [
            (0, false),
            (31, false),
            (32, true),
            ((1 << 46) - 1, true),
            (1 << 46, false),
        ] {
            let config = Config {
                sequence_window: window,
                ..Config::default()
            };
            assert_eq!(config.check().is_ok(), fits, "sequence window {window}");
        }
        let without: [fn(&mut Config); 5] = [
            |config| config.send_queue.packets = 0,
            |config| config.receive_queue_packets = 0,
            |config| config.idle_timeout = Duration::ZERO,
            |config| config.receive_queue_bytes = 0,
            |config| config.receive_queue_bytes = crate::DATAGRAM_OVERHEAD,
        ];
        for take in without {
            let mut config = Config::default();
            take(&mut config);
            assert!(config.check().is_err(), "{config:?}");
        }
        for cut in [f64::NAN, 0.0, 1.0] {
            let mut config = Config::default();
            let law = Arc::new(ThresholdWindow::new(f64::INFINITY, cut));
            config.ccid2.law = Chosen::of("threshold-window", law);
            assert!(config.check().is_err(), "cut = {cut}");
        }
        for window in [f64::NAN, 0.5] {
            let mut config = Config::default();
            config.ccid2.initial_window = Some(window);
            assert!(config.check().is_err(), "initial window = {window}");
        }
    }
}
