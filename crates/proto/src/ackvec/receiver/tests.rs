use super::{ACK_DELAY, Receiver};
use crate::ackvec::history::MAX_ENTRIES;
use crate::ackvec::records::MAX_RECORDS;
use crate::ackvec::tests::{ack, at, data, seq, told_by};
use crate::half::{Ack, AckDue, Arrival, PeerData, Rx};
use crate::packet_options::PacketOptions;
use fairwire_units::{Duration, Ecn};
use fairwire_wire::{AckEntry, DccpOption, EntryState, Packet};

fn elapsed(receiver: &mut Receiver, ms: u64, ours: u64, ackno: u64) -> Option<u32> {
    let head = ack(seq(ours), seq(ackno), |encoder| {
        receiver
            .write_options(at(ms), seq(ours), seq(ackno), encoder)
            .unwrap();
    });
    let packet = Packet::decode(&head).unwrap();
    packet.options.iter().find_map(|raw| match raw.decode() {
        Ok(DccpOption::ElapsedTime(units)) => Some(units),
        _ => None,
    })
}

fn pure_ack(number: u64) -> Arrival {
    Arrival {
        data: None,
        ..data(number)
    }
}

/// RFC 4340, 11.3: an acknowledgement is due for as many data packets as the Ack Ratio says, or after 200 ms.
#[test]
fn acknowledgements_follow_the_ratio_and_the_timer() {
    let mut receiver = Receiver::new(Some(seq(1)));
    assert_eq!(receiver.ack_due(at(0)), AckDue::No);
    receiver.on_packet(at(10), data(1).into());
    assert_eq!(receiver.ack_due(at(10)), AckDue::At(at(10) + ACK_DELAY));
    receiver.on_packet(at(20), data(2).into());
    assert_eq!(receiver.ack_due(at(20)), AckDue::Now);
    told_by(&mut receiver, at(20), 1, 2);
    assert_eq!(receiver.ack_due(at(20)), AckDue::No);
    for (ratio, packets) in [(1, 1), (3, 3), (0, 2)] {
        receiver.set_ack_ratio(ratio);
        for packet in 1..=packets {
            let number = receiver.history.newest().unwrap().get() + 1;
            receiver.on_packet(at(30), data(number).into());
            let due = receiver.ack_due(at(30)) == AckDue::Now;
            assert_eq!(due, packet == packets, "ratio {ratio}, packet {packet}");
        }
        let newest = receiver.history.newest().unwrap().get();
        told_by(&mut receiver, at(30), 10 + u64::from(ratio), newest);
    }
}

/// A vector on all data goes with packets that leave anyway, once there is something to report. It causes no
/// acknowledgement.
#[test]
fn a_vector_can_ride_on_all_data() {
    let mut receiver = Receiver::new(Some(seq(1))).on_all_data(true);
    assert_eq!(receiver.ack_due(at(0)), AckDue::No);
    receiver.on_packet(at(10), data(1).into());
    assert_eq!(receiver.ack_due(at(10)), AckDue::At(at(10) + ACK_DELAY));
    told_by(&mut receiver, at(20), 1, 1);
    assert_eq!(receiver.ack_due(at(20)), AckDue::WithData);
}

/// RFC 4340, 13.2: Elapsed Time is never more than the true time. Before the first packet arrives, an acknowledgement
/// names the number before it, for which no time is known.
#[test]
fn no_time_has_passed_since_a_packet_never_shown() {
    let mut receiver = Receiver::new(Some(seq(5)));
    assert_eq!(elapsed(&mut receiver, 13_000, 1, 4), None);
    receiver.on_packet(at(13_000), data(5).into());
    assert_eq!(elapsed(&mut receiver, 13_100, 2, 5), Some(10_000));
}

/// Packets without data are not acknowledged, not even after a gap.
#[test]
fn acknowledgements_call_for_none() {
    let mut receiver = Receiver::new(Some(seq(1)));
    for number in [1, 2, 5] {
        receiver.on_packet(at(0), pure_ack(number).into());
        assert_eq!(receiver.ack_due(at(0)), AckDue::No, "packet {number}");
    }
}

