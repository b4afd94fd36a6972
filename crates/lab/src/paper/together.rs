//! Papers that were run together, and what came of them: files of all of them, and one count of
//! verdicts.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::export::{figures_csv, paper_json, tables_csv, verdicts_csv};
use super::{Judged, Paper, Report, Verdict};
use crate::report;
use crate::results::{Contents, Output, write_whole};

/// A paper beside what its runs say.
#[derive(Clone, Debug)]
pub struct Reported<'a> {
    /// The paper.
    pub paper: &'a Paper,
    /// What its runs say.
    pub report: Report,
}

/// How many verdicts of each kind there are, in the order in which the kinds are listed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tally(Vec<(Verdict, usize)>);

impl Tally {
    /// Counts `verdicts`.
    pub fn of<'a>(verdicts: impl IntoIterator<Item = &'a Judged>) -> Self {
        let mut counts: Vec<(Verdict, usize)> = Verdict::KINDS
            .into_iter()
            .map(|verdict| (verdict, 0))
            .collect();
        for judged in verdicts {
            let same = |one: &&mut (Verdict, usize)| one.0.words() == judged.verdict.words();
            if let Some((_, count)) = counts.iter_mut().find(same) {
                *count += 1;
            }
        }
        counts.retain(|(_, count)| *count > 0);
        Self(counts)
    }

    /// The kinds that there are, with their numbers.
    pub fn counts(&self) -> &[(Verdict, usize)] {
        &self.0
    }

    /// All together.
    pub fn total(&self) -> usize {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// `13 claims: 6 reproduced, 2 fitted`.
    pub fn sentence(&self) -> String {
        let counts: Vec<String> = self
            .0
            .iter()
            .map(|(verdict, count)| format!("{count} {}", verdict.counted()))
            .collect();
        let claims = if self.total() == 1 { "claim" } else { "claims" };
        let colon = if counts.is_empty() { "" } else { ": " };
        format!("{} {claims}{colon}{}", self.total(), counts.join(", "))
    }
}

