//! Configurations drawn from a seed.

use fairwire_proto::ccids::ccid_profiles;

use self::Draw::{Between, Ccids, Magnitude, Of};
use super::ConnectionPlan;
use super::settings::{EndpointSetting, LAWS};
use crate::dice::Dice;

/// Draws the settings of an endpoint that differ from the default.
pub(super) fn endpoint(dice: &mut Dice) -> Vec<EndpointSetting> {
    use EndpointSetting as E;
    let mut settings = Vec::new();
    match dice.below(10) {
        0..=2 => settings.push(E::CookiesAlways),
        3 => settings.push(E::CookiesNever),
        4 => settings.push(E::CookiesWhenBusy(dice.small(0, 2))),
        _ => {}
    }
    if dice.per_mille(100) {
        settings.push(E::Memory(dice.small(100_000, 1_000_000)));
    }
    if dice.per_mille(60) {
        settings.push(E::Connections(dice.small(1, 4)));
    }
    if dice.per_mille(60) {
        settings.push(E::HalfOpen(dice.small(1, 4)));
    }
    if dice.per_mille(40) {
        settings.push(E::HalfOpenPerSource(dice.small(1, 2)));
    }
    if dice.per_mille(40) {
        settings.push(E::ConnectionsPerSource(dice.small(1, 3)));
    }
    if dice.per_mille(60) {
        settings.push(E::Resets(dice.small(0, 5)));
    }
    if dice.per_mille(40) {
        settings.push(E::AnswersPerSource(dice.small(1, 20)));
    }
    if dice.per_mille(60) {
        settings.push(E::SilentPorts);
    }
    settings
}

/// Draws a list of CCIDs, most preferred first. A registered one is drawn alone.
pub(super) fn ccids(dice: &mut Dice) -> Vec<u8> {
    let mut lists = vec![
        vec![2],
        vec![2],
        vec![3],
        vec![3],
        vec![4],
        vec![2, 3],
        vec![3, 2],
        vec![4, 3, 2],
        vec![2, 3, 4],
    ];
    let numbers = ccid_profiles().map(|profile| profile.ccid().number());
    let others: Vec<_> = numbers
        .filter(|number| !lists.iter().any(|list| list.contains(number)))
        .map(|number| vec![number])
        .collect();
    lists.extend(others);
    dice.pick(&lists)
}

fn listed(ccids: &[u8]) -> String {
    let ccids: Vec<String> = ccids.iter().map(u8::to_string).collect();
    ccids.join(",")
}

/// Draws the settings of the two endpoints of a connection that differ from the default: client, server.
pub(super) fn pair(dice: &mut Dice) -> (Vec<String>, Vec<String>) {
    let (mut client, mut server) = (one(dice), one(dice));
    // Often both endpoints prefer the same CCID, so that they get it.
    if dice.per_mille(800) {
        for from_client in [true, false] {
            let ccid = listed(&ccids(dice));
            let (sends, receives) = if from_client {
                (&mut client, &mut server)
            } else {
                (&mut server, &mut client)
            };
            sends.push(format!("send_ccids={ccid}"));
            receives.push(format!("receive_ccids={ccid}"));
        }
    }
    if dice.per_mille(200) {
        for settings in [&mut client, &mut server] {
            settings.push("short_seqnos=true".to_owned());
            settings.retain(|setting| !setting.starts_with("sequence_window="));
        }
    }
    if dice.per_mille(200) {
        let least = dice.between(1, 8);
        for settings in [&mut client, &mut server] {
            settings.push(format!("minimum_checksum_coverage={least}"));
            let coverage = dice.between(least, 15);
            settings.push(format!("checksum_coverage={coverage}"));
        }
    }
    (client, server)
}

/// Gives some endpoints a time for the answer to a close that differs from the time for draining the queue.
///
/// Only endpoints whose close times are not the defaults are changed.
pub(super) fn close_timeouts(dice: &mut Dice, connections: &mut [ConnectionPlan]) {
    for of in connections {
        for settings in [&mut of.client_settings, &mut of.server_settings] {
            let is_drawn = |setting: &String| setting.starts_with("drain_timeout=");
            if settings.iter().any(is_drawn) && dice.per_mille(600) {
                let time = dice.pick(&CLOSE_TIMES);
                settings.push(format!("close_timeout={time}"));
            }
        }
    }
}

