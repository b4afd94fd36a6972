//! Runs over WLANs: the effects of contention, hand-offs and slow hosts.

use fairwire_scenario::{Adjust, Cell};
use fairwire_sim::results::{Metric, RunResult, SeriesMetric, Subject, WHOLE};

use super::{ours, unperturbed};

fn result(cells: &[Cell], name: &str) -> RunResult {
    let cell = cells.iter().find(|cell| cell.name == name).expect(name);
    unperturbed(&cell.scenario, cell.scenario.run.seed)
}

/// TCP's throughput falls in the second of each hand-off, and TCP loses more if the station drops its queue then.
///
/// A slow host limits a sender to one packet a millisecond, including acknowledgements.
#[test]
fn hand_offs_and_slow_hosts_show() {
    let cells = ours("wlan.toml", &Adjust::default());
    let tcp = Subject::flow("tcp");
    let plain = result(&cells, "plain");
    let series = plain
        .series(&tcp, SeriesMetric::Throughput)
        .expect("a series");
    let mean = plain
        .value(&tcp, WHOLE, Metric::Throughput)
        .expect("a mean");
    for second in [20, 40] {
        assert!(
            series[second] < 0.9 * mean,
            "{second}: {} of {mean}",
            series[second]
        );
    }
    let lost = |run: &RunResult| run.value(&tcp, WHOLE, Metric::Dropped).expect("counted");
    let at_station = result(&cells, "lost");
    assert!(
        lost(&at_station) > lost(&plain),
        "{} {}",
        lost(&at_station),
        lost(&plain)
    );
    let slow = result(&cells, "slow");
    let sent = |run: &RunResult, flow: &str| {
        run.value(&Subject::flow(flow), WHOLE, Metric::Sent)
            .expect("counted")
    };
    assert!(sent(&slow, "tcp") < 60_000.0, "{}", sent(&slow, "tcp"));
    assert!(sent(&slow, "dccp") < 60_000.0, "{}", sent(&slow, "dccp"));
}
