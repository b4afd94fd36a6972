mod thin;

use std::sync::Arc;

use super::Sender;
use crate::ackvec::tests::{ack, at, data, seq};
use crate::config::Ccid2Config;
use crate::event::Fate;
use crate::half::{Arrival, FeedbackOutcome, Sent, Tx, acknowledge};
use crate::id::DatagramId;
use fairwire_cc::{IdleRule, Permit, ThresholdWindow};
use fairwire_units::Duration;
use fairwire_units::registry::Chosen;
use fairwire_wire::{AckEntry, DccpOption, EntryState, Packet};

const RECEIVED: EntryState = EntryState::Received;
const MARKED: EntryState = EntryState::Marked;
const MISSING: EntryState = EntryState::NotReceived;

fn config(window: f64, ssthresh: f64) -> Ccid2Config {
    Ccid2Config {
        initial_window: Some(window),
        initial_ssthresh: Some(ssthresh),
        ..Ccid2Config::default()
    }
}

/// Returns a sender in congestion avoidance with a window of `packets`.
fn steady(packets: f64) -> Sender {
    Sender::windowed(at(0), &config(packets, 2.0), 1_000, None)
}

fn send(sender: &mut Sender, ms: u64, numbers: std::ops::RangeInclusive<u64>) {
    for number in numbers {
        let sent = Sent {
            seq: seq(number),
            data: Some(1_000),
            id: Some(DatagramId(number)),
            nonce: false,
        };
        sender.on_sent(at(ms), sent, 10);
    }
}

fn send_without_data(sender: &mut Sender, ms: u64, number: u64) {
    let sent = Sent {
        seq: seq(number),
        data: None,
        id: None,
        nonce: false,
    };
    sender.on_sent(at(ms), sent, 10);
}

/// Delivers an Ack of `ackno` with these entries, and returns what it reports.
fn hear(sender: &mut Sender, ms: u64, ackno: u64, entries: &[(EntryState, u8)]) -> FeedbackOutcome {
    hear_after(sender, ms, ackno, entries, None)
}

fn hear_after(
    sender: &mut Sender,
    ms: u64,
    ackno: u64,
    entries: &[(EntryState, u8)],
    elapsed: Option<u32>,
) -> FeedbackOutcome {
    let head = ack(seq(900_000), seq(ackno), |encoder| {
        let entries = entries
            .iter()
            .map(|&(state, run)| AckEntry::new(state, run));
        encoder.ack_vector(entries).unwrap();
        if let Some(units) = elapsed {
            encoder.option(&DccpOption::ElapsedTime(units)).unwrap();
        }
    });
    let packet = Packet::decode(&head).unwrap();
    acknowledge(sender, at(ms), &packet, 10)
}

/// Delivers a packet from the peer that acknowledges nothing.
fn arrive(sender: &mut Sender, ms: u64, arrival: Arrival) {
    sender.on_packet(at(ms), arrival.into(), 10, &mut FeedbackOutcome::default());
}

fn fates(told: &FeedbackOutcome) -> Vec<(u64, Fate)> {
    let named = |&(id, fate): &(Option<DatagramId>, Fate)| (id.expect("a datagram").0, fate);
    told.fates.iter().map(named).collect()
}

fn cwnd(sender: &Sender) -> f64 {
    sender.gauges().cwnd_packets.unwrap()
}

/// RFC 4341, 5: the pipe grows by each data packet, shrinks by each once it is acknowledged, and blocks sending when it
/// fills the window.
#[test]
fn item_25_the_pipe_counts_data_packets_once() {
    let mut sender = steady(3.0);
    send(&mut sender, 0, 1..=2);
    send_without_data(&mut sender, 0, 3);
    assert_eq!(sender.flight().packets, 2, "only data");
    assert_eq!(sender.permit(at(0), 1, 1_000), Permit::Now);
    send(&mut sender, 0, 4..=4);
    assert_eq!(sender.permit(at(0), 1, 1_000), Permit::AwaitFeedback);
    let told = hear(&mut sender, 100, 3, &[(RECEIVED, 3)]);
    assert_eq!(
        fates(&told),
        [(1, Fate::Acknowledged), (2, Fate::Acknowledged)]
    );
    assert!(told.progress);
    assert_eq!((sender.flight().packets, sender.flight().bytes), (1, 1_000));
    for _ in 0..3 {
        let again = hear(&mut sender, 101, 3, &[(RECEIVED, 3)]);
        assert_eq!(fates(&again), [], "a duplicate");
        assert!(!again.progress);
        assert_eq!(sender.flight().packets, 1);
    }
}

