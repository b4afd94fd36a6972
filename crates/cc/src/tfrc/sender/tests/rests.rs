//! The nofeedback timer of a sender that does not send.

use fairwire_units::Instant;

use super::{MODEST, S, at, plain, report};
use crate::Controller;
use crate::tfrc::Sender;

/// Returns the nofeedback timer of a sender that sends a packet now.
pub(super) fn timer_if_sent(sender: &Sender, now_ms: u64) -> Option<Instant> {
    let mut sender = sender.clone();
    sender.on_sent(at(now_ms), MODEST, S);
    sender.next_timeout()
}

/// RFC 5348, 4.4: idle time does not lower the initial rate, so nobody is woken for it. A packet sent before the timer
/// would have expired is covered by it, and a later one sets it again.
#[test]
fn an_idle_sender_is_not_woken() {
    let mut sender = Sender::new(plain());
    sender.on_sent(at(0), MODEST, S);
    assert!(sender.next_timeout().is_some());
    report(&mut sender, 100, 0.0, 0.0);
    assert_eq!(sender.next_timeout(), None);
    assert_eq!(timer_if_sent(&sender, 499), Some(at(500)));
    assert_eq!(timer_if_sent(&sender, 500), Some(at(900)));
    assert_eq!(timer_if_sent(&sender, 60_000), Some(at(60_400)));
}
