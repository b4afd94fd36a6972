//! Tests of Linux's delays: a receiver of full segments of 1,000 bytes, whose application reads at once.

use fairwire_cc::RtoConfig;
use fairwire_units::{Duration, Ecn, Instant};

use crate::config::{AckDelay, Config, DelayedAcks, EcnMode};
use crate::receiver::Receiver;
use crate::segment::{Flags, TcpSegment};

const BOTH: [AckDelay; 2] = [AckDelay::Linux26, AckDelay::Linux61];

/// The first 16 segments are acknowledged one by one, later ones in pairs (`tcp_incr_quickack`).
#[test]
fn the_beginning_is_quick() {
    for delay in BOTH {
        let mut peer = Peer::new(Config::default(), delay);
        let acks: Vec<bool> = (0..20).map(|_| peer.sends_after(1)).collect();
        let pairs = [false, true, false, true];
        assert_eq!(acks, [vec![true; 16], pairs.to_vec()].concat(), "{delay:?}");
    }
}

/// No more acknowledgements are quick than half the receive window has segments, but at least two.
#[test]
fn the_window_bounds_what_is_quick() {
    for (window, quick) in [(1, 2), (12, 6), (40, 16)] {
        let config = Config {
            receive_window: Some(window),
            ..Config::default()
        };
        let mut peer = Peer::new(config, AckDelay::Linux61);
        let acks = (0..20).take_while(|_| peer.sends_after(1)).count();
        assert_eq!(acks, quick, "window of {window}");
    }
}

/// A copy of old data makes 16 acknowledgements quick, its own included (`tcp_enter_quickack_mode`).
#[test]
fn a_copy_makes_acknowledgements_quick() {
    for delay in BOTH {
        let mut peer = Peer::past_the_beginning(Config::default(), delay);
        assert!(peer.repeats_after(1));
        let acks = (0..20).take_while(|_| peer.sends_after(1)).count();
        assert_eq!(acks, 15, "{delay:?}");
    }
}

/// Data beyond the window does the same: the sender has not seen the newest window.
#[test]
fn data_beyond_the_window_makes_acknowledgements_quick() {
    let config = Config {
        receive_window: Some(12),
        ..Config::default()
    };
    let mut peer = Peer::past_the_beginning(config, AckDelay::Linux61);
    assert!(peer.arrives_after(1, |next| (next + 12_000, 1_000), false));
    let acks = (0..20).take_while(|_| peer.sends_after(1)).count();
    assert_eq!(acks, 5);
}

/// A gap is acknowledged at once while it is open, and when it is filled; then acknowledgements are delayed again.
#[test]
fn a_gap_alone_makes_nothing_quick() {
    for delay in BOTH {
        let mut peer = Peer::past_the_beginning(Config::default(), delay);
        let hole = peer.next;
        assert!(peer.arrives_after(1, |next| (next + 1_000, 1_000), false));
        assert!(peer.arrives_after(1, |_| (hole, 1_000), false));
        peer.next = hole + 2_000;
        assert!(!peer.sends_after(1), "{delay:?}");
    }
}

/// A pause of more than the retransmission timeout makes acknowledgements quick, a shorter one does not. Before a
/// round trip is known the timeout is the initial one, here a second.
#[test]
fn a_long_pause_makes_acknowledgements_quick() {
    for delay in BOTH {
        for (pause, is_quick) in [(1_000, false), (1_001, true)] {
            let mut peer = Peer::past_the_beginning(Config::default(), delay);
            let acks = (0..20)
                .map(|index| peer.sends_after(if index == 0 { pause } else { 1 }))
                .take_while(|&acked| acked)
                .count();
            assert_eq!(acks, if is_quick { 16 } else { 0 }, "{pause} ms, {delay:?}");
        }
    }
}

/// A hole that stays open for longer than the timeout counts as such a pause: only data in order ends it.
#[test]
fn a_hole_that_stays_long_makes_acknowledgements_quick() {
    for (last, is_quick) in [(700, false), (702, true)] {
        let mut peer = Peer::past_the_beginning(Config::default(), AckDelay::Linux61);
        let hole = peer.next;
        assert!(peer.arrives_after(300, |_| (hole + 1_000, 1_000), false));
        assert!(peer.arrives_after(last, |_| (hole, 1_000), false));
        peer.next = hole + 2_000;
        assert_eq!(peer.sends_after(1), is_quick, "{last} ms");
    }
}

/// The handshake gives the timeout its only sample R: R + max(2 R, 200 ms).
#[test]
fn the_handshake_measures_the_timeout() {
    for (round_trip, timeout) in [(50, 250), (300, 900)] {
        for (pause, is_quick) in [(timeout, false), (timeout + 1, true)] {
            let mut peer = Peer::connected(round_trip, false);
            peer.pass_the_beginning();
            assert_eq!(peer.sends_after(pause), is_quick, "{round_trip}, {pause}");
        }
    }
}

