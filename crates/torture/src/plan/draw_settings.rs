//! Configurations drawn from a seed.

use super::ConnectionPlan;
use super::settings::{EndpointSetting, LAST_LAW, Setting, Setting as S};
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

/// Draws a list of CCIDs, most preferred first.
pub(super) fn ccids(dice: &mut Dice) -> Vec<u8> {
    dice.pick(&[
        vec![2],
        vec![2],
        vec![3],
        vec![3],
        vec![4],
        vec![2, 3],
        vec![3, 2],
        vec![4, 3, 2],
        vec![2, 3, 4],
    ])
}

/// Draws the settings of the two endpoints of a connection that differ from the default: client, server.
pub(super) fn pair(dice: &mut Dice) -> (Vec<Setting>, Vec<Setting>) {
    let (mut client, mut server) = (one(dice), one(dice));
    // Often both endpoints prefer the same CCID, so that they get it.
    if dice.per_mille(800) {
        for from_client in [true, false] {
            let ccid = ccids(dice);
            let (sends, receives) = if from_client {
                (&mut client, &mut server)
            } else {
                (&mut server, &mut client)
            };
            sends.push(Setting::SendCcids(ccid.clone()));
            receives.push(Setting::ReceiveCcids(ccid));
        }
    }
    if dice.per_mille(200) {
        for settings in [&mut client, &mut server] {
            settings.push(Setting::ShortSeqnos);
            settings.retain(|setting| !matches!(setting, Setting::SequenceWindow(_)));
        }
    }
    if dice.per_mille(200) {
        let least: u8 = dice.small(1, 8);
        for settings in [&mut client, &mut server] {
            settings.push(Setting::MinimumChecksumCoverage(least));
            let coverage = u64::from(least);
            settings.push(Setting::ChecksumCoverage(dice.small(coverage, 15)));
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
            let is_drawn = |setting: &Setting| matches!(setting, Setting::CloseTimes(_));
            if settings.iter().any(is_drawn) && dice.per_mille(600) {
                let time = dice.pick(&CLOSE_TIMES);
                settings.push(Setting::CloseTimeout(time));
            }
        }
    }
}

/// Possible times for a close, in ms.
const CLOSE_TIMES: [u64; 4] = [0, 100, 1_000, 3_000];

fn one(dice: &mut Dice) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut may = |per_mille: u64, make: &mut dyn FnMut(&mut Dice) -> Setting| {
        if dice.per_mille(per_mille) {
            let setting = make(dice);
            settings.push(setting);
        }
    };
    may(700, &mut |_| S::ReportFates);
    may(120, &mut |dice| S::SendCcids(ccids(dice)));
    may(120, &mut |dice| S::ReceiveCcids(ccids(dice)));
    may(120, &mut |_| S::NoEcn);
    may(150, &mut |_| S::EcnNonce);
    may(200, &mut |_| S::BelieveFeedback);
    may(150, &mut |dice| S::SendPackets(dice.small(1, 20)));
    may(80, &mut |dice| S::SendBytes(dice.small(1, 30_000)));
    may(150, &mut |dice| S::SendAge(dice.magnitude(5, 2_000)));
    may(250, &mut |_| S::SendDropsOldest);
    may(150, &mut |dice| S::ReceivePackets(dice.small(1, 30)));
    may(80, &mut |dice| S::ReceiveBytes(dice.small(1_000, 30_000)));
    may(250, &mut |_| S::ReceiveDropsOldest);
    may(100, &mut |dice| {
        S::SlowPercent(dice.pick(&[0, 10, 50, 101]))
    });
    may(100, &mut |dice| {
        S::ConnectTimeout(dice.between(500, 10_000))
    });
    may(150, &mut |dice| S::IdleTimeout(dice.between(1_000, 30_000)));
    may(250, &mut |dice| {
        S::KeepAlive(dice.pick(&[0, 1_000, 3_000, 10_000]))
    });
    may(150, &mut |dice| S::CloseTimes(dice.pick(&CLOSE_TIMES)));
    may(150, &mut |dice| {
        S::SequenceWindow(dice.magnitude(32, 100_000))
    });
    may(80, &mut |dice| {
        S::MaxSequenceWindow(dice.magnitude(32, 100_000))
    });
    may(300, &mut |dice| {
        S::CcidChangeInterval(dice.pick(&[0, 200, 2_000]))
    });
    may(60, &mut |_| S::ShortSeqnos);
    may(120, &mut |dice| {
        S::PathMtu(dice.pick(&[576, 1_280, 4_000, 9_000, 20_000]))
    });
    may(100, &mut |_| S::NoPathMtuDiscovery);
    may(100, &mut |_| S::IcmpPathMtuDiscovery);
    may(50, &mut |dice| S::ChecksumCoverage(dice.small(1, 15)));
    may(50, &mut |dice| {
        S::MinimumChecksumCoverage(dice.small(1, 15))
    });
    may(300, &mut |_| S::SendRttEstimate);
    may(150, &mut |_| S::DataChecksum);
    may(40, &mut |_| S::RequireDataChecksum);
    may(150, &mut |_| S::DeliverDamaged);
    may(200, &mut |dice| S::Law(dice.small(0, LAST_LAW.into())));
    may(60, &mut |dice| S::InitialWindow(dice.small(1, 10)));
    may(60, &mut |dice| S::MinRto(dice.between(20, 1_000)));
    may(100, &mut |dice| S::FeedbackPerRoundTrip(dice.small(1, 8)));
    may(60, &mut |_| S::NoOscillationReduction);
    settings
}
