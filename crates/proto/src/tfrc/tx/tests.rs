use fairwire_cc::Permit;
use fairwire_units::{Duration, Instant};
use fairwire_wire::{DccpOption, Encoder, HeadBuf, Kind, NO_LOSS, Packet, Ports, Seq};

use super::TfrcTx;
use crate::config::Ccid3Config;
use crate::half::{Sent, Told, Tx};

const SIZE: u32 = 1_000;

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn config() -> Ccid3Config {
    Ccid3Config {
        oscillation_reduction: false,
        ..Ccid3Config::default()
    }
}

/// A half that accepts Linux's feedback if `loss_event_rate`.
fn half(loss_event_rate: bool) -> TfrcTx {
    TfrcTx::new(&config(), 1_400, None, at(0), loss_event_rate)
}

fn send(tx: &mut TfrcTx, now: Instant, seq: u64) -> u8 {
    let ccval = tx.ccval(now);
    let sent = Sent {
        seq: Seq::new(seq),
        data: Some(SIZE),
        id: None,
    };
    tx.on_sent(now, sent, 1);
    ccval
}

/// An Ack number `seq` for packet `ackno`, with the options that `write` writes; returns whether
/// the half learned something.
fn ack(
    tx: &mut TfrcTx,
    now: Instant,
    seq: u64,
    ackno: u64,
    write: impl Fn(&mut Encoder<'_>),
) -> bool {
    let mut buf = HeadBuf::new();
    let ports = Ports {
        source: 1,
        destination: 2,
    };
    let ack = Seq::new(ackno);
    let kind = Kind::Ack { ack: ack.into() };
    let mut encoder = Encoder::new(&mut buf, ports, Seq::new(seq).into(), &kind, 0, 0);
    write(&mut encoder);
    let packet = Packet::decode(encoder.finish().as_slice()).expect("we wrote it");
    let mut told = Told::default();
    tx.on_ack(now, &packet, ack, 1, &mut told);
    assert!(
        told.fates.is_empty(),
        "CCID 3 acknowledges no single packet"
    );
    told.progress
}

fn put(encoder: &mut Encoder<'_>, options: &[DccpOption<'_>]) {
    for option in options {
        encoder.option(option).expect("there is room");
    }
}

/// What the Linux kernel sends: no Elapsed Time, no Loss Intervals.
fn linux(rate: u32, inverse: u32) -> impl Fn(&mut Encoder<'_>) {
    move |encoder| {
        put(
            encoder,
            &[
                DccpOption::ReceiveRate(rate),
                DccpOption::LossEventRate(inverse),
            ],
        );
    }
}

/// What RFC 4342, section 6, asks for: one interval, `lossless` packets without a loss.
fn full(rate: u32, elapsed: Duration, lossless: u32) -> impl Fn(&mut Encoder<'_>) {
    move |encoder| {
        let units = u32::try_from(elapsed.as_micros() / 10).expect("short");
        put(
            encoder,
            &[
                DccpOption::ElapsedTime(units),
                DccpOption::ReceiveRate(rate),
            ],
        );
        let interval = fairwire_wire::LossInterval {
            lossless_length: lossless,
            ..fairwire_wire::LossInterval::default()
        };
        encoder
            .loss_intervals(0, [interval])
            .expect("there is room");
    }
}

fn rate(tx: &TfrcTx) -> f64 {
    tx.gauges().rate_bytes_per_s.expect("a rate")
}

/// RFC 4342, 10.1: the round trip is the time since the acknowledged packet left, less what the
/// peer held it for; then RFC 5348, 4.2: four packets of 1000 bytes per round trip.
#[test]
fn elapsed_time_is_subtracted() {
    let mut tx = half(false);
    send(&mut tx, at(1_000), 50);
    assert!(ack(&mut tx, at(1_130), 9, 50, full(0, ms(30), 1)));
    assert_eq!(tx.srtt(), Some(ms(100)));
    assert_eq!(rate(&tx), 40_000.0);
    assert_eq!(tx.packets_per_rtt(), 5, "four and one to round up");
    assert_eq!(tx.next_timeout(), Some(at(1_530)), "four round trips");
}

