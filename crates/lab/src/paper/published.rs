//! Published numbers: CSV files with a number for each cell, flow and metric.

use serde::Deserialize;

use super::{PaperError, Unit};

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
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    cell: String,
    flow: String,
    metric: String,
    value: f64,
    unit: String,
    note: String,
}

/// Reads the CSV `text`, which messages call `file`.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<Published>, PaperError> {
    let mut rows: Vec<Published> = Vec::new();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let refuse = |error: &csv::Error| {
        let line = error.position().map(csv::Position::line);
        PaperError::file(&at(file, line), error.to_string())
    };
    let head = reader.headers().map_err(|error| refuse(&error))?.clone();
    for record in reader.records() {
        let record = record.map_err(|error| refuse(&error))?;
        let row: Row = record
            .deserialize(Some(&head))
            .map_err(|error| refuse(&error))?;
        let unit = Unit::find(&row.unit).ok_or_else(|| {
            let message = format!(
                "unknown unit '{}': write one of {}",
                row.unit,
                Unit::names()
            );
            let line = record.position().map(csv::Position::line);
            PaperError::file(&at(file, line), message)
        })?;
        let line = record.position().map(csv::Position::line);
        if !row.value.is_finite() {
            let message = format!("'{}' is not a finite number", row.value);
            return Err(PaperError::file(&at(file, line), message));
        }
        let same = |known: &Published| {
            (&known.cell, &known.flow, &known.metric) == (&row.cell, &row.flow, &row.metric)
        };
        if rows.iter().any(same) {
            let message = format!(
                "'{}' of '{}' in '{}' is in the file twice",
                row.metric, row.flow, row.cell
            );
            return Err(PaperError::file(&at(file, line), message));
        }
        rows.push(Published {
            cell: row.cell,
            flow: row.flow,
            metric: row.metric,
            value: row.value,
            unit,
            note: row.note,
        });
    }
    Ok(rows)
}

fn at(file: &str, line: Option<u64>) -> String {
    line.map_or(file.to_owned(), |line| format!("{file}:{line}"))
}

#[cfg(test)]
mod tests {
    use super::read;

    /// Numbers are read with their units.
    ///
    /// An unknown unit, a missing column, a number that is not finite and a repeated number are refused.
    #[test]
    fn rows_are_read_or_refused() {
        let head = "cell,flow,metric,value,unit,note\n";
        let rows = read(
            "t.csv",
            &format!("{head}a,b,delay,309.9,ms,\"odd, it is\"\n"),
        );
        let rows = rows.expect("reads");
        assert_eq!((rows[0].value, rows[0].unit.name), (309.9, "ms"));
        assert_eq!(rows[0].note, "odd, it is");
        let error = read("t.csv", &format!("{head}a,b,delay,1,furlong,\n")).expect_err("no unit");
        assert!(
            error
                .to_string()
                .starts_with("t.csv:2: unknown unit 'furlong'"),
            "{error}"
        );
        assert!(read("t.csv", "cell,flow\na,b\n").is_err());
        for (rows, told) in [
            (
                "a,b,delay,nan,ms,\n",
                "t.csv:2: 'NaN' is not a finite number",
            ),
            (
                "a,b,delay,1e999,ms,\n",
                "t.csv:2: 'inf' is not a finite number",
            ),
            (
                "a,b,delay,1,ms,\na,b,delay,2,ms,\n",
                "t.csv:3: 'delay' of 'b' in 'a' is in the file twice",
            ),
        ] {
            let error = read("t.csv", &format!("{head}{rows}")).expect_err(rows);
            assert!(error.to_string().starts_with(told), "{error}");
        }
    }
}
