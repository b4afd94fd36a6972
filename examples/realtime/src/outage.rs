//! A path that fails for a while: how soon after its return the first datagram arrives.

use std::error::Error;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fairwire::emulated::Link;
use fairwire::{Profile, Rate, SendOptions};
use tokio::time::{Instant, interval, sleep};

use crate::ends;
use crate::parallel::parallel;
use crate::settings::Setting;

const RATE: Rate = Rate::from_bits_per_s(10_000_000);
const RTT: Duration = Duration::from_millis(100);
const OUTAGES_S: [u64; 3] = [1, 5, 20];
/// When the path fails, at the earliest.
const BEGIN: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_nanos(1_000_000_000 / 60);
const SIZE: usize = 100;
const PATIENCE: Duration = Duration::from_secs(30);
const BUFFER: usize = 1 << 20;

const SETTINGS: &[Setting] = &[
    Setting::Profile(Profile::Interactive),
    Setting::Ccid(2),
    Setting::Ccid(3),
    Setting::Quinn,
];

/// Runs each setting with each outage, and returns the text of the table.
pub fn table(seeds: u64) -> Result<String, String> {
    let mut text = format!(
        "\nround trips ({} ms) from the return of a path until the first datagram, sent at 60 Hz, could have left: p50 and most\n{:<22}",
        RTT.as_millis(),
        ""
    );
    for outage in OUTAGES_S {
        let _ = write!(text, "{:>18}", format!("{outage} s"));
    }
    text.push('\n');
    for setting in SETTINGS {
        let _ = write!(text, "{:<22}", setting.name());
        for outage in OUTAGES_S.map(Duration::from_secs) {
            let jobs: Vec<u64> = (1..=seeds).collect();
            let mut times = parallel(&jobs, |seed| {
                let waited = run(*setting, outage, *seed);
                waited.map_err(|error| format!("{}, seed {seed}: {error}", setting.name()))
            })?;
            times.sort_unstable();
            let shown = |time: Option<Duration>| {
                time.map_or_else(
                    || "never".to_owned(),
                    |time| format!("{:.2}", time.as_secs_f64() / RTT.as_secs_f64()),
                )
            };
            // Those that never come are last.
            let middle = times[times.len() / 2];
            let most = times[times.len() - 1];
            let cell = format!("{} {}", shown(middle.0), shown(most.0));
            let _ = write!(text, "{cell:>18}");
        }
        text.push('\n');
    }
    Ok(text)
}

/// The time from the return of the path until a datagram that arrives left; none that arrived is longer than any.
#[derive(Clone, Copy, Eq, PartialEq)]
struct Waited(Option<Duration>);

impl Ord for Waited {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let of = |waited: &Self| waited.0.unwrap_or(Duration::MAX);
        of(self).cmp(&of(other))
    }
}

impl PartialOrd for Waited {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

fn run(setting: Setting, outage: Duration, seed: u64) -> Result<Waited, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    runtime.block_on(async {
        // Where in a round trip the path fails differs from seed to seed.
        let begin = BEGIN + RTT * u32::try_from(seed % 97)? / 97;
        let link = Link::new(RATE, RTT / 2).outage(begin, outage).seed(seed);
        let returned = begin + outage;
        let start = Instant::now();
        let first: Arc<Mutex<Option<Duration>>> = Arc::default();
        let note = {
            let first = Arc::clone(&first);
            move || {
                let now = start.elapsed();
                let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                if now >= returned && first.is_none() {
                    *first = Some(now.saturating_sub(returned + RTT / 2));
                }
            }
        };
        let until = returned + PATIENCE;
        match setting.config() {
            Some(config) => {
                let (here, there) = ends::fairwire(&link, config).await?;
                tokio::spawn(async move {
                    while there.recv().await.is_ok() {
                        note();
                    }
                });
                play(start, until, |datagram| {
                    drop(here.try_send_with(datagram, SendOptions::new().within(TICK)));
                })
                .await;
            }
            None => {
                let (here, there) = ends::quinn(&link, seed, BUFFER).await?;
                tokio::spawn(async move {
                    while there.read_datagram().await.is_ok() {
                        note();
                    }
                });
                play(start, until, |datagram| {
                    drop(here.send_datagram(datagram.into()))
                })
                .await;
            }
        }
        let first = *first.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Waited(first))
    })
}

async fn play(start: Instant, until: Duration, mut send: impl FnMut(Vec<u8>)) {
    let mut ticks = interval(TICK);
    while start.elapsed() < until {
        ticks.tick().await;
        send(vec![0; SIZE]);
    }
    sleep(RTT).await;
}
