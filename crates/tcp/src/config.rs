//! The settings of a simulated TCP.

use fairwire_cc::{CutFrom, Growth, RtoConfig, WindowLaw, Windowed, rfc3390_window};
use fairwire_units::{Duration, Instant};

use crate::recovery::RecoveryKind;
use crate::segment::{IPV4_HEADER, TCP_HEADER, TIMESTAMPS};

/// The largest window that a header can announce: a full field, scaled by 14 bits (RFC 7323, 2.3).
const LARGEST_WINDOW: u32 = 65_535 << 14;

/// How the receiver delays acknowledgements (RFC 5681, section 4.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DelayedAcks {
    /// The number of in-order segments for one acknowledgement; the RFC recommends two.
    pub every: u32,
    /// The longest delay of an acknowledgement; the RFC allows 500 ms.
    pub wait: Duration,
    /// The number of segments at the beginning that are acknowledged one by one. Linux does so to keep slow start fast.
    /// With Linux's delays it is the most that are acknowledged one by one, each time that Linux does so.
    pub quick: u32,
    /// How long an acknowledgement waits.
    pub delay: AckDelay,
}

/// How long a delayed acknowledgement waits for a second segment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize)
)]
pub enum AckDelay {
    /// Always the same time.
    #[default]
    #[cfg_attr(feature = "settings", serde(rename = "fixed"))]
    Fixed,
    /// As in Linux 2.6: the delay follows the time between segments, from the shortest delay to 500 ms or a round trip.
    /// There is none at the beginning, after a copy or a pause, and after a short segment.
    #[cfg_attr(feature = "settings", serde(rename = "linux-2.6"))]
    Linux26,
    /// As in Linux 6.1: the same up to 200 ms. There is also none after a full segment with PSH, and after a congestion
    /// mark or its answer.
    #[cfg_attr(feature = "settings", serde(rename = "linux-6.1"))]
    Linux61,
}

impl Default for DelayedAcks {
    fn default() -> Self {
        Self {
            every: 2,
            wait: Duration::from_millis(200),
            quick: 0,
            delay: AckDelay::Fixed,
        }
    }
}

/// What happens to selective acknowledgements when the retransmission timer expires.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum SackAfterTimeout {
    /// They are forgotten, because the receiver may have discarded the selected data (RFC 2018, section 8). Data that
    /// arrived is sent again.
    #[default]
    Forget,
    /// They stay valid until the oldest outstanding segment is a selected one, which shows that the receiver has
    /// discarded data. RFC 6675, section 5.1, allows this with such a test, and Linux does so.
    Keep,
}

/// How a connection uses ECN.
///
/// With a handshake, both sides have to offer ECN (RFC 3168, section 6.1.1). Without a handshake, it is in use if the
/// setting is not `Off`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum EcnMode {
    /// ECN is not used.
    #[default]
    Off,
    /// After a mark every acknowledgement has ECE set until the sender signals that it has reduced its window (RFC
    /// 3168, section 6.1).
    Classic,
    /// ECE says of each acknowledgement whether the segments that it covers were marked (RFC 8257, section 3.2). This
    /// is for laws that count marks. It is not negotiated: both sides need this setting.
    Dctcp,
}

/// Where the data comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Source {
    /// An endless supply of data.
    Greedy,
    /// This many bytes, all available from the start.
    Finite(u64),
    /// The data that the application passes to [`Sender::write`](crate::Sender::write).
    Written,
}

/// The parameters of one connection, the same for both sides.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent yes-or-no settings of one connection"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// The length of a full segment as an IPv4 packet, bytes (at least 41).
    pub wire_size: u32,
    /// The initial window, full segments; `None` means that of RFC 3390 for the segment size.
    pub initial_window: Option<f64>,
    /// The receiver's window, full segments; `None` means the largest possible.
    ///
    /// Simulators of the ns-2 family have a window of 20 packets, which papers seldom mention.
    pub receive_window: Option<u32>,
    /// How the receiver delays acknowledgements; `None` acknowledges each segment.
    pub delayed_acks: Option<DelayedAcks>,
    /// Whether the connection opens with SYN, SYN-ACK and ACK, which also give the first round-trip sample. Without a
    /// handshake data leaves at once, as in one-way simulated agents.
    pub handshake: bool,
    /// The loss recovery: what to retransmit and when.
    pub recovery: RecoveryKind,
    /// What happens to selective acknowledgements when the retransmission timer expires.
    pub sack_after_timeout: SackAfterTimeout,
    /// Whether each of the first two duplicate acknowledgements sends a new segment (RFC 3042).
    pub limited_transmit: bool,
    /// The most segments that may leave on the acknowledgement that ends a recovery (RFC 6582, section 6); at least
    /// one.
    pub max_burst: u32,
    /// What an acknowledgement counts for when the window grows.
    pub growth: Growth,
    /// The parameters of the retransmission timeout.
    pub rto: RtoConfig,
    /// Whether a fast retransmission restarts the retransmission timer, as in ns-2 and Linux. With RFC 6298 only
    /// acknowledgements restart it; RFC 6675, section 6, allows both.
    pub fast_retransmit_restarts_timer: bool,
    /// Whether the controller gets a round-trip sample with each acknowledgement of segments that were sent only once.
    /// Laws based on delays need it. The timeout does not use these samples.
    pub sample_every_ack: bool,
    /// How ECN is used.
    pub ecn: EcnMode,
    /// Whether every segment has a timestamp option (RFC 7323, section 3). It takes 12 bytes of each segment, and each
    /// acknowledgement of new data is then a round-trip sample for the timeout.
    pub timestamps: bool,
    /// The time between two ticks of the clock with which both hosts measure round trips for the timeout. `None`
    /// measures exactly.
    pub tick: Option<Duration>,
    /// Whether `HyStart++` (RFC 9406) may end the first slow start when the round trip grows.
    pub hystart: bool,
    /// Whether spurious timeouts are detected and their cuts undone (F-RTO, RFC 5682).
    pub frto: bool,
    /// Whether [`Traced`](crate::Traced) events are kept for [`Sender::poll_event`](crate::Sender::poll_event).
    pub trace: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            wire_size: 1_500,
            initial_window: None,
            receive_window: None,
            delayed_acks: Some(DelayedAcks::default()),
            handshake: true,
            recovery: RecoveryKind::default(),
            sack_after_timeout: SackAfterTimeout::default(),
            limited_transmit: true,
            max_burst: 4,
            growth: Growth::Tcp,
            rto: RtoConfig::TCP,
            fast_retransmit_restarts_timer: false,
            sample_every_ack: false,
            ecn: EcnMode::Off,
            timestamps: false,
            tick: None,
            hystart: false,
            frto: false,
            trace: false,
        }
    }
}

