//! The application on bad networks. Each test simulates a minute.

use std::time::Duration;

use fairwire::emulated::Link;
use fairwire::{ConnectOptions, Connection, ListenOptions, Rate, Security};
use telemetry::{Heard, Monitor, SERVICE, SILENCE, config, report};
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn kbit(kbit: u64) -> Rate {
    Rate::from_bits_per_s(kbit * 1_000)
}

/// Connects a vehicle and the ground over `link`.
async fn connect(link: &Link) -> (Connection, Monitor) {
    let (vehicle, ground) = link.join().expect("a link that makes sense");
    let port = ground.local_addr().port();
    let options = ListenOptions::new().config(config());
    let listener = ground.listen_with(port, &[SERVICE], Security::None, options);
    let listener = listener.expect("a free port");
    let options = ConnectOptions::new().config(config());
    let connecting = vehicle.connect_with(ground.local_addr(), SERVICE, Security::None, options);
    let (vehicle, ground) = tokio::join!(connecting, listener.accept());
    let ground = ground.expect("the vehicle connects");
    (vehicle.expect("the ground answers"), Monitor::new(ground))
}

/// What the ground heard in a minute: each with its time after the start.
struct Minute {
    sent: u32,
    heard: Vec<(Duration, Heard)>,
}

/// Lets a vehicle report for a minute.
async fn minute(link: Link) -> Minute {
    let (vehicle, mut ground) = connect(&link).await;
    let start = Instant::now();
    let reporting = tokio::spawn(async move {
        let sent = report(&vehicle, start, start + MINUTE).await;
        let _ = vehicle.close().await;
        sent
    });
    let mut heard = Vec::new();
    while let Ok(next) = ground.next().await {
        heard.push((start.elapsed(), next));
    }
    let sent = reporting.await.expect("no panic");
    Minute { sent, heard }
}

impl Minute {
    /// Returns when each sample was heard, and how old it was.
    fn samples(&self) -> impl Iterator<Item = (Duration, Duration)> {
        self.heard.iter().filter_map(|(at, heard)| match heard {
            Heard::Sample { taken, .. } => Some((*at, at.saturating_sub(*taken))),
            Heard::Silence => None,
        })
    }

    fn silences(&self) -> Vec<Duration> {
        let silent = self
            .heard
            .iter()
            .filter(|(_, heard)| *heard == Heard::Silence);
        silent.map(|(at, _)| *at).collect()
    }
}

/// With a loss of 5 % samples are missing, but the ground always hears the vehicle, and hardly a sample is old.
#[tokio::test(start_paused = true)]
async fn losses_are_only_gaps() {
    let minute = minute(Link::new(kbit(2_000), ms(40)).loss(0.05).seed(1)).await;
    let heard = minute.samples().count();
    assert!(heard < minute.sent as usize, "nothing was lost");
    // More than at the slowest pace.
    assert!(heard > 150, "{heard} samples of {}", minute.sent);
    assert!(minute.silences().is_empty());
    // With a window of one packet only a timeout finds a loss. It takes 0.4 s here, and a sample waits for it.
    let old = minute.samples().filter(|(_, age)| *age > ms(400)).count();
    assert!(old * 100 <= heard, "{old} of {heard} samples were old");
}

/// On a link that carries a quarter of what the vehicle could send, it sends less instead of queueing.
#[tokio::test(start_paused = true)]
async fn a_slow_link_carries_fewer_samples_not_older_ones() {
    let minute = minute(Link::new(kbit(24), ms(100)).seed(2)).await;
    let heard = minute.samples().count();
    assert!(heard > 300, "{heard} samples of {}", minute.sent);
    assert!(minute.silences().is_empty());
    let old = minute.samples().filter(|(_, age)| *age > ms(800)).count();
    assert!(old * 20 < heard, "{old} of {heard} samples were old");
}

/// An outage of five seconds is noticed after [`SILENCE`]. Within five seconds after it, samples come again.
#[tokio::test(start_paused = true)]
async fn an_outage_is_noticed_and_ends() {
    let link = Link::new(kbit(2_000), ms(40)).outage(ms(20_000), ms(5_000));
    let minute = minute(link.seed(3)).await;
    let silences = minute.silences();
    let first = silences.first().copied().expect("the outage is noticed");
    assert!(first < ms(20_200) + SILENCE, "noticed at {first:?}");
    assert!(silences.iter().all(|at| *at < ms(30_000)), "{silences:?}");
    let after = minute.samples().filter(|(at, _)| *at > ms(35_000)).count();
    assert!(after > 1_000, "{after} samples after the outage");
}

/// A seed reproduces a run exactly, so a failure can be looked at as often as needed.
#[tokio::test(start_paused = true)]
async fn a_run_can_be_repeated() {
    let link = || Link::new(kbit(500), ms(40)).loss(0.1).seed(4);
    assert_eq!(minute(link()).await.heard, minute(link()).await.heard);
}
