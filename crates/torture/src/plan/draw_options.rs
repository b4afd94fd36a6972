//! Options with which applications send, drawn from a seed.

use super::Plan;
use super::script::{Act, Entry, Side, With};
use crate::dice::Dice;

/// Makes some applications send with deadlines, priorities and groups, and send again what is lost.
pub(super) fn draw(dice: &mut Dice, plan: &mut Plan) {
    for of in &mut plan.connections {
        if !dice.per_mille(400) {
            continue;
        }
        for settings in [&mut of.client_settings, &mut of.server_settings] {
            // Sometimes only one end is willing.
            if dice.per_mille(850) {
                settings.push("resend=true".to_owned());
            }
        }
        let opened = |entry: &&Entry| entry.connection == of.id && entry.act == Act::Open;
        let opened = plan.script.iter().find(opened);
        let opened = opened.map_or(0, |entry| entry.at_ms);
        let mut put = |at_ms, side, act| {
            let connection = of.id;
            plan.script.push(Entry {
                at_ms,
                connection,
                side,
                act,
            });
        };
        for side in [Side::Client, Side::Server] {
            for _ in 0..dice.pick(&[0, 1, 1, 2]) {
                let at_ms = opened + dice.pick(&[1, 300, 1_000]) + dice.below(2_000);
                put(at_ms, side, Act::SendWith(with(dice)));
            }
            if dice.per_mille(150) {
                put(opened + dice.below(8_000), side, Act::Purge);
            }
        }
    }
}

fn with(dice: &mut Dice) -> With {
    let mut time = |per_mille, least, most| {
        let time = dice.magnitude(least, most);
        if dice.per_mille(per_mille) { time } else { 0 }
    };
    let (deadline_ms, resend_ms) = (time(300, 5, 3_000), time(800, 10, 10_000));
    With {
        deadline_ms,
        resend_ms,
        priorities: dice.pick(&[0, 0, 2, 5]),
        group: dice.pick(&[0, 0, 3, 20]),
    }
}
