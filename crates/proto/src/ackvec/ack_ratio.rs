//! Congestion control of acknowledgements: how many packets each of them should cover (RFC 4341, sections 6.1 and
//! 6.1.2).
//!
//! For a window of data in which an acknowledgement was lost or marked, the ratio doubles, which halves the rate of
//! acknowledgements. For a window without, the rate grows by about one acknowledgement.

use std::num::NonZeroU16;

use crate::config::{AckRatioFollows, Ccid2Config};

/// The initial ratio of a connection (RFC 4340, section 11.3), which is always allowed.
const DEFAULT: u16 = 2;

/// A window smaller than this never holds the two packets that a ratio of two waits for.
const TWO_PACKETS: f64 = 2.0;

/// A ratio of one suits windows up to this many packets, if they stay that small.
const SMALL_WINDOW: f64 = 2.0;

/// A ratio of one is not allowed with windows of at least this many packets (RFC 4341, section 6.1.2).
const LARGE_WINDOW: f64 = 4.0;

/// The number of consecutive reports with a small window after which the window counts as staying small.
const PERSISTENT: u32 = 4;

/// In Linux a window that causes this many acknowledgements, or more, doubles the ratio. It is a fifth of the peer's
/// Sequence Window, which is 100 packets for a peer that sends no data (`CCID2_WIN_CHANGE_FACTOR`).
const MANY_ACKS: u32 = 20;

/// In Linux a window that causes fewer acknowledgements halves the ratio.
const FEW_ACKS: u32 = 10;

/// The Ack Ratio R that this sender wants.
#[derive(Clone, Debug)]
pub(super) struct AckRatio {
    /// R.
    ratio: u16,
    /// Data packets still to be acknowledged until the window in which R was doubled is over.
    settling: u32,
    /// Windows of data acknowledged since then without a lost or marked acknowledgement.
    clean_windows: f64,
    /// The number of consecutive reports with a small window.
    small_reports: u32,
    /// The configured ratio, if it is fixed. Only a small window makes it smaller.
    fixed: Option<NonZeroU16>,
    follows: AckRatioFollows,
}

impl AckRatio {
    /// Creates the ratio of a new connection. A fixed one stays constant while the window allows it.
    pub(super) fn new(config: &Ccid2Config) -> Self {
        Self {
            ratio: DEFAULT,
            settling: 0,
            clean_windows: 0.0,
            small_reports: 0,
            fixed: config.ack_ratio,
            follows: config.ack_ratio_follows,
        }
    }

    /// Returns R for a window of `cwnd`, which idle time or the peer's host may have reduced since the last report.
    pub(super) fn get(&self, cwnd: f64) -> u16 {
        match self.fixed {
            // RFC 4341, 6.1.2: at most half the window. With more, each window waits for the peer's timer.
            Some(fixed) => fixed.get().min(largest(cwnd)),
            None if self.follows == AckRatioFollows::Window => {
                // In Linux a ratio that a cut left above the window becomes half of it.
                if u32::from(self.ratio) > packets(cwnd) {
                    half_of(packets(cwnd))
                } else {
                    self.ratio
                }
            }
            None => within(self.ratio, cwnd),
        }
    }

    /// Handles a lost or marked acknowledgement.
    pub(super) fn on_congestion(&mut self, cwnd: f64) {
        if self.follows == AckRatioFollows::Window {
            return;
        }
        self.clean_windows = 0.0;
        // RFC 4341, 6.1.2: at most once per window of data.
        if self.settling == 0 {
            self.ratio = self.ratio.saturating_mul(2).min(largest(cwnd));
            self.settling = packets(cwnd);
        }
    }

