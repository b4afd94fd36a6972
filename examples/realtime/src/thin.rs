//! Thin flows: few small datagrams at a fixed pace, as games, telemetry and voice send them. How many arrive within one
//! tick after the path's delay?

use std::error::Error;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fairwire::emulated::Link;
use fairwire::{Config, Rate, SendOptions};
use fairwire_measure::{Confidence, Moments};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::ends;
use crate::parallel::parallel;
use crate::settings::{Setting, THIN};

const HERTZ: [u32; 3] = [30, 60, 128];
const SIZES: [usize; 3] = [100, 300, 600];
const ROUND_TRIPS_MS: [u64; 3] = [30, 100, 200];
const LOSSES: [f64; 5] = [0.0, 0.01, 0.02, 0.05, 0.1];
const RATE: Rate = Rate::from_bits_per_s(10_000_000);
/// Quinn's default buffer, bytes.
const BUFFER: usize = 1 << 20;

/// What is measured.
#[derive(Clone, Copy)]
struct Cell {
    hertz: u32,
    size: usize,
    rtt: Duration,
    loss: f64,
}

/// What a run needs to know.
pub struct Plan {
    pub length: Duration,
    pub seeds: u64,
    /// Only settings whose name contains this, and quinn.
    pub only: String,
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for loss in LOSSES {
        for rtt in ROUND_TRIPS_MS.map(Duration::from_millis) {
            for hertz in HERTZ {
                for size in SIZES {
                    cells.push(Cell {
                        hertz,
                        size,
                        rtt,
                        loss,
                    });
                }
            }
        }
    }
    cells
}

/// Runs the grid with each setting, and returns the text of its tables.
pub fn grid(plan: &Plan) -> Result<String, String> {
    let cells = cells();
    let quinn = shares(&cells, Setting::Quinn, plan)?;
    let mut text = table("quinn, %", &cells, &quinn, |share| format!("{share:.1}"));
    for setting in THIN.iter().filter(|it| it.name().contains(&plan.only)) {
        let ours = shares(&cells, *setting, plan)?;
        let differences: Vec<Vec<f64>> = ours
            .iter()
            .zip(&quinn)
            .map(|(ours, quinn)| ours.iter().zip(quinn).map(|(a, b)| a - b).collect())
            .collect();
        let head = format!("{}, points more than quinn", setting.name());
        text += &table(&head, &cells, &differences, |points| {
            format!("{points:+.1}")
        });
        text += &verdict(&cells, &differences);
    }
    Ok(text)
}

/// Returns the shares in time of each cell, one for each seed, in percent.
fn shares(cells: &[Cell], setting: Setting, plan: &Plan) -> Result<Vec<Vec<f64>>, String> {
    parallel(cells, |cell| {
        let runs = (1..=plan.seeds).map(|seed| {
            let share = run(*cell, setting, seed, plan.length);
            let share =
                share.map_err(|error| format!("{}, seed {seed}: {error}", setting.name()))?;
            Ok(100.0 * share)
        });
        runs.collect()
    })
}

/// One run, in simulated time. Returns the share of datagrams that arrived within a tick after the path's delay.
fn run(cell: Cell, setting: Setting, seed: u64, length: Duration) -> Result<f64, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    runtime.block_on(async {
        let link = Link::new(RATE, cell.rtt / 2).loss(cell.loss).seed(seed);
        let tick = Duration::from_secs(1) / cell.hertz;
        let game = Game {
            start: Instant::now(),
            tick,
            latest: cell.rtt / 2 + tick,
            size: cell.size,
            count: (length.as_secs_f64() * f64::from(cell.hertz)) as u32,
            in_time: Arc::default(),
        };
        match setting.config() {
            Some(config) => game.over_fairwire(&link, config).await?,
            None => game.over_quinn(&link, seed).await?,
        }
        let in_time = game.in_time.load(Ordering::Relaxed);
        Ok(in_time as f64 / f64::from(game.count))
    })
}

