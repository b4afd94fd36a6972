//! Planted bugs: known defects that a build can put back, to show that a test finds them.
//!
//! Each bug has one name and, unless several checks are needed to prevent it, one place in the code: an `if
//! planted(..)` beside the correct branch. Without the feature `plant` this condition is a constant `false`, so an
//! ordinary build contains no planted bug. With the feature, nothing is planted until `set` names a bug.

#[cfg(feature = "plant")]
use std::sync::atomic::{AtomicU8, Ordering};

/// The planted bug, counted from 1, or 0 for none; it holds for all threads of the process.
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

            /// Returns the name of the bug on command lines and in environment variables.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$plant => $name,)*
                }
            }

            /// Returns a description of the bug, one or two sentences.
            pub const fn breaks(self) -> &'static str {
                match self {
                    $(Self::$plant => concat!($($doc),*),)*
                }
            }
        }
    };
}

plants! {
    /// Finding 1 of `docs/adversarial.md`: a forged Request widens the Sequence Window before the handshake is
    /// complete, and a Data Dropped report makes the receiver visit each number between two packets.
    EndlessReport = "endless-report",
    /// Finding 2: one packet makes one loss event for each claimed round trip of the gap before it.
    EndlessEvents = "endless-events",
    /// Finding 4: no keep-alive, so a connection that only receives never notices that its peer is gone.
    NoKeepAlive = "no-keep-alive",
    /// Acknowledgement numbers are checked against the peer's Sequence Window instead of ours (RFC 4340, section
    /// 7.5.1): a flight longer than that is never acknowledged.
    AckWindow = "ack-window",
    /// GSR does not follow a `SyncAck` (RFC 4340, section 7.5.4): two endpoints that a burst of losses put out of step
    /// stay out of step.
    SyncAckGsr = "sync-ack-gsr",
    /// The window counter of CCID 3 is not followed across its wrap (RFC 4342, section 8.1): losses far apart become
    /// one event.
    CounterWrap = "counter-wrap",
    /// CCID 2 declares a packet lost after two later arrivals instead of three (RFC 4341, section 5).
    EarlyLoss = "early-loss",
    /// A timeout or the end of a connection reports a second fate for packets that already have one.
    FateTwice = "fate-twice",
    /// A mark that is reported to CCID 2 does not reduce the window (RFC 4341, section 5).
    MarksIgnored = "marks-ignored",
    /// The retransmission timer of CCID 2 does not back off (RFC 4341, section 5).
    NoBackOff = "no-back-off",
    /// A CCID 2 receiver never acknowledges fewer packets than the Ack Ratio (RFC 4340, section 11.3).
    OddPacket = "odd-packet",
    /// A packet that was reported missing and arrives late is forgotten with the report (RFC 4340, appendix A.3): its
    /// sender never learns of the arrival.
    LateForgotten = "late-forgotten",
    /// A CCID 2 receiver forgets the numbers that an acknowledged vector reported missing (RFC 4340, appendix A.3): a
    /// packet that is late by more than a round trip is never acknowledged.
    MissingForgotten = "missing-forgotten",
    /// A server drops the datagram that completes the handshake, because the Ack before it was lost, but acknowledges
    /// it (RFC 4340, section 11.7): the datagram is neither delivered nor reported as dropped.
    FirstDataLost = "first-data-lost",
    /// Joining runs of an Ack Vector reads one run too far: a panic when a late packet fills a gap.
    JoinBeyond = "join-beyond",
    /// A TFRC loss event lasts a round trip from its last loss instead of its first (RFC 5348, section 5.2): dense
    /// losses become one event.
    SlidingEvent = "sliding-event",
    /// The nofeedback timer stays off after idle time (RFC 5348, section 4.4).
    NofeedbackOff = "nofeedback-off",
    /// Negotiation options are processed although a newer packet carried some (RFC 4340, section 6.6.4).
    OldChange = "old-change",
    /// A Change that was granted is not confirmed again (RFC 4340, section 6.6.6): if the Confirm was lost, its sender
    /// repeats the Change without end.
    UnansweredChange = "unanswered-change",
    /// The Ack of PARTOPEN is repeated only once (RFC 4340, section 8.1.5).
    PartOpenRetry = "partopen-retry",
    /// A `CloseReq` is not repeated (RFC 4340, section 8.3).
    CloseReqOnce = "close-req-once",
    /// The packet fates that a timer of a sending half reports go to the next connection that reports its own.
    FatesAstray = "fates-astray",
    /// A connection that ends before its application learns of it keeps its memory for ever.
    HalfOpenKept = "half-open-kept",
    /// The Init Cookies of two Responses are echoed together (RFC 4340, section 8.1.4).
    CookieTwice = "cookie-twice",
    /// When the path's MTU falls, queued datagrams are sent although they no longer fit (RFC 4340, section 14.2).
    TooLargeKept = "too-large-kept",
    /// Quiet time is saved up without a bound, so a rate limit lets a burst of any size pass (RFC 4340, section 7.5.4).
    SavedUp = "saved-up",
    /// A 24-bit acknowledgement number is extended from GSR instead of GSS (RFC 4340, section 7.6).
    ShortAck = "short-ack",
    /// The congestion window lets one packet too many leave (RFC 4341, section 5).
    WindowPlusOne = "window-plus-one",
    /// The application is not told of the room that expired datagrams leave in the send queue.
    ExpiryUnannounced = "expiry-unannounced",
    /// The endpoint's budget does not get back the memory by which a connection had grown.
    BudgetLeak = "budget-leak",
    /// A packet that arrives late stays counted as missing in `Received::lost_before`.
    LateMissing = "late-missing",
    /// A datagram shorter than the checksum coverage is sent with that coverage (RFC 4340, section 9.2): the peer has
    /// to drop it.
    ShortCoverage = "short-coverage",
    /// Datagrams of an encrypted connection leave in clear text (RFC 5238, section 3.4).
    ClearText = "clear-text",
    /// The application is not told of the room in its send queue when the peer of an encrypted connection announces its
    /// end: one that waits for room waits until the connection is over.
    EndUnannounced = "end-unannounced",
}

#[cfg(feature = "plant")]
impl Plant {
    /// Returns the bug called `name`, or `None`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|plant| plant.name() == name)
    }
}

/// Plants one bug, or none, in place of the one planted before.
#[cfg(feature = "plant")]
pub fn set(plant: Option<Plant>) {
    PLANTED.store(plant.map_or(0, |plant| plant as u8 + 1), Ordering::Relaxed);
}

/// Returns whether this bug is planted.
#[cfg(feature = "plant")]
#[inline]
pub fn planted(plant: Plant) -> bool {
    PLANTED.load(Ordering::Relaxed) == plant as u8 + 1
}

/// Returns `false`: without the feature no bug is planted.
#[cfg(not(feature = "plant"))]
#[inline]
pub const fn planted(_: Plant) -> bool {
    false
}

#[cfg(all(test, feature = "plant"))]
mod tests {
    use super::{Plant, planted, set};

    /// Each bug has its own name and is planted alone.
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
