//! The settings of an endpoint and of a connection, with their defaults.

mod ccids;
mod limit;
mod network;
mod profile;
#[cfg(feature = "settings")]
mod set;
mod table;
#[cfg(feature = "settings")]
mod text;
#[cfg(feature = "settings")]
mod written;

use std::time::Duration;

use fairwire_units::Rate;
use fairwire_wire::Ccid;

use crate::constants::MAX_SHORT_WINDOW;
use crate::error::ConfigError;
use crate::shard::Shard;
use limit::Limit;
use table::settings;
#[cfg(feature = "settings")]
use written::{Bytes, Ccids, OptionalRate, OptionalTime, Packets, Time};

#[cfg(feature = "settings")]
pub use set::Key;

pub use ccids::{
    AckRatioFollows, Ccid2Config, Ccid3Config, FeedbackRate, FirstInterval, LossEvents,
    ReceiveRateOver, ReceiverRtt, Reports, Segment, WindowCounts,
};
pub use profile::Profile;

/// Limits and policies of an [`Endpoint`](crate::Endpoint) as a whole.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EndpointConfig {
    /// Maximum number of connections. Closed connections count until they are released; those in TIMEWAIT do not count.
    /// The default `max_memory` has room for about 20,000 connections with little traffic.
    pub max_connections: usize,
    /// Memory for all connections together, in bytes.
    ///
    /// A connection takes about ten kilobytes, plus its queues and the state kept about packets. It gets at most a
    /// sixteenth of what is left, so that a few large ones leave room for the others. Once seven eighths are in use,
    /// new connections are refused (Reset 9, Too Busy), arriving data is dropped (Drop Code 2) and `send` returns Full.
    /// One datagram in each direction of each connection is still taken, and everything else goes on. State kept about
    /// packets cannot be refused and may exceed the limit: up to about 200 kB for a connection that sends little.
    ///
    /// The session of an encrypted connection counts, too: with DTLS some 11 kB, and 96 or 256 kB during its handshake.
    pub max_memory: usize,
    /// Maximum number of incoming connections from one IPv4 address or one IPv6 /64 network, half-open ones not
    /// counted. Further Requests from there get Reset 9, Too Busy. An IPv6 /56 may have twice as many, a /48 three times.
    pub max_connections_per_source: usize,
    /// Maximum number of half-open incoming connections. Beyond it a new one replaces one drawn at random. Those whose
    /// clients hold an Init Cookie are replaced first, which harms only clients that do not echo it.
    pub max_half_open: usize,
    /// Maximum number of half-open incoming connections from one IPv4 address or one IPv6 /64 network. Further Requests
    /// from there get an Init Cookie, or Reset 9, Too Busy, if cookies are off. An IPv6 /56 may have twice as many, a
    /// /48 three times.
    pub max_half_open_per_source: usize,
    /// When listeners keep no state until the handshake is complete.
    pub init_cookies: InitCookies,
    /// Maximum rate of Resets and other answers to packets of no connection, per second (RFC 4340, 8.1.3 allows 1,024).
    pub max_resets_per_s: u32,
    /// Maximum rate of answers to one IPv4 address or one IPv6 /64 network, per second; four times as many may leave in
    /// a burst. An IPv6 /56 may have twice as many, a /48 three times. A Response counts as one answer, a Reset as four.
    /// Answers to clients that complete the handshake do not count. Requests beyond the limit are ignored, because their addresses may be forged to make us flood somebody.
    pub max_answers_per_source_per_s: u32,
    /// Whether to answer packets for ports that are not bound here. Use false on a raw socket that this process shares
    /// with others on the host.
    pub answer_unbound_ports: bool,
    /// The part of the connections of its address that the endpoint has. A local port that the endpoint takes by itself
    /// makes the connection belong to this part.
    pub shard: Shard,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            max_connections: 65_536,
            max_memory: 256 << 20,
            // Enough for two thousand clients behind one NAT.
            max_connections_per_source: 4_096,
            max_half_open: 1_024,
            max_half_open_per_source: 256,
            init_cookies: InitCookies::default(),
            max_resets_per_s: 1_024,
            max_answers_per_source_per_s: 1_024,
            answer_unbound_ports: true,
            shard: Shard::WHOLE,
        }
    }
}

