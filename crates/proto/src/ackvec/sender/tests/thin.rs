//! What thin flows need beside RFC 4341: losses by time, and probes of a path that has failed.

use fairwire_cc::Permit;
use fairwire_units::Duration;

use super::{MISSING, RECEIVED, config, cwnd, fates, hear, send};
use crate::ackvec::sender::Sender;
use crate::ackvec::tests::at;
use crate::config::{AckRatioFollows, Ccid2Config};
use crate::event::Fate;
use crate::half::{FeedbackOutcome, Tx};

/// RFC 9002, 6.1.2: a packet is lost an eighth more than a round trip after it left, if a later one has arrived. It is
/// lost at that time, or with the acknowledgement that shows it. By counting alone neither is a loss.
#[test]
fn a_loss_is_known_in_time() {
    for by_time in [true, false] {
        let config = Ccid2Config {
            losses_by_time: by_time,
            ..config(8.0, 2.0)
        };
        let mut sender = Sender::windowed(at(0), &config, 1_000, Some(Duration::from_millis(80)));
        send(&mut sender, 0, 1..=1);
        send(&mut sender, 5, 2..=2);
        let early = hear(&mut sender, 85, 2, &[(RECEIVED, 1), (MISSING, 1)]);
        assert_eq!(fates(&early), [(2, Fate::Acknowledged)], "it may be late");
        let mut told = FeedbackOutcome::default();
        if by_time {
            assert_eq!(sender.next_timeout(), Some(at(90)));
            sender.handle_timeout(at(89), 10, &mut told);
            assert_eq!(fates(&told), []);
            sender.handle_timeout(at(90), 10, &mut told);
            assert_eq!(fates(&told), [(1, Fate::Lost)]);
            assert_eq!((cwnd(&sender), sender.flight().packets), (4.0, 0));
            assert_eq!(sender.next_timeout(), None);
        } else {
            assert!(sender.next_timeout() > Some(at(200)), "only the timeout");
        }
        send(&mut sender, 100, 3..=3);
        send(&mut sender, 140, 4..=4);
        let shown = hear(&mut sender, 220, 4, &[(RECEIVED, 1), (MISSING, 1)]);
        assert_eq!(fates(&shown).contains(&(3, Fate::Lost)), by_time);
    }
}

/// After a timeout a packet in a round trip may leave although the window is full, until something is acknowledged.
#[test]
fn an_outage_is_probed() {
    for probes in [true, false] {
        let config = Ccid2Config {
            probe_outages: probes,
            ..config(2.0, 2.0)
        };
        let mut sender = Sender::windowed(at(0), &config, 1_000, Some(Duration::from_millis(80)));
        send(&mut sender, 0, 1..=2);
        assert_eq!(sender.permit(at(0), 1, 1_000), Permit::AwaitFeedback);
        let expires = sender.next_timeout().expect("data is in flight");
        sender.handle_timeout(expires, 1, &mut FeedbackOutcome::default());
        let ms = |later: u64| expires.saturating_since(at(0)).as_nanos() / 1_000_000 + later;
        assert_eq!(sender.permit(at(ms(0)), 1, 1_000), Permit::Now);
        send(&mut sender, ms(0), 3..=3);
        let (next, early) = (Permit::At(at(ms(80))), Permit::AwaitFeedback);
        let held = if probes { next } else { early };
        assert_eq!(sender.permit(at(ms(79)), 1, 1_000), held);
        let after = if probes { Permit::Now } else { early };
        assert_eq!(sender.permit(at(ms(80)), 1, 1_000), after);
        send(&mut sender, ms(80), 4..=5);
        hear(&mut sender, ms(160), 3, &[(RECEIVED, 1)]);
        assert_eq!(
            sender.permit(at(ms(300)), 1, 1_000),
            early,
            "the path is back"
        );
    }
}

/// A flow that sends less than four packets in a round trip asks for an acknowledgement of each, if the Ack Ratio follows
/// use, however large its window is; one that sends more does not.
#[test]
fn a_thin_flow_has_each_packet_acknowledged() {
    for (follows, apart_ms, ratio) in [
        (AckRatioFollows::Use, 50, 1),
        (AckRatioFollows::Use, 27, 1),
        (AckRatioFollows::Use, 10, 2),
        (AckRatioFollows::LostAcks, 50, 2),
    ] {
        let config = Ccid2Config {
            ack_ratio_follows: follows,
            ..config(20.0, 2.0)
        };
        let mut sender = Sender::windowed(at(0), &config, 1_000, Some(Duration::from_millis(80)));
        // An acknowledgement arrives about a round trip later.
        let lag = 80 / apart_ms;
        for number in 1..=40 {
            let sent = number * apart_ms;
            send(&mut sender, sent, number..=number);
            if number > lag {
                hear(&mut sender, sent, number - lag, &[(RECEIVED, 1)]);
            }
        }
        assert_eq!(
            sender.wanted_ack_ratio(),
            Some(ratio),
            "{follows:?} {apart_ms}"
        );
    }
}
