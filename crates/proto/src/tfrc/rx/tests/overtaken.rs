//! Data packets and acknowledgements from the same sender, in any order.

use fairwire_units::Duration;
use fairwire_wire::Seq;

use super::{at, data, feedback, half, non_data};
use crate::config::Ccid3Config;
use crate::half::{AckDue, Arrival, Rx};
use crate::tfrc::Profile;
use crate::tfrc::rx::TfrcRx;

/// RFC 4342, 8.1 and 10.3: only data packets carry window counters. Data that an acknowledgement has overtaken still
/// advances the counter, so feedback is due a round trip later.
#[test]
fn an_acknowledgement_holds_no_counter_back() {
    let mut rx = half();
    rx.on_packet(at(0), data(0, 0).into());
    feedback(&mut rx, at(0), 0);
    rx.on_packet(at(100), non_data(2).into());
    rx.on_packet(at(101), data(1, 4).into());
    assert_eq!(rx.ack_due(at(101)), AckDue::Now);
}

/// RFC 4342, 10.2: a loss after such data is more than a round trip after the last event.
#[test]
fn an_acknowledgement_hides_no_loss_event() {
    let mut rx = half();
    for arrival in [data(0, 0), data(2, 0), data(3, 0), data(4, 0)] {
        rx.on_packet(at(0), arrival.into());
    }
    assert_eq!(rx.loss_events(), 1);
    for arrival in [non_data(7), data(5, 5), data(8, 5), data(9, 5)] {
        rx.on_packet(at(130), arrival.into());
    }
    assert_eq!(rx.loss_events(), 2);
}

/// RFC 4342, 10.2: a loss has the counter of the packet before it. An acknowledgement carries no counter; it takes that
/// of the data before it, even if later data arrived first.
#[test]
fn a_late_acknowledgement_makes_no_loss_event_later() {
    let mut rx = half();
    for arrival in [data(0, 0), data(3, 4), data(4, 8), non_data(1), data(5, 8)] {
        rx.on_packet(at(0), arrival.into());
    }
    assert_eq!(rx.loss_events(), 1, "2 is lost, behind counter 0");
    for arrival in [data(7, 9), data(8, 9), data(9, 9)] {
        rx.on_packet(at(130), arrival.into());
    }
    assert_eq!(rx.loss_events(), 2, "6 is lost, behind counter 8");
}

/// RFC 4342, 8.1: counters begin at 0, and a late acknowledgement before all data has counter 0.
#[test]
fn a_late_acknowledgement_may_be_the_first_packet() {
    let mut rx = half();
    for arrival in [data(2, 4), data(3, 8), non_data(1)] {
        rx.on_packet(at(0), arrival.into());
    }
    assert_eq!(rx.loss_events(), 1, "0 is lost");
    for arrival in [data(5, 9), data(6, 9), data(7, 9)] {
        rx.on_packet(at(130), arrival.into());
    }
    assert_eq!(rx.loss_events(), 2, "4 is lost, behind counter 8");
}

/// RFC 4342, 8.1: only data packets carry the counter, so acknowledgements between them hide no turn of it.
///
/// The receiver of a two-way flow learns that the path has become longer.
#[test]
fn acknowledgements_hide_no_turn_of_the_counter() {
    for arrive in [true, false] {
        let short = Duration::from_micros(300);
        let first = Seq::ZERO.prev();
        let config = Ccid3Config::default();
        let mut rx = TfrcRx::new(&config, Profile::Ccid3, Some(short), at(0), first);
        for i in 0..20 {
            for other in 0..4 {
                if arrive {
                    rx.on_packet(at(20 * i), non_data(5 * i + other).into());
                }
            }
            let with_counts = Arrival {
                ndp_count: Some(4),
                has_ndp_counts: true,
                ..data(5 * i + 4, (i % 16) as u8)
            };
            rx.on_packet(at(20 * i), with_counts.into());
        }
        assert_eq!(rx.rtt(), Duration::from_millis(80), "arrive: {arrive}");
    }
}
