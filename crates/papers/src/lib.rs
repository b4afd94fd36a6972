//! The papers that Fairwire comes with, as data. `papers/<name>/` has their files.

use fairwire_paper::{Bundle, PaperError};

macro_rules! bundle {
    ($name:literal: $($file:literal)*) => {
        Bundle::built_in(
            $name,
            &[$((
                $file,
                include_str!(concat!("../../../papers/", $name, "/", $file)),
            )),*],
        )
    };
}

static BUNDLES: &[Bundle] = &[
    bundle!("wifi-handoff":
        "paper.toml" "tables.toml" "isolating.toml" "claims.toml" "table3.csv" "table4.csv"
        "digests.toml"
    ),
    bundle!("voip":
        "paper.toml" "joins.toml" "late-call.toml" "isolating.toml" "claims.toml"
        "table3.csv" "table4.csv" "digests.toml"
    ),
    bundle!("satellite":
        "paper.toml" "links.toml" "shared.toml" "claims.toml" "table1.csv" "table2.csv" "table3.csv"
        "table4.csv" "table5.csv" "table6.csv" "digests.toml"
    ),
    bundle!("queue-size":
        "paper.toml" "queues.toml" "long.toml" "tradeoff.toml" "claims.toml" "fig2.csv" "fig3.csv" "fig4.csv"
        "derived.csv" "text.csv" "digests.toml"
    ),
    bundle!("long-delay":
        "paper.toml" "tables.toml" "ssthresh.toml" "sharing.toml" "claims.toml" "table1.csv" "table2.csv"
        "digests.toml"
    ),
];

/// Returns all papers, in the order in which they are listed.
pub fn catalogue() -> &'static [Bundle] {
    BUNDLES
}

/// Returns the paper called `name`.
///
/// # Errors
/// If there is none; the error lists all names.
pub fn find(name: &str) -> Result<&'static Bundle, PaperError> {
    let mut all = BUNDLES.iter();
    all.find(|bundle| bundle.name() == name)
        .ok_or_else(|| PaperError::Unknown {
            name: name.to_owned(),
            known: BUNDLES.iter().map(Bundle::name).collect(),
        })
}

#[cfg(test)]
mod tests {
    use fairwire_paper::Paper;
    use fairwire_scenario::Adjust;

    use super::{catalogue, find};

    /// Every paper in the catalogue loads, so each name in its tables and claims exists.
    #[test]
    fn every_paper_loads() {
        for bundle in catalogue() {
            let paper = Paper::load(bundle, &Adjust::default());
            let paper = paper.unwrap_or_else(|error| panic!("{error}"));
            assert!(
                !paper.cells.is_empty() && !paper.claims.is_empty(),
                "{}",
                paper.name
            );
            Paper::golden(bundle).unwrap_or_else(|error| panic!("{error}"));
        }
        let error = find("no-delay").expect_err("no such paper").to_string();
        assert!(error.contains("long-delay"), "{error}");
    }
}
