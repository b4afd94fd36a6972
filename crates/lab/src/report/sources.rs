//! Where every value of a paper's scenarios comes from, over all its cells.

use std::fmt::Write as _;

use super::markup::esc;
use super::topology::spaced;
use crate::paper::Paper;
use crate::scenario::explain;

/// The kinds of sources, the least certain first, and what each means.
const KINDS: [(&str, &str); 4] = [
    (
        "fitted",
        "chosen to meet a published number: no claim about that number is then called reproduced",
    ),
    (
        "assumed",
        "the paper is silent; chosen without looking at any result",
    ),
    (
        "derived",
        "follows from what the paper states, such as the defaults of the tool that it names",
    ),
    ("paper", "stated in the paper"),
];

/// A value of some cells.
struct Known {
    path: String,
    value: String,
    source: &'static str,
    note: String,
    meaning: &'static str,
    cells: Vec<String>,
}

/// The sources of all values, by kind.
pub(super) fn sources(out: &mut String, paper: &Paper) {
    let known = known(paper);
    for (kind, meaning) in KINDS {
        let rows: Vec<&Known> = known.iter().filter(|one| one.source == kind).collect();
        if rows.is_empty() {
            continue;
        }
        let open = if matches!(kind, "fitted" | "assumed") {
            " open"
        } else {
            ""
        };
        let values = if rows.len() == 1 { "value" } else { "values" };
        let _ = writeln!(
            out,
            "<details class=\"sources\"{open}><summary><b>{kind}</b>: {} {values}, {meaning}</summary>\n\
             <div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{kind} values\">\n\
             <table class=\"values\" role=\"table\" aria-label=\"{kind} values\"><thead role=\"rowgroup\"><tr role=\"row\">\
             <th role=\"columnheader\" scope=\"col\">what</th><th role=\"columnheader\" scope=\"col\">value</th>\
             <th role=\"columnheader\" scope=\"col\">in</th><th role=\"columnheader\" scope=\"col\">note</th></tr></thead>\n\
             <tbody role=\"rowgroup\">",
            rows.len()
        );
        for row in rows {
            row.write(out, paper.cells.len());
        }
        out.push_str("</tbody></table></div></details>\n");
    }
    out.push_str(
        "<p class=\"about\">What is not listed is a default of the scenario format. The resolved scenario of each run, \
         every value included, stands beside this report.</p>\n",
    );
}

impl Known {
    fn write(&self, out: &mut String, all: usize) {
        let cells = match self.cells.len() {
            count if count == all => "all runs".to_owned(),
            count if count > 3 => format!("{count} of {all} runs"),
            _ => self.cells.join(", "),
        };
        let _ = writeln!(
            out,
            "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\"><code>{}</code> <span class=\"meaning\">{}</span></th>\
             <td role=\"cell\" data-h=\"value\">{}</td>\
             <td role=\"cell\" data-h=\"in\">{}</td><td role=\"cell\" data-h=\"note\">{}</td></tr>",
            breakable(&self.path),
            esc(self.meaning),
            esc(&self.value),
            esc(&cells),
            esc(&self.note)
        );
    }
}

/// A dotted path that may be broken behind its dots.
fn breakable(path: &str) -> String {
    esc(path).replace('.', ".<wbr>")
}

/// Every value with a source, those that are the same in several cells once.
fn known(paper: &Paper) -> Vec<Known> {
    let mut known: Vec<Known> = Vec::new();
    for cell in &paper.cells {
        for line in explain(cell) {
            if !KINDS.iter().any(|(kind, _)| *kind == line.source) {
                continue;
            }
            let value = spaced(line.value.trim_matches('"'));
            let note = line.note.unwrap_or_default();
            let same = |one: &&mut Known| {
                one.path == line.path
                    && one.value == value
                    && one.source == line.source
                    && one.note == note
            };
            if let Some(one) = known.iter_mut().find(same) {
                one.cells.push(cell.name.clone());
                continue;
            }
            // Values of one path stand together.
            let behind = known.iter().rposition(|one| one.path == line.path);
            let place = behind.map_or(known.len(), |last| last + 1);
            known.insert(
                place,
                Known {
                    path: line.path,
                    value,
                    source: line.source,
                    note,
                    meaning: line.meaning,
                    cells: vec![cell.name.clone()],
                },
            );
        }
    }
    known
}