/// RFC 4341, 5: three losses of one window are one congestion event; the loss of a packet sent after the cut is the
/// next event.
#[test]
fn three_losses_of_one_window_cut_once() {
    let mut sender = steady(16.0);
    send(&mut sender, 0, 1..=16);
    // 4, 6 and 9 are missing and are found lost one after the other.
    hear(&mut sender, 100, 3, &[(RECEIVED, 3)]);
    let told = hear(
        &mut sender,
        101,
        8,
        &[(RECEIVED, 2), (MISSING, 1), (RECEIVED, 1), (MISSING, 1)],
    );
    assert_eq!(
        fates(&told),
        [
            (4, Fate::Lost),
            (5, Fate::Acknowledged),
            (7, Fate::Acknowledged),
            (8, Fate::Acknowledged)
        ]
    );
    assert_eq!(cwnd(&sender), 8.0);
    send(&mut sender, 102, 17..=18);
    let told = hear(
        &mut sender,
        103,
        12,
        &[(RECEIVED, 3), (MISSING, 1), (RECEIVED, 2), (MISSING, 1)],
    );
    let lost = |told: &FeedbackOutcome| -> Vec<u64> {
        let lost = fates(told)
            .into_iter()
            .filter(|&(_, fate)| fate == Fate::Lost);
        lost.map(|(id, _)| id).collect()
    };
    assert_eq!(lost(&told), [6, 9]);
    assert_eq!(cwnd(&sender), 8.0, "sent before the cut");
    assert_eq!(sender.gauges().cuts, 1);
    // 17 was sent after the cut.
    send(&mut sender, 104, 19..=22);
    let told = hear(
        &mut sender,
        205,
        20,
        &[(RECEIVED, 3), (MISSING, 1), (RECEIVED, 4)],
    );
    assert_eq!(lost(&told), [17]);
    assert_eq!(cwnd(&sender), 4.0, "the next event");
    assert_eq!(sender.gauges().cuts, 2);
}

/// RFC 4341, 5: a packet is lost when three later packets have arrived, not when two have. Packets without data count
/// among the three.
#[test]
fn three_later_arrivals_make_a_loss() {
    for third_has_data in [true, false] {
        let mut sender = steady(8.0);
        send(&mut sender, 0, 1..=3);
        if third_has_data {
            send(&mut sender, 0, 4..=4);
        } else {
            send_without_data(&mut sender, 0, 4);
        }
        let two = hear(&mut sender, 100, 3, &[(RECEIVED, 2), (MISSING, 1)]);
        assert!(!fates(&two).contains(&(1, Fate::Lost)));
        // The vector now begins later, as if the receiver knew that 2 and 3 were acknowledged.
        let three = hear(&mut sender, 101, 4, &[(RECEIVED, 1)]);
        assert_eq!(fates(&three)[0], (1, Fate::Lost), "data: {third_has_data}");
        assert_eq!(sender.flight().packets, 0);
    }
}

/// RFC 4341, 5: an acknowledgement of a packet that was already declared lost changes nothing.
#[test]
fn a_late_acknowledgement_changes_nothing() {
    let mut sender = steady(8.0);
    send(&mut sender, 0, 1..=6);
    hear(&mut sender, 100, 4, &[(RECEIVED, 3), (MISSING, 1)]);
    assert_eq!(cwnd(&sender), 4.0);
    let before = sender.flight();
    let late = hear(&mut sender, 110, 4, &[(RECEIVED, 4)]);
    assert_eq!(fates(&late), []);
    assert_eq!(sender.flight(), before);
    assert_eq!(cwnd(&sender), 4.0);
}

