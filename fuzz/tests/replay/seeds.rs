//! Handmade inputs, which are files in the corpora.

mod claims;
mod hostile;
mod pair;
mod scenario;
mod tls;
mod tls_keyed;
mod tls_records;

use std::fs;
use std::path::Path;

/// Inputs with their names.
type Seeds = Vec<(String, Vec<u8>)>;

/// The corpora contain every seed, so that all are replayed. `FAIRWIRE_FUZZ_SEEDS=1` writes them.
#[test]
fn seeds_are_in_the_corpora() {
    check("claims", &claims::seeds());
    check("hostile", &hostile::seeds());
    check("pair", &pair::seeds());
    check("scenario", &scenario::seeds());
    check("tls", &tls::seeds());
    check("tls_keyed", &tls_keyed::seeds());
    check("tls_records", &tls_records::seeds());
}

/// Compares the seeds of a target with the files of its corpus, or writes the files with `FAIRWIRE_FUZZ_SEEDS` set.
fn check(target: &str, seeds: &[(String, Vec<u8>)]) {
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
