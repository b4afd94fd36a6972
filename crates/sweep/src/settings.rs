//! The settings of a scenario as rows, so that queries can select runs by them.

use arrow_array::RecordBatch;
use toml::{Table, Value};

use crate::columns::{labels, table, texts};
use crate::error::StoreError;
use crate::text::ScenarioText;

/// Returns a row for each setting: its scenario, its dotted path and its value as text.
pub(crate) fn settings(text: Option<&ScenarioText>) -> Result<RecordBatch, StoreError> {
    let key = text.map(|it| it.scenario.to_string()).unwrap_or_default();
    let values = text.and_then(|it| it.resolved.text.parse::<Table>().ok());
    let mut rows = Vec::new();
    flatten(values.unwrap_or_default(), "", &mut rows);
    Ok(table(vec![
        labels("scenario", rows.iter().map(|_| key.as_str())),
        labels("path", rows.iter().map(|(path, _)| path.as_str())),
        texts("value", rows.iter().map(|(_, value)| value.as_str())),
    ])?)
}

fn flatten(table: Table, path: &str, rows: &mut Vec<(String, String)>) {
    for (name, value) in table {
        let path = match path {
            "" => name,
            _ => format!("{path}.{name}"),
        };
        match value {
            Value::Table(table) => flatten(table, &path, rows),
            Value::String(text) => rows.push((path, text)),
            value => rows.push((path, value.to_string())),
        }
    }
}
