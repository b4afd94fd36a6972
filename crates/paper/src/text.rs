//! A paper's report as text: tables, verdicts, and what the paper left out.

use std::fmt::Write;

use super::{
    Block, CLOSE, Checked, Difference, Judged, Measured, Paper, Part, Report, Row, Table, Tally,
    Verdict, without_repeats,
};

/// The meaning of the claims' ids in the papers that Fairwire has.
pub const IDS: &str = "An id such as S2-C4 names the paper (S2) and what is judged: C is a claim of the paper, and D \
    follows from its numbers or asks what it left out.";

/// The greatest number of values of a check in one line; more are listed with their names.
pub const MOST_IN_LINE: usize = 2;

/// The greatest length of a line of prose, in characters.
const WIDTH: usize = 110;

impl Paper {
    /// Returns the report as text.
    pub fn text(&self, report: &Report) -> String {
        let mut text = format!("{}\n{}\n\n", self.title, self.authors);
        prose(&mut text, "", &report.how);
        if report.partial {
            prose(
                &mut text,
                "",
                "PARTIAL: the run was interrupted; what is missing shows as 'no value'.",
            );
        }
        let tables = without_repeats(&report.tables);
        for table in tables.iter().filter(|table| table.part == Part::Published) {
            self.table(&mut text, table);
        }
        if !report.verdicts.is_empty() {
            self.verdicts(&mut text, &report.verdicts);
        }
        let left_out = tables.iter().filter(|table| table.part == Part::LeftOut);
        let left_out: Vec<&Table> = left_out.collect();
        if !left_out.is_empty() {
            heading(&mut text, "What the paper left out", '=');
        }
        for table in left_out {
            self.table(&mut text, table);
        }
        text
    }

    /// Returns a short report with one line for each claim.
    ///
    /// A selection of tables is returned in full, because there are no claims.
    pub fn brief(&self, report: &Report) -> String {
        if self.tables_only {
            return self.text(report);
        }
        let mut text = format!("{}\n{}\n\n", self.title, self.authors);
        let width = report.verdicts.iter().map(|one| one.id.chars().count());
        let width = width.max().unwrap_or(0);
        for judged in &report.verdicts {
            let _ = writeln!(text, "  {:<width$}  {}", judged.id, outcome(judged));
        }
        let partial = if report.partial { " (PARTIAL)" } else { "" };
        let _ = writeln!(
            text,
            "  {}{partial}",
            Tally::of(&report.verdicts).sentence()
        );
        text
    }

    fn table(&self, text: &mut String, table: &Table) {
        heading(text, &table.title, '-');
        if !table.about.is_empty() {
            prose(text, "", &table.about);
        }
        let published = table
            .blocks
            .iter()
            .any(|block| block.rows.iter().any(|row| row.published.is_some()));
        let mut notes = Vec::new();
        for block in &table.blocks {
            let _ = writeln!(text);
            let unit = if block.unit.name.is_empty() { "" } else { ", " };
            let head = format!("{}{unit}{}:", block.metric, block.unit.name);
            prose(text, "", &format!("{head} {}", block.meaning));
            let mut lines = vec![self.head(table, published)];
            lines.extend(
                block
                    .rows
                    .iter()
                    .map(|row| self.row(row, block, published, &mut notes)),
            );
            columns(text, &lines);
        }
        self.unperturbed(text, table, published);
        if !notes.is_empty() {
            let _ = writeln!(text);
        }
        for (number, note) in (1..).zip(&notes) {
            prose(text, "    ", &format!("[{number}] {note}"));
        }
    }

    fn head(&self, table: &Table, published: bool) -> Vec<Cell> {
        let mut line = vec![Cell::left("flow"), Cell::left(&table.heading)];
        if published {
            line.push(Cell::right("published"));
        }
        for window in &table.windows {
            line.push(Cell::right(self.window_heading(window)));
            if published {
                line.push(Cell::right("difference"));
            }
        }
        line
    }

