//! Faults drawn from a seed.

use super::Plan;
use super::fault::{Fault, Harm, Incident, Lie, TimedIncident};
use super::script::Act;
use super::weather::Weather;
use crate::dice::Dice;

/// How long before the healing faults end, in ms, so that the packets that they delay arrive in time.
pub(crate) const MAX_DELAY_MS: u64 = 1_500;

/// The time within which the first connections open, in ms.
const HANDSHAKES_MS: u64 = 1_500;

/// Draws the faults and moments of a plan.
pub(super) fn draw(dice: &mut Dice, weather: Weather, plan: &mut Plan) {
    let everything = weather == Weather::Everything;
    if weather == Weather::Calm {
        return;
    }
    if weather == Weather::Rough || dice.per_mille(500) {
        faults(dice, plan, physical);
    }
    if weather == Weather::Damage || everything {
        faults(dice, plan, damage);
    }
    if weather == Weather::Upheaval || everything {
        for _ in 0..dice.between(1, 3) {
            moment(dice, plan, upheaval);
        }
    }
    if weather == Weather::Paths || everything {
        faults(dice, plan, changes);
        if dice.per_mille(500) {
            moment(dice, plan, |_, _| Incident::Rebind);
        }
    }
    if weather == Weather::Hostile || everything {
        if dice.per_mille(700) {
            faults(dice, plan, lies);
            faults(dice, plan, lies);
        }
        for _ in 0..dice.between(1, 4) {
            moment(dice, plan, attack);
        }
    }
}

fn faults(dice: &mut Dice, plan: &mut Plan, harm: fn(&mut Dice) -> (Harm, u16)) {
    for _ in 0..dice.between(1, 5) {
        let (mut harm, per_mille) = harm(dice);
        suit(dice, plan, &mut harm);
        let most = plan.healed_ms - MAX_DELAY_MS;
        let from_ms = if dice.per_mille(300) {
            0
        } else {
            dice.below(most)
        };
        // A short fault often falls between two packets.
        let lasts = if dice.per_mille(600) {
            dice.between(most / 4, most)
        } else {
            dice.magnitude(50, most)
        };
        let mut fault = Fault {
            id: 0,
            from_ms,
            until_ms: (from_ms + lasts).min(most),
            host: dice.index(plan.hosts.len()),
            outgoing: dice.per_mille(500),
            per_mille,
            harm,
        };
        if dice.per_mille(150) && !matches!(harm, Harm::Drop | Harm::Burst { .. }) {
            // It affects all handshakes.
            (fault.from_ms, fault.until_ms) = (0, HANDSHAKES_MS.min(most));
            fault.per_mille = 1_000;
        }
        if harm == Harm::Unmark {
            // There must be marks to remove.
            push(
                plan,
                Fault {
                    harm: Harm::Mark,
                    per_mille: share(dice),
                    ..fault.clone()
                },
            );
        }
        push(plan, fault);
    }
}

/// Adds a fault and gives it its own number.
pub(super) fn push(plan: &mut Plan, mut fault: Fault) {
    fault.id = u32::try_from(plan.faults.len()).unwrap_or(u32::MAX);
    plan.faults.push(fault);
}

/// Changes the plan so that the fault finds its packets: data outside the checksum, large packets, or handshakes.
fn suit(dice: &mut Dice, plan: &mut Plan, harm: &mut Harm) {
    match harm {
        Harm::FlipUncovered => {
            plan.udp = false;
            for of in &mut plan.connections {
                let least = dice.between(1, 4);
                for settings in [&mut of.client_settings, &mut of.server_settings] {
                    settings.push(format!("minimum_checksum_coverage={least}"));
                    settings.push(format!("checksum_coverage={least}"));
                }
            }
        }
        // This is long enough for handshakes to be repeated.
        Harm::Delay { by_ms } if dice.per_mille(300) => {
            *by_ms = dice.between(600, MAX_DELAY_MS);
        }
        Harm::Narrow { .. } => {
            for entry in &mut plan.script {
                if let Act::Stream { size, .. } | Act::Burst { size, .. } = &mut entry.act {
                    *size = (*size).max(dice.small(400, 1_400));
                }
            }
        }
        _ => {}
    }
}