/// RFC 4341, 5: a mark cuts the window as a loss does, once per window. A mark on a packet sent before the last cut
/// adds no growth.
#[test]
fn marks_cut_once() {
    let mut sender = steady(8.0);
    send(&mut sender, 0, 1..=8);
    let told = hear(&mut sender, 100, 2, &[(MARKED, 1), (RECEIVED, 1)]);
    assert_eq!(fates(&told), [(1, Fate::Acknowledged), (2, Fate::Marked)]);
    assert_eq!(cwnd(&sender), 4.0);
    let told = hear(
        &mut sender,
        101,
        4,
        &[(MARKED, 2), (MARKED, 1), (RECEIVED, 1)],
    );
    assert_eq!(fates(&told), [(3, Fate::Marked), (4, Fate::Marked)]);
    assert_eq!((cwnd(&sender), sender.gauges().cuts), (4.0, 1));
    // The state first reported stays (RFC 4340, 11.4.1).
    assert_eq!(fates(&hear(&mut sender, 102, 4, &[(RECEIVED, 4)])), []);
}

/// RFC 4341, 5: after a timeout all packets in flight are lost, the window is one packet, and the timer backs off. Late
/// acknowledgements of those packets change nothing.
#[test]
fn a_timeout_empties_the_pipe_and_backs_off() {
    let mut sender = steady(8.0);
    sender.on_rtt_sample(at(0), Duration::from_millis(20));
    send(&mut sender, 0, 1..=4);
    // 20 ms and four times half of it are 60 ms, which is below the minimum.
    assert_eq!(sender.next_timeout(), Some(at(200)));
    let mut outcome = FeedbackOutcome::default();
    sender.handle_timeout(at(199), 5, &mut outcome);
    assert_eq!(fates(&outcome), [], "not yet");
    sender.handle_timeout(at(200), 5, &mut outcome);
    assert_eq!(fates(&outcome), [1, 2, 3, 4].map(|id| (id, Fate::Lost)));
    assert_eq!((sender.flight().packets, cwnd(&sender)), (0, 1.0));
    assert_eq!(sender.next_timeout(), None, "nothing in flight");
    let late = hear(&mut sender, 210, 4, &[(RECEIVED, 4)]);
    assert_eq!(fates(&late), []);
    assert!(!late.progress);
    assert_eq!((sender.flight().packets, cwnd(&sender)), (0, 1.0));

    send(&mut sender, 220, 5..=6);
    assert_eq!(sender.next_timeout(), Some(at(220 + 400)), "doubled");
    sender.handle_timeout(at(620), 5, &mut FeedbackOutcome::default());
    send(&mut sender, 620, 7..=8);
    assert_eq!(sender.next_timeout(), Some(at(620 + 800)), "and again");
    hear(&mut sender, 640, 8, &[(RECEIVED, 2)]);
    send(&mut sender, 640, 9..=10);
    assert_eq!(sender.next_timeout(), Some(at(840)), "a sample ends it");
    assert_eq!(sender.gauges().timeouts, 2);
}

/// The timer restarts with progress and runs only while data is in flight; its minimum is configurable.
#[test]
fn the_timer_follows_progress() {
    let mut config = config(8.0, 2.0);
    config.min_rto = Duration::from_secs(1).into();
    let mut sender = Sender::windowed(at(0), &config, 1_000, None);
    assert_eq!(sender.next_timeout(), None);
    send(&mut sender, 0, 1..=2);
    send(&mut sender, 500, 3..=3);
    let deadline = sender.next_timeout();
    assert_eq!(deadline, Some(at(1_000)), "not moved by more data");
    hear(&mut sender, 600, 1, &[(RECEIVED, 1)]);
    // The sample of 600 ms and four times half of it.
    assert_eq!(sender.next_timeout(), Some(at(600 + 1_800)));
    hear(&mut sender, 700, 3, &[(RECEIVED, 3)]);
    assert_eq!(sender.next_timeout(), None);
}

/// RFC 4340, 11.3: a receiver may delay the acknowledgement of a single packet for 200 ms. That is no timeout, although
/// round-trip time samples, less the elapsed time, are far shorter.
#[test]
fn a_delayed_acknowledgement_is_no_timeout() {
    let mut sender = steady(8.0);
    for number in 1..=20 {
        let sent = number * 1_000;
        send(&mut sender, sent, number..=number);
        assert!(
            sender.next_timeout() > Some(at(sent + 220)),
            "packet {number}"
        );
        let alone = [(RECEIVED, 1)];
        let told = hear_after(&mut sender, sent + 220, number, &alone, Some(20_000));
        assert_eq!(fates(&told), [(number, Fate::Acknowledged)]);
    }
    assert_eq!(sender.srtt(), Some(Duration::from_millis(20)));
    // The next packet makes the timer expire earlier, but never in the past.
    for (later, deadline) in [(100, 300), (390, 400)] {
        let mut sender = steady(8.0);
        sender.on_rtt_sample(at(0), Duration::from_millis(20));
        send(&mut sender, 0, 1..=1);
        assert_eq!(sender.next_timeout(), Some(at(400)));
        send(&mut sender, later, 2..=2);
        assert_eq!(sender.next_timeout(), Some(at(deadline)));
    }
}