impl EndpointConfig {
    /// Returns the settings of one of several endpoints that share an address.
    ///
    /// Together they keep these limits, apart from rounding up.
    #[must_use]
    pub fn for_shard(&self, shard: Shard) -> Self {
        let count = usize::from(shard.count());
        Self {
            max_connections: self.max_connections.div_ceil(count),
            max_memory: self.max_memory.div_ceil(count),
            max_connections_per_source: self.max_connections_per_source.div_ceil(count),
            max_half_open: self.max_half_open.div_ceil(count),
            max_half_open_per_source: self.max_half_open_per_source.div_ceil(count),
            init_cookies: match self.init_cookies {
                InitCookies::WhenBusy { half_open } => InitCookies::WhenBusy {
                    half_open: half_open.div_ceil(count),
                },
                other => other,
            },
            max_resets_per_s: self.max_resets_per_s.div_ceil(shard.count().into()),
            max_answers_per_source_per_s: self
                .max_answers_per_source_per_s
                .div_ceil(shard.count().into()),
            answer_unbound_ports: self.answer_unbound_ports,
            shard,
        }
    }
}

/// When a listener answers a Request with an Init Cookie (RFC 4340, section 8.1.4).
///
/// With a cookie the client keeps the state that the server would have to keep, so forged Requests displace nobody. The
/// cost: data in a Request is dropped, and a repeated Request gets a new Response with new sequence numbers. RFC 4340
/// requires clients to echo cookies, but some (the Linux kernel's) ignore them; for those the server has to keep state
/// anyway.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum InitCookies {
    /// Never.
    Never,
    /// While at least this many half-open connections without a cookie exist and none older than ten seconds can be
    /// replaced.
    ///
    /// The rest of `max_half_open` is for clients that have a cookie but do not echo it. They are served while there is
    /// room, and under a flood at random, as with `Never`. A client that echoes its cookie is always served. If this
    /// value is `max_half_open` or more, no state is kept beside a cookie, and clients that do not echo it get Reset
    /// 10.
    WhenBusy {
        /// Number of half-open connections.
        half_open: usize,
    },
    /// For each Request. No state is kept: clients that do not echo the cookie get Reset 10.
    Always,
}

impl Default for InitCookies {
    /// Returns `WhenBusy` with half of the default `max_half_open`.
    fn default() -> Self {
        Self::WhenBusy { half_open: 512 }
    }
}