    /// Handles a report: `acked` data packets were acknowledged for the first time (zero after a timeout), the window
    /// is now `cwnd`, and the ratio in force is `agreed`.
    pub(super) fn on_report(&mut self, acked: u32, cwnd: f64, agreed: u16) {
        if self.follows == AckRatioFollows::Window {
            return self.follow_window(acked, packets(cwnd), agreed);
        }
        let is_large = match self.follows {
            // Of a window that is not used, this is what is.
            AckRatioFollows::Use => cwnd >= LARGE_WINDOW,
            AckRatioFollows::LostAcks | AckRatioFollows::Window => cwnd > SMALL_WINDOW,
        };
        if is_large {
            self.small_reports = 0;
        } else {
            self.small_reports = self.small_reports.saturating_add(1);
        }
        let clean = acked.saturating_sub(self.settling);
        self.settling = self.settling.saturating_sub(acked);
        self.clean_windows += f64::from(clean) / cwnd.max(1.0);
        let ratio = f64::from(self.ratio);
        // RFC 4341, 6.1.2: after cwnd/(R^2 - R) clean windows, with the newest cwnd.
        if self.ratio > DEFAULT && self.clean_windows >= cwnd / (ratio * ratio - ratio) {
            self.ratio -= 1;
            self.clean_windows = 0.0;
        }
        self.bound(cwnd);
    }

    /// Adapts R to the window as Linux 6.1 does in `ccid2_new_ack()`, `ccid2_check_l_ack_ratio()` and
    /// `ccid2_hc_tx_rto_expire()`.
    fn follow_window(&mut self, acked: u32, cwnd: u32, agreed: u16) {
        let acks = cwnd / u32::from(agreed.max(1));
        if acked == 0 {
            self.ratio = 1;
        } else if acks >= MANY_ACKS {
            let most = u16::try_from(cwnd.div_ceil(2)).unwrap_or(u16::MAX);
            self.ratio = agreed.saturating_mul(2).min(most);
        } else if acks < FEW_ACKS {
            self.ratio = half_of(agreed.into());
        }
        if u32::from(self.ratio) > cwnd {
            self.ratio = half_of(cwnd);
        }
    }

    /// Applies the bounds of RFC 4341, 6.1.2, and sets R to one if the window stays at two packets or less.
    fn bound(&mut self, cwnd: f64) {
        self.ratio = within(self.ratio, cwnd);
        if cwnd < LARGE_WINDOW && self.small_reports >= PERSISTENT && self.settling == 0 {
            self.ratio = 1;
        }
    }
}

/// Returns half of `packets`, rounded down, but at least one.
fn half_of(packets: u32) -> u16 {
    u16::try_from(packets / 2).unwrap_or(u16::MAX).max(1)
}

/// Limits a ratio as RFC 4341, 6.1.2, requires: at most half the window, or two if that is more, and at least two from
/// a window of four packets on.
///
/// With a window of less than two packets, R is one. Otherwise a receiver that waits for a second packet without a timer
/// would leave each packet to the sender's timeout.
fn within(ratio: u16, cwnd: f64) -> u16 {
    let least = if cwnd >= LARGE_WINDOW { DEFAULT } else { 1 };
    ratio.clamp(least, largest(cwnd))
}

/// Returns half the window, rounded up, but at least two if the window holds two packets.
fn largest(cwnd: f64) -> u16 {
    let half = u16::try_from(packets(cwnd).div_ceil(2)).unwrap_or(u16::MAX);
    if cwnd < TWO_PACKETS {
        1
    } else {
        half.max(DEFAULT)
    }
}

/// Returns a window in whole packets, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a window is positive, and a cast saturates"
)]
fn packets(cwnd: f64) -> u32 {
    cwnd as u32
}

#[cfg(test)]
mod tests {
    use super::AckRatio;
    use crate::config::{AckRatioFollows, Ccid2Config};

    impl AckRatio {
        /// Returns R before the limits of the window are applied.
        fn shown(&self) -> u16 {
            self.ratio
        }
    }

    fn adapting() -> AckRatio {
        AckRatio::new(&Ccid2Config::default())
    }

