//! ECN in TCP (RFC 3168, section 6.1; RFC 8257, section 3.2), segment by segment.

use fairwire_cc::{Dctcp, NewReno, Signal, Window, WindowLaw};
use fairwire_tcp::{Config, DelayedAcks, EcnMode, Flags, Receiver, Sender, Source, TcpSegment};
use fairwire_units::{Duration, Ecn, Instant};

/// RFC 3168, 6.1.1: an offer has ECE and CWR, its acceptance only ECE, and neither is ECN-capable itself. If one side
/// does not use ECN, or an old host reflects the reserved bits, no data is ECN-capable.
#[test]
fn both_sides_have_to_agree() {
    let on = EcnMode::Classic;
    for (client, server, offer, answer) in [
        (EcnMode::Off, on, (false, false), (false, false)),
        (on, EcnMode::Off, (true, true), (false, false)),
        (on, on, (true, true), (true, false)),
        (EcnMode::Dctcp, EcnMode::Dctcp, (true, true), (true, false)),
    ] {
        let mut sender = sender(handshake(client));
        let mut receiver = Receiver::new(handshake(server));
        let syn = sender.poll_transmit(ms(0)).unwrap();
        assert_eq!((ecn_bits(&syn), syn.ecn), (offer, Ecn::NotEct));
        receiver.handle_segment(ms(1), &syn);
        let syn_ack = receiver.poll_transmit(ms(1)).unwrap();
        assert_eq!((ecn_bits(&syn_ack), syn_ack.ecn), (answer, Ecn::NotEct));
        sender.handle_segment(ms(2), &syn_ack);
        let sent = drain(&mut sender, ms(2));
        assert_eq!(sent[0].ecn, Ecn::NotEct, "an acknowledgement (6.1.4)");
        let data = if answer.0 { Ecn::Ect0 } else { Ecn::NotEct };
        assert!(sent[1..].iter().all(|segment| segment.ecn == data));
        assert!(
            sent.iter()
                .all(|segment| ecn_bits(segment) == (false, false))
        );
    }
    let mut reflected = sender(handshake(on));
    let syn = reflected.poll_transmit(ms(0)).unwrap();
    let mut syn_ack = ack(1);
    syn_ack.flags = Flags {
        ack: true,
        ..syn.flags
    };
    (syn_ack.seq, syn_ack.mss) = (0, 100);
    reflected.handle_segment(ms(2), &syn_ack);
    let capable = drain(&mut reflected, ms(2));
    assert!(capable.iter().all(|segment| segment.ecn == Ecn::NotEct));
}

/// RFC 3168, 6.1.3: after a mark every acknowledgement has ECE until a segment says that the window was reduced; that
/// segment may itself be marked. RFC 3168, 6.1.5: a mark on a segment outside the window does not count.
#[test]
fn a_mark_is_echoed_until_the_window_is_reduced() {
    let mut receiver = Receiver::new(one_way(EcnMode::Classic));
    let (clean, marked) = (Ecn::Ect0, Ecn::Ce);
    for (index, ecn, cwr, echo) in [
        (0, clean, false, false),
        (1, marked, false, true),
        (2, clean, false, true),
        (3, clean, true, false),
        (4, marked, true, true),
        (5, clean, true, false),
        (0, marked, false, false),
        (900, marked, false, false),
        (7, marked, false, true),
        (6, clean, true, false),
    ] {
        receiver.handle_segment(ms(index), &data(index, ecn, cwr));
        let acks = drain_acks(&mut receiver);
        assert_eq!(acks.len(), 1);
        assert_eq!(acks[0].1, echo, "segment {index}, {ecn}, CWR {cwr}");
    }
    assert_eq!(receiver.stats().marked, 5);
    let mut off = Receiver::new(one_way(EcnMode::Off));
    off.handle_segment(ms(0), &data(0, marked, false));
    assert_eq!(drain_acks(&mut off), [(101, false)]);
}

/// RFC 8257, 3.2: when marks begin or end, the earlier segments are acknowledged with the old value and the newest at
/// once, so that no acknowledgement covers both kinds. Otherwise acknowledgements are delayed as usual. CWR changes
/// nothing.
#[test]
fn dctcp_echoes_exactly_what_was_marked() {
    let mut receiver = Receiver::new(Config {
        delayed_acks: Some(DelayedAcks::default()),
        ..one_way(EcnMode::Dctcp)
    });
    let (clean, marked) = (Ecn::Ect0, Ecn::Ce);
    let mut acks = Vec::new();
    for (index, ecn) in (0..).zip([
        clean, clean, clean, marked, marked, marked, clean, marked, clean, clean, clean,
    ]) {
        receiver.handle_segment(ms(index), &data(index, ecn, true));
        acks.push(drain_acks(&mut receiver));
    }
    assert_eq!(
        acks,
        [
            vec![],
            vec![(201, false)],
            vec![],
            vec![(301, false), (401, true)],
            vec![],
            vec![(601, true)],
            vec![(701, false)],
            vec![(801, true)],
            vec![(901, false)],
            vec![],
            vec![(1_101, false)],
        ]
    );
}

/// RFC 3168, 6.1.2: all marks of a window cause one cut by half. The next new segment has CWR, once. Acknowledgements
/// with ECE do not increase the window.
#[test]
fn one_cut_and_one_cwr_for_a_window() {
    let mut sender = sender(Config {
        initial_window: Some(8.0),
        ..one_way(EcnMode::Classic)
    });
    assert_eq!(drain(&mut sender, ms(0)).len(), 8);
    let mut sent = Vec::new();
    for index in 1..=8 {
        sender.handle_segment(ms(100 + index), &echo(1 + 100 * index));
        sent.extend(drain(&mut sender, ms(100 + index)));
        assert_eq!(sender.stats().cwnd_packets, Some(4.0), "{index}");
    }
    let cwrs: Vec<bool> = sent.iter().map(|segment| segment.flags.cwr).collect();
    assert_eq!(cwrs, [true, false, false, false]);
    // The first segment of the next window: its mark is new.
    sender.handle_segment(ms(200), &echo(901));
    assert_eq!(sender.stats().cwnd_packets, Some(2.0));
    assert_eq!(sender.stats().echoes, 9);
}

