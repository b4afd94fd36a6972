//! The runs of this program: each is done once, for all tests that want it.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use fairwire_scenario::{Cell, Scenario};
use fairwire_sim::campaign::{
    self, Batch, Campaign, Listing, Memory, PlanError, Recorded, RunKey, RunStore, ScenarioKey,
    run_batches_in,
};
use fairwire_sim::results::{Results, RunResult};

static RUNS: Mutex<Option<Kept>> = Mutex::new(None);

/// Returns the results of `cells`, of which it runs what no test has run before.
///
/// Tests take turns here. A campaign is on all processors anyway.
pub(crate) fn results(name: &str, cells: &[Cell]) -> Results {
    // A test that failed here has left whole runs.
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    let stop = AtomicBool::new(false);
    let campaign = Campaign {
        threads: campaign::threads(),
        stop: &stop,
        progress: &|_| {},
        capture: None,
    };
    let mut outcome = run_batches_in(
        runs.get_or_insert_default(),
        &BTreeMap::new(),
        &[Batch { name, cells }],
        campaign,
        &mut |_, _| Ok(()),
    );
    assert!(outcome.failure.is_none(), "{name}: {:?}", outcome.failure);
    outcome.results.remove(0)
}

/// Memory that keeps runs after a campaign.
#[derive(Default)]
struct Kept(Memory);

impl RunStore for Kept {
    type Origin = ();
    type Error = PlanError;

    fn origin(&self) {}

    fn list(&mut self, sweep: &Listing<'_>) -> Result<(), PlanError> {
        self.0.list(sweep)
    }

    fn has(&mut self, run: &RunKey) -> Result<bool, PlanError> {
        self.0.has(run)
    }

    fn append<'a>(
        &mut self,
        runs: Vec<Recorded<()>>,
        scenario: &dyn Fn(ScenarioKey) -> Option<&'a Scenario>,
    ) -> Result<(), PlanError> {
        self.0.append(runs, scenario)
    }

    fn load(&mut self, scenario: ScenarioKey) -> Result<Vec<RunResult>, PlanError> {
        self.0.load(scenario)
    }
}
