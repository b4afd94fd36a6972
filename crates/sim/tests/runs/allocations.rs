//! A run does not allocate memory for each packet in the steady state.

use fairwire_held::thread::calls;
use fairwire_scenario::{Adjust, Scenario};
use fairwire_units::Duration;

use super::{once, ours};

fn scenario(file: &str, only: Option<&str>, seconds: u64) -> Scenario {
    let adjust = Adjust {
        only: only.map(str::to_owned).into_iter().collect(),
        duration: Some(Duration::from_secs(seconds).into()),
        ..Adjust::default()
    };
    ours(file, &adjust).swap_remove(0).scenario
}

/// Returns the number of allocations and of packet-hops of a run.
fn cost(scenario: &Scenario) -> (u64, u64) {
    let before = calls();
    let result = once(scenario, 1);
    (calls() - before, result.packet_hops)
}

/// A run of twice the time needs hardly more allocations.
///
/// The few are one reading per second and sometimes a buffer that has to grow.
#[test]
fn packets_allocate_nothing() {
    for (file, only) in [
        ("dumbbell.toml", None),
        ("both-ways.toml", Some("both-2-2")),
        ("both-ways.toml", Some("both-3-3")),
    ] {
        let (short, short_hops) = cost(&scenario(file, only, 30));
        let (long, long_hops) = cost(&scenario(file, only, 60));
        let (more, hops) = (long.saturating_sub(short), long_hops - short_hops);
        assert!(hops > 20_000, "{file}: {hops} hops");
        assert!(
            more * 100 < hops,
            "{file} {only:?}: {more} allocations for {hops} packet-hops"
        );
    }
}
