//! Each invariant is violated if an observation is distorted in one way. The tests in the parent module show that it
//! holds for undistorted observations.

use fairwire_proto::{CloseReason, DatagramId, Event, Fate, Inspection, Received, Stats};
use fairwire_units::Instant;
use fairwire_wire::{PacketType, Peek, ResetCode};

use super::{Call, Dice, Distort, Line, Oracle, Seen, Violation, World};

mod bytes;
mod control;
mod promises;

/// The number of seeds tried until one has an observation to distort.
const SEEDS: u64 = 40;

/// A line that loses and marks one packet in this many, and delays packets by a random time up to `jitter_ms`.
#[derive(Clone, Copy, Debug, Default)]
struct Weather {
    loses: u64,
    marks: u64,
    jitter_ms: u64,
}

/// Returns the first violation that a run with this distortion shows.
///
/// If no weather is given, the line loses packets in some runs.
fn first_violation(weather: Option<Weather>, distort: Distort) -> Option<&'static str> {
    (0..SEEDS).find_map(|seed| {
        let mut dice = Dice(seed);
        let loses = dice.pick(&[0, 20]);
        let delay_ms = 1 + dice.below(50);
        let weather = weather.unwrap_or(Weather {
            loses,
            ..Weather::default()
        });
        let line = Line {
            loses: weather.loses,
            marks: weather.marks,
            delay_ms,
            jitter_ms: weather.jitter_ms,
            ..Line::default()
        };
        let mut world = World::new(seed, line);
        world.distort = Some(distort);
        world.run(120);
        world.violation.map(|violation| violation.invariant)
    })
}

/// Asserts that the distortion violates this invariant first.
#[track_caller]
fn finds(invariant: &str, distort: Distort) {
    assert_eq!(first_violation(None, distort), Some(invariant));
}

/// Asserts the same on a line with this weather.
#[track_caller]
fn finds_on(weather: Weather, invariant: &str, distort: Distort) {
    assert_eq!(first_violation(Some(weather), distort), Some(invariant));
}

type Judged = Option<Result<(), Violation>>;

/// Shows the same observation twice.
#[expect(
    clippy::unnecessary_wraps,
    reason = "arms of a match end with it, and others judge nothing"
)]
fn twice(oracle: &mut Oracle, now: Instant, host: usize, seen: &Seen<'_>) -> Judged {
    let once = oracle.see(now, host, seen);
    Some(once.and_then(|()| oracle.see(now, host, seen)))
}

/// Shows a changed state.
fn other_state(
    (oracle, now, host): (&mut Oracle, Instant, usize),
    seen: &Seen<'_>,
    change: impl Fn(&mut Stats, &mut Inspection) -> bool,
) -> Judged {
    let Seen::State {
        id,
        stats,
        inspection,
    } = seen
    else {
        return None;
    };
    let (mut stats, mut inspection) = (**stats, (*inspection).clone());
    if !change(&mut stats, &mut inspection) {
        return None;
    }
    let seen = Seen::State {
        id: *id,
        stats: &stats,
        inspection: &inspection,
    };
    Some(oracle.see(now, host, &seen))
}

#[test]
fn a_fate_told_twice() {
    finds("fate-once", |oracle, now, host, seen| match seen {
        Seen::Event {
            event: Event::Fate { .. },
            ..
        } => twice(oracle, now, host, seen),
        _ => None,
    });
}

#[test]
fn a_fate_of_nobody() {
    finds("fate-known", |oracle, now, host, seen| match seen {
        Seen::Event {
            id,
            event: Event::Fate { fate, .. },
        } => {
            let (id, fate) = (*id, *fate);
            let name = DatagramId(1 << 40);
            let event = &Event::Fate { id: name, fate };
            Some(oracle.see(now, host, &Seen::Event { id, event }))
        }
        _ => None,
    });
}