settings! {
    ""
    /// Settings of one connection. A listener clones its own for each connection that it accepts.
    ///
    /// Times of more than 584 years count as 584 years.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// CCIDs for the data we send, most preferred first (feature 1, located here).
        pub send_ccids: Vec<Ccid> as ["Ccids"] = vec![Ccid::TCP_LIKE, Ccid::TFRC];
        /// CCIDs for the data we receive, most preferred first.
        pub receive_ccids: Vec<Ccid> as ["Ccids"] = vec![Ccid::TCP_LIKE, Ccid::TFRC];
        /// Whether to send data as ECT(0) and to respond to marks. False also tells the peer that we cannot read marks
        /// (RFC 4340, 12.1).
        pub ecn: bool = true;
        /// Whether to send data under CCID 2 as ECT(0) or ECT(1) at random, the ECN nonce (RFC 4340, 12.2), and to
        /// check the peer's echoes.
        ///
        /// A receiver that hides losses or marks is slowed down and, after some round trips, reset with code 11. The
        /// same happens to an honest receiver behind a path that rewrites ECN fields, and L4S routers (RFC 9331) give
        /// ECT(1) a meaning of their own. It is therefore off by default, as RFC 8311, section 6, recommends.
        pub ecn_nonce: bool = false;
        /// Whether to check the feedback of receivers against what was sent.
        ///
        /// An impossible receive rate, loss interval or Elapsed Time is limited to what is possible (RFC 5348, 10). Now
        /// and then a sequence number is skipped: no packet has it, so a receiver that reports it as received hides
        /// losses (RFC 4342, 9). Such a receiver is slowed down and in the end reset with code 11.
        ///
        /// The only cost to an honest receiver is that its application counts the skipped numbers as lost datagrams
        /// ([`Received::lost_before`](crate::Received::lost_before)). Among the first 256 packets no number is skipped.
        /// Then one in 256 is, until eight were reported honestly, and one in 2,048 afterwards. More are skipped while
        /// the path seems to have become shorter (up to one in 32) and under suspicion (one in 8). A CCID 3 receiver
        /// that sends no Loss Intervals, such as Linux, cannot be checked in this way; towards it no number is skipped.
        pub check_feedback: bool = true;
        /// The most that leaves, whatever congestion control allows: datagrams without headers, copies and the bytes of
        /// encryption included; by default there is no cap. After a pause, 5 ms of it may leave at once. The allowed
        /// rate and the target bitrate never exceed it.
        pub max_rate: Option<Rate> as optional ["OptionalRate"] = None, "above 0 bit/s";
        /// Limits of the send queue.
        pub send_queue: QueueLimits = QueueLimits::default();
        /// Maximum number of datagrams in the receive queue. Datagrams beyond it are dropped and reported to the peer
        /// as Drop Code 2, and the peer slows down (RFC 4340, 11.7.2). A report covers at most the latest 131,072
        /// packets: what a longer queue drops at its old end is not reported.
        pub receive_queue_packets: usize as ["Packets"] = 4_096, "at least 1 packet";
        /// Maximum size of the receive queue in bytes, with [`DATAGRAM_OVERHEAD`](crate::DATAGRAM_OVERHEAD) added for
        /// each datagram. It must be larger than that, or no datagram fits.
        pub receive_queue_bytes: usize as ["Bytes"] = 4 << 20, "above 176 B";
        /// Which datagram a full receive queue drops.
        pub receive_queue_policy: ReceiveQueuePolicy = ReceiveQueuePolicy::DropNewest;
        /// Fill level of the receive queue, in percent, from which Slow Receiver asks the peer not to speed up (RFC
        /// 4340, 11.6). More than 100 never sends it. [`Endpoint::set_slow`](crate::Endpoint::set_slow) sends it at any
        /// level.
        pub slow_receiver_percent: u8 = 75;
        /// How long an attempt to connect may take before it fails.
        pub connect_timeout: Duration as ["Time"] = Duration::from_secs(10);
        /// How long the first Request waits for its Response before it is sent again. Each later one waits twice as long,
        /// up to 64 seconds. By default it is the second of RFC 4340, 8.1.1; the profiles other than `rfc` wait 250 ms,
        /// after which programs begin another attempt to connect (RFC 8305, 5). On a longer path that is one Request, or
        /// two, more than needed.
        pub request_timeout: Duration as ["Time"] = Duration::from_secs(1), "at least 10 ms and at most 64 s";
        /// How long a peer may leave a packet unanswered before the connection ends; more than zero. A Close counts as
        /// such a packet. With `keep_alive` there is always one, so a peer that vanished is detected in every state, at
        /// the latest after `keep_alive` plus `idle_timeout`.
        pub idle_timeout: Duration as ["Time"] = Duration::from_secs(30), "above 0 s";
        /// Time without sending, or without receiving, after which a Sync is sent, which the peer answers; 15 seconds
        /// by default. It keeps NAT bindings alive and detects that the peer is gone. Without it a connection that
        /// only receives stays until its application ends it, so the application needs a timer of its own.
        pub keep_alive: Option<Duration> as ["OptionalTime"] = Some(Duration::from_secs(15));
        /// How long `close` lets the send queue drain before it sends the Close. What has not left by then is
        /// discarded.
        pub drain_timeout: Duration as ["Time"] = Duration::from_secs(5);
        /// How long the Close is repeated without an answer before the connection is reset
        /// ([`CloseReason::CloseTimeout`](crate::CloseReason::CloseTimeout)).
        ///
        /// At least three Closes leave, with back-off, and the last one has its time to be answered. This takes 14
        /// round trips, if that is longer than this timeout, but no more than `idle_timeout`. A peer that has owed us
        /// an answer for `idle_timeout` ends the connection earlier; a Close needs an answer, too. So a `close` takes
        /// at most `drain_timeout` plus `close_timeout`, or `drain_timeout` plus `idle_timeout` if the round trip is
        /// long.
        pub close_timeout: Duration as ["Time"] = Duration::from_secs(5);
        /// Sequence Window requested in the handshake, packets: 32 to 2^46 - 1 (RFC 4340, 7.5.2). It is widened as the
        /// traffic needs it, except with `ccid3.keep_sequence_window`.
        pub sequence_window: u64 as ["Packets"] = 1_024, "at least 32 packets";
        /// Limit up to which the Sequence Window may be doubled, packets.
        pub max_sequence_window: u64 as ["Packets"] = 1 << 20;
        /// How long a CCID has to stay after it changed in mid-connection (RFC 4340, 10.5: each change restarts
        /// congestion control). Sooner, a change is granted to neither end, and a Mandatory request of the peer ends
        /// the connection.
        pub ccid_change_interval: Duration as ["Time"] = Duration::from_secs(60);
        /// Whether to ask for 24-bit sequence numbers on Data, Ack and `DataAck`, and to grant them to a peer that asks
        /// (RFC 4340, 7.6).
        ///
        /// Headers are then four bytes shorter, or eight with an acknowledgement. In exchange an outsider guesses a
        /// number more easily: once in 16,384 tries at the widest window allowed, 1,024 packets. Numbers are 48 bits
        /// again with a wider window or above 65,536 packets a second.
        pub short_seqnos: bool = false;
        /// Size of the largest IP packet ever sent, bytes; at least 576. It is also the path MTU assumed until
        /// something shows otherwise (RFC 4340, 14.1: the MTU of the interface, to which sockets lower it).
        pub path_mtu: u16 as ["Bytes"] = 1_500, "at least 576 B";
        /// How a smaller path MTU is discovered.
        pub path_mtu_discovery: PathMtuDiscovery = PathMtuDiscovery::Probe;
        /// Whether lost datagrams may be sent again while they are of use
        /// ([`SendOptions::resend`](crate::SendOptions::resend)), in both directions.
        ///
        /// It asks for an experimental feature that only Fairwire knows, so it takes effect only if both ends set it.
        /// What may be sent again is kept in memory: up to `send_queue.bytes` in addition to the send queue, overhead
        /// included.
        pub resend: bool = false;
        /// Whether messages of several datagrams are put together
        /// ([`Endpoint::send_message`](crate::Endpoint::send_message)), in both directions.
        ///
        /// It asks for an experimental feature that only Fairwire knows, so it takes effect only if both ends set it. What
        /// waits for missing parts takes up to 512 KiB.
        pub messages: bool = false;
        /// Whether an encrypted connection goes on when the client has another address: from a NAT, or because its host
        /// has.
        ///
        /// A server with it follows its client once the client has answered at the new address, inside the encryption
        /// (RFC 9000, 9.2 and 9.3; RFC 9853, 5). A client with it answers, and goes to another address of its host
        /// where sockets notice one; so both ends must set it. A server is never followed, and without encryption nobody
        /// is: packets from another address then belong to no connection.
        ///
        /// It is experimental: it has not been through the torture test.
        pub migration: bool = false;
        /// Whether to report what became of each datagram ([`Event::Fate`](crate::Event::Fate)).
        pub report_fates: bool = false;
        /// Checksum coverage of our data packets (`CsCov`, RFC 4340, 9.2): 0 covers everything, n from 1 to 15 the
        /// first 4 (n - 1) bytes of data. It takes effect once the peer agrees to accept it; until then everything is
        /// covered.
        pub checksum_coverage: u8 = 0, "at most 15";
        /// Whether to ask that data of CCID 3 or 4 carries the sender's round-trip time, in both directions (RFC 6323),
        /// so that receivers need not estimate it. A peer's request for it is always granted.
        pub send_rtt_estimate: bool = false;
        /// Minimum checksum coverage of the peer's data (RFC 4340, 9.2.1): 0 takes only data that is covered
        /// completely, n from 1 to 15 takes this `CsCov` and larger ones too. Data with less is dropped and reported as
        /// Drop Code 0.
        pub minimum_checksum_coverage: u8 = 0, "at most 15";
        /// Whether to send a Data Checksum with each datagram (RFC 4340, 9.3). Received ones are always checked.
        pub data_checksum: DataChecksum = DataChecksum::Off;
        /// What happens to data that does not match its Data Checksum.
        pub damaged_data: DamagedData = DamagedData::Drop;
        /// Parameters of CCID 2.
        pub ccid2: Ccid2Config = Ccid2Config::default();
        /// Parameters of CCID 3, and of CCID 4 except the segment size.
        pub ccid3: Ccid3Config = Ccid3Config::default();
    }
}

