//! The exceptions.

use fairwire_sim::campaign::{CampaignError, PlanError};
use fairwire_sweep::StoreError as LabError;
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};

create_exception!(
    fairwire,
    FairwireError,
    PyException,
    "Something that Fairwire could not do. All its exceptions are of this class."
);
create_exception!(
    fairwire,
    ScenarioError,
    FairwireError,
    "A scenario cannot be built. The message names the key and says what it takes."
);
create_exception!(
    fairwire,
    PaperError,
    FairwireError,
    "There is no such paper, or one of its files is wrong."
);
create_exception!(
    fairwire,
    RunError,
    FairwireError,
    "A run failed, or its results could not be written."
);
create_exception!(
    fairwire,
    LawError,
    RunError,
    "A window law in Python raised an exception, or returned what is no size. Its cause is that exception."
);
create_exception!(
    fairwire,
    StoreError,
    FairwireError,
    "A store cannot be read or written. What was finished before stays in it."
);
create_exception!(
    fairwire,
    WorkerError,
    FairwireError,
    "A worker has other code, or returned something that is no result."
);
create_exception!(
    fairwire,
    InternalError,
    FairwireError,
    "A bug in Fairwire: please report the message with the scenario."
);

/// Returns the exception for a wrong argument.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is passed to `map_err` by name"
)]
pub(crate) fn wrong(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Returns the exception for a campaign with a store that ended early.
pub(crate) fn failed(error: CampaignError<LabError>) -> PyErr {
    match error {
        CampaignError::Store(error) => stored(error),
        error => RunError::new_err(error.to_string()),
    }
}

/// Returns the exception for an error of a store.
pub(crate) fn stored(error: LabError) -> PyErr {
    match error {
        LabError::NoSweep(_)
        | LabError::Query(_)
        | LabError::Plan(PlanError::Seeds(_) | PlanError::NothingToJudge { .. }) => {
            PyValueError::new_err(error.to_string())
        }
        error => StoreError::new_err(error.to_string()),
    }
}
