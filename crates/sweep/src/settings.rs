//! The settings of a scenario as rows, so that queries can select runs by them.

use toml::{Table, Value};

use crate::text::ScenarioText;

/// Returns each setting: its dotted path and its value as text.
pub(crate) fn settings(text: Option<&ScenarioText>) -> Vec<(String, String)> {
    let values = text.and_then(|it| it.resolved.text.parse::<Table>().ok());
    let mut rows = Vec::new();
    flatten(values.unwrap_or_default(), "", &mut rows);
    rows
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
