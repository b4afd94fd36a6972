//! Every planted bug shows: the test named beside it passes, and fails when the bug is planted.
//!
//! A bug is planted for a whole process, so each of those tests runs in a process of its own.

use std::process::{Command, Output};

use fairwire_units::plant::{Plant, set};

/// The bug that [`super::Pair`] plants, by its name.
const VARIABLE: &str = "FAIRWIRE_PLANT";

/// Plants what the environment names.
pub(super) fn plant_from_environment() {
    if let Ok(name) = std::env::var(VARIABLE) {
        let plant = Plant::from_name(&name);
        assert!(plant.is_some(), "{VARIABLE}: there is no {name}");
        set(plant);
    }
}

/// A test that notices the bug.
fn noticed_by(plant: Plant) -> &'static str {
    match plant {
        Plant::EndlessReport => "bounds::finding_1_a_window_waits_for_the_handshake",
        Plant::EndlessEvents => "bounds::finding_2_a_stated_round_trip_of_a_microsecond",
        Plant::NoKeepAlive => "silence::finding_4_a_receiver_notices_that_the_sender_is_gone",
    }
}

fn run(test: &str, plant: Option<Plant>) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("endpoint::tests::{test}")]);
    match plant {
        Some(plant) => command.env(VARIABLE, plant.name()),
        None => command.env_remove(VARIABLE),
    };
    command.output().unwrap()
}

/// No bug lies at a place where nobody would meet it.
#[test]
fn each_is_noticed() {
    let mut wrong = Vec::new();
    for &plant in Plant::ALL {
        let test = noticed_by(plant);
        let right = run(test, None);
        let found = String::from_utf8_lossy(&right.stdout).contains("1 passed");
        if !right.status.success() || !found {
            wrong.push(format!("{test} fails without any bug"));
        }
        if run(test, Some(plant)).status.success() {
            wrong.push(format!("{} passes {test}", plant.name()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