#[test]
fn an_expiry_of_what_left() {
    finds("fate-never-left", |oracle, now, host, seen| match seen {
        Seen::Event {
            id,
            event:
                Event::Fate {
                    id: name,
                    fate: Fate::Sent | Fate::Acknowledged,
                },
        } => {
            let event = &Event::Fate {
                id: *name,
                fate: Fate::Expired,
            };
            Some(oracle.see(now, host, &Seen::Event { id: *id, event }))
        }
        _ => None,
    });
}

#[test]
fn a_fate_that_is_missing() {
    finds("fate-told", |_, _, _, seen| match seen {
        Seen::Event {
            event: Event::Fate {
                fate: Fate::Sent, ..
            },
            ..
        } => Some(Ok(())),
        _ => None,
    });
}

#[test]
fn data_read_twice() {
    finds("data-once", |oracle, now, host, seen| match seen {
        Seen::Received { .. } => twice(oracle, now, host, seen),
        _ => None,
    });
}

/// Shows a changed datagram.
fn other_datagram(
    (oracle, now, host): (&mut Oracle, Instant, usize),
    seen: &Seen<'_>,
    change: impl Fn(&mut Received),
) -> Judged {
    let Seen::Received {
        id,
        payload,
        ecn,
        received,
    } = seen
    else {
        return None;
    };
    let mut received = (*received).clone();
    change(&mut received);
    let seen = Seen::Received {
        id: *id,
        payload,
        ecn: *ecn,
        received: &received,
    };
    Some(oracle.see(now, host, &seen))
}

#[test]
fn data_that_never_came() {
    finds("data-arrived", |oracle, now, host, seen| {
        other_datagram((oracle, now, host), seen, |received| {
            received.seq = received.seq.add(1 << 40);
        })
    });
}

#[test]
fn data_with_other_bytes() {
    finds("data-same", |oracle, now, host, seen| {
        other_datagram((oracle, now, host), seen, |received| {
            received.payload = vec![9; received.payload.len()].into();
        })
    });
}

#[test]
fn a_number_used_twice() {
    finds("sent-number", |oracle, now, host, seen| match seen {
        Seen::Sent { head, .. } => match Peek::decode(head).map(|peek| peek.packet_type) {
            Ok(PacketType::Ack) => twice(oracle, now, host, seen),
            _ => None,
        },
        _ => None,
    });
}

#[test]
fn a_packet_that_is_damaged_as_it_leaves() {
    finds("sent-checksum", |oracle, now, host, seen| match seen {
        Seen::Sent {
            packet,
            head,
            transmit,
        } => {
            let mut head = head.to_vec();
            head[7] ^= 1;
            let (packet, head) = (*packet, &head[..]);
            let seen = Seen::Sent {
                packet,
                head,
                transmit,
            };
            Some(oracle.see(now, host, &seen))
        }
        _ => None,
    });
}

#[test]
fn a_packet_after_the_reset() {
    finds("type-after-reset", |oracle, now, host, seen| match seen {
        Seen::Sent { head, transmit, .. } if transmit.connection.is_some() => {
            match Peek::decode(head).map(|peek| peek.packet_type) {
                Ok(PacketType::Reset) => twice(oracle, now, host, seen),
                _ => None,
            }
        }
        _ => None,
    });
}

#[test]
fn an_event_after_the_end() {
    finds("event-after-end", |oracle, now, host, seen| match seen {
        Seen::Event {
            event: Event::Closed { .. },
            ..
        } => twice(oracle, now, host, seen),
        _ => None,
    });
}

#[test]
fn an_end_without_a_ground() {
    finds("closed-reason", |oracle, now, host, seen| match seen {
        Seen::Event {
            id,
            event: Event::Closed { .. },
        } => {
            let reason = CloseReason::Reset {
                code: ResetCode::TooBusy,
                data: [0; 3],
                text: None,
            };
            let event = &Event::Closed { reason };
            Some(oracle.see(now, host, &Seen::Event { id: *id, event }))
        }
        _ => None,
    });
}

