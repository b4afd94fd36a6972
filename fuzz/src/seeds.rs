//! Handmade inputs, which are files in the corpora.

use std::fs;
use std::path::Path;

/// Compares the seeds of a target with the files of its corpus, or writes the files with `FAIRWIRE_FUZZ_SEEDS` set.
pub(crate) fn check(target: &str, seeds: &[(String, Vec<u8>)]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    for (name, seed) in seeds {
        let file = folder.join(name);
        if std::env::var_os("FAIRWIRE_FUZZ_SEEDS").is_some() {
            fs::create_dir_all(&folder).expect("the corpus can be written");
            fs::write(&file, seed).expect("the corpus can be written");
        }
        let found = fs::read(&file).unwrap_or_default();
        assert_eq!(
            &found, seed,
            "{name}: run with FAIRWIRE_FUZZ_SEEDS=1 to write it"
        );
    }
}