    fn row(&self, row: &Row, block: &Block, published: bool, notes: &mut Vec<String>) -> Vec<Cell> {
        let mut line = vec![
            Cell::left(self.flow_name(&row.flow)),
            Cell::left(&row.label),
        ];
        if published {
            line.push(Cell::right(printed(row, block.printed_digits(), notes)));
        }
        for measured in &row.measured {
            line.push(Cell::right(plain(measured, block.unit.digits)));
            if published {
                line.push(Cell::right(difference(measured, row.published)));
            }
        }
        line
    }

    /// Writes the values of the unperturbed run, one line for each row.
    fn unperturbed(&self, text: &mut String, table: &Table, published: bool) {
        let blocks = table.blocks.iter().filter(|block| block.unperturbed);
        let rows: Vec<(&Block, &Row)> = blocks
            .flat_map(|block| block.rows.iter().map(move |row| (block, row)))
            .collect();
        let has = |row: &Row| {
            row.measured
                .iter()
                .any(|measured| measured.unperturbed.is_some())
        };
        if !rows.iter().any(|(_, row)| has(row)) {
            return;
        }
        let _ = writeln!(text);
        prose(
            text,
            "",
            "The unperturbed run (flows start exactly when the paper says, nothing is random):",
        );
        let mut head = vec![
            Cell::left("metric"),
            Cell::left("flow"),
            Cell::left(&table.heading),
        ];
        if published {
            head.push(Cell::right("published"));
        }
        head.extend(
            table
                .windows
                .iter()
                .map(|window| Cell::right(self.window_heading(window))),
        );
        let mut lines = vec![head];
        for (block, row) in rows {
            let digits = block.unit.digits;
            let mut line = vec![
                Cell::left(format!("{}{}", block.metric, block.unit.suffix())),
                Cell::left(self.flow_name(&row.flow)),
                Cell::left(&row.label),
            ];
            if published {
                let places = block.printed_digits();
                let printed = row.published.map(|value| format!("{value:.places$}"));
                line.push(Cell::right(printed.unwrap_or_else(|| "-".into())));
            }
            line.extend(
                row.measured
                    .iter()
                    .map(|measured| match measured.unperturbed {
                        Some(value) => Cell::right(format!("{value:.digits$}")),
                        None => Cell::right("no value"),
                    }),
            );
            lines.push(line);
        }
        columns(text, &lines);
    }

    fn verdicts(&self, text: &mut String, verdicts: &[Judged]) {
        heading(text, "Verdicts", '=');
        if self.is_built_in {
            prose(text, "", IDS);
        }
        for judged in verdicts {
            let _ = writeln!(text);
            prose(text, "  ", &format!("{}  {}", judged.id, outcome(judged)));
            prose(
                text,
                "    ",
                &format!("says: {} [{}]", judged.says, judged.place),
            );
            let mut last: Option<&Checked> = None;
            let evidence = judged.evidence.iter().chain(&judged.beyond);
            for check in evidence.chain(&judged.printed) {
                if last.is_none_or(|last| !last.is_same_check(check)) {
                    prose(text, "    ", &question(check));
                }
                prose(text, "      ", &self.answer(check));
                last = Some(check);
            }
            prose(text, "    ", &format!("why: {}", judged.because));
            if let Some(swept) = &judged.swept {
                prose(text, "    ", &format!("range: {swept}"));
            }
            if judged.close {
                prose(text, "    ", &format!("close: {CLOSE}"));
            }
            for control in &judged.controls {
                prose(text, "    ", &format!("control: {}", control.sentence()));
            }
            for isolated in &judged.isolated {
                let figures: Vec<String> = isolated
                    .measured
                    .iter()
                    .map(|measured| format!("{}: {}", measured.label, measured.text()))
                    .collect();
                let unit = isolated
                    .measured
                    .first()
                    .map_or(String::new(), |one| one.unit.suffix());
                let figures = figures.join("; ");
                prose(
                    text,
                    "    ",
                    &format!("run: {} {figures}{unit}", isolated.says),
                );
            }
        }
        let _ = writeln!(text);
        prose(text, "  ", &Tally::of(verdicts).sentence());
    }

