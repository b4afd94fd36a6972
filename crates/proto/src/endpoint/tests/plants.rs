//! Every planted bug is detected: the test listed for it passes, and fails when the bug is planted.
//!
//! A bug is planted for a whole process, so each test runs in its own process.

use std::process::{Command, Output};

use fairwire_units::plant::{Plant, set};

/// The environment variable with the name of the bug that [`super::Pair`] plants.
const VARIABLE: &str = "FAIRWIRE_PLANT";

/// Plants the bug that the environment names.
pub(super) fn plant_from_environment() {
    if let Ok(name) = std::env::var(VARIABLE) {
        let plant = Plant::from_name(&name);
        assert!(plant.is_some(), "{VARIABLE}: there is no {name}");
        set(plant);
    }
}

/// Returns a test that detects the bug.
fn noticed_by(plant: Plant) -> &'static str {
    match plant {
        Plant::EndlessReport => "bounds::finding_1_a_window_waits_for_the_handshake",
        Plant::EndlessEvents => "bounds::finding_2_a_stated_round_trip_of_a_microsecond",
        Plant::NoKeepAlive => "silence::finding_4_a_receiver_notices_that_the_sender_is_gone",
        Plant::AckWindow => "silent_errors::a_flight_wider_than_the_peers_window",
        Plant::SyncAckGsr => "sync::a_burst_beyond_the_window_is_survived",
        Plant::CounterWrap | Plant::SlidingEvent => "silent_errors::dense_losses_are_many_events",
        Plant::EarlyLoss => "transfer::copies_are_passed_on_once",
        Plant::FateTwice => "ccid::every_change_goes_through_under_load",
        Plant::MarksIgnored => "nonce::item_26_hiding_marks_gains_nothing",
        Plant::NoBackOff => "silent_errors::a_dead_path_gets_few_packets",
        Plant::OddPacket => "liveness::an_idle_connection_stays",
        Plant::MissingForgotten => {
            "silent_errors::packets_later_than_a_round_trip_are_acknowledged"
        }
        Plant::FirstDataLost => {
            "silent_errors::the_datagram_that_completes_a_handshake_is_delivered"
        }
        Plant::LateForgotten => "silent_errors::a_late_packet_is_told",
        Plant::JoinBeyond | Plant::LateMissing => {
            "silent_errors::late_datagrams_are_not_counted_as_lost"
        }
        Plant::NofeedbackOff => "silent_errors::an_outage_after_a_pause_ends",
        Plant::OldChange => "silent_errors::an_overtaken_change_is_ignored",
        Plant::UnansweredChange => "silent_errors::a_lost_confirm_is_sent_again",
        Plant::PartOpenRetry => "silent_errors::a_handshake_survives_three_lost_acks",
        Plant::CloseReqOnce => "closing::item_19_closing_ends_under_loss",
        Plant::FatesAstray => "silent_errors::fates_go_to_their_own_connection",
        Plant::HalfOpenKept => "silent_errors::what_nobody_heard_of_leaves_nothing",
        Plant::CookieTwice => "cookies::a_newer_response_brings_newer_cookies",
        Plant::TooLargeKept => "mtu::a_router_is_believed",
        Plant::SavedUp => "silent_errors::quiet_time_is_not_saved_up",
        Plant::ShortAck => "short::a_burst_of_loss_is_survived",
        Plant::WindowPlusOne => "silent_errors::no_more_in_flight_than_the_window",
        Plant::ExpiryUnannounced => "silent_errors::room_of_expired_datagrams_is_announced",
        Plant::BudgetLeak => "memory::finding_4_data_beyond_the_budget_is_dropped",
        Plant::ShortCoverage => "silent_errors::short_datagrams_are_covered",
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

/// Every planted bug makes its test fail.
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
