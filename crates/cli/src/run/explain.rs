//! The output of `--explain`, and notes on cells.

use std::fmt::Write as _;

use fairwire_measure::counted;
use fairwire_scenario::{Cell, explain, notes};

/// Describes what would run. Of a family it shows only the axes, unless its cells were selected by name.
pub(super) fn explanation(cells: &[Cell], by_name: bool) -> String {
    let mut text = String::new();
    let mut families: Vec<&str> = Vec::new();
    for cell in cells {
        match &cell.family {
            Some(family) if !by_name => {
                if !families.contains(&family.as_str()) {
                    families.push(family);
                    text.push_str(&of_family(cells, family));
                }
            }
            _ => text.push_str(&of_cell(cell)),
        }
    }
    text.push_str(&note_lines(&notes(cells)));
    text
}

/// Returns the notes, one per line.
pub(super) fn note_lines(notes: &[String]) -> String {
    let lines = notes.iter().map(|note| format!("note: {note}\n"));
    lines.collect()
}

/// Describes a family: the number of its cells, and its axes.
fn of_family(cells: &[Cell], family: &str) -> String {
    let all = cells
        .iter()
        .filter(|cell| cell.family.as_deref() == Some(family));
    let all: Vec<&Cell> = all.collect();
    let mut text = format!("[{family}] {}\n", counted(all.len() as u64, "cell"));
    let axes = all.iter().flat_map(|cell| &cell.axes);
    let mut known: Vec<(&str, Vec<&str>)> = Vec::new();
    for (axis, value) in axes {
        let at = known.iter().position(|(name, _)| name == axis);
        let at = at.unwrap_or_else(|| {
            known.push((axis, Vec::new()));
            known.len() - 1
        });
        if !known[at].1.contains(&value.as_str()) {
            known[at].1.push(value);
        }
    }
    for (axis, values) in known {
        let _ = writeln!(text, "  {axis} = {}", values.join(", "));
    }
    let names: Vec<&str> = all.iter().map(|cell| cell.name.as_str()).collect();
    let _ = writeln!(text, "  cells: {}", names.join(", "));
    if let Some(first) = names.first() {
        let _ = writeln!(text, "  --only {first} explains one of them\n");
    }
    text
}

fn of_cell(cell: &Cell) -> String {
    let mut text = format!("[{}] {}\n", cell.name, cell.scenario.title);
    if let Some(family) = &cell.family {
        let axes = cell.axes.iter();
        let axes = axes.map(|(axis, value)| format!("{axis} = {value}"));
        let axes: Vec<String> = axes.collect();
        let _ = writeln!(text, "  of {family}: {}", axes.join(", "));
    }
    if !cell.extends.is_empty() {
        let _ = writeln!(text, "  extends {}", cell.extends.join(", "));
    }
    // A value in the file is shown even if it has no effect; a default without effect is not.
    let lines = explain(cell);
    for line in lines.iter().filter(|it| it.has_effect || it.is_stated()) {
        let _ = writeln!(text, "  {line}");
    }
    let _ = writeln!(text, "  {}\n", cell.plan());
    text
}