#[test]
fn a_datagram_with_a_wrong_name() {
    finds("call-send", |oracle, now, host, seen| match seen {
        Seen::Call(Call::Send {
            id,
            payload,
            options,
            result: Ok(name),
        }) => {
            let result = Ok(DatagramId(name.0 + 1));
            let (id, payload, options) = (*id, *payload, *options);
            let call = Call::Send {
                id,
                payload,
                options,
                result,
            };
            Some(oracle.see(now, host, &Seen::Call(call)))
        }
        _ => None,
    });
}

#[test]
fn states_that_do_not_follow() {
    finds("state-change", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |_, seen| {
            let open = seen.state == "OPEN" && !seen.is_server;
            seen.state = "REQUEST";
            open
        })
    });
}

#[test]
fn a_state_without_a_timer() {
    finds("state-timer", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |_, seen| {
            seen.wakes_at = None;
            seen.state == "REQUEST"
        })
    });
}

#[test]
fn windows_that_are_wrong() {
    finds("window-bounds", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |_, seen| {
            seen.swh = seen.swh.next();
            seen.state == "OPEN"
        })
    });
    finds("window-gar", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |_, seen| {
            seen.gar = seen.gar.prev();
            seen.state == "OPEN"
        })
    });
    finds("window-gsr", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |stats, seen| {
            seen.gsr = seen.gsr.next();
            seen.swh = seen.swh.next();
            // While the connection is young, the low end of the window is the initial number.
            seen.state == "OPEN" && stats.packets_received > 5 && seen.swl == seen.isr
        })
    });
    finds("window-gss", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |_, seen| {
            seen.gss = seen.gss.add(20);
            seen.awh = seen.gss;
            seen.state == "OPEN" && seen.awl == seen.iss && seen.iss.distance(seen.gss) < 60
        })
    });
}

#[test]
fn counters_that_are_wrong() {
    finds("stats-sent", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |stats, seen| {
            stats.packets_sent += 1;
            seen.state == "OPEN"
        })
    });
    finds("stats-queue", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |stats, seen| {
            stats.expired += 1;
            seen.state == "OPEN"
        })
    });
    finds("stats-received", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |stats, seen| {
            stats.packets_received += 500;
            seen.state == "OPEN"
        })
    });
}

#[test]
fn flights_that_are_wrong() {
    finds("pipe-flight", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |stats, seen| {
            stats.flight_packets += 1;
            seen.flight_packets += 1;
            let room = seen
                .cwnd
                .is_some_and(|cwnd| cwnd > f64::from(seen.flight_packets));
            seen.state == "OPEN" && room
        })
    });
    finds("pipe-growth", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |stats, seen| {
            let cwnd = stats.gauges.cwnd_packets.map(|cwnd| cwnd + 50.0);
            (stats.gauges.cwnd_packets, seen.cwnd) = (cwnd, cwnd);
            seen.state == "OPEN" && cwnd.is_some() && stats.acknowledged > 10
        })
    });
    finds("pipe-window", |oracle, now, host, seen| {
        other_state((oracle, now, host), seen, |stats, seen| {
            seen.cwnd = Some(1.0);
            seen.flight_packets > 2 && seen.state == "OPEN" && stats.acknowledged == 0
        })
    });
}

#[test]
fn memory_that_is_wrong() {
    finds("memory-sum", |oracle, now, host, seen| match seen {
        Seen::Inside { inspection } => {
            let mut inspection = **inspection;
            inspection.counted += 1;
            let inspection = &inspection;
            Some(oracle.see(now, host, &Seen::Inside { inspection }))
        }
        _ => None,
    });
    finds("memory-endpoint", |oracle, now, host, seen| match seen {
        Seen::Endpoint { stats } => {
            let mut stats = **stats;
            stats.memory = usize::MAX;
            Some(oracle.see(now, host, &Seen::Endpoint { stats: &stats }))
        }
        _ => None,
    });
}
