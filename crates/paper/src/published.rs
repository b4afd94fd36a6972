//! Published numbers: CSV files with a number for each cell, flow and metric.

use std::sync::Arc;

use csv::{Position, StringRecord};
use fairwire_measure::counted;

use super::Unit;
use fairwire_scenario::ScenarioError;
use fairwire_scenario::hint::name_hint;
use fairwire_scenario::place::{Place, SourceText};
use fairwire_scenario::shorten::{QUOTED, shorten};

/// One published number.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The cell that reproduces it.
    pub cell: String,
    /// The flow that it belongs to.
    pub flow: String,
    /// The paper's metric.
    pub metric: String,
    /// The number, in `unit`.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// A remark about it; may be empty.
    pub note: String,
    /// Its line of the file.
    pub(super) place: Place,
}

impl Published {
    /// Returns the number in `unit` with its remark, or a message that its own unit is of another kind.
    pub(super) fn in_unit(&self, unit: Unit) -> Result<(f64, String), String> {
        if self.unit.base != unit.base {
            return Err(format!(
                "'{}' is printed in '{}', not in '{}'",
                self.metric, self.unit.name, unit.name
            ));
        }
        let value = self.value * self.unit.scale / unit.scale;
        Ok((value, self.note.clone()))
    }
}

/// The columns of a file, which its first line names in any order.
const COLUMNS: [&str; 6] = ["cell", "flow", "metric", "value", "unit", "note"];