/// A repeated SYN-ACK measures nothing, because the answer may be to either: the initial timeout of 1 s stays.
#[test]
fn a_repeated_syn_ack_measures_nothing() {
    let mut peer = Peer::connected(50, true);
    peer.pass_the_beginning();
    assert!(!peer.sends_after(1_000));
}

/// Segments that are further apart than the delay do not wait in vain for long: the first expiry doubles the delay,
/// and then the second segment comes in time.
#[test]
fn the_delay_follows_the_arrivals() {
    for delay in BOTH {
        let mut peer = Peer::past_the_beginning(Config::default(), delay);
        assert!(!peer.sends_after(45));
        assert_eq!(peer.waits(), Some(ms(40)));
        assert!(!peer.sends_after(45), "the delay of 40 ms is over");
        // Half of 80 ms and the 45 ms since the last arrival.
        assert_eq!(peer.waits(), Some(ms(85)));
        assert!(peer.sends_after(45), "the second one in time, {delay:?}");
        assert!(!peer.sends_after(45));
        assert!(peer.sends_after(45));
        assert_eq!(peer.expired, 1);
    }
}

/// Fast arrivals bring the delay back to 40 ms, by half of what it is more each time.
#[test]
fn fast_arrivals_shorten_the_delay() {
    let mut peer = Peer::past_the_beginning(Config::default(), AckDelay::Linux61);
    assert!(!peer.sends_after(45));
    assert!(!peer.sends_after(45));
    assert_eq!(peer.waits(), Some(ms(85)));
    assert!(peer.sends_after(20));
    // 85 ms became 62.5 ms, and now 51.25 ms.
    assert!(!peer.sends_after(20));
    assert_eq!(peer.waits(), Some(Duration::from_micros(51_250)));
}

/// The delay is at most the round trip of the handshake, but at least 40 ms.
#[test]
fn the_round_trip_bounds_the_delay() {
    for (round_trip, longest) in [(10, 40), (60, 60), (100, 85)] {
        let mut peer = Peer::connected(round_trip, false);
        peer.pass_the_beginning();
        assert!(!peer.sends_after(45));
        assert!(!peer.sends_after(45));
        assert_eq!(peer.waits(), Some(ms(longest)), "{round_trip} ms");
    }
}

/// The delay is at most 200 ms in 6.1, and 500 ms in 2.6.
#[test]
fn the_kernel_bounds_the_delay() {
    for (delay, longest) in [(AckDelay::Linux61, 200), (AckDelay::Linux26, 500)] {
        let mut peer = Peer::past_the_beginning(Config::default(), delay);
        // Each delay expires, which doubles it up to the timeout of a second.
        for _ in 0..6 {
            assert!(!peer.sends_after(900));
        }
        assert_eq!(peer.waits(), Some(ms(longest)));
    }
}

/// What the application wrote last is acknowledged at once: a segment shorter than a full one in both kernels, a full
/// one with PSH in 6.1 only.
#[test]
fn the_end_of_a_write_is_acknowledged_at_once() {
    for delay in BOTH {
        let mut peer = Peer::past_the_beginning(Config::default(), delay);
        assert!(peer.arrives_after(1, |next| (next, 300), true));
        let is_sent = peer.arrives_after(1, |next| (next, 1_000), true);
        assert_eq!(is_sent, delay == AckDelay::Linux61);
    }
}

/// Two shorter segments of the same size in a row are full ones of a path with smaller packets.
#[test]
fn a_smaller_full_segment_is_learned() {
    let mut peer = Peer::past_the_beginning(Config::default(), AckDelay::Linux26);
    assert!(peer.arrives_after(1, |next| (next, 600), true));
    assert!(!peer.arrives_after(1, |next| (next, 600), true));
    assert!(
        peer.arrives_after(1, |next| (next, 600), true),
        "two of them"
    );
    assert!(!peer.arrives_after(1, |next| (next, 600), true));
}

/// The first congestion mark makes two acknowledgements quick in 6.1, the answer to the echo one, and none in 2.6. A
/// segment without ECN-capability is a retransmission: it makes two quick in 6.1, and 16 in 2.6.
#[test]
fn marks_and_retransmissions_make_acknowledgements_quick() {
    let config = Config {
        ecn: EcnMode::Classic,
        ..Config::default()
    };
    for (delay, after_mark, after_answer, after_retransmission) in
        [(AckDelay::Linux26, 0, 0, 16), (AckDelay::Linux61, 2, 1, 2)]
    {
        let mut peer = Peer::past_the_beginning(config, delay);
        let mut quick = |ecn, cwr| {
            let first = peer.marked_after(1, ecn, cwr);
            let acks = usize::from(first);
            let more = (0..20).take_while(|_| first && peer.sends_after(1)).count();
            // The one that was delayed is acknowledged with another.
            assert!(peer.sends_after(1), "{delay:?}");
            acks + more
        };
        assert_eq!(quick(Ecn::Ce, false), after_mark, "{delay:?}");
        assert_eq!(quick(Ecn::Ce, false), 0, "echoed already, {delay:?}");
        assert_eq!(quick(Ecn::Ect0, true), after_answer, "{delay:?}");
        assert_eq!(quick(Ecn::NotEct, false), after_retransmission, "{delay:?}");
    }
}

