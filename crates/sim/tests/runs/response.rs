//! The long-run rate of each CCID at five loss rates, compared with its law.
//!
//! Every n-th packet is lost, so that nothing is random and the loss event rate is known: 300 s of the steady state
//! suffice.

use fairwire_scenario::Adjust;
use fairwire_sim::results::{Metric, Results, Subject};

use fairwire_units::Duration;

use super::{all_seeds, ours};

const PERIODS: [u32; 5] = [1_000, 300, 100, 50, 20];
/// The round-trip time, s: two propagation delays. The link is so fast that it adds next to nothing.
const RTT: f64 = 0.1;
const PAYLOAD: f64 = 1_000.0;

/// The loss periods of CCID 4. Its path and packets keep its rate below 100 packets a second.
const SMALL_PERIODS: [u32; 5] = [150, 100, 67, 50, 33];
const LONG_RTT: f64 = 1.0;
const SMALL_PAYLOAD: f64 = 300.0;

fn results() -> Results {
    let adjust = Adjust {
        seeds: Some(1),
        duration: Some(Duration::from_secs(400).into()),
        ..Adjust::default()
    };
    all_seeds(&ours("response.toml", &adjust))
}

/// Returns the packets of `payload` bytes that were sent per second, and the share of them that was lost.
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

/// Returns the rate of RFC 5348, section 3.1, with b = 1 and `t_RTO` = 4R, in packets per second.
fn equation(rtt: f64, p: f64) -> f64 {
    let root = f64::sqrt(2.0 * p / 3.0);
    let timeouts = 12.0 * f64::sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p);
    1.0 / (rtt * (root + timeouts))
}

/// Returns the mean window in packets by the square-root law, sqrt(3/2p) (Mathis et al. 1997).
///
/// The window grows from half its maximum by a packet per round trip, and one loss in 1/p packets halves it.
fn square_root_law(p: f64) -> f64 {
    f64::sqrt(1.5 / p)
}

/// The rates of CCIDs 2, 3 and 4 follow their laws.
///
/// CCID 2 follows the square-root law, less up to three packets that the law does not model:
///
/// - The receiver may delay the acknowledgement of the last packet until the next one comes (Ack Ratio 2, RFC 4340,
///   section 11.3), which costs one packet.
/// - A cut rounds down, which costs up to another.
/// - After a cut the window does not grow for a round trip and a half, while packets from before and right after the
///   cut are on their way (RFC 4341, section 5). For 1.5 of W/2 + 1.5 round trips it is W/2 instead of 3/4 W, which
///   costs three quarters of a packet.
///
/// CCID 3 follows the equation within one per cent. The loss event rate is 1/n, and the round trip is 100 ms plus the
/// transmission time of a packet.
///
/// CCID 4 follows the equation for packets of 1,460 bytes, of whose rate 36 bytes a packet are for headers (RFC 5622,
/// section 5). One loss in n packets is 1/n for short and long intervals alike (RFC 4828, section 4.4).
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
