//! Two hosts that are network namespaces (`scripts/two-hosts`).

use std::path::Path;
use std::process::{Command, Output};

/// Runs `perf` with these arguments on the first host, then on the second; `options` are those of the script. Returns
/// `None` where network namespaces are not possible; with `FAIRWIRE_NO_SKIP=1` the test then fails.
pub(crate) fn perf(options: &[&str], first: &str, second: &str) -> Option<Output> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let fairwire = env!("CARGO_BIN_EXE_fairwire");
    let ran = Command::new(root.join("scripts/two-hosts"))
        .args(options)
        .arg(format!("'{fairwire}' perf {first} >/dev/null"))
        .arg(format!("'{fairwire}' perf {second}"))
        .output()
        .expect("a script of ours");
    if ran.status.code() == Some(77) {
        let why = String::from_utf8_lossy(&ran.stderr);
        let strict = std::env::var_os("FAIRWIRE_NO_SKIP").is_some_and(|value| value == "1");
        assert!(!strict, "FAIRWIRE_NO_SKIP=1: {why}");
        eprintln!("skipped: {why}");
        return None;
    }
    Some(ran)
}