impl Config {
    /// Returns the settings of the one-way agents of the ns-2 family.
    ///
    /// They have no handshake, an acknowledgement for every segment, an initial window of two packets and a receive
    /// window of 20.
    pub fn one_way(wire_size: u32) -> Self {
        Self {
            wire_size,
            initial_window: Some(2.0),
            receive_window: Some(20),
            delayed_acks: None,
            handshake: false,
            ..Self::default()
        }
    }

    /// Returns the payload of a full segment, bytes.
    pub fn mss(&self) -> u32 {
        self.wire_size
            .saturating_sub(IPV4_HEADER + TCP_HEADER + self.options_on_data())
            .max(1)
    }

    /// Returns the length of the options of a data segment, bytes.
    pub(crate) fn options_on_data(&self) -> u32 {
        if self.timestamps { TIMESTAMPS } else { 0 }
    }

    /// Returns the time between two ticks of the timestamp clock.
    ///
    /// It is at least a millisecond (RFC 7323, section 5.4, asks for 1 ms to 1 s).
    pub(crate) fn stamp_tick(&self) -> Duration {
        let millisecond = Duration::from_millis(1);
        self.tick.unwrap_or(millisecond).max(millisecond)
    }

    /// Returns the timestamp value at `now`, milliseconds.
    ///
    /// It does not begin with zero, because an echo of zero has no meaning.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the clock wraps, as in the option"
    )]
    pub(crate) fn stamp(&self, now: Instant) -> u32 {
        let tick = self.stamp_tick();
        let ticks = now.as_nanos() / tick.as_nanos();
        (tick * (ticks + 1)).as_millis() as u32
    }

    /// Returns `law` in the environment of TCP: with this configuration's growth, initial window and timeout, and with
    /// cuts computed from the packets outstanding (RFC 5681, section 3.1).
    pub fn window<L: WindowLaw>(&self, law: L) -> Windowed<L> {
        let initial = self
            .initial_window
            .unwrap_or_else(|| rfc3390_window(self.mss()));
        Windowed::new(law, initial)
            .with_growth(self.growth)
            .with_cut_from(CutFrom::Flight)
            .with_hystart(self.hystart)
            .with_first_timeout(self.rto.initial.max(self.rto.min).min(self.rto.max))
    }

    /// Returns the receiver's window, bytes.
    pub(crate) fn window_bytes(&self) -> u32 {
        self.receive_window.map_or(LARGEST_WINDOW, |packets| {
            packets
                .max(1)
                .saturating_mul(self.mss())
                .min(LARGEST_WINDOW)
        })
    }

    /// Returns the scale, bits, with which the window fits into its field.
    pub(crate) fn window_shift(&self) -> u8 {
        (0..14)
            .find(|shift| u16::try_from(self.window_bytes() >> shift).is_ok())
            .unwrap_or(14)
    }

    /// Returns the segment size that a SYN announces, which does not count options (RFC 6691, section 2).
    pub(crate) fn mss_field(&self) -> u16 {
        u16::try_from(self.mss() + self.options_on_data()).unwrap_or(u16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::Config;

    /// A window of 20 packets of 1,000 bytes needs no scale; the largest window needs 14 bits.
    #[test]
    fn windows_fit_their_field() {
        let one_way = Config::one_way(1_040);
        assert_eq!(one_way.mss(), 1_000);
        assert_eq!(
            (one_way.window_bytes(), one_way.window_shift()),
            (20_000, 0)
        );
        let large = Config::default();
        assert_eq!(large.window_bytes() >> large.window_shift(), 65_535);
        let absurd = Config {
            wire_size: 0,
            receive_window: Some(u32::MAX),
            ..large
        };
        assert_eq!(absurd.mss(), 1);
        assert_eq!(absurd.window_bytes(), large.window_bytes());
    }
}