/// RFC 4340, 11.3: a gap, a late packet and a mark are reported at once, marks once per round trip.
#[test]
fn hints_of_congestion_are_reported_at_once() {
    let mut receiver = Receiver::new(Some(seq(1)));
    receiver.set_rtt_hint(Duration::from_millis(100));
    let marked = |number| Arrival {
        ecn: Ecn::Ce,
        ..data(number)
    };
    for (ms, arrival, due, why) in [
        (0, data(1), false, "in order"),
        (1, data(3), true, "after a gap"),
        (2, data(2), true, "late"),
        (3, marked(4), true, "marked"),
        (4, marked(5), false, "marked again within the round trip"),
        (102, marked(6), false, "and just before its end"),
        (103, marked(7), true, "marked in the next"),
    ] {
        receiver.on_packet(at(ms), arrival.into());
        assert_eq!(receiver.ack_due(at(ms)) == AckDue::Now, due, "{why}");
        let newest = receiver.history.newest().unwrap().get();
        told_by(&mut receiver, at(ms), 100 + ms, newest);
    }
}

/// A duplicate is no new information: it causes no acknowledgement and no state.
#[test]
fn duplicates_change_nothing() {
    let mut receiver = Receiver::new(Some(seq(1)));
    receiver.on_packet(at(0), data(1).into());
    told_by(&mut receiver, at(0), 1, 1);
    receiver.on_packet(at(1), data(1).into());
    receiver.on_packet(at(1), data(0).into());
    assert_eq!(receiver.ack_due(at(1)), AckDue::No);
}

/// RFC 4340, 13.2: Elapsed Time is the time for which the acknowledged packet was held, rounded down, in units of 10
/// us.
#[test]
fn elapsed_time_is_never_overstated() {
    let mut receiver = Receiver::new(Some(seq(1)));
    receiver.on_packet(at(0), data(1).into());
    assert_eq!(elapsed(&mut receiver, 0, 1, 1), None, "at once");
    let mut receiver = Receiver::new(Some(seq(1)));
    receiver.on_packet(at(0), data(1).into());
    assert_eq!(elapsed(&mut receiver, 150, 1, 1), Some(15_000));
    receiver.on_packet(at(200), data(2).into());
    assert_eq!(
        elapsed(&mut receiver, 210, 2, 2),
        Some(1_000),
        "since the newest"
    );
    receiver.on_packet(at(220), data(1).into());
    assert_eq!(
        elapsed(&mut receiver, 1_200, 3, 2),
        Some(100_000),
        "four bytes, older copies do not matter"
    );
    assert_eq!(
        elapsed(&mut receiver, 1_300, 4, 1),
        None,
        "unknown for an older packet"
    );
}

/// RFC 4340, 11.4.2: what an acknowledged packet of ours reported is not reported again. Packets of ours that were
/// never acknowledged free nothing.
#[test]
fn acknowledged_vectors_are_not_repeated() {
    let mut receiver = Receiver::new(Some(seq(1)));
    for number in 1..=4 {
        receiver.on_packet(at(0), data(number).into());
    }
    assert_eq!(told_by(&mut receiver, at(0), 50, 4).len(), 4);
    for number in 5..=6 {
        receiver.on_packet(at(0), data(number).into());
    }
    assert_eq!(told_by(&mut receiver, at(0), 52, 6).len(), 6);
    receiver.acknowledge(51);
    receiver.acknowledge(53);
    assert_eq!(
        told_by(&mut receiver, at(0), 54, 6).len(),
        6,
        "51 and 53 told nothing"
    );
    receiver.acknowledge(50);
    assert_eq!(
        told_by(&mut receiver, at(0), 55, 6).len(),
        2,
        "5 and 6 are left"
    );
    receiver.acknowledge(55);
    assert_eq!(
        told_by(&mut receiver, at(0), 56, 6).len(),
        1,
        "the newest is always told"
    );
    receiver.acknowledge(52);
    assert_eq!(
        told_by(&mut receiver, at(0), 57, 6).len(),
        1,
        "an older one changes nothing"
    );
}

/// RFC 4340, A.3: a packet that arrives after a vector reported it missing is still reported after that vector is
/// acknowledged.
#[test]
fn late_packets_survive_older_acknowledgements() {
    let mut receiver = Receiver::new(Some(seq(1)));
    for number in [1, 2, 4, 5] {
        receiver.on_packet(at(0), data(number).into());
    }
    told_by(&mut receiver, at(0), 50, 5);
    receiver.on_packet(at(1), data(3).into());
    receiver.acknowledge(50);
    let told = told_by(&mut receiver, at(1), 51, 5);
    assert_eq!(told.last(), Some(&(3, EntryState::Received)));
    assert_eq!(told.len(), 3, "1 and 2 are known");
    receiver.acknowledge(51);
    assert_eq!(told_by(&mut receiver, at(1), 52, 5).len(), 1);
}

