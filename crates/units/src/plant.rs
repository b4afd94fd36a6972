//! Planted bugs: known defects that a build can put back, to show that a test finds them.
//!
//! Each bug has one name and, unless several checks mended it, one site: an `if planted(..)` beside
//! the right branch. Without the feature `plant` that is a constant `false`, so an ordinary build
//! contains none of them. With the feature nothing is planted until [`set`] names a bug.

#[cfg(feature = "plant")]
use std::sync::atomic::{AtomicU8, Ordering};

/// The one that is planted, counted from 1; 0 if none is. It holds for all threads of the process.
#[cfg(feature = "plant")]
static PLANTED: AtomicU8 = AtomicU8::new(0);

macro_rules! plants {
    ($($(#[doc = $doc:literal])* $plant:ident = $name:literal,)*) => {
        /// A bug that can be planted.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum Plant {
            $($(#[doc = $doc])* $plant,)*
        }

        #[cfg(feature = "plant")]
        impl Plant {
            /// All bugs that can be planted.
            pub const ALL: &[Self] = &[$(Self::$plant,)*];

            /// Returns the name by which a command line or an environment names it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$plant => $name,)*
                }
            }

            /// Returns what it breaks, in a sentence or two.
            pub const fn breaks(self) -> &'static str {
                match self {
                    $(Self::$plant => concat!($($doc),*),)*
                }
            }
        }
    };
}

plants! {
    /// Finding 1 of `docs/adversarial.md`: a forged Request widens the Sequence Window before the
    /// handshake is complete, and a Data Dropped report walks every number between two packets.
    EndlessReport = "endless-report",
    /// Finding 2: one packet makes a loss event of each stated round trip of the hole before it.
    EndlessEvents = "endless-events",
    /// Finding 4: no keep-alive, so a connection that only receives never notices that its peer is
    /// gone.
    NoKeepAlive = "no-keep-alive",
    /// Acknowledgement numbers are held against the peer's Sequence Window, not ours (RFC 4340,
    /// section 7.5.1): a flight longer than that is never acknowledged.
    AckWindow = "ack-window",
    /// GSR does not follow a `SyncAck` (RFC 4340, section 7.5.4): two ends that a burst of loss has put
    /// out of step stay so.
    SyncAckGsr = "sync-ack-gsr",
    /// The window counter of CCID 3 is not followed across its wrap (RFC 4342, section 8.1): losses
    /// far apart become one event.
    CounterWrap = "counter-wrap",
    /// Two later arrivals make a loss under CCID 2 instead of three (RFC 4341, section 5).
    EarlyLoss = "early-loss",
    /// A timeout or the end of a connection gives packets another fate that had one.
    FateTwice = "fate-twice",
    /// A mark that CCID 2 hears of does not reduce the window (RFC 4341, section 5).
    MarksIgnored = "marks-ignored",
    /// The retransmission timer of CCID 2 does not back off (RFC 4341, section 5).
    NoBackOff = "no-back-off",
    /// A CCID 2 receiver never acknowledges fewer packets than the Ack Ratio (RFC 4340, section 11.3).
    OddPacket = "odd-packet",
    /// A packet that was reported missing and came late is forgotten with the report (RFC 4340,
    /// appendix A.3): its sender never hears of it.
    LateForgotten = "late-forgotten",
    /// Joining runs of an Ack Vector looks one run too far: a panic where a late packet fills a gap.
    JoinBeyond = "join-beyond",
    /// A TFRC loss event reaches a round trip beyond its last loss, not its first (RFC 5348, section
    /// 5.2): dense losses become one event.
    SlidingEvent = "sliding-event",
    /// The nofeedback timer stays off after idle time (RFC 5348, section 4.4).
    NofeedbackOff = "nofeedback-off",
    /// Options of negotiation count although a newer packet had some (RFC 4340, section 6.6.4).
    OldChange = "old-change",
    /// A Change that was granted is not confirmed again (RFC 4340, section 6.6.6): its sender asks for
    /// ever if the Confirm was lost.
    UnansweredChange = "unanswered-change",
    /// The Ack of PARTOPEN is repeated once only (RFC 4340, section 8.1.5).
    PartOpenRetry = "partopen-retry",
    /// A `CloseReq` is not repeated (RFC 4340, section 8.3).
    CloseReqOnce = "close-req-once",
    /// What a timer of a sending half tells is left to the connection that tells its own next.
    FatesAstray = "fates-astray",
    /// A connection that ends before its application knows of it takes memory for good.
    HalfOpenKept = "half-open-kept",
    /// Init Cookies of two Responses are echoed behind each other (RFC 4340, section 8.1.4).
    CookieTwice = "cookie-twice",
    /// Datagrams that wait when the path's MTU falls leave though they no longer fit (RFC 4340, section
    /// 14.2).
    TooLargeKept = "too-large-kept",
    /// A rate limit saves up quiet time without a bound (RFC 4340, section 7.5.4).
    SavedUp = "saved-up",
    /// A 24-bit acknowledgement number is extended by GSR, not by GSS (RFC 4340, section 7.6).
    ShortAck = "short-ack",
    /// The congestion window lets one packet more leave (RFC 4341, section 5).
    WindowPlusOne = "window-plus-one",
    /// Room that expired datagrams leave in the send queue is not announced.
    ExpiryUnannounced = "expiry-unannounced",
    /// The endpoint's budget does not get back what a connection had grown by.
    BudgetLeak = "budget-leak",
    /// What came late stays counted as missing in `Received::lost_before`.
    LateMissing = "late-missing",
    /// A datagram shorter than the checksum coverage is sent with it (RFC 4340, section 9.2): the peer
    /// has to drop it.
    ShortCoverage = "short-coverage",
}

#[cfg(feature = "plant")]
impl Plant {
    /// Returns the bug of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|plant| plant.name() == name)
    }
}

/// Plants one bug, or none, in place of the one before.
#[cfg(feature = "plant")]
pub fn set(plant: Option<Plant>) {
    PLANTED.store(plant.map_or(0, |plant| plant as u8 + 1), Ordering::Relaxed);
}

/// Is this bug planted?
#[cfg(feature = "plant")]
#[inline]
pub fn planted(plant: Plant) -> bool {
    PLANTED.load(Ordering::Relaxed) == plant as u8 + 1
}

/// Is this bug planted? Never, without the feature.
#[cfg(not(feature = "plant"))]
#[inline]
pub const fn planted(_: Plant) -> bool {
    false
}

#[cfg(all(test, feature = "plant"))]
mod tests {
    use super::{Plant, planted, set};

    /// Each bug has a name of its own and is planted alone.
    #[test]
    fn one_at_a_time() {
        for &plant in Plant::ALL {
            assert_eq!(Plant::from_name(plant.name()), Some(plant));
            set(Some(plant));
            let now: Vec<_> = Plant::ALL.iter().filter(|p| planted(**p)).collect();
            assert_eq!(now, [&plant]);
        }
        set(None);
        assert!(!Plant::ALL.iter().any(|plant| planted(*plant)));
    }
}