fn moment(dice: &mut Dice, plan: &mut Plan, what: fn(&mut Dice, &Plan) -> Incident) {
    let what = what(dice, plan);
    push_moment(dice, plan, what);
}

/// Adds something that happens once, at a random time.
pub(super) fn push_moment(dice: &mut Dice, plan: &mut Plan, what: Incident) {
    let at_ms = dice.below(plan.healed_ms - MAX_DELAY_MS);
    plan.moments.push(TimedIncident {
        id: u32::try_from(plan.moments.len()).unwrap_or(u32::MAX),
        at_ms,
        host: dice.index(plan.hosts.len()),
        what,
    });
}

/// Draws a share in thousandths: few, or many, or all.
fn share(dice: &mut Dice) -> u16 {
    match dice.below(10) {
        0..4 => dice.small(1, 30),
        4..8 => dice.small(30, 300),
        8 => dice.small(300, 999),
        _ => 1_000,
    }
}

fn physical(dice: &mut Dice) -> (Harm, u16) {
    let few = dice.small(1, 100);
    match dice.below(14) {
        0..3 => (Harm::Drop, share(dice)),
        3 => (
            Harm::Burst {
                packets: dice.small(2, 200),
            },
            dice.small(1, 30),
        ),
        4 | 5 => (
            Harm::Duplicate {
                copies: dice.small(1, 3),
                within_ms: dice.magnitude(1, MAX_DELAY_MS),
            },
            share(dice),
        ),
        6..8 => (
            Harm::Reorder {
                by_ms: dice.magnitude(1, MAX_DELAY_MS),
            },
            share(dice),
        ),
        8 => (
            Harm::Delay {
                by_ms: dice.magnitude(1, MAX_DELAY_MS),
            },
            1_000,
        ),
        9..11 => (Harm::Mark, share(dice)),
        11 => (Harm::Bleach, share(dice)),
        12 => (Harm::Replay, few),
        _ => (Harm::Unmark, 1_000),
    }
}

fn damage(dice: &mut Dice) -> (Harm, u16) {
    let few = dice.small(1, 200);
    match dice.below(7) {
        0 => (Harm::Truncate, few),
        1 | 2 => (Harm::FlipCovered, few),
        3 | 4 => (Harm::FlipUncovered, share(dice)),
        5 => (Harm::FlipHead, few),
        _ => (Harm::FlipData, few),
    }
}

fn changes(dice: &mut Dice) -> (Harm, u16) {
    match dice.below(7) {
        0 | 1 => (
            Harm::Narrow {
                mtu: dice.pick(&[576, 600, 900, 1_280, 1_400]),
                told: dice.per_mille(500),
            },
            1_000,
        ),
        2 | 3 => (
            Harm::Refuse {
                why: dice.small(0, 6),
            },
            share(dice),
        ),
        4 => (Harm::Echo, share(dice)),
        5 => (
            Harm::Delay {
                by_ms: dice.magnitude(1, MAX_DELAY_MS),
            },
            1_000,
        ),
        _ => (Harm::Drop, 1_000),
    }
}

fn lies(dice: &mut Dice) -> (Harm, u16) {
    (Harm::Lie(dice.pick(&Lie::ALL)), dice.small(50, 1_000))
}

fn upheaval(dice: &mut Dice, _: &Plan) -> Incident {
    match dice.below(7) {
        0 | 1 => Incident::Restart {
            after_ms: dice.magnitude(1, 400),
        },
        2 => Incident::ClockStep {
            by_ms: dice.magnitude(100, 20_000),
        },
        3 => Incident::ClockStep {
            by_ms: dice.magnitude(60_000, 86_400_000),
        },
        4 => Incident::ClockRate {
            gains_ppm: dice.small::<i64>(0, 200_000) - 100_000,
        },
        _ => Incident::Rebind,
    }
}

fn attack(dice: &mut Dice, plan: &Plan) -> Incident {
    match dice.below(8) {
        0..3 => Incident::IcmpLie {
            says: dice.small(0, 8),
            quote: dice.small(0, 3),
            count: dice.small(1, 4),
        },
        3..7 => Incident::Inject {
            kind: dice.small(0, 15),
            count: dice.small(1, 12),
            on_path: dice.per_mille(600),
        },
        _ => Incident::Flood {
            count: dice.small(1, 60),
            connection: dice.pick(&plan.connections).id,
        },
    }
}
