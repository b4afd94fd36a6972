//! The windows and periods of a scenario.

use fairwire_units::{Duration, Instant};

use crate::results::WHOLE;
use fairwire_scenario::Scenario;
use fairwire_scenario::transport::windows::{Span, Windows};

/// The period of series if the scenario states none.
const DEFAULT_PERIOD: Duration = Duration::from_secs(1);

/// Returns the windows and periods of `scenario`, with `whole` first.
pub(super) fn windows(scenario: &Scenario) -> Windows {
    let end = Instant::START + scenario.run.duration;
    let whole = Span {
        from: Instant::START,
        to: end,
    };
    let named = scenario.measure.windows.iter().map(|(name, window)| {
        let span = Span {
            from: Instant::START + window.from.unwrap_or_default(),
            to: window.to.map_or(end, |to| Instant::START + to),
        };
        (name.to_owned(), span)
    });
    let all = [(WHOLE.to_owned(), whole)].into_iter().chain(named);
    let period = scenario.measure.series.unwrap_or(DEFAULT_PERIOD);
    Windows::new(all.collect(), period)
}