/// RFC 4340, 11.3: with an Ack Ratio of four, the receiver may also delay the acknowledgement of three packets, as soon
/// as it may know the ratio.
#[test]
fn a_larger_ratio_is_waited_for() {
    let mut sender = steady(32.0);
    sender.on_rtt_sample(at(0), Duration::from_millis(20));
    sender.set_ack_ratio(4);
    for (number, deadline) in [(1, 400), (2, 400), (3, 400), (4, 200)] {
        send(&mut sender, 0, number..=number);
        assert_eq!(sender.next_timeout(), Some(at(deadline)), "packet {number}");
    }
    let mut sender = steady(32.0);
    sender.on_rtt_sample(at(0), Duration::from_millis(20));
    send(&mut sender, 0, 1..=1);
    for number in [50, 52, 53, 54] {
        let without_data = Arrival {
            data: None,
            ..data(number)
        };
        arrive(&mut sender, 1, without_data);
    }
    assert_eq!(sender.wanted_ack_ratio(), Some(4), "51 was lost");
    send(&mut sender, 1, 2..=2);
    assert_eq!(sender.next_timeout(), Some(at(400)), "two may wait now");
}

/// RFC 4341, 6.1.1: an endpoint with no data in flight gets no acknowledgements, so a missing packet was not one.
#[test]
fn without_data_no_acknowledgement_is_missed() {
    let mut sender = steady(32.0);
    for number in [50, 52, 53, 54] {
        arrive(&mut sender, 1, data(number));
    }
    assert_eq!(sender.wanted_ack_ratio(), Some(2));
    assert!(!sender.wants_ndp_counts());
}

/// RFC 4341, 5: there is one round-trip time sample per window, less the peer's delay (RFC 4340, 13.2).
#[test]
fn one_round_trip_sample_per_window() {
    let mut sender = steady(8.0);
    send(&mut sender, 0, 1..=4);
    hear_after(&mut sender, 150, 2, &[(RECEIVED, 2)], Some(5_000));
    assert_eq!(
        sender.srtt(),
        Some(Duration::from_millis(100)),
        "150 ms less 50 ms"
    );
    hear(&mut sender, 900, 4, &[(RECEIVED, 4)]);
    assert_eq!(
        sender.srtt(),
        Some(Duration::from_millis(100)),
        "the same window"
    );
    send(&mut sender, 900, 5..=5);
    hear(&mut sender, 1_080, 5, &[(RECEIVED, 1)]);
    assert_eq!(
        sender.srtt(),
        Some(Duration::from_millis(110)),
        "7/8 of 100 and 1/8 of 180"
    );
}

/// An elapsed time as long as the round trip or longer is impossible and is not subtracted.
#[test]
fn item_9_an_impossible_elapsed_time_is_ignored() {
    for (units, expected) in [(9_999, 10), (10_000, 100_000), (u32::MAX, 100_000)] {
        let mut sender = steady(8.0);
        send(&mut sender, 0, 1..=1);
        hear_after(&mut sender, 100, 1, &[(RECEIVED, 1)], Some(units));
        assert_eq!(
            sender.srtt(),
            Some(Duration::from_micros(expected)),
            "{units}"
        );
    }
}

/// RFC 4340, 11.4: a packet that was never sent is not acknowledged, a vector with a reserved state is not believed,
/// and runs beyond the first packet have no effect.
#[test]
fn items_10_and_25_lies_are_ignored() {
    let mut sender = steady(8.0);
    assert_eq!(
        fates(&hear(&mut sender, 0, 1, &[(RECEIVED, 1)])),
        [],
        "nothing was sent"
    );
    send(&mut sender, 0, 1_000..=1_003);
    assert_eq!(fates(&hear(&mut sender, 50, 1_004, &[(RECEIVED, 5)])), []);
    let reserved = [(RECEIVED, 1), (EntryState::Reserved, 1)];
    assert_eq!(fates(&hear(&mut sender, 50, 1_003, &reserved)), []);
    assert_eq!(sender.flight().packets, 4);
    assert_eq!(cwnd(&sender), 8.0);
    let long = vec![(RECEIVED, 64); 500];
    assert_eq!(fates(&hear(&mut sender, 50, 1_003, &long)).len(), 4);
    assert_eq!(sender.flight().packets, 0);
}

