//! Scenarios that are refused before anything runs.

use fairwire_scenario::Adjust;
use fairwire_units::Duration;

use super::super::{refusal, refused, with_set};
use super::GOOD;

/// Names of cells become file names, so they can neither leave the folder nor be too long.
#[test]
fn cells_have_names_that_files_can_have() {
    let long = "x".repeat(101);
    for name in ["../../evil", "/tmp/evil", "a/b", "", "a\\u001b[31m", &long] {
        let text = format!("{GOOD}\n[cells.\"{name}\"]\ntitle = \"evil\"\n");
        let error = refusal(&text);
        assert!(error.contains("a name "), "{name}: {error}");
        assert!(error.contains("test.toml:"), "{name}: {error}");
    }
}

/// A shorter run leaves out what is beyond its end, but still reports invalid windows.
#[test]
fn a_shorter_run_hides_no_mistake() {
    let short = Adjust {
        duration: Some(Duration::from_secs(100).into()),
        ..with_set(&["measure.windows.wrong={ from = \"2 s\", to = \"1 s\" }"])
    };
    assert!(refused(GOOD, &short).contains("this one is from 2s to 1s, and the run takes 100s"));
    let baseline = Adjust {
        set: vec!["measure.baseline=nothing".to_owned()],
        ..short
    };
    assert!(refused(GOOD, &baseline).contains("there is no such window"));
}

/// A run is limited to 100 hours, because it stores a record for each second.
#[test]
fn a_run_takes_a_hundred_hours_at_most() {
    let long = Adjust {
        duration: Some(Duration::from_secs(361_000).into()),
        ..Adjust::default()
    };
    assert!(refused(GOOD, &long).contains("at most 100 h"));
}