/// The sender of a test, with the receiver that it drives.
struct Peer {
    receiver: Receiver,
    now: Instant,
    next: u64,
    /// The number of delayed acknowledgements that left because their time was over.
    expired: u32,
    is_capable: bool,
}

impl Peer {
    fn new(config: Config, delay: AckDelay) -> Self {
        let delayed_acks = Some(DelayedAcks {
            every: 2,
            wait: Duration::from_millis(40),
            quick: 16,
            delay,
        });
        Self {
            receiver: Receiver::new(Config {
                wire_size: 1_040,
                handshake: false,
                rto: RtoConfig::TCP.with_min(ms(200)),
                delayed_acks,
                ..config
            }),
            now: Instant::START + ms(1_000),
            next: 1,
            expired: 0,
            is_capable: config.ecn != EcnMode::Off,
        }
    }

    /// Opens the connection to a kernel of 6.1 over a path of `round_trip` ms.
    fn connected(round_trip: u64, is_repeated: bool) -> Self {
        let mut peer = Self::new(Config::default(), AckDelay::Linux61);
        let config = Config {
            handshake: true,
            ..peer.receiver.config
        };
        peer.receiver = Receiver::new(config);
        let syn = TcpSegment {
            flags: Flags {
                syn: true,
                ..Flags::default()
            },
            ..TcpSegment::default()
        };
        for _ in 0..=u32::from(is_repeated) {
            peer.receiver.handle_segment(peer.now, &syn);
            assert!(peer.receiver.poll_transmit(peer.now).is_some());
        }
        peer.now += Duration::from_millis(round_trip);
        let ack = TcpSegment {
            seq: 1,
            ..TcpSegment::default()
        };
        peer.receiver.handle_segment(peer.now, &ack);
        peer
    }

    fn past_the_beginning(config: Config, delay: AckDelay) -> Self {
        let mut peer = Self::new(config, delay);
        peer.pass_the_beginning();
        peer
    }

    fn pass_the_beginning(&mut self) {
        while self.sends_after(1) {}
        assert!(self.sends_after(1), "the second of a pair");
    }

    /// Passes the next full segment after `pause` ms; returns whether it is acknowledged at once.
    fn sends_after(&mut self, pause: u64) -> bool {
        self.arrives_after(pause, |next| (next, 1_000), false)
    }

    /// Passes the last 1,000 bytes once more.
    fn repeats_after(&mut self, pause: u64) -> bool {
        self.arrives_after(pause, |next| (next - 1_000, 1_000), false)
    }

    /// Passes the next full segment with this ECN field and CWR.
    fn marked_after(&mut self, pause: u64, ecn: Ecn, cwr: bool) -> bool {
        let flags = Flags {
            cwr,
            ..Flags::default()
        };
        let segment = TcpSegment {
            seq: self.next,
            len: 1_000,
            flags,
            ecn,
            ..TcpSegment::default()
        };
        self.pass_after(pause, segment)
    }

    /// Passes the segment whose number and length `place` computes from the next number.
    fn arrives_after(&mut self, pause: u64, place: impl Fn(u64) -> (u64, u32), psh: bool) -> bool {
        let (seq, len) = place(self.next);
        let segment = TcpSegment {
            seq,
            len,
            flags: Flags {
                psh,
                ..Flags::default()
            },
            ecn: if self.is_capable {
                Ecn::Ect0
            } else {
                Ecn::NotEct
            },
            ..TcpSegment::default()
        };
        self.pass_after(pause, segment)
    }

    fn pass_after(&mut self, pause: u64, segment: TcpSegment) -> bool {
        let until = self.now + Duration::from_millis(pause);
        while let Some(due) = self.receiver.next_timeout().filter(|&due| due < until) {
            self.receiver.handle_timeout(due);
            assert!(self.receiver.poll_transmit(due).is_some());
            self.expired += 1;
        }
        self.now = until;
        if segment.seq == self.next {
            self.next = segment.end();
        }
        self.receiver.handle_segment(self.now, &segment);
        std::iter::from_fn(|| self.receiver.poll_transmit(self.now)).count() > 0
    }

    /// Returns how long the acknowledgement due waits from now on.
    fn waits(&self) -> Option<Duration> {
        self.receiver.next_timeout().map(|due| due - self.now)
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