/// RFC 4340, 11.3, 11.4 and A.3: a packet that is late by more than a round trip is acknowledged at once, although the
/// sender has acknowledged a vector that reported it missing. It is reported until the sender has a vector that says so.
#[test]
fn packets_later_than_a_round_trip_are_acknowledged() {
    let mut receiver = Receiver::new(Some(seq(1)));
    for number in [1, 2, 4, 5] {
        receiver.on_packet(at(0), data(number).into());
    }
    told_by(&mut receiver, at(0), 50, 5);
    receiver.acknowledge(50);
    receiver.on_packet(at(9), data(6).into());
    assert_eq!(told_by(&mut receiver, at(9), 51, 6).len(), 2);
    receiver.on_packet(at(10), data(3).into());
    assert_eq!(receiver.ack_due(at(10)), AckDue::Now);
    receiver.acknowledge(51);
    for ours in 52..54 {
        let told = told_by(&mut receiver, at(10), ours, 6);
        let all = [6, 5, 4, 3].map(|number| (number, EntryState::Received));
        assert_eq!(told, all);
    }
    receiver.acknowledge(52);
    assert_eq!(told_by(&mut receiver, at(11), 54, 6).len(), 1);
}

/// If every second packet is late by more than a round trip, vectors still cover a few round trips only.
#[test]
fn constant_lateness_does_not_lengthen_vectors_for_ever() {
    let mut receiver = Receiver::new(Some(seq(0)));
    for step in 0..1_000_u64 {
        let newest = 2 * step;
        receiver.on_packet(at(step), data(newest).into());
        if step >= 20 {
            receiver.on_packet(at(step), data(newest - 39).into());
        }
        let told = told_by(&mut receiver, at(step), step, newest);
        assert!(told.len() <= 160, "{} packets at step {step}", told.len());
        // The acknowledgement of a vector takes ten steps.
        if step >= 10 {
            receiver.acknowledge(step - 10);
        }
    }
}

/// The state is bounded if the peer never acknowledges, even with the worst pattern of losses, and the vector always
/// fits into an Ack.
#[test]
fn state_is_bounded_when_never_acknowledged() {
    let mut receiver = Receiver::new(Some(seq(0)));
    let bound = (MAX_ENTRIES + 8) * 8 + MAX_RECORDS * 8;
    for number in 0..20_000 {
        if number % 2 == 0 {
            receiver.on_packet(at(number), data(number).into());
            told_by(&mut receiver, at(number), number, number);
        }
        assert!(
            receiver.state_len() <= bound,
            "{} bytes",
            receiver.state_len()
        );
        assert!(receiver.options_len(at(number)) <= MAX_ENTRIES + 4 + 6);
    }
}

/// Feedback that does not fit is not written at all and stays due.
#[test]
fn no_room_leaves_the_feedback_due() {
    let mut receiver = Receiver::new(Some(seq(1)));
    for number in [1, 3, 5] {
        receiver.on_packet(at(0), data(number).into());
    }
    let needed = receiver.options_len(at(5));
    for (room, fits) in [(needed - 1, false), (needed, true)] {
        ack(seq(1), seq(5), |encoder| {
            while encoder.room() > room {
                encoder.option(&DccpOption::Padding).unwrap();
            }
            let before = encoder.options_len();
            let wrote = receiver.write_options(at(5), seq(1), seq(5), encoder);
            assert_eq!(wrote.is_ok(), fits, "{room} bytes");
            assert_eq!(
                encoder.options_len() - before,
                if fits { needed } else { 0 }
            );
        });
        assert_eq!(receiver.ack_due(at(5)) == AckDue::No, fits);
    }
}