/// Possible times for a close.
const CLOSE_TIMES: [&str; 4] = ["0 s", "100 ms", "1 s", "3 s"];

/// How the value of a setting is drawn.
enum Draw {
    /// One of these.
    Of(&'static [&'static str]),
    /// A number from the first to the second, with this unit.
    Between(u64, u64, &'static str),
    /// The same, with each power of two equally likely.
    Magnitude(u64, u64, &'static str),
    /// A list of CCIDs.
    Ccids,
}

/// The settings of a connection: how many endpoints in a thousand have each, its keys, and its values.
const SETTINGS: &[(u64, &str, Draw)] = &[
    (700, "report_fates", Of(&["true"])),
    (120, "send_ccids", Ccids),
    (120, "receive_ccids", Ccids),
    (120, "ecn", Of(&["false"])),
    (150, "ecn_nonce", Of(&["true"])),
    (200, "check_feedback", Of(&["false"])),
    (80, "max_rate", Of(&["100 kbit/s", "1 Mbit/s"])),
    (150, "send_queue.packets", Between(1, 20, " packets")),
    (80, "send_queue.bytes", Between(1, 30_000, " B")),
    (150, "send_queue.age", Magnitude(5, 2_000, " ms")),
    (250, "send_queue.policy", Of(&["drop-oldest"])),
    (150, "receive_queue_packets", Between(1, 30, " packets")),
    (80, "receive_queue_bytes", Between(1_000, 30_000, " B")),
    (250, "receive_queue_policy", Of(&["drop-oldest"])),
    (100, "slow_receiver_percent", Of(&["0", "10", "50", "101"])),
    (100, "connect_timeout", Between(500, 10_000, " ms")),
    (150, "idle_timeout", Between(1_000, 30_000, " ms")),
    (250, "keep_alive", Of(&["none", "1 s", "3 s", "10 s"])),
    (150, "drain_timeout close_timeout", Of(&CLOSE_TIMES)),
    (150, "sequence_window", Magnitude(32, 100_000, " packets")),
    (
        80,
        "max_sequence_window",
        Magnitude(32, 100_000, " packets"),
    ),
    (300, "ccid_change_interval", Of(&["0 s", "200 ms", "2 s"])),
    (60, "short_seqnos", Of(&["true"])),
    (
        120,
        "path_mtu",
        Of(&["576 B", "1280 B", "4 kB", "9 kB", "20 kB"]),
    ),
    (100, "path_mtu_discovery", Of(&["off"])),
    (100, "path_mtu_discovery", Of(&["icmp"])),
    (50, "checksum_coverage", Between(1, 15, "")),
    (50, "minimum_checksum_coverage", Between(1, 15, "")),
    (300, "send_rtt_estimate", Of(&["true"])),
    (150, "data_checksum", Of(&["on"])),
    (40, "data_checksum", Of(&["required"])),
    (150, "damaged_data", Of(&["deliver"])),
    (200, "ccid2.law", Of(&LAWS)),
    (60, "ccid2.initial_window", Between(1, 10, " packets")),
    (60, "ccid2.min_rto", Between(20, 1_000, " ms")),
    (100, "ccid3.feedback", Between(1, 8, " per rtt")),
    (60, "ccid3.oscillation_reduction", Of(&["false"])),
];

fn one(dice: &mut Dice) -> Vec<String> {
    let mut settings = Vec::new();
    for (per_mille, keys, value) in SETTINGS {
        if !dice.per_mille(*per_mille) {
            continue;
        }
        let value = match *value {
            Of([only]) => (*only).to_owned(),
            Of(values) => dice.pick(values).to_owned(),
            Between(least, most, unit) => format!("{}{unit}", dice.between(least, most)),
            Magnitude(least, most, unit) => format!("{}{unit}", dice.magnitude(least, most)),
            Ccids => listed(&ccids(dice)),
        };
        settings.extend(keys.split(' ').map(|key| format!("{key}={value}")));
    }
    settings
}
