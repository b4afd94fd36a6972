//! The files of a report (text, CSV and JSON) of one paper or of several together.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::export::{figures_csv, paper_json, tables_csv, verdicts_csv};
use super::{Paper, Reported};
use fairwire_sim::results::{Form, SeriesChoice, write_file};

impl Reported<'_> {
    /// Returns the count of verdicts of each paper and of all together, one per line.
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

    /// Returns all reports as text; with `all` followed by the summary.
    pub fn text(papers: &[Self], all: bool) -> String {
        let texts = papers.iter().map(|one| one.paper.text(&one.report));
        let mut text = texts.collect::<Vec<_>>().join("\n\n");
        if all {
            text.push_str("\n\n");
            text.push_str(&Self::summary(papers));
        }
        text
    }

    /// Returns the verdict on each claim, or with `all` the summary of all papers.
    pub fn brief(papers: &[Self], all: bool) -> String {
        if all {
            return Self::summary(papers);
        }
        papers
            .iter()
            .map(|one| one.paper.brief(&one.report))
            .collect()
    }

    /// Returns tables, figures and verdicts, with the evidence for them.
    pub fn json(&self) -> Value {
        paper_json(self.paper, &self.report)
    }

    /// Returns the same of all papers, with the number of verdicts of each kind.
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

    /// Returns the values of all tables as CSV, one line for each row and window.
    pub fn tables_csv(papers: &[Self]) -> Vec<u8> {
        tables_csv(papers).unwrap_or_default()
    }

    /// Returns all verdicts as CSV, one per line.
    pub fn verdicts_csv(papers: &[Self]) -> Vec<u8> {
        verdicts_csv(papers).unwrap_or_default()
    }

    /// Returns all points of all figures as CSV, one per line.
    pub fn figures_csv(papers: &[Self]) -> Vec<u8> {
        figures_csv(papers).unwrap_or_default()
    }

    /// Writes the report beside the paper's results in `directory`: text, JSON, and CSV files of tables, figures and
    /// verdicts. Its page is not among them.
    ///
    /// # Errors
    /// If a file cannot be written; the error names it.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        write_file(directory, PAPER_JSON, &pretty(&self.json())?)?;
        Self::write_tables(std::slice::from_ref(self), directory, false)
    }

    /// Writes the files of all papers together, which `fairwire paper all --out` has beside the papers' own
    /// directories. Their page is not among them.
    ///
    /// # Errors
    /// If a file cannot be written; the error names it.
    pub fn write_all(papers: &[Self], directory: &Path) -> io::Result<()> {
        let json = pretty(&Self::all_json(papers))?;
        write_file(directory, "papers.json.gz", &json)?;
        write_file(directory, "summary.txt", Self::summary(papers).as_bytes())?;
        Self::write_tables(papers, directory, true)
    }

    fn write_tables(papers: &[Self], directory: &Path, all: bool) -> io::Result<()> {
        let text = Self::text(papers, all);
        write_file(directory, "report.txt", text.as_bytes())?;
        write_file(directory, "tables.csv", &Self::tables_csv(papers))?;
        if !papers.iter().all(|one| one.paper.tables_only) {
            write_file(directory, "verdicts.csv", &Self::verdicts_csv(papers))?;
            write_file(directory, "figures.csv", &Self::figures_csv(papers))?;
        }
        Ok(())
    }

    /// Returns the files that `papers` may write: those of one paper, or with `all` those of all papers together and a
    /// folder for each paper.
    pub fn files(papers: &[Paper], all: bool) -> BTreeSet<String> {
        let form = Form {
            gzip: true,
            series: SeriesChoice::All,
            ..Form::default()
        };
        let mut files = BTreeSet::new();
        let mut add = |folder: &str, names: &[&str]| {
            files.extend(names.iter().map(|name| format!("{folder}{name}")));
        };
        if all {
            add("", &OF_ALL);
            add("", &OF_EACH);
            add("", &OF_CLAIMS);
        }
        for paper in papers {
            let folder = if all {
                format!("{}/", paper.name)
            } else {
                String::new()
            };
            let results = form.files(&paper.cells);
            let results: Vec<&str> = results.iter().map(String::as_str).collect();
            add(&folder, &results);
            add(&folder, &[PAPER_JSON]);
            add(&folder, &OF_EACH);
            if !paper.tables_only {
                add(&folder, &OF_CLAIMS);
            }
        }
        files
    }
}

/// The page of a report, which the crate that shows it writes.
pub const REPORT_PAGE: &str = "report.html";

/// The file that each paper has, and all papers together do not.
const PAPER_JSON: &str = "paper.json.gz";
/// The files that only all papers together have.
const OF_ALL: [&str; 2] = ["papers.json.gz", "summary.txt"];
/// The files that each paper has besides its results, and that all papers together have as well.
const OF_EACH: [&str; 3] = [REPORT_PAGE, "report.txt", "tables.csv"];
/// The further files of both, unless a selection of tables was run.
const OF_CLAIMS: [&str; 2] = ["verdicts.csv", "figures.csv"];

fn pretty(json: &Value) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(json).map_err(io::Error::other)?;
    text.push(b'\n');
    Ok(text)
}
