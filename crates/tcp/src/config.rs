//! What a simulated TCP may be told.

use fairwire_cc::{CutFrom, Growth, RtoConfig, WindowLaw, Windowed, rfc3390_window};
use fairwire_units::{Duration, Instant};

use crate::recovery::RecoveryKind;
use crate::segment::{IPV4_HEADER, TCP_HEADER, TIMESTAMPS};

/// The largest window that a header can announce: a full field, scaled by 14 bits (RFC 7323, 2.3).
const LARGEST_WINDOW: u32 = 65_535 << 14;

/// How acknowledgements are delayed (RFC 5681, section 4.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DelayedAcks {
    /// One acknowledgement for so many segments in order; the RFC asks for two.
    pub every: u32,
    /// The longest wait for the next of them; the RFC allows 500 ms.
    pub wait: Duration,
    /// So many segments at the beginning are acknowledged one by one, as Linux does so that slow start
    /// is not slowed down.
    pub quick: u32,
}

impl Default for DelayedAcks {
    fn default() -> Self {
        Self {
            every: 2,
            wait: Duration::from_millis(200),
            quick: 0,
        }
    }
}

/// What becomes of selective acknowledgements when the retransmission timer expires.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum SackAfterTimeout {
    /// They are forgotten, as the receiver may have thrown away what it had selected (RFC 2018, section 8): what
    /// arrived is sent again.
    #[default]
    Forget,
    /// They count until the oldest segment outstanding is a selected one, which shows a receiver that has thrown
    /// something away (RFC 6675, section 5.1, allows it with such a test). Linux does so.
    Keep,
}

/// How a connection uses ECN.
///
/// Where there is a handshake, both sides have to offer it (RFC 3168, section 6.1.1); without one, both are
/// taken to have agreed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum EcnMode {
    /// Not at all.
    #[default]
    Off,
    /// As in RFC 3168, section 6.1: after a mark every acknowledgement has ECE set until the sender says that it
    /// has reduced its window.
    Classic,
    /// As in RFC 8257, section 3.2: ECE says whether the segments that are acknowledged were marked, each of them.
    /// For laws that count marks. Nothing negotiates it: both sides have to be told.
    Dctcp,
}

/// Where the data comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Source {
    /// There is always more.
    Greedy,
    /// So many bytes, all there from the start.
    Finite(u64),
    /// What the application hands to [`Sender::write`](crate::Sender::write).
    Written,
}

/// One connection's parameters; both sides get the same.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent yes-or-no settings of one connection"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// A full segment's length as an IPv4 packet, bytes (at least 41).
    pub wire_size: u32,
    /// The initial window, full segments; `None` is RFC 3390's for the segment size.
    pub initial_window: Option<f64>,
    /// The receiver's window, full segments; `None` is the largest there is.
    ///
    /// Simulators of the ns-2 family have a window of 20 packets that papers seldom mention.
    pub receive_window: Option<u32>,
    /// How the receiver delays acknowledgements; `None` acknowledges each segment.
    pub delayed_acks: Option<DelayedAcks>,
    /// Open with SYN, SYN-ACK and ACK, which also gives the first round-trip sample. Without it
    /// data leaves at once, as one-way simulated agents do.
    pub handshake: bool,
    /// What to send again and when.
    pub recovery: RecoveryKind,
    /// What becomes of selective acknowledgements when the retransmission timer expires.
    pub sack_after_timeout: SackAfterTimeout,
    /// Send a new segment on each of the first two duplicate acknowledgements (RFC 3042)?
    pub limited_transmit: bool,
    /// How many segments may leave on the acknowledgement that ends a recovery (RFC 6582,
    /// section 6); at least one.
    pub max_burst: u32,
    /// What an acknowledgement counts for.
    pub growth: Growth,
    /// The retransmission timeout's parameters.
    pub rto: RtoConfig,
    /// Does a fast retransmission start the retransmission timer afresh, as ns-2 and Linux have it? RFC
    /// 6298 lets acknowledgements alone do so; RFC 6675, section 6, allows both.
    pub fast_retransmit_restarts_timer: bool,
    /// Does the controller get a round-trip sample with each acknowledgement of segments that were sent once?
    /// For laws that live on delays; the timeout is computed from one sample per round trip as ever.
    pub sample_every_ack: bool,
    /// How ECN is used.
    pub ecn: EcnMode,
    /// Timestamps on every segment (RFC 7323, section 3)? They take 12 bytes of each, and an acknowledgement of anything new is a
    /// round-trip sample for the timeout.
    pub timestamps: bool,
    /// The time between two ticks of the clock by which both hosts measure the round trip for the timeout; exact without one.
    pub tick: Option<Duration>,
    /// Does the first slow start end where the round trip grows (`HyStart++`, RFC 9406)?
    pub hystart: bool,
    /// Keep [`Traced`](crate::Traced) events for [`Sender::poll_event`](crate::Sender::poll_event)?
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
            trace: false,
        }
    }
}

impl Config {
    /// The setting of the ns-2 family's one-way agents: no handshake, every segment acknowledged,
    /// an initial window of two packets and a receive window of 20.
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

    /// A full segment's payload, bytes.
    pub fn mss(&self) -> u32 {
        self.wire_size
            .saturating_sub(IPV4_HEADER + TCP_HEADER + self.options_on_data())
            .max(1)
    }

    /// The options of a data segment, bytes.
    pub(crate) fn options_on_data(&self) -> u32 {
        if self.timestamps { TIMESTAMPS } else { 0 }
    }

    /// The time between two ticks of a timestamp's clock, which is no finer than a millisecond here (RFC 7323, section
    /// 5.4, asks for 1 ms to 1 s).
    pub(crate) fn stamp_tick(&self) -> Duration {
        let millisecond = Duration::from_millis(1);
        self.tick.unwrap_or(millisecond).max(millisecond)
    }

    /// What a timestamp says at `now`, milliseconds. No connection here begins with zero, which says nothing in an echo.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the clock wraps, as in the option"
    )]
    pub(crate) fn stamp(&self, now: Instant) -> u32 {
        let tick = self.stamp_tick();
        let ticks = now.as_nanos() / tick.as_nanos();
        (tick * (ticks + 1)).as_millis() as u32
    }

    /// `law` in TCP's setting: this configuration's growth, cuts from what is outstanding
    /// (RFC 5681, section 3.1), this configuration's initial window and timeout.
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

    /// The receiver's window, bytes.
    pub(crate) fn window_bytes(&self) -> u32 {
        self.receive_window.map_or(LARGEST_WINDOW, |packets| {
            packets
                .max(1)
                .saturating_mul(self.mss())
                .min(LARGEST_WINDOW)
        })
    }

    /// The scale with which the window fits its field.
    pub(crate) fn window_shift(&self) -> u8 {
        (0..14)
            .find(|shift| u16::try_from(self.window_bytes() >> shift).is_ok())
            .unwrap_or(14)
    }

    /// The segment size as a SYN announces it, which counts no options (RFC 6691, section 2).
    pub(crate) fn mss_field(&self) -> u16 {
        u16::try_from(self.mss() + self.options_on_data()).unwrap_or(u16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::Config;

    /// The window of 20 packets of 1,000 bytes needs no scale; the largest one needs 14 bits.
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