/// Reads the CSV `text`, which messages call `file`.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<Published>, ScenarioError> {
    let source = Arc::new(SourceText {
        name: file.to_owned(),
        text: text.to_owned(),
    });
    refuse_open_quote(&source)?;
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).flexible(true);
    let mut records = reader.from_reader(text.as_bytes()).into_records();
    let head = records.next().transpose();
    let head = head
        .map_err(|error| refused(&source, &error))?
        .unwrap_or_default();
    let columns = columns(&head)
        .map_err(|message| ScenarioError::at(message, &place(&source, head.position())))?;
    let mut rows: Vec<Published> = Vec::new();
    for record in records {
        let record = record.map_err(|error| refused(&source, &error))?;
        let place = place(&source, record.position());
        let row = row(&record, &columns, &place);
        let row = row.map_err(|message| ScenarioError::at(message, &place))?;
        let same = |known: &Published| {
            (&known.cell, &known.flow, &known.metric) == (&row.cell, &row.flow, &row.metric)
        };
        if rows.iter().any(same) {
            let message = format!(
                "'{}' of '{}' in '{}' is in the file twice",
                row.metric, row.flow, row.cell
            );
            return Err(ScenarioError::at(message, &place));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Refuses a quote that is not closed on its line. The rows below it would be part of its value.
fn refuse_open_quote(source: &Arc<SourceText>) -> Result<(), ScenarioError> {
    let mut start = 0;
    for line in source.text.split_inclusive('\n') {
        if let Some(quote) = open_quote(line) {
            let place = Place::new(source, start + quote..start + line.trim_end().len());
            let message =
                "this value has no quote at its end: write it on one line, in one pair of quotes";
            return Err(ScenarioError::at(message, &place));
        }
        start += line.len();
    }
    Ok(())
}

/// Returns where in `line` the value begins that has a quote at its beginning and none at its end.
fn open_quote(line: &str) -> Option<usize> {
    let (mut begins, mut quoted, mut is_open) = (true, None, false);
    for (at, character) in line.char_indices() {
        match character {
            '"' if begins => (quoted, is_open) = (Some(at), true),
            // Two quotes in a quoted value stand for one: they close the value and open it again.
            '"' if quoted.is_some() => is_open = !is_open,
            ',' if !is_open => quoted = None,
            _ => {}
        }
        begins = character == ',' && !is_open;
    }
    quoted.filter(|_| is_open)
}

/// Returns the place of each of [`COLUMNS`] in a row, or what is wrong with the file's first line.
fn columns(head: &StringRecord) -> Result<Vec<usize>, String> {
    let all = COLUMNS.join(",");
    let is_known = |name: &&str| COLUMNS.contains(name);
    if let Some(name) = head.iter().find(|name| !is_known(name)) {
        let (short, hint) = (shorten(name, QUOTED), name_hint(name, COLUMNS.into_iter()));
        return Err(format!("no column is called '{short}': {hint}"));
    }
    let place = |name: &str| {
        let mut places = head.iter().enumerate().filter(|(_, known)| *known == name);
        match (places.next(), places.next()) {
            (Some((place, _)), None) => Ok(place),
            (None, _) => Err(format!(
                "the column '{name}' is missing: the first line is {all}"
            )),
            _ => Err(format!(
                "the column '{name}' is there twice: the first line is {all}"
            )),
        }
    };
    COLUMNS.into_iter().map(place).collect()
}

/// Reads a row with these `columns`, which stands at `place`.
fn row(record: &StringRecord, columns: &[usize], place: &Place) -> Result<Published, String> {
    let (found, wanted) = (record.len(), columns.len());
    if found != wanted {
        return Err(format!(
            "this row has {}, and the first line names {}: a value with a comma is written in quotes",
            counted(found as u64, "value"),
            counted(wanted as u64, "column")
        ));
    }
    let mut values = columns
        .iter()
        .map(|column| record.get(*column).unwrap_or_default());
    let mut next = || values.next().unwrap_or_default();
    let [cell, flow, metric, value, unit, note] = std::array::from_fn(|_| next().to_owned());
    let number: Option<f64> = value.trim().parse().ok();
    let Some(number) = number.filter(|number| number.is_finite()) else {
        return Err(format!(
            "the value '{}' is not a number: write it as 309.9, without a unit",
            shorten(&value, QUOTED)
        ));
    };
    Ok(Published {
        cell,
        flow,
        metric,
        value: number,
        unit: Unit::named(&unit)?,
        note,
        place: place.clone(),
    })
}

/// Returns the error that the file is not CSV.
fn refused(source: &Arc<SourceText>, error: &csv::Error) -> ScenarioError {
    let message = format!("this is not CSV: {error}");
    ScenarioError::at(message, &place(source, error.position()))
}

/// Returns the place of the row at `position`.
fn place(source: &Arc<SourceText>, position: Option<&Position>) -> Place {
    let start = position.map_or(0, Position::byte);
    let rest = usize::try_from(start)
        .ok()
        .and_then(|start| source.text.get(start..));
    let rest = rest.unwrap_or_default();
    // The position is that of empty lines before the row, if there are any.
    let row = rest.trim_start_matches(['\r', '\n']);
    let from = source.text.len() - row.len();
    let line = row.lines().next().unwrap_or_default();
    Place::new(source, from..from + line.len())
}

#[cfg(test)]
mod tests {
    use super::read;

    /// Numbers are read with their units.
    ///
    /// Wrong columns, an unknown unit, what is no finite number, a repeated number and an open quote are refused at their
    /// lines.
    #[test]
    fn rows_are_read_or_refused() {
        let head = "cell,flow,metric,value,unit,note\n";
        let rows = read(
            "t.csv",
            &format!(
                "{head}a,b,delay,309.9,ms,\"odd, it is \"\"so\"\"\"\na,5\" disk,delay,1,ms,\"\"\n"
            ),
        );
        let rows = rows.expect("reads");
        assert_eq!((rows[0].value, rows[0].unit.name), (309.9, "ms"));
        assert_eq!(rows[0].note, "odd, it is \"so\"");
        assert_eq!((&*rows[1].flow, &*rows[1].note), ("5\" disk", ""));
        assert_eq!(read("t.csv", head).expect("no rows"), []);
        for (text, told, line) in [
            (
                "a,b,delay,1,furlong,\n",
                "unknown unit 'furlong': write one of bit/s",
                2,
            ),
            ("a,b,delay,nan,ms,\n", "the value 'nan' is not a number", 2),
            ("a,b,delay,1e999,ms,\n", "'1e999' is not a number", 2),
            ("a,b,delay,much,ms,\n", "'much' is not a number", 2),
            (
                "\na,b,delay,1,ms\n",
                "this row has 5 values, and the first line names 6 columns",
                3,
            ),
            (
                "a,b,delay,1,ms,\na,b,delay,2,ms,\n",
                "'delay' of 'b' in 'a' is in the file twice",
                3,
            ),
        ] {
            let error = read("t.csv", &format!("{head}{text}")).expect_err(text);
            assert!(error.to_string().contains(told), "{error}");
            assert_eq!(error.line_column(), Some((line, 1)), "{error}");
        }
        // The rows behind an open quote would be part of its value, up to the next quote or the end.
        for row in [
            "a,b,delay,1,ms,\"odd",
            "a,b,delay,1,ms,\"odd \"\"",
            "\"a,b,delay,1,ms,",
        ] {
            let text = format!("{head}{row}\nc,d,delay,2,ms,\"even\"\n");
            let error = read("t.csv", &text).expect_err(row).to_string();
            let column = row.find('"').map(|at| at + 1).expect("a quote");
            let told = format!(
                "this value has no quote at its end: write it on one line, in one pair of quotes\n --> t.csv:2:{column}\n"
            );
            assert!(error.starts_with(&told), "{error}");
        }
        for (wrong, told) in [
            (
                "cel,flow,metric,value,unit,note",
                "no column is called 'cel': did you mean 'cell'?",
            ),
            ("cell,flow", "the column 'metric' is missing"),
            (
                "cell,cell,flow,metric,value,unit,note",
                "the column 'cell' is there twice",
            ),
        ] {
            let error = read("t.csv", &format!("{wrong}\na,b,delay,1,ms,\n"));
            let error = error.expect_err(wrong);
            assert!(error.to_string().contains(told), "{error}");
            assert_eq!(error.line_column(), Some((1, 1)), "{error}");
        }
    }
}