/// A peer that claims to have held a packet for longer than we waited gives no sample; the rest
/// of its report counts.
#[test]
fn impossible_elapsed_times_are_no_sample() {
    let mut tx = half(false);
    send(&mut tx, at(1_000), 50);
    ack(&mut tx, at(1_100), 9, 50, full(0, ms(0), 1));
    send(&mut tx, at(1_110), 51);
    assert!(ack(&mut tx, at(1_210), 10, 51, full(7_000, ms(101), 2)));
    assert_eq!(tx.srtt(), Some(ms(100)));
    assert_eq!(tx.gauges().x_recv_bytes_per_s, Some(7_000.0));
}

/// Linux sends Receive Rate and Loss Event Rate alone: feedback where feature 192 is on, with the
/// whole wait as the round trip; otherwise RFC 4342, 6, does not count it.
#[test]
fn the_kernels_feedback_counts_where_negotiated() {
    let mut tx = half(true);
    send(&mut tx, at(1_000), 50);
    assert!(ack(&mut tx, at(1_100), 9, 50, linux(0, NO_LOSS)));
    assert_eq!(rate(&tx), 40_000.0);
    send(&mut tx, at(1_110), 51);
    ack(&mut tx, at(1_210), 10, 51, linux(50_000, 100));
    assert_eq!(tx.gauges().p, Some(0.01));

    let mut strict = half(false);
    send(&mut strict, at(1_000), 50);
    assert!(
        ack(&mut strict, at(1_100), 9, 50, linux(0, NO_LOSS)),
        "it acknowledges"
    );
    assert_eq!(strict.srtt(), None);
    assert_eq!(rate(&strict), 1_000.0);
}

/// A report without a Receive Rate is none, whatever else it says (RFC 4342, 6).
#[test]
fn a_report_needs_a_receive_rate() {
    let mut tx = half(true);
    send(&mut tx, at(1_000), 50);
    ack(&mut tx, at(1_100), 9, 50, |encoder| {
        put(
            encoder,
            &[DccpOption::LossEventRate(2), DccpOption::ElapsedTime(1)],
        );
    });
    assert_eq!(tx.gauges().p, Some(0.0));
    assert_eq!(tx.srtt(), None);
}

/// Feedback that is a copy, or older than what came before, changes nothing.
#[test]
fn copies_and_stragglers_are_ignored() {
    let mut tx = half(true);
    send(&mut tx, at(1_000), 50);
    send(&mut tx, at(1_001), 51);
    assert!(ack(&mut tx, at(1_101), 10, 51, linux(0, NO_LOSS)));
    let before = tx.gauges();
    assert!(!ack(&mut tx, at(1_102), 10, 51, linux(99, 2)), "a copy");
    assert!(
        !ack(&mut tx, at(1_103), 9, 50, linux(99, 2)),
        "an older one"
    );
    assert!(
        !ack(&mut tx, at(1_104), 11, 50, linux(99, 2)),
        "an older number"
    );
    assert_eq!(tx.gauges(), before);
    assert_eq!(tx.next_timeout(), Some(at(1_501)));
}

/// RFC 4342, 8.1: an acknowledgement moves the window counter a round trip beyond the packet that
/// it acknowledges, feedback or not.
#[test]
fn acknowledgements_move_the_counter() {
    let mut tx = TfrcTx::new(&config(), 1_400, Some(ms(100)), at(0), false);
    assert_eq!(send(&mut tx, at(1_000), 50), 0);
    assert_eq!(send(&mut tx, at(1_030), 51), 1);
    ack(&mut tx, at(1_040), 9, 51, |_| {});
    assert_eq!(send(&mut tx, at(1_041), 52), 5);
}

/// With a round trip from the handshake the first packets go at the initial rate; the application
/// is told that rate.
#[test]
fn the_handshake_gives_the_first_rate() {
    let mut tx = TfrcTx::new(&config(), 1_400, Some(ms(100)), at(0), false);
    let before = tx.allowed_rate().expect("a rate");
    // 4380 bytes per 100 ms, in bits.
    assert_eq!(before.bits_per_s(), 350_400);
    send(&mut tx, at(0), 1);
    assert_eq!(tx.flight().packets, 1);
    assert!(matches!(tx.permit(at(0), 1, SIZE), Permit::At(_)));
    assert!(!tx.acknowledges_packets());
}