impl Config {
    /// Checks the settings, as a connection does when it begins.
    ///
    /// # Errors
    /// Names the first invalid setting.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_values()?;
        if self.short_seqnos && self.sequence_window > MAX_SHORT_WINDOW {
            return Err(ConfigError::new(
                "sequence_window",
                "short sequence numbers (short_seqnos) need a window of at most 1024 packets",
            ));
        }
        Ok(())
    }

    /// Checks each setting alone.
    fn check_values(&self) -> Result<(), ConfigError> {
        self.check_ccids()?;
        // RFC 4340, 7.5.2: Wmax, which is more packets than a file can state.
        if self.sequence_window >= 1 << 46 {
            return Err(ConfigError::new(
                "sequence_window",
                "must be at most 2^46 - 1 packets",
            ));
        }
        self.check_limits()?;
        self.send_queue.check_limits()?;
        self.ccid2.check()?;
        self.ccid3.check()
    }
}

/// Whether sent datagrams carry a Data Checksum, a CRC-32c of the data (RFC 4340, section 9.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum DataChecksum {
    /// No Data Checksum.
    Off,
    /// On each datagram. The peer is asked to check them, and may decline.
    On,
    /// On each datagram. A peer that does not check them gets no connection.
    Required,
}

/// What happens to data that does not match its Data Checksum (RFC 4340, section 9.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum DamagedData {
    /// It is dropped and reported as Drop Code 3.
    Drop,
    /// It is delivered with [`Received::corrupt`](crate::Received::corrupt) set and reported as Drop Code 7.
    Deliver,
}