    /// RFC 4341, 6.1.2: the ratio doubles at most once per window of data with a loss.
    #[test]
    fn one_doubling_per_window() {
        let mut ratio = adapting();
        ratio.on_congestion(40.0);
        ratio.on_congestion(40.0);
        ratio.on_report(39, 40.0, 2);
        ratio.on_congestion(40.0);
        assert_eq!(ratio.shown(), 4, "the same window");
        ratio.on_report(1, 40.0, 2);
        ratio.on_congestion(40.0);
        assert_eq!(ratio.shown(), 8, "the next");
    }

    /// RFC 4341, 6.1.2: the ratio is at most half the window, rounded up, whether R grows or the window shrinks; two is
    /// always allowed.
    #[test]
    fn half_the_window_at_most() {
        for (cwnd, most) in [
            (2.0, 2),
            (4.0, 2),
            (5.0, 3),
            (7.0, 4),
            (40.0, 20),
            (1e9, u16::MAX),
        ] {
            let mut ratio = adapting();
            for _ in 0..20 {
                ratio.on_congestion(cwnd);
                ratio.settling = 0;
            }
            assert_eq!(ratio.shown(), most, "{cwnd}");
        }
        let mut ratio = adapting();
        ratio.on_congestion(40.0);
        ratio.on_report(40, 40.0, 2);
        ratio.on_congestion(40.0);
        assert_eq!(ratio.shown(), 8);
        ratio.on_report(1, 9.0, 2);
        assert_eq!(ratio.shown(), 5, "the window was cut");
        ratio.on_report(1, 2.0, 2);
        assert_eq!(ratio.shown(), 2);
    }

    /// RFC 4341, 6.1.2: R decreases by one after cwnd/(R^2 - R) clean windows, never below two. With 60 packets and an
    /// R of 4 these are 60/12 = 5 windows, or 300 packets, after the window in which R was doubled; then 60/6 = 10
    /// windows, or 600 packets.
    #[test]
    fn clean_windows_lower_the_ratio() {
        let mut ratio = adapting();
        ratio.on_congestion(60.0);
        let mut fell = Vec::new();
        for packet in 1..=5_000 {
            let before = ratio.shown();
            ratio.on_report(1, 60.0, 2);
            if ratio.shown() < before {
                fell.push((packet, ratio.shown()));
            }
        }
        assert_eq!(fell.len(), 2, "{fell:?}");
        // Sums of sixtieths may need one more packet.
        assert!((360..=361).contains(&fell[0].0), "{fell:?}");
        assert!((960..=962).contains(&fell[1].0), "{fell:?}");
        assert_eq!(ratio.shown(), 2);
    }

    /// A loss restarts the count of clean windows, and the newest window size is used.
    #[test]
    fn a_loss_ends_the_clean_windows() {
        let mut ratio = adapting();
        ratio.on_congestion(60.0);
        ratio.on_report(60, 60.0, 2);
        ratio.on_report(290, 60.0, 2);
        assert_eq!(ratio.shown(), 4);
        ratio.on_congestion(60.0);
        assert_eq!(ratio.shown(), 8);
        // 60/56 of a window would be enough now, but the first window is not clean.
        ratio.on_report(60, 60.0, 2);
        assert_eq!(ratio.shown(), 8);
        ratio.on_report(65, 60.0, 2);
        assert_eq!(ratio.shown(), 7);
        // 24/42 of a window suffices, because the window is smaller now.
        ratio.on_report(14, 24.0, 2);
        assert_eq!(ratio.shown(), 6);
    }

    /// RFC 4341, 6.1.2: R is one while the window stays at one or two packets, unless acknowledgements are lost; it is
    /// two from a window of four on.
    #[test]
    fn one_for_small_windows() {
        let mut ratio = adapting();
        for report in 1..=4 {
            assert_eq!(ratio.shown(), 2, "report {report}");
            ratio.on_report(1, 2.0, 2);
        }
        assert_eq!(ratio.shown(), 1);
        ratio.on_congestion(2.0);
        assert_eq!(ratio.shown(), 2);
        ratio.on_report(1, 2.0, 2);
        assert_eq!(ratio.shown(), 2, "the same window");
        ratio.on_report(1, 2.0, 2);
        assert_eq!(ratio.shown(), 1);
        ratio.on_report(1, 3.0, 2);
        assert_eq!(ratio.shown(), 1);
        ratio.on_report(1, 4.0, 2);
        assert_eq!(ratio.shown(), 2);
    }