    /// Returns the outcome of a check in one window.
    fn answer(&self, check: &Checked) -> String {
        let holds = match check.holds {
            Some(true) => "holds",
            Some(false) => "fails",
            None => "no value",
        };
        let close = if check.close { " (close)" } else { "" };
        let window = check
            .window
            .as_deref()
            .map(|window| format!(", {}", self.window_heading(window)));
        let figures: Vec<String> = check.measured.iter().map(Measured::text).collect();
        let unit = check
            .measured
            .first()
            .map_or(String::new(), |one| one.unit.suffix());
        format!(
            "{holds}{close}{}: {}{unit}",
            window.unwrap_or_default(),
            figures.join(" / ")
        )
    }
}

/// Returns the verdict with its condition.
fn outcome(judged: &Judged) -> String {
    let words = judged.verdict.words();
    let close = if judged.close { ", close" } else { "" };
    match &judged.verdict {
        Verdict::Condition(condition) => format!("{words}{close} ({condition})"),
        _ => format!("{words}{close}"),
    }
}

/// Returns what a check expects, in words.
fn question(check: &Checked) -> String {
    let what = if check.what.is_empty() { "" } else { ", " };
    let why = if check.why.is_empty() {
        String::new()
    } else {
        format!(" ({})", check.why)
    };
    let of = check.of(MOST_IN_LINE);
    let of = if of.is_empty() {
        of
    } else {
        format!("; compared: {of}")
    };
    format!(
        "expected{what}{}: {}{of}{why}",
        check.what,
        check.expectation()
    )
}

fn printed(row: &Row, digits: usize, notes: &mut Vec<String>) -> String {
    let Some(value) = row.published else {
        return "-".into();
    };
    if row.note.is_empty() {
        return format!("{value:.digits$}");
    }
    let known = notes.iter().position(|note| *note == row.note);
    let number = 1 + known.unwrap_or_else(|| {
        notes.push(row.note.clone());
        notes.len() - 1
    });
    format!("[{number}] {value:.digits$}")
}

/// Returns the mean without its unit, which the heading states.
fn plain(measured: &Measured, digits: usize) -> String {
    match measured.estimate {
        None => "no value".into(),
        Some(estimate) => format!("{estimate:.digits$}"),
    }
}

/// Returns the difference from the published number, in its unit and as a share of it.
fn difference(measured: &Measured, published: Option<f64>) -> String {
    let (Some(value), Some(published)) = (measured.value(), published) else {
        return String::new();
    };
    let difference = Difference::of(value, published, measured.unit);
    let share = difference.share();
    let share = share.map_or(String::new(), |share| format!(" ({share})"));
    format!("{}{share}", difference.units(measured.unit.digits))
}

struct Cell {
    text: String,
    right: bool,
}

impl Cell {
    fn left(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            right: false,
        }
    }

    fn right(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            right: true,
        }
    }
}

/// Writes lines of cells as columns, each as wide as its widest cell.
fn columns(text: &mut String, lines: &[Vec<Cell>]) {
    let count = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells
            .map(|cell| cell.text.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    for line in lines {
        let mut out = String::from(" ");
        for (cell, width) in line.iter().zip(&widths) {
            let pad = " ".repeat(width - cell.text.chars().count());
            let (before, after) = if cell.right {
                (pad.as_str(), "")
            } else {
                ("", pad.as_str())
            };
            let _ = write!(out, " {before}{}{after}", cell.text);
            out.push(' ');
        }
        let _ = writeln!(text, "{}", out.trim_end());
    }
}

fn heading(text: &mut String, title: &str, line: char) {
    let _ = writeln!(
        text,
        "\n{title}\n{}",
        line.to_string().repeat(title.chars().count())
    );
}

/// Writes words in lines of at most [`WIDTH`] characters; all lines but the first are indented by two more.
fn prose(text: &mut String, indent: &str, words: &str) {
    let mut line = indent.to_owned();
    let mut is_empty = true;
    for word in words.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(text, "{line}");
            line = format!("{indent}  ");
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    let _ = writeln!(text, "{line}");
}