impl Reported<'_> {
    /// How many verdicts of each kind.
    pub fn tally(&self) -> Tally {
        Tally::of(&self.report.verdicts)
    }

    /// One line for each paper and one for all: what became of the claims.
    pub fn summary(papers: &[Self]) -> String {
        let width = papers
            .iter()
            .map(|one| one.paper.name.chars().count())
            .max()
            .unwrap_or(0)
            .max("together".len());
        let mut text = String::from("Verdicts\n========\n");
        for one in papers {
            let partial = if one.report.partial { " (PARTIAL)" } else { "" };
            let (name, sentence) = (&one.paper.name, one.tally().sentence());
            let _ = writeln!(text, "  {name:<width$}  {sentence}{partial}");
        }
        let together = Self::together(papers).sentence();
        let partial = if Self::is_partial(papers) {
            " (PARTIAL)"
        } else {
            ""
        };
        let _ = writeln!(text, "  {:<width$}  {together}{partial}", "together");
        text
    }

    /// All reports as text; of `all` papers with the summary at the end.
    pub fn text(papers: &[Self], all: bool) -> String {
        let texts = papers.iter().map(|one| one.paper.text(&one.report));
        let mut text = texts.collect::<Vec<_>>().join("\n\n");
        if all {
            text.push_str("\n\n");
            text.push_str(&Self::summary(papers));
        }
        text
    }

    /// What became of the claims: one by one, or of `all` papers how many.
    pub fn brief(papers: &[Self], all: bool) -> String {
        if all {
            return Self::summary(papers);
        }
        papers
            .iter()
            .map(|one| one.paper.brief(&one.report))
            .collect()
    }

    /// How many verdicts of each kind over all papers.
    pub fn together(papers: &[Self]) -> Tally {
        Tally::of(papers.iter().flat_map(|one| &one.report.verdicts))
    }

    /// Is anything missing, because the run was interrupted?
    pub fn is_partial(papers: &[Self]) -> bool {
        papers.iter().any(|one| one.report.partial)
    }

    /// Tables, figures and verdicts with all that led to them.
    pub fn json(&self) -> Value {
        paper_json(self.paper, &self.report)
    }

    /// The same of all papers, with the number of verdicts of each kind.
    pub fn all_json(papers: &[Self]) -> Value {
        let counts: serde_json::Map<String, Value> = Self::together(papers)
            .counts()
            .iter()
            .map(|(verdict, count)| (verdict.words().to_owned(), json!(count)))
            .collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "partial": Self::is_partial(papers),
            "verdicts": counts,
            "papers": papers.iter().map(Self::json).collect::<Vec<_>>(),
        })
    }

    /// Every number of every table as CSV, one per line.
    pub fn tables_csv(papers: &[Self]) -> Vec<u8> {
        tables_csv(papers).unwrap_or_default()
    }

    /// Every verdict as CSV, one per line.
    pub fn verdicts_csv(papers: &[Self]) -> Vec<u8> {
        verdicts_csv(papers).unwrap_or_default()
    }

    /// Every point of every figure as CSV, one per line.
    pub fn figures_csv(papers: &[Self]) -> Vec<u8> {
        figures_csv(papers).unwrap_or_default()
    }

    /// Writes the report beside the paper's results: page, text, JSON, and CSV of tables, figures
    /// and verdicts.
    ///
    /// # Errors
    /// If a file cannot be written; the error names it.
    pub fn write(&self, output: &Output) -> io::Result<()> {
        let directory = output.directory();
        write_whole(directory, "paper.json", &pretty(&self.json())?)?;
        Self::write_tables(std::slice::from_ref(self), directory, false)
    }

    /// Writes what `fairwire paper all --out` has beside the papers' own directories.
    ///
    /// # Errors
    /// If a file cannot be written; the error names it.
    pub fn write_all(papers: &[Self], directory: &Path) -> io::Result<()> {
        let json = pretty(&Self::all_json(papers))?;
        write_whole(directory, "papers.json", &json)?;
        write_whole(directory, "summary.txt", Self::summary(papers).as_bytes())?;
        Self::write_tables(papers, directory, true)
    }

    fn write_tables(papers: &[Self], directory: &Path, all: bool) -> io::Result<()> {
        let text = Self::text(papers, all);
        write_whole(directory, "report.txt", text.as_bytes())?;
        write_whole(directory, "tables.csv", &Self::tables_csv(papers))?;
        if !papers.iter().all(|one| one.paper.tables_only) {
            write_whole(directory, "verdicts.csv", &Self::verdicts_csv(papers))?;
            write_whole(directory, "figures.csv", &Self::figures_csv(papers))?;
        }
        let page = report::page(papers);
        write_whole(directory, "report.html", page.as_bytes())
    }

    /// The files that `papers` come to: those of the one paper, or of `all` together with a folder for each.
    pub fn contents(papers: &[Paper], all: bool) -> Contents {
        let of_one = |paper: &Paper| {
            let results = Contents::of_cells(&paper.cells);
            let contents = results.and_files(&["paper.json"]).and_files(&OF_EACH);
            if paper.tables_only {
                return contents;
            }
            contents.and_files(&OF_CLAIMS)
        };
        if !all && let [one] = papers {
            return of_one(one);
        }
        let together = Contents::of_files(&OF_EACH)
            .and_files(&OF_CLAIMS)
            .and_files(&["papers.json", "summary.txt"]);
        papers.iter().fold(together, |contents, paper| {
            contents.and_folder(&paper.name, of_one(paper))
        })
    }
}

/// What a paper has beside its results, and all papers together have as well.
const OF_EACH: [&str; 3] = ["report.html", "report.txt", "tables.csv"];
/// What else they have, where there is more than some tables.
const OF_CLAIMS: [&str; 2] = ["verdicts.csv", "figures.csv"];

fn pretty(json: &Value) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(json).map_err(io::Error::other)?;
    text.push(b'\n');
    Ok(text)
}