    /// RFC 4341, 6.1.2: a window of one packet gets at least one acknowledgement, so R is one at once, even if
    /// acknowledgements are lost. Whatever reduced the window, R is within its bounds when it is read: 8 with 40
    /// packets, 3 with 5, 2 with 2 or 3.
    #[test]
    fn one_for_a_window_of_one() {
        let mut ratio = adapting();
        for _ in 0..2 {
            ratio.on_congestion(40.0);
            ratio.on_report(40, 40.0, 2);
        }
        let under = |windows: [f64; 5]| windows.map(|cwnd| ratio.get(cwnd));
        assert_eq!(under([40.0, 5.0, 3.0, 2.0, 1.0]), [8, 3, 2, 2, 1]);
        ratio.on_report(0, 1.0, 2);
        assert_eq!(ratio.get(1.0), 1);
        ratio.on_congestion(1.0);
        assert_eq!(ratio.get(1.0), 1);
        ratio.on_report(2, 4.0, 2);
        assert_eq!(ratio.get(4.0), 2);
    }

    /// A fixed ratio does not change with losses, and is at most half the window (RFC 4341, 6.1.2).
    #[test]
    fn a_ratio_that_is_set_holds_within_half_the_window() {
        for (fixed, shown) in [(1, [1, 1, 1, 1]), (4, [1, 2, 4, 4]), (30, [1, 2, 4, 20])] {
            let mut ratio = AckRatio::new(&Ccid2Config {
                ack_ratio: std::num::NonZeroU16::new(fixed),
                ..Ccid2Config::default()
            });
            ratio.on_congestion(40.0);
            for (cwnd, shown) in [1.0, 4.0, 7.0, 40.0].into_iter().zip(shown) {
                ratio.on_report(4, cwnd, 2);
                assert_eq!(ratio.get(cwnd), shown, "{fixed}, {cwnd}");
            }
        }
    }

    /// In Linux 6.1 the ratio doubles when a window causes 20 acknowledgements, up to half the window, halves when it
    /// causes fewer than ten, and stays in between. Lost acknowledgements do not matter.
    #[test]
    fn linux_follows_the_window() {
        for (agreed, cwnd, wanted) in [
            (2, 3.0, 1),
            (1, 9.0, 1),
            (1, 19.0, 1),
            (1, 20.0, 2),
            (2, 20.0, 2),
            (2, 19.9, 1),
            (2, 39.0, 2),
            (2, 40.0, 4),
            (4, 40.0, 4),
            (4, 39.0, 2),
            (8, 1e9, 16),
        ] {
            let mut ratio = following();
            ratio.ratio = agreed;
            ratio.on_congestion(cwnd);
            ratio.on_report(1, cwnd, agreed);
            assert_eq!(ratio.get(cwnd), wanted, "{agreed}, {cwnd}");
        }
    }

    /// In Linux 6.1 a window below the ratio makes it half the window, and a timeout makes it one.
    #[test]
    fn linux_reduces_the_ratio_with_the_window() {
        let mut ratio = following();
        ratio.on_report(1, 200.0, 8);
        assert_eq!(ratio.get(200.0), 16);
        assert_eq!(ratio.get(16.0), 16);
        assert_eq!(ratio.get(15.0), 7, "a cut");
        assert_eq!(ratio.get(1.0), 1);
        ratio.on_report(0, 1.0, 8);
        assert_eq!(ratio.get(200.0), 1, "a timeout");
    }

    fn following() -> AckRatio {
        AckRatio::new(&Ccid2Config {
            ack_ratio_follows: AckRatioFollows::Window,
            ..Ccid2Config::default()
        })
    }
}