/// RFC 4341, 5: slow start adds one packet for two acknowledged packets, and at most half the Ack Ratio per
/// acknowledgement. Congestion avoidance adds one per window.
#[test]
fn windows_grow_as_the_profile_says() {
    let mut sender = Sender::windowed(at(0), &config(4.0, 100.0), 1_000, None);
    send(&mut sender, 0, 1..=4);
    hear(&mut sender, 100, 2, &[(RECEIVED, 2)]);
    assert_eq!(cwnd(&sender), 5.0);
    send(&mut sender, 100, 5..=7);
    hear(&mut sender, 200, 6, &[(RECEIVED, 6)]);
    assert_eq!(cwnd(&sender), 6.0, "four packets, but one acknowledgement");
    sender.set_ack_ratio(4);
    send(&mut sender, 200, 8..=12);
    hear(&mut sender, 300, 12, &[(RECEIVED, 6)]);
    assert_eq!(cwnd(&sender), 8.0, "half of an Ack Ratio of four");
    sender.set_ack_ratio(1);
    for (last, window) in [(14, 8.0), (16, 9.0)] {
        send(&mut sender, 300, last - 1..=last);
        hear(&mut sender, 400, last, &[(RECEIVED, 2)]);
        assert_eq!(cwnd(&sender), window, "half a packet each");
    }

    let mut sender = steady(4.0);
    send(&mut sender, 0, 1..=4);
    hear(&mut sender, 100, 2, &[(RECEIVED, 2)]);
    assert_eq!(cwnd(&sender), 4.0);
    hear(&mut sender, 101, 4, &[(RECEIVED, 4)]);
    assert_eq!(cwnd(&sender), 5.0, "a whole window");
}

/// The initial window is that of RFC 3390 unless configured, and the configured law makes the cuts.
#[test]
fn the_configuration_reaches_the_controller() {
    for (size, window) in [(500, 4.0), (1_424, 3.0), (9_000, 2.0)] {
        let sender = Sender::windowed(at(0), &Ccid2Config::default(), size, None);
        assert_eq!(cwnd(&sender), window, "{size} B");
        assert_eq!(sender.gauges().ssthresh_packets, Some(f64::INFINITY));
    }
    let mut config = config(100.0, 50.0);
    let law = ThresholdWindow::new(f64::INFINITY, 0.05);
    config.law = Chosen::of("threshold-window", Arc::new(law));
    let mut sender = Sender::windowed(at(0), &config, 500, None);
    assert_eq!(sender.gauges().ssthresh_packets, Some(50.0));
    send(&mut sender, 0, 1..=4);
    hear(&mut sender, 100, 4, &[(RECEIVED, 3), (MISSING, 1)]);
    assert_eq!(cwnd(&sender), 95.0);
}

/// RFC 4341, 5.1: after a pause longer than the timeout the window is the initial one again, or is halved for each
/// timeout (RFC 2861), or is kept. This already applies to the first packet after the pause.
#[test]
fn a_pause_has_the_configured_effect() {
    for (idle, window) in [
        (IdleRule::Restart, 4.0),
        (IdleRule::Halve, 2.0),
        (IdleRule::Keep, 9.0),
    ] {
        let mut config = config(4.0, 100.0);
        config.idle = idle;
        let mut sender = Sender::windowed(at(0), &config, 1_000, None);
        let mut next = 1;
        // Full windows of 4 and 6 packets, with one acknowledgement for two packets.
        for (sent, window) in [(0, 4), (100, 6)] {
            send(&mut sender, sent, next..=next + window - 1);
            for _ in 0..window / 2 {
                hear(&mut sender, sent + 50, next + 1, &[(RECEIVED, 2)]);
                next += 2;
            }
        }
        assert_eq!(cwnd(&sender), 9.0);
        // Samples of 50 ms give the minimum timeout, 200 ms. Two timeouts pass after the last acknowledgement, for which
        // data waited.
        send(&mut sender, 150 + 401, next..=next);
        let left = cwnd(&sender);
        assert_eq!(left, window, "{idle:?}");
    }
}