/// One flow.
#[derive(Clone)]
struct Game {
    start: Instant,
    tick: Duration,
    /// How long a datagram may take.
    latest: Duration,
    size: usize,
    count: u32,
    in_time: Arc<AtomicUsize>,
}

impl Game {
    async fn over_fairwire(&self, link: &Link, config: Config) -> Result<(), Box<dyn Error>> {
        let (here, there) = ends::fairwire(link, config).await?;
        let game = self.clone();
        tokio::spawn(async move {
            while let Ok(received) = there.recv().await {
                game.arrived(&received.data);
            }
        });
        self.play(|datagram| {
            let options = SendOptions::new().within(self.tick);
            here.try_send_with(datagram, options).is_ok()
        })
        .await;
        here.abort();
        Ok(())
    }

    async fn over_quinn(&self, link: &Link, seed: u64) -> Result<(), Box<dyn Error>> {
        let (here, there) = ends::quinn(link, seed, BUFFER).await?;
        let game = self.clone();
        tokio::spawn(async move {
            while let Ok(datagram) = there.read_datagram().await {
                game.arrived(&datagram);
            }
        });
        self.play(|datagram| here.send_datagram(datagram.into()).is_ok())
            .await;
        here.close(0_u32.into(), b"");
        Ok(())
    }

    /// Sends a datagram each tick, and waits for the last ones. What has no room is lost.
    async fn play(&self, mut send: impl FnMut(Vec<u8>) -> bool) {
        let mut ticks = interval(self.tick);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        for _ in 0..self.count {
            ticks.tick().await;
            let mut datagram = self.now_ns().to_be_bytes().to_vec();
            datagram.resize(self.size, 0);
            send(datagram);
        }
        sleep(self.latest).await;
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn arrived(&self, datagram: &[u8]) {
        let sent = datagram.first_chunk().map(|sent| u64::from_be_bytes(*sent));
        let took = sent.map(|sent| Duration::from_nanos(self.now_ns().saturating_sub(sent)));
        if took.is_some_and(|took| took <= self.latest) {
            self.in_time.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Returns a table of all cells: losses and round trips down, paces and sizes across.
fn table(head: &str, cells: &[Cell], values: &[Vec<f64>], shown: impl Fn(f64) -> String) -> String {
    let across = HERTZ.len() * SIZES.len();
    let mut text = format!("\n{head}\n  {:>6} {:>7}", "loss", "RTT");
    for hertz in HERTZ {
        for size in SIZES {
            let _ = write!(text, " {:>8}", format!("{hertz}x{size}"));
        }
    }
    text.push('\n');
    for (cells, values) in cells.chunks(across).zip(values.chunks(across)) {
        let first = cells[0];
        let loss = format!("{} %", first.loss * 100.0);
        let rtt = format!("{} ms", first.rtt.as_millis());
        let _ = write!(text, "  {loss:>6} {rtt:>7}");
        for values in values {
            let _ = write!(text, " {:>8}", shown(mean(values)));
        }
        text.push('\n');
    }
    text
}

/// Says in how many cells a setting is as good as quinn, and where it is worst.
fn verdict(cells: &[Cell], differences: &[Vec<f64>]) -> String {
    let good = differences.iter().filter(|points| mean(points) >= -1.0);
    let worst = cells
        .iter()
        .zip(differences)
        .min_by(|(_, a), (_, b)| mean(a).total_cmp(&mean(b)));
    let worst = worst.map_or_else(String::new, |(cell, points)| {
        let Cell {
            hertz,
            size,
            rtt,
            loss,
        } = cell;
        let mut moments = Moments::new();
        points.iter().for_each(|point| moments.push(*point));
        let points = moments.estimate(Confidence::STUDENT_95).map_or_else(
            || format!("{:.1}", mean(points)),
            |estimate| format!("{estimate:.1}"),
        );
        format!(
            "; least: {points} points at {hertz} Hz, {size} B, RTT {} ms, {} % lost",
            rtt.as_millis(),
            loss * 100.0
        )
    });
    format!(
        "  at most one point less in {} of {} cells{worst}\n",
        good.count(),
        cells.len()
    )
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
