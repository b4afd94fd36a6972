//! The checks of access points, stations and hand-offs that types cannot express.

use fairwire_units::Duration;

use super::super::check::checker::{Checker, plain_name};
use super::super::place::ScenarioError;
use super::super::{Scenario, Side};
use super::Wlan;

/// The names of the wired hosts that flows can have as ends.
pub(crate) const WIRED: [&str; 2] = ["left", "right"];

/// Checks the access points and stations of a wlan, and the ends of its flows.
pub(crate) fn network(
    checker: &Checker<'_>,
    wlan: &Wlan,
    scenario: &Scenario,
) -> Result<(), ScenarioError> {
    let message = "a wlan needs an access point: write [topology.wlan.aps.NAME]";
    checker.require(!wlan.aps.is_empty(), "topology.wlan", message)?;
    let message = "a wlan needs a station: write [topology.wlan.stations.NAME]";
    checker.require(!wlan.stations.is_empty(), "topology.wlan", message)?;
    for (name, _) in wlan.aps.iter() {
        plain_name(checker, name, &format!("topology.wlan.aps.{name}"))?;
    }
    for (name, station) in wlan.stations.iter() {
        let path = format!("topology.wlan.stations.{name}");
        plain_name(checker, name, &path)?;
        let message = "'left' and 'right' are the wired hosts: call this station something else";
        checker.require(!WIRED.contains(&name), &path, message)?;
        ap(checker, wlan, &format!("{path}.ap"), &station.ap)?;
    }
    hand_offs(checker, wlan, scenario.run.duration)?;
    ends(checker, wlan, scenario)
}

fn ap(checker: &Checker<'_>, wlan: &Wlan, path: &str, name: &str) -> Result<(), ScenarioError> {
    if wlan.aps.get(name).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = wlan.aps.iter().map(|(name, _)| name).collect();
    let known = known.join(", ");
    checker.refuse(
        path,
        format!("there is no access point '{name}': there are {known}"),
    )
}

fn hand_offs(checker: &Checker<'_>, wlan: &Wlan, duration: Duration) -> Result<(), ScenarioError> {
    for (number, one) in wlan.handoffs.iter().enumerate() {
        let path = &format!("topology.wlan.handoffs.{number}");
        ap(checker, wlan, &format!("{path}.to"), &one.to)?;
        let Some(station) = wlan.stations.get(&one.station) else {
            let message = format!("there is no station '{}' to hand off", one.station);
            return checker.refuse(&format!("{path}.station"), message);
        };
        if one.at >= duration {
            let message =
                format!("this hand-off never happens: the run of {duration} is over by then");
            return checker.refuse(&format!("{path}.at"), message);
        }
        let earlier = wlan.handoffs[..number]
            .iter()
            .rev()
            .find(|other| other.station == one.station);
        let (from, free) = match earlier {
            Some(last) => (&last.to, last.at + last.outage.unwrap_or(wlan.outage)),
            None => (&station.ap, Duration::ZERO),
        };
        let message = "a station's hand-offs must be in the order of their times, each after the end of the previous outage";
        checker.require(one.at > free || earlier.is_none(), path, message)?;
        if *from == one.to {
            let message = format!("'{}' is at '{from}' already at {}", one.station, one.at);
            return checker.refuse(path, message);
        }
    }
    Ok(())
}

/// Checks that flows of a chain or a dumbbell name no ends.
pub(crate) fn no_ends(checker: &Checker<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    let message = "only flows of a wlan or a graph name their ends: here they go from side to side, as 'from' says";
    for (name, flow) in scenario.flows.iter() {
        for (key, end) in [("sender", &flow.sender), ("receiver", &flow.receiver)] {
            checker.require(end.is_none(), &format!("flows.{name}.{key}"), message)?;
        }
    }
    Ok(())
}

/// Checks that each flow of a wlan names its ends.
fn ends(checker: &Checker<'_>, wlan: &Wlan, scenario: &Scenario) -> Result<(), ScenarioError> {
    for (name, flow) in scenario.flows.iter() {
        let path = format!("flows.{name}");
        let message = "a flow of a wlan has no side: 'sender' and 'receiver' name its ends";
        checker.require(flow.from == Side::Left, &format!("{path}.from"), message)?;
        let message =
            "a flow of a wlan has no 'extra_delay': its ends are hosts with radios or wires";
        let extra = flow.extra_delay.is_none();
        checker.require(extra, &format!("{path}.extra_delay"), message)?;
        let (Some(sender), Some(receiver)) = (&flow.sender, &flow.receiver) else {
            let message = "a flow of a wlan has a 'sender' and a 'receiver': stations, or the wired hosts \"left\" and \"right\"";
            return checker.refuse(&path, message);
        };
        for (key, end) in [("sender", sender), ("receiver", receiver)] {
            let known = wlan.stations.get(end).is_some() || WIRED.contains(&end.as_str());
            if !known {
                let stations: Vec<&str> = wlan.stations.iter().map(|(name, _)| name).collect();
                let message = format!(
                    "there is no station '{end}': there are {}, and the wired hosts left and right",
                    stations.join(", ")
                );
                return checker.refuse(&format!("{path}.{key}"), message);
            }
        }
        let message = "a flow goes from one host to another";
        checker.require(sender != receiver, &path, message)?;
    }
    Ok(())
}
