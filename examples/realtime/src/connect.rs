//! How long it takes until the first encrypted datagram of a client has arrived, beside quinn, in round trips.

use std::error::Error;
use std::fmt::Write;
use std::time::Duration;

use fairwire::emulated::Link;
use fairwire::{Config, Rate};
use tokio::time::{Instant, timeout};

use crate::ends;
use crate::parallel::parallel;

const RATE: Rate = Rate::from_bits_per_s(10_000_000);
const ROUND_TRIPS_MS: [u64; 3] = [30, 100, 200];
const LOSSES: [f64; 3] = [0.0, 0.02, 0.05];
const PATIENCE: Duration = Duration::from_secs(60);
const BUFFER: usize = 1 << 20;

/// Connects with each seed, and returns the text of the table.
pub fn table(seeds: u64) -> Result<String, String> {
    let mut text = String::from(
        "\nround trips until `connect` has returned, and until the first datagram has left\n      loss     RTT  \
         Fairwire p50    p95  leaves p50    p95   quinn p50    p95  leaves p50    p95\n",
    );
    for loss in LOSSES {
        for rtt in ROUND_TRIPS_MS.map(Duration::from_millis) {
            let _ = write!(text, "  {:>6} % {:>4} ms", loss * 100.0, rtt.as_millis());
            for is_quinn in [false, true] {
                let mut connected = Vec::new();
                let mut left = Vec::new();
                let jobs: Vec<u64> = (1..=seeds).collect();
                let runs = parallel(&jobs, |seed| {
                    let times = run(rtt, loss, *seed, is_quinn);
                    times.map_err(|error| format!("seed {seed}: {error}"))
                })?;
                for times in runs {
                    connected.push(times.connected.as_secs_f64() / rtt.as_secs_f64());
                    if let Some(first) = times.left {
                        left.push(first.as_secs_f64() / rtt.as_secs_f64());
                    }
                }
                for mut times in [connected, left] {
                    times.sort_by(f64::total_cmp);
                    let _ = write!(
                        text,
                        "  {:>10.2} {:>6.2}",
                        at(&times, 0.5),
                        at(&times, 0.95)
                    );
                }
            }
            text.push('\n');
        }
    }
    Ok(text)
}

/// What a run took.
struct Times {
    connected: Duration,
    /// Until the first datagram left; `None` if it was lost.
    left: Option<Duration>,
}

fn run(rtt: Duration, loss: f64, seed: u64, is_quinn: bool) -> Result<Times, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    runtime.block_on(async {
        let link = Link::new(RATE, rtt / 2).loss(loss).seed(seed);
        let start = Instant::now();
        let (connected, arrived) = if is_quinn {
            let (calling, accepting) = ends::quinn_halves(&link, seed, BUFFER)?;
            let reading = tokio::spawn(async move {
                let there = accepting.await.ok()?;
                timeout(PATIENCE, there.read_datagram()).await.ok()?.ok()?;
                Some(start.elapsed())
            });
            let here = calling.await?;
            let connected = start.elapsed();
            here.send_datagram(b"first".as_slice().into())?;
            (connected, reading.await?)
        } else {
            let (calling, accepting) = ends::fairwire_halves(&link, Config::interactive())?;
            let reading = tokio::spawn(async move {
                let there = accepting.await.ok()?;
                timeout(PATIENCE, there.recv()).await.ok()?.ok()?;
                Some(start.elapsed())
            });
            let here = calling.await?;
            let connected = start.elapsed();
            here.try_send(b"first".as_slice())?;
            (connected, reading.await?)
        };
        Ok(Times {
            connected,
            left: arrived.map(|arrived| arrived.saturating_sub(rtt / 2)),
        })
    })
}

fn at(sorted: &[f64], share: f64) -> f64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}
