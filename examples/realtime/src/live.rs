//! Live video over links of many kinds: the frames in time, with each setting.

use std::fmt::Write;
use std::time::Duration;

use fairwire::Rate;
use fairwire::emulated::Link;

use crate::contender::CONTENDERS;
use crate::parallel::parallel;
use crate::table::mean;
use crate::trial::{self, Setup};

const PLAYOUT: Duration = Duration::from_millis(250);
const DELAY: Duration = Duration::from_millis(50);
const RATE: Rate = Rate::from_bits_per_s(2_000_000);
const QUEUE: Duration = Duration::from_millis(200);

/// The links, all of 2 Mbit/s with 50 ms each way and a queue of 200 ms but for what their name says.
fn links(length: Duration) -> Vec<(&'static str, Link)> {
    let plain = || Link::new(RATE, DELAY).queue(QUEUE);
    let (third, drop) = (length / 3, Rate::from_bits_per_s(500_000));
    vec![
        ("queue 2 s", plain().queue(Duration::from_secs(2))),
        (
            "0.5 Mbit/s for a third",
            plain().rate_from(third, drop).rate_from(third * 2, RATE),
        ),
        ("1 % lost", plain().loss(0.01)),
        ("5 % lost", plain().loss(0.05)),
        (
            "outage of 3 s",
            plain().outage(third, Duration::from_secs(3)),
        ),
    ]
}

/// Runs each contender on each link, and returns the text of the table.
pub fn table(length: Duration, seeds: u64) -> Result<String, String> {
    let links = links(length);
    let mut jobs = Vec::new();
    for contender in CONTENDERS {
        for (_, link) in &links {
            for seed in 1..=seeds {
                jobs.push((*contender, link.clone(), seed));
            }
        }
    }
    let shares = parallel(&jobs, |(contender, link, seed)| {
        let setup = Setup {
            link: link.clone(),
            rate: RATE,
            playout: PLAYOUT,
            length,
        };
        let outcome = trial::run(&setup, *contender, *seed);
        let outcome =
            outcome.map_err(|error| format!("{}, seed {seed}: {error}", contender.name))?;
        Ok((100.0 * outcome.in_time, outcome.kbit_per_s))
    })?;
    let width = CONTENDERS.iter().map(|it| it.name.len()).max().unwrap_or(0);
    let mut text = format!(
        "\nvideo: frames shown {} ms after their capture that are complete, %; their data, kbit/s\n{:width$}",
        PLAYOUT.as_millis(),
        ""
    );
    for (name, _) in &links {
        let _ = write!(text, "  {name:>24}");
    }
    text.push('\n');
    let mut runs = shares.chunks(seeds as usize);
    for contender in CONTENDERS {
        let _ = write!(text, "{:<width$}", contender.name);
        for runs in runs.by_ref().take(links.len()) {
            let in_time = mean(runs.iter().map(|run| run.0), 1);
            let data = runs.iter().map(|run| run.1).sum::<f64>() / seeds as f64;
            let _ = write!(text, "  {:>24}", format!("{in_time} ({data:.0})"));
        }
        text.push('\n');
    }
    Ok(text)
}