/// RFC 3168, 6.1.2 and 6.1.5: a loss in the same window causes no further cut. Its retransmission is not ECN-capable
/// and has no CWR; the first new segment after it has.
#[test]
fn repetitions_are_not_capable() {
    let mut sender = sender(Config {
        initial_window: Some(8.0),
        limited_transmit: false,
        ..one_way(EcnMode::Classic)
    });
    drain(&mut sender, ms(0));
    for _ in 0..3 {
        sender.handle_segment(ms(100), &echo(1));
    }
    let again = drain(&mut sender, ms(100));
    assert_eq!((again.len(), again[0].seq), (1, 1));
    assert_eq!((again[0].ecn, again[0].flags.cwr), (Ecn::NotEct, false));
    assert_eq!(sender.stats().cwnd_packets, Some(4.0));
    sender.handle_segment(ms(200), &ack(801));
    let new = drain(&mut sender, ms(200));
    assert_eq!((new[0].ecn, new[0].flags.cwr), (Ecn::Ect0, true));
    assert!(!new[1].flags.cwr);
}

/// RFC 3168, 6.1.2: a window of one segment cannot be reduced, so the next segment waits for the timeout. A timeout is
/// a reduction and is signalled as well.
#[test]
fn a_window_of_one_waits_for_the_timeout() {
    let mut sender = sender(Config {
        initial_window: Some(1.0),
        ..one_way(EcnMode::Classic)
    });
    drain(&mut sender, ms(0));
    sender.handle_segment(ms(100), &echo(101));
    assert_eq!(drain(&mut sender, ms(100)), []);
    let wake = sender.next_timeout().unwrap();
    assert_eq!(wake, ms(100) + sender.stats().rto);
    sender.handle_timeout(wake);
    let sent = drain(&mut sender, wake);
    assert_eq!((sent.len(), sent[0].seq, sent[0].flags.cwr), (1, 101, true));
    let lost = sender.next_timeout().unwrap();
    sender.handle_timeout(lost);
    let again = drain(&mut sender, lost);
    assert_eq!((again[0].seq, again[0].flags.cwr), (101, false));
    sender.handle_segment(lost + Duration::from_millis(100), &ack(201));
    let new = drain(&mut sender, lost + Duration::from_millis(100));
    assert!(new[0].flags.cwr);
}

/// A law that answers marks as L4S requires.
#[derive(Debug, Default)]
struct Scalable(Dctcp);

impl WindowLaw for Scalable {
    fn increase(&mut self, window: &Window, acked: f64) -> f64 {
        self.0.increase(window, acked)
    }

    fn cut(&mut self, window: &Window, signal: Signal) -> f64 {
        self.0.cut(window, signal)
    }

    fn ecn(&self) -> Ecn {
        Ecn::Ect1
    }
}

/// RFC 9331, 4.1: the data packets of a law that answers marks as L4S requires have ECT(1).
#[test]
fn a_law_chooses_the_codepoint_of_data() {
    let config = one_way(EcnMode::Dctcp);
    let window = Box::new(config.window(Scalable::default()));
    let mut sender = Sender::new(config, window, Source::Greedy, ms(0));
    let sent = drain(&mut sender, ms(0));
    assert!(sent.iter().all(|segment| segment.ecn == Ecn::Ect1));
}

fn ms(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

/// Returns a configuration with segments of 100 bytes and no handshake.
fn one_way(ecn: EcnMode) -> Config {
    Config {
        ecn,
        ..Config::one_way(140)
    }
}

fn handshake(ecn: EcnMode) -> Config {
    Config {
        handshake: true,
        ..one_way(ecn)
    }
}

fn sender(config: Config) -> Sender {
    let window = Box::new(config.window(NewReno));
    Sender::new(config, window, Source::Greedy, ms(0))
}

fn drain(sender: &mut Sender, now: Instant) -> Vec<TcpSegment> {
    std::iter::from_fn(|| sender.poll_transmit(now)).collect()
}

/// Returns the number and the ECE flag of each acknowledgement.
fn drain_acks(receiver: &mut Receiver) -> Vec<(u64, bool)> {
    std::iter::from_fn(|| receiver.poll_transmit(ms(0)))
        .inspect(|ack| assert_eq!((ack.ecn, ack.flags.cwr), (Ecn::NotEct, false)))
        .map(|ack| (ack.ack, ack.flags.ece))
        .collect()
}

fn ecn_bits(segment: &TcpSegment) -> (bool, bool) {
    (segment.flags.ece, segment.flags.cwr)
}

fn data(index: u64, ecn: Ecn, cwr: bool) -> TcpSegment {
    TcpSegment {
        seq: 1 + index * 100,
        len: 100,
        flags: Flags {
            cwr,
            ..Flags::default()
        },
        ecn,
        ..TcpSegment::default()
    }
}

fn ack(ack: u64) -> TcpSegment {
    TcpSegment {
        seq: 1,
        ack,
        flags: Flags {
            ack: true,
            ..Flags::default()
        },
        window: 2_000,
        ..TcpSegment::default()
    }
}

fn echo(number: u64) -> TcpSegment {
    let mut ack = ack(number);
    ack.flags.ece = true;
    ack
}
