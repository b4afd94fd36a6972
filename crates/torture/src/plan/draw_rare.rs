//! Situations that are too rare by chance, because several things must coincide.
//!
//! Each has its own random stream, so a new one does not change plans that do not use it.

use fairwire_wire::PacketType;

use super::Plan;
use super::draw_faults::{MAX_DELAY_MS, push, push_moment};
use super::fault::{Fault, Harm, Incident};
use super::script::{Act, Entry, Side};
use super::settings::EndpointSetting;
use super::weather::Weather;
use super::{ConnectionPlan, draw_settings};
use crate::dice::Dice;

/// Adds rare situations to a plan.
pub(super) fn draw(seed: u64, weather: Weather, plan: &mut Plan) {
    let everything = weather == Weather::Everything;
    if weather == Weather::Hostile || everything {
        data_beyond_hole(&mut Dice::new(seed, "rare/rows"), plan);
    }
    if weather == Weather::Rough || everything {
        ccid_changes(&mut Dice::new(seed, "rare/second thoughts"), plan);
    }
    if matches!(weather, Weather::Rough | Weather::Paths) || everything {
        long_path(&mut Dice::new(seed, "rare/far away"), plan);
        lone_loss(&mut Dice::new(seed, "rare/lone loss"), plan);
    }
}

/// Adds the loss of one packet of each handshake.
fn lone_loss(dice: &mut Dice, plan: &mut Plan) {
    if !dice.per_mille(200) {
        return;
    }
    let ConnectionPlan { server, .. } = dice.pick(&plan.connections);
    let kind = dice.pick(&[
        PacketType::Request,
        PacketType::Response,
        PacketType::Ack,
        PacketType::DataAck,
    ]);
    let harm = Harm::DropFirst {
        kind: kind.number(),
    };
    let fault = until_healed(plan, server, kind == PacketType::Response, harm);
    push(plan, fault);
}

/// Adds rows of data from an attacker on the path, behind a hole.
///
/// The data senders state their round-trip times (RFC 6323).
fn data_beyond_hole(dice: &mut Dice, plan: &mut Plan) {
    if !dice.per_mille(250) {
        return;
    }
    for of in &mut plan.connections {
        let ccid = dice.pick(&[3, 4]);
        for settings in [&mut of.client_settings, &mut of.server_settings] {
            for setting in ["send_ccids", "receive_ccids"] {
                settings.push(format!("{setting}={ccid}"));
            }
            settings.push("send_rtt_estimate=true".to_owned());
        }
    }
    for _ in 0..dice.between(1, 3) {
        let what = Incident::Row {
            hole: dice.small(0, 800),
            count: dice.small(3, 12),
            stated_us: dice.small(1, 2_000),
        };
        push_moment(dice, plan, what);
    }
}

/// Adds an application that requests another CCID before the network has delivered its first request.
fn ccid_changes(dice: &mut Dice, plan: &mut Plan) {
    if !dice.per_mille(200) {
        return;
    }
    let most = plan.healed_ms - MAX_DELAY_MS;
    let of = dice.pick(&plan.connections);
    set_both(plan, of.id, |settings| {
        let all = [
            "ccid_change_interval=0 s",
            "send_ccids=2,3,4",
            "receive_ccids=2,3,4",
        ];
        settings.extend(all.map(str::to_owned));
    });
    let side = dice.pick(&[Side::Client, Side::Server]);
    let (sending, mut at_ms) = (dice.per_mille(500), dice.between(500, most));
    for _ in 0..dice.between(2, 12) {
        plan.script.push(Entry {
            at_ms,
            connection: of.id,
            side,
            act: Act::ChangeCcid {
                sending,
                wanted: draw_settings::ccids(dice),
            },
        });
        at_ms += dice.magnitude(1, 500);
    }
    let host = match side {
        Side::Client => of.client,
        Side::Server => of.server,
    };
    let by_ms = dice.between(20, MAX_DELAY_MS);
    let fault = until_healed(plan, host, true, Harm::Reorder { by_ms });
    push(plan, fault);
}

/// Adds a path so long that handshakes are repeated before the answer comes, to a server that keeps no state.
fn long_path(dice: &mut Dice, plan: &mut Plan) {
    if !dice.per_mille(100) {
        return;
    }
    let ConnectionPlan { client, server, .. } = dice.pick(&plan.connections);
    plan.hosts[server]
        .endpoint
        .push(EndpointSetting::CookiesAlways);
    for outgoing in [true, false] {
        let by_ms = dice.between(400, MAX_DELAY_MS);
        let fault = until_healed(plan, client, outgoing, Harm::Delay { by_ms });
        push(plan, fault);
    }
    if dice.per_mille(500) {
        let within_ms = dice.between(1, 1_000);
        let harm = Harm::SecondResponse { within_ms };
        let fault = until_healed(plan, client, false, harm);
        push(plan, fault);
    }
}

/// Returns a fault that affects all packets of a host's link until the network is healed.
fn until_healed(plan: &Plan, host: usize, outgoing: bool, harm: Harm) -> Fault {
    Fault {
        id: 0,
        from_ms: 0,
        until_ms: plan.healed_ms - MAX_DELAY_MS,
        host,
        outgoing,
        per_mille: 1_000,
        harm,
    }
}

fn set_both(plan: &mut Plan, id: u16, set: impl Fn(&mut Vec<String>)) {
    for of in plan.connections.iter_mut().filter(|of| of.id == id) {
        set(&mut of.client_settings);
        set(&mut of.server_settings);
    }
}