/// RFC 4341, 6.2: the receiver's acknowledgements are acknowledged once per window of data.
#[test]
fn acknowledgements_are_acknowledged_once_per_window() {
    let mut sender = steady(4.0);
    send(&mut sender, 0, 1..=8);
    hear(&mut sender, 100, 3, &[(RECEIVED, 3)]);
    assert!(!sender.wants_ack_of_ack());
    hear(&mut sender, 101, 5, &[(RECEIVED, 5)]);
    assert!(sender.wants_ack_of_ack());
    sender.on_feedback_acknowledged(at(102));
    assert!(!sender.wants_ack_of_ack());
}

/// RFC 4341, 6.1.2: the Ack Ratio is two. It is one while the window stays below three, but not after a short time with
/// a small window, and never with a window of four or more.
#[test]
fn the_ack_ratio_follows_small_windows() {
    let mut sender = steady(2.0);
    let mut number = 0;
    for report in 1..=40 {
        number += 1;
        send(&mut sender, report * 100, number..=number);
        hear(&mut sender, report * 100 + 50, number, &[(RECEIVED, 1)]);
        let window = cwnd(&sender);
        let ratio = sender.wanted_ack_ratio().unwrap();
        if window <= 2.0 && report >= 4 {
            assert_eq!(ratio, 1, "report {report}");
        }
        if report < 4 || window >= 4.0 {
            assert_eq!(ratio, 2, "report {report}, window {window}");
        }
        // One packet at a time with data waiting: the window grows by one per window of reports.
    }
    assert!(cwnd(&sender) >= 4.0, "the test reached both sides");
}

/// The allowed rate is the window divided by the round-trip time, once that is known.
#[test]
fn the_allowed_rate_is_window_over_round_trip() {
    let mut sender = steady(10.0);
    assert_eq!(sender.allowed_rate(), None);
    sender.on_rtt_sample(at(0), Duration::from_millis(100));
    assert_eq!(sender.allowed_rate().unwrap().bytes_per_s(), 100_000.0);
    assert_eq!(sender.packets_per_rtt(), 10);
}

/// At the end, every datagram in flight gets the fate that it was sent, as nothing more is known.
#[test]
fn the_end_leaves_nothing_without_a_fate() {
    let mut sender = steady(8.0);
    send(&mut sender, 0, 1..=3);
    hear(&mut sender, 100, 2, &[(RECEIVED, 1), (MISSING, 1)]);
    let mut outcome = FeedbackOutcome::default();
    sender.finish(&mut outcome);
    assert_eq!(fates(&outcome), [(1, Fate::Sent), (3, Fate::Sent)]);
    assert_eq!(sender.flight().packets, 0);
    assert_eq!(sender.next_timeout(), None);
}

/// Sequence numbers wrap within a window: losses, arrivals and samples are found on both sides of zero.
#[test]
fn the_circle_of_numbers_closes() {
    let wrap = 1_u64 << 48;
    let mut sender = steady(16.0);
    send(&mut sender, 0, wrap - 4..=wrap + 4);
    let entries = [(RECEIVED, 4), (MISSING, 1), (RECEIVED, 2), (MISSING, 2)];
    let told = hear(&mut sender, 100, wrap + 4, &entries);
    let lost: Vec<_> = fates(&told)
        .into_iter()
        .filter(|&(_, fate)| fate == Fate::Lost)
        .map(|(id, _)| id)
        .collect();
    assert_eq!(lost, [wrap - 4, wrap - 3, wrap]);
    assert_eq!(fates(&told).len(), 9);
    assert_eq!(sender.srtt(), Some(Duration::from_millis(100)));
    assert_eq!(sender.flight().packets, 0);
}

/// Packets without data leave no state, however many are sent and never acknowledged.
#[test]
fn packets_without_data_leave_no_state() {
    let mut sender = steady(8.0);
    send(&mut sender, 0, 1..=1);
    for number in 2..10_000 {
        send_without_data(&mut sender, 1, number);
    }
    assert_eq!(sender.pipe.kept(), 1);
    hear(&mut sender, 100, 9_999, &[(RECEIVED, 3), (MISSING, 1)]);
    assert_eq!(sender.pipe.kept(), 0, "and they count as later arrivals");
}
