//! Packets with changed options.

use std::ops::Range;

use fairwire_proto::Encapsulation;
use fairwire_units::{Duration, Instant};
use fairwire_wire::{Ccid, Packet, option_type};

use super::{Judged, Oracle, Seen, Weather, finds, finds_on};

/// A line on which packets overtake each other.
const JITTER: Weather = Weather {
    loses: 10,
    marks: 0,
    jitter_ms: 100,
};

/// Shows a packet with changed options, if `change` changes one.
///
/// `change` gets the head, an option's type and the range of its data. Only packets in UDP are changed, because they
/// have no checksum of the head.
fn other_options(
    (oracle, now, host): (&mut Oracle, Instant, usize),
    seen: &Seen<'_>,
    change: impl Fn(&mut [u8], u8, Range<usize>) -> bool,
) -> Judged {
    let Seen::Sent {
        packet,
        head,
        transmit,
    } = seen
    else {
        return None;
    };
    if transmit.path.encapsulation != Encapsulation::Udp {
        return None;
    }
    let read = Packet::decode_head(head, transmit.payload.len()).ok()?;
    let place = |data: &[u8]| data.as_ptr() as usize - head.as_ptr() as usize;
    let options: Vec<(u8, Range<usize>)> = read
        .options
        .iter()
        .filter(|raw| !raw.data.is_empty())
        .map(|raw| {
            (
                raw.option_type,
                place(raw.data)..place(raw.data) + raw.data.len(),
            )
        })
        .collect();
    let mut head = head.to_vec();
    let mut changed = false;
    for (option, place) in options {
        changed |= change(&mut head, option, place);
    }
    let (packet, head) = (*packet, &head[..]);
    let seen = Seen::Sent {
        packet,
        head,
        transmit,
    };
    changed.then(|| oracle.see(now, host, &seen))
}

fn is_confirm(option: u8) -> bool {
    matches!(option, option_type::CONFIRM_L | option_type::CONFIRM_R)
}

/// A Confirm with a Sequence Window that nobody requested, or with a CCID that the lists do not give, is detected.
#[test]
fn confirms_of_other_values() {
    finds("feature-old-change", |oracle, now, host, seen| {
        other_options((oracle, now, host), seen, |head, option, data| {
            let found = is_confirm(option) && head[data.start] == 3;
            head[data.end - 1] ^= u8::from(found);
            found
        })
    });
    finds("feature-old-change", |oracle, now, host, seen| {
        other_options((oracle, now, host), seen, |head, option, data| {
            let found = is_confirm(option) && head[data.start] == 1 && data.len() > 2;
            if found {
                head[data.start + 1] ^= 1;
            }
            found
        })
    });
}

/// Repeated Changes without any Confirm are detected.
#[test]
fn changes_without_an_answer() {
    let bad = Weather {
        loses: 2,
        ..Weather::default()
    };
    finds_on(bad, "feature-unanswered", |oracle, now, host, seen| {
        other_options((oracle, now, host), seen, |head, option, data| {
            let found = is_confirm(option);
            if found {
                head[data.start - 2..data.end].fill(0);
            }
            found
        })
    });
}

/// Cuts off the Ack Vectors of a packet after their first run.
fn cut_vectors(head: &mut [u8], option: u8, data: Range<usize>) -> bool {
    let vectors = [option_type::ACK_VECTOR_0, option_type::ACK_VECTOR_1];
    let found = vectors.contains(&option) && data.len() > 1;
    if found {
        head[data.start - 1] = 3;
        head[data.start + 1..data.end].fill(0);
    }
    found
}

/// A vector that ends with its first run is detected: it forgets packets that came after they were reported missing.
#[test]
fn vectors_that_are_too_short() {
    finds_on(JITTER, "ack-late", |oracle, now, host, seen| match seen {
        Seen::Sent { packet, .. } if packet.0 % 2 == 0 => {
            other_options((oracle, now, host), seen, cut_vectors)
        }
        _ => None,
    });
}

/// A data packet that waits a quarter of a second for its acknowledgement is detected.
#[test]
fn acknowledgements_that_are_late() {
    finds("ack-in-time", |oracle, now, host, seen| match seen {
        Seen::State {
            stats, inspection, ..
        } if inspection.state == "OPEN" && stats.receive_ccid == Some(Ccid::TCP_LIKE) => {
            let later = now + Duration::from_millis(250);
            Some(oracle.see(later, host, seen))
        }
        _ => None,
    });
}