/// RFC 4340, 11.4.2: a vector from the peer that shows a packet of ours as arrived frees as much as its acknowledgement
/// number does. One that shows the packet as missing, or ends before it, frees nothing.
#[test]
fn vectors_acknowledge_as_numbers_do() {
    use EntryState::{NotReceived, Received};
    for (entries, left) in [
        (vec![(Received, 10)], 2),
        (vec![(Received, 5), (NotReceived, 2), (Received, 3)], 2),
        (vec![(Received, 8), (NotReceived, 2)], 6),
        (vec![(Received, 8)], 6),
    ] {
        let mut receiver = Receiver::new(Some(seq(1)));
        for number in 1..=4 {
            receiver.on_packet(at(0), data(number).into());
        }
        told_by(&mut receiver, at(0), 50, 4);
        for number in 5..=6 {
            receiver.on_packet(at(0), data(number).into());
        }
        let head = ack(seq(1), seq(58), |encoder| {
            let entries = entries
                .iter()
                .map(|&(state, run)| AckEntry::new(state, run));
            encoder.ack_vector(entries).unwrap();
        });
        receiver.on_ack(Ack {
            seq: seq(1),
            ackno: seq(58),
            options: &PacketOptions::read(Packet::decode(&head).unwrap().options),
        });
        let told = told_by(&mut receiver, at(0), 60, 6);
        assert_eq!(told.len(), left, "{entries:?}");
    }
}

/// RFC 4341, 6.2.1: the peer is quiescent when max(0.2 s, 2 RTT) have passed without data and a vector that covers all
/// its data is known to have arrived.
#[test]
fn quiescence_needs_silence_and_the_last_acknowledgement() {
    for (rtt_ms, wait_ms) in [(20, 200), (100, 200), (150, 300)] {
        let rtt = Duration::from_millis(rtt_ms);
        let mut receiver = Receiver::new(Some(seq(1)));
        assert_eq!(receiver.peer_data(at(0), rtt), PeerData::Quiescent);
        receiver.on_packet(at(1_000), data(1).into());
        told_by(&mut receiver, at(1_000), 50, 1);
        receiver.on_packet(at(2_000), data(2).into());
        told_by(&mut receiver, at(2_000), 51, 2);
        receiver.on_packet(at(2_050), pure_ack(3).into());
        let then = |ms: u64| at(2_000 + ms);
        receiver.acknowledge(50);
        let before = receiver.peer_data(then(wait_ms - 1), rtt);
        assert_eq!(before, PeerData::Flowing, "{rtt_ms} ms");
        let after = receiver.peer_data(then(wait_ms), rtt);
        assert_eq!(after, PeerData::Paused, "the last is not acknowledged");
        receiver.acknowledge(51);
        assert_eq!(receiver.peer_data(then(wait_ms), rtt), PeerData::Quiescent);
        receiver.on_packet(at(9_000), data(4).into());
        assert_eq!(receiver.peer_data(at(9_000), rtt), PeerData::Flowing);
    }
}

/// RFC 4340, 12.2: the echo is the sum of ECT(1) over the packets reported received and not marked, with or without
/// data. A receiver that cannot read ECN bits echoes zero.
#[test]
fn nonces_are_echoed_by_who_reads_them() {
    let arriving = |number, ecn| Arrival {
        ecn,
        ..data(number)
    };
    for reads in [true, false] {
        let mut receiver = Receiver::new(Some(seq(1)));
        if !reads {
            receiver = receiver.without_ecn();
        }
        let mut ours = 100;
        for (arrival, echo, why) in [
            (arriving(1, Ecn::Ect1), true, "one"),
            (arriving(2, Ecn::Ect0), true, "ECT(0) is zero"),
            (arriving(3, Ecn::Ect1), false, "two of them"),
            (arriving(3, Ecn::Ect1), false, "a copy counts once"),
            (arriving(5, Ecn::Ect1), true, "behind a gap"),
            (arriving(5, Ecn::Ce), false, "the copy's mark takes it away"),
            (
                Arrival {
                    data: None,
                    ..arriving(6, Ecn::Ect1)
                },
                true,
                "without data",
            ),
            (arriving(4, Ecn::Ect1), false, "late"),
        ] {
            receiver.on_packet(at(0), arrival.into());
            ours += 1;
            let newest = receiver.history.newest().unwrap();
            let head = ack(seq(ours), newest, |encoder| {
                let wrote = receiver.write_options(at(0), seq(ours), newest, encoder);
                wrote.unwrap();
            });
            let packet = Packet::decode(&head).unwrap();
            let told = packet.options.iter().find_map(|raw| match raw.decode() {
                Ok(DccpOption::AckVector { nonce, .. }) => Some(nonce),
                _ => None,
            });
            assert_eq!(told, Some(reads && echo), "{why}");
        }
    }
}
