//! The store as a place where plans find and keep runs.

use std::sync::Arc;

use fairwire_scenario::Scenario;
use fairwire_sim::campaign::{
    Campaign, CampaignError, Listing, Plan, RunKey, RunStore, ScenarioKey,
};
use fairwire_sim::results::RunResult;
use rusqlite::params;

use crate::error::StoreError;
use crate::list::Listed;
use crate::raw::RawRuns;
use crate::record::{Origin, Recorded, SOURCES};
use crate::store::Store;
use crate::text::ScenarioText;

impl Store {
    /// Does the runs of a plan that are missing, on the processors of this machine, and ends the adding of runs.
    ///
    /// # Errors
    /// See [`CampaignError`].
    pub fn run(
        &mut self,
        plan: &mut Plan,
        campaign: Campaign<'_>,
    ) -> Result<(), CampaignError<StoreError>> {
        let ran = plan.run_here(self, campaign, None);
        let closed = self.close();
        ran?;
        Ok(closed?)
    }
}

impl RunStore for Store {
    type Origin = Arc<Origin>;
    type Error = StoreError;

    /// Some 50 ms.
    const TOGETHER: u64 = 50_000;

    fn origin(&self) -> Arc<Origin> {
        Arc::clone(&self.origin)
    }

    fn list(&mut self, sweep: &Listing<'_>) -> Result<(), StoreError> {
        let listed = Listed::new(sweep, &self.origin);
        self.enlist(&listed)
    }

    fn has(&mut self, run: &RunKey) -> Result<bool, StoreError> {
        self.db.read(|db| {
            let mut found = db.prepare_cached(
                "SELECT 1 FROM run WHERE scenario = (SELECT id FROM scenario WHERE scenario = ?1) \
                 AND sources = (SELECT id FROM sources WHERE sources = ?2) AND perturbed = ?3 AND seed = ?4",
            )?;
            found.exists(params![run.scenario.to_string(), SOURCES, run.perturbed, run.seed.cast_signed()])
        })
    }

    fn append<'a>(
        &mut self,
        runs: Vec<Recorded>,
        scenario: &dyn Fn(ScenarioKey) -> Option<&'a Scenario>,
    ) -> Result<(), StoreError> {
        let text = |key: &str| {
            let key = key.parse().ok()?;
            Some(ScenarioText::of(key, scenario(key)?))
        };
        self.add(&RawRuns::of(&runs), &text).map(|_| ())
    }

    fn load(&mut self, scenario: ScenarioKey) -> Result<Vec<RunResult>, StoreError> {
        let raw = self.raw(
            "s.scenario = ?1 AND c.sources = ?2",
            params![scenario.to_string(), SOURCES],
        )?;
        let all = raw.records().map_err(StoreError::damaged(&self.db.path))?;
        let mut all: Vec<RunResult> = all.into_iter().map(|it| it.run).collect();
        all.sort_by_key(|run| (run.perturbed, run.seed));
        // Twice only if an index was damaged, and then they are equal.
        all.dedup_by_key(|run| (run.perturbed, run.seed));
        Ok(all)
    }

    fn begins_at_the_end(&mut self) -> Result<bool, StoreError> {
        self.is_second_of_two()
    }
}
