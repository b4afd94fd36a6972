//! Where runs are found and kept.

use std::collections::BTreeMap;

use fairwire_scenario::{Cell, Scenario};

use super::PlanError;
use super::key::{RunKey, ScenarioKey};
use super::seeds::Job;
use crate::results::RunResult;

/// A finished run with its scenario.
#[derive(Clone, Debug)]
pub struct Recorded<O> {
    /// The key of its scenario.
    pub scenario: ScenarioKey,
    /// What it measured.
    pub run: RunResult,
    /// Where it was computed.
    pub origin: O,
}

impl<O> Recorded<O> {
    /// Returns its key.
    pub fn key(&self) -> RunKey {
        RunKey {
            scenario: self.scenario,
            seed: self.run.seed,
            perturbed: self.run.perturbed,
        }
    }
}

/// What a plan wants: cells that belong together, and their seeds.
#[derive(Debug)]
pub struct Listing<'a> {
    /// The name of the cells' batch.
    pub name: &'a str,
    /// Which seeds are wanted, in words.
    pub seeds: String,
    /// The cells with their scenarios.
    pub cells: Vec<(&'a Cell, ScenarioKey)>,
}

/// Where runs are found and kept.
pub trait RunStore: Send {
    /// Where a run was computed.
    type Origin: Clone + Send + Sync;
    /// Why runs cannot be found or kept.
    type Error: std::error::Error + From<PlanError> + Send;

    /// The work of the runs that are worth adding at once: adding runs costs as much as some of them.
    const TOGETHER: u64 = 0;

    /// Returns where this process computes.
    fn origin(&self) -> Self::Origin;

    /// Notes what a plan wants, before anything else is asked.
    ///
    /// # Errors
    /// If it cannot be written.
    fn list(&mut self, sweep: &Listing<'_>) -> Result<(), Self::Error>;

    /// Returns whether a run is there.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn has(&mut self, run: &RunKey) -> Result<bool, Self::Error>;

    /// Adds finished runs. `scenario` returns the scenario of a key.
    ///
    /// # Errors
    /// If they cannot be written; what was there before stays whole.
    fn append<'a>(
        &mut self,
        runs: Vec<Recorded<Self::Origin>>,
        scenario: &dyn Fn(ScenarioKey) -> Option<&'a Scenario>,
    ) -> Result<(), Self::Error>;

    /// Returns the runs of a scenario, in order of their seeds.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn load(&mut self, scenario: ScenarioKey) -> Result<Vec<RunResult>, Self::Error>;

    /// Returns whether to begin with the last runs, because another process has perhaps begun with the first.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn begins_at_the_end(&mut self) -> Result<bool, Self::Error> {
        Ok(false)
    }

    /// Notes that nobody will load the runs of a scenario any more in this campaign.
    fn release(&mut self, _scenario: ScenarioKey) {}
}

/// Runs in memory, for as long as a campaign needs them.
#[derive(Debug, Default)]
pub struct Memory(BTreeMap<ScenarioKey, BTreeMap<Job, RunResult>>);

impl RunStore for Memory {
    type Origin = ();
    type Error = PlanError;

    fn origin(&self) {}

    fn list(&mut self, _sweep: &Listing<'_>) -> Result<(), PlanError> {
        Ok(())
    }

    fn has(&mut self, run: &RunKey) -> Result<bool, PlanError> {
        let runs = self.0.get(&run.scenario);
        Ok(runs.is_some_and(|runs| runs.contains_key(&run.job())))
    }

    fn append<'a>(
        &mut self,
        runs: Vec<Recorded<()>>,
        _scenario: &dyn Fn(ScenarioKey) -> Option<&'a Scenario>,
    ) -> Result<(), PlanError> {
        for run in runs {
            let job = run.key().job();
            self.0.entry(run.scenario).or_default().insert(job, run.run);
        }
        Ok(())
    }

    fn load(&mut self, scenario: ScenarioKey) -> Result<Vec<RunResult>, PlanError> {
        let runs = self.0.get(&scenario).into_iter().flatten();
        Ok(runs.map(|(_, run)| run.clone()).collect())
    }

    fn release(&mut self, scenario: ScenarioKey) {
        self.0.remove(&scenario);
    }
}