/// How a connection discovers its path MTU (RFC 4340, section 14.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum PathMtuDiscovery {
    /// Not at all: `path_mtu` is used as it is, and ICMP errors are ignored.
    Off,
    /// By ICMP errors (Too Big) that quote a packet of ours. Where a firewall drops them, large packets are lost
    /// without notice.
    Icmp,
    /// By ICMP errors and by padded Syncs, which the peer answers (RFC 8899). A few probes leave at the beginning of a
    /// connection that sends packets larger than every path takes (576 bytes, 1,280 with IPv6). Probing starts again
    /// when such packets disappear, and after ten minutes if larger packets might pass by then.
    Probe,
}

settings! {
    "send_queue."
    /// Limits of the send queue; each says what happens to datagrams beyond it.
    #[derive(Clone, Copy, Debug, Eq, PartialEq)]
    pub struct QueueLimits {
        /// Maximum number of datagrams.
        pub packets: usize as ["Packets"] = 256, "at least 1 packet";
        /// Maximum number of bytes.
        pub bytes: usize as ["Bytes"] = 1 << 20;
        /// Maximum time in the queue; a datagram that waits longer expires. Without it there is no limit.
        pub age: Option<Duration> as optional ["OptionalTime"] = None;
        /// What happens when another datagram does not fit.
        pub policy: QueuePolicy = QueuePolicy::BackPressure;
    }
}

/// What a full send queue does with a new datagram.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum QueuePolicy {
    /// Refuses the new datagram, whatever its priority: the application waits.
    #[default]
    #[cfg_attr(
        feature = "settings",
        serde(rename = "refuse", alias = "back-pressure")
    )]
    BackPressure,
    /// Drops the oldest one of the lowest priority to make room: for data that loses its value with age. A new datagram
    /// of a lower priority than all that wait is accepted and dropped itself: its fate is that of a refused one.
    DropOldest,
}

/// Which datagram a full receive queue drops. In both cases the peer is told and slows down; it cannot be made to wait.
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
    /// The oldest one. The peer saw it acknowledged long ago, so its fate stays that of an acknowledged one.
    DropOldest,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use fairwire_cc::ThresholdWindow;
    use fairwire_units::registry::Chosen;

    use super::{Ccid3Config, Config, EndpointConfig, FeedbackRate};
    use crate::shard::Shard;

    /// The parts of a limit make up at least the whole, and the only endpoint of an address has all of it.
    #[test]
    fn shards_together_have_the_limits_of_one() {
        let whole = EndpointConfig::default();
        let parts = Shard::all(3).map(|shard| whole.for_shard(shard).max_memory);
        assert!(parts.sum::<usize>() >= whole.max_memory);
        let only = whole.for_shard(Shard::WHOLE);
        assert_eq!(format!("{only:?}"), format!("{whole:?}"));
    }

    /// Parameters that would break the throughput equation or a window are refused and do not reach the controller.
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
