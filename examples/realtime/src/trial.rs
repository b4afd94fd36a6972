//! One run of one contender.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fairwire::Rate;
use fairwire::emulated::Link;
use tokio::time::Instant;

use crate::contender::{Contender, Transport};
use crate::viewer::{Outcome, Viewer};
use crate::{dccp, quic};

/// What all runs have in common.
pub struct Setup {
    pub link: Link,
    /// The link's rate.
    pub rate: Rate,
    /// When a frame is shown, counted from its capture.
    pub playout: Duration,
    pub length: Duration,
}

/// What a contender's two ends share in a run.
#[derive(Clone)]
pub struct Run {
    pub link: Link,
    pub rate: Rate,
    pub seed: u64,
    pub playout: Duration,
    pub length: Duration,
    viewer: Arc<Mutex<Viewer>>,
    start: Instant,
}

impl Run {
    /// Returns the time since the start of the run.
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Shows the viewer a datagram that has just arrived.
    pub fn arrived(&self, datagram: &[u8]) {
        let mut viewer = self.viewer.lock().unwrap_or_else(PoisonError::into_inner);
        viewer.take(self.now(), datagram);
    }
}

/// Runs a contender over the link with this seed, in simulated time.
pub fn run(setup: &Setup, contender: Contender, seed: u64) -> Result<Outcome, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    runtime.block_on(async {
        let run = Run {
            link: setup.link.clone().seed(seed),
            rate: setup.rate,
            seed,
            playout: setup.playout,
            length: setup.length,
            viewer: Arc::default(),
            start: Instant::now(),
        };
        let frames = match contender.transport {
            Transport::Fairwire(how) => dccp::send(&run, how).await?,
            Transport::Quinn { buffer, rate } => quic::send(&run, buffer, rate).await?,
        };
        let mut viewer = run.viewer.lock().unwrap_or_else(PoisonError::into_inner);
        let viewer = std::mem::take(&mut *viewer);
        Ok(viewer.judge(frames, setup.playout, setup.length))
    })
}
