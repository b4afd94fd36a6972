//! Runs the tests of the Python package on the library that this test was built with.
//!
//! They need the environment that `scripts/setup` makes (`make setup`). Without it they are skipped; with
//! `FAIRWIRE_NO_SKIP=1` that is an error.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The tests of the package pass.
#[test]
fn pytest() {
    python(&["-m", "pytest", "-q", "python/tests"]);
}

/// The package has the types that its stubs say, with nothing left out.
#[test]
fn mypy_strict() {
    let folders = ["fairwire", "tests", "examples", "benches"].map(|name| format!("python/{name}"));
    let folders = folders.each_ref().map(String::as_str);
    python(&[&["-m", "mypy", "--strict"], &folders[..]].concat());
}

/// The stubs have what the native module has, and nothing else.
#[test]
fn stubtest() {
    python(&["-m", "mypy.stubtest", "fairwire._fairwire"]);
}

/// Runs Python in the root of the project, with the package on its path.
fn python(arguments: &[&str]) {
    let Some(python) = interpreter() else { return };
    let output = Command::new(python)
        .args(arguments)
        .current_dir(root())
        .env("PYTHONPATH", package())
        .env("MYPYPATH", root().join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("Python starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "python {} ended with {}\n{}\n{}",
        arguments.join(" "),
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the interpreter of the tests' environment, or `None` to skip them.
fn interpreter() -> Option<PathBuf> {
    let python = root().join("target/python/bin/python");
    if python.exists() {
        return Some(python);
    }
    let text = "target/python is missing: run `make setup`";
    let may_skip = std::env::var_os("FAIRWIRE_NO_SKIP").is_none_or(|value| value != "1");
    assert!(may_skip, "{text}");
    println!("skipped: {text}");
    None
}

/// Returns a folder with the package: the sources with the library that was built for this test.
fn package() -> &'static Path {
    static PACKAGE: OnceLock<PathBuf> = OnceLock::new();
    PACKAGE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("package");
        let package = folder.join("fairwire");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&package).expect("a folder");
        let sources = root()
            .join("python/fairwire")
            .canonicalize()
            .expect("the package");
        for entry in fs::read_dir(sources).expect("the package") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name");
            symlink(&path, package.join(name)).expect("a link");
        }
        // Cargo puts it beside this test. A copy, because a build that runs beside this test may replace it.
        let test = std::env::current_exe().expect("the path of this test");
        let library = test.with_file_name("lib_fairwire.so");
        fs::copy(&library, package.join("_fairwire.abi3.so")).expect("a copy");
        folder
    })
}
