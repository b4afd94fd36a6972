//! The long-run rate of each CCID at five loss rates, against its law. Every n-th packet is lost,
//! so that nothing is random and the loss event rate is known.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use fairwire_lab::campaign::{self, Campaign, run_cells};
use fairwire_lab::results::{Metric, Results, Subject};
use fairwire_lab::scenario::{Adjust, ScenarioFile};

const PERIODS: [u32; 5] = [1_000, 300, 100, 50, 20];
/// Two propagation delays; the link is too fast to add to them.
const RTT: f64 = 0.1;
const PAYLOAD: f64 = 1_000.0;

/// CCID 4's path and packets, so that its rate stays below 100 packets a second.
const SMALL_PERIODS: [u32; 5] = [150, 100, 67, 50, 33];
const LONG_RTT: f64 = 1.0;
const SMALL_PAYLOAD: f64 = 300.0;

fn results() -> Results {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/response.toml");
    let adjust = Adjust {
        seeds: Some(1),
        ..Adjust::default()
    };
    let cells = ScenarioFile::load(&path)
        .and_then(|file| file.cells(&adjust))
        .unwrap_or_else(|error| panic!("{error}"));
    let campaign = Campaign {
        name: "response".into(),
        threads: campaign::threads(),
        stop: &AtomicBool::new(false),
        progress: &|_| {},
        capture: None,
    };
    run_cells(&cells, campaign, &mut |_| Ok(())).expect("runs")
}

/// Packets of `payload` bytes sent per second, and the share of them that was lost.
fn rate_and_loss(results: &Results, cell: &str, payload: f64) -> (f64, f64) {
    let cell = results.cell(cell).unwrap_or_else(|| panic!("no {cell}"));
    let mean = |metric| {
        let estimate = cell.estimate(&Subject::flow("dccp"), "steady", metric);
        estimate.expect("measured").mean
    };
    let loss = mean(Metric::Loss) / 100.0;
    let delivered = mean(Metric::Goodput) / 8.0 / payload;
    (delivered / (1.0 - loss), loss)
}

/// RFC 5348, 3.1, with b = 1 and `t_RTO` = 4R, in packets per second.
fn equation(rtt: f64, p: f64) -> f64 {
    let root = f64::sqrt(2.0 * p / 3.0);
    let timeouts = 12.0 * f64::sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p);
    1.0 / (rtt * (root + timeouts))
}

/// The mean of a window that climbs from half its height by a packet per round trip and is
/// halved by one loss in 1/p packets (Mathis et al. 1997): the square root of 3/2p.
fn square_root_law(p: f64) -> f64 {
    f64::sqrt(1.5 / p)
}

/// CCID 2 follows the square-root law, less what the law leaves out: the receiver may hold back the
/// acknowledgement of the last packet until the next one comes (Ack Ratio 2, RFC 4340, 11.3), a packet;
/// a cut rounds down, up to another; and for the round trip and a half in which what was sent
/// before the cut and right after it is under way, the window stays where it is (RFC 4341, 5): one and a
/// half in W/2 + 1.5 round trips at W/2 in place of 3/4 W, three quarters of a packet. Nothing is ever added.
///
/// CCID 3 follows the equation: the loss event rate is 1/n, the round trip 100 ms and the length
/// of a packet, so that a percent covers what is left.
///
/// CCID 4 follows the equation of packets of 1,460 bytes, of whose rate 36 bytes a packet are for headers
/// (RFC 5622, 5); one loss in n packets is 1/n whether intervals are short or long (RFC 4828, 4.4).
#[test]
fn rates_follow_their_laws_at_five_loss_rates() {
    let results = results();
    for period in PERIODS {
        let (rate, loss) = rate_and_loss(&results, &format!("ccid-2-{period}"), PAYLOAD);
        let missing = square_root_law(loss) - rate * RTT;
        assert!(
            (0.0..=3.0).contains(&missing),
            "CCID 2, 1/{period}: {missing} packets below the law"
        );

        let (rate, loss) = rate_and_loss(&results, &format!("ccid-3-{period}"), PAYLOAD);
        assert!((loss * f64::from(period) - 1.0).abs() < 0.01, "p = {loss}");
        let ratio = rate / equation(RTT, 1.0 / f64::from(period));
        assert!(
            (0.99..=1.01).contains(&ratio),
            "CCID 3, 1/{period}: {ratio} times the equation"
        );
    }

    for period in SMALL_PERIODS {
        let cell = format!("ccid-4-{period}");
        let (rate, _) = rate_and_loss(&results, &cell, SMALL_PAYLOAD);
        let large = 1_460.0 * equation(LONG_RTT, 1.0 / f64::from(period));
        let ratio = rate / (large / (SMALL_PAYLOAD + 36.0));
        assert!(
            (0.99..=1.01).contains(&ratio),
            "CCID 4, 1/{period}: {ratio} times the equation"
        );
    }
}
