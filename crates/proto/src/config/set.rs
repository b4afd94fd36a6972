//! Settings by name: the list of all keys, and [`Config::set`].

use std::fmt::{self, Write as _};

use fairwire_units::registry::nearest;
use fairwire_units::settings::without_links;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::Config;
use crate::error::ConfigError;
use crate::laws::{self, laws};

/// A key of [`Config`], for [`Config::set`] and for help.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Key {
    /// Its name, for example `ccid3.history_discounting`.
    pub name: String,
    /// Its meaning, as plain text.
    pub meaning: String,
    /// The values that it may have, in words.
    pub allowed: String,
    /// Its default as a text for [`Config::set`].
    pub default: String,
    /// The unit of its values: `s`, `B`, `packets` or `bit/s`, if it has one.
    pub unit: Option<&'static str>,
    /// Whether a text, a number, a list or something else states it.
    kind: Kind,
    /// Whether it may be `none`.
    is_optional: bool,
    /// The words that it may be, if it is one of a few.
    words: Vec<String>,
}

/// What a file has for a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Truth,
    Number,
    List,
    Text,
}

/// The text for the value of an optional key that is not set.
const NONE: &str = "none";

impl Config {
    /// Returns all keys, in the order of their names.
    pub fn keys() -> Vec<Key> {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
        });
        let schema = settings.into_generator().into_root_schema_for::<Self>();
        let mut keys = Vec::new();
        list(schema.as_value(), "", &mut keys);
        keys
    }

    /// Sets the value of `key` from a text.
    ///
    /// ```
    /// use fairwire_proto::Config;
    ///
    /// let mut config = Config::default();
    /// config.set("ccid3.history_discounting", "false")?;
    /// config.set("send_queue.age", "200 ms")?;
    /// config.set("keep_alive", "none")?;
    /// config.set("send_ccids", "3, 2")?;
    /// config.set("ccid2.law", "cubic")?;
    /// # Ok::<(), fairwire_proto::ConfigError>(())
    /// ```
    ///
    /// Quantities have their unit. `none` is for optional keys. A window law with settings is a JSON object, such as
    /// `{"kind": "threshold-window", "cut": "50 %"}`. [`Config::keys`] lists the keys and what each takes.
    ///
    /// # Errors
    /// If there is no such key, or for a value that it cannot have; nothing is changed then. What does not fit together
    /// with other settings is found when a connection begins.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), ConfigError> {
        let keys = Self::keys();
        let Some(known) = keys.iter().find(|known| known.name == key) else {
            return Err(unknown(key, &keys));
        };
        let wrong = |problem: &dyn fmt::Display| {
            let mut problem = problem.to_string();
            // The errors of quantities begin with the text, and most of them end with an example.
            if !problem.starts_with('\'') {
                problem = format!("'{text}' is not valid: {problem}");
            } else if !problem.contains("write") {
                problem = format!("{problem}: write {}", known.allowed);
            }
            ConfigError::new(key.to_owned(), problem)
        };
        let value = known
            .value(text.trim())
            .ok_or_else(|| wrong(&format_args!("write {}", known.allowed)))?;
        let mut next = self.clone();
        let set = match key.split_once('.') {
            Some(("ccid2", key)) => next.ccid2.set_value(key, value),
            Some(("ccid3", key)) => next.ccid3.set_value(key, value),
            Some(("send_queue", key)) => next.send_queue.set_value(key, value),
            _ => next.set_value(key, value),
        };
        set.map_err(|problem| {
            if known.words.is_empty() {
                wrong(&problem)
            } else {
                wrong(&format_args!("write {}", known.allowed))
            }
        })?;
        if let Err(error) = next.check()
            && error.field() == key
        {
            return Err(wrong(&error.problem()));
        }
        *self = next;
        Ok(())
    }
}

impl Key {
    /// Returns what a file would state for `text`; `None` if it cannot be a value of this key.
    fn value(&self, text: &str) -> Option<Value> {
        if self.is_optional && text == NONE {
            return Some(Value::Null);
        }
        match self.kind {
            Kind::Truth => text.parse().ok().map(Value::Bool),
            Kind::Number => text.parse().ok().map(Value::Number),
            Kind::List => {
                let items = text.trim_matches(['[', ']']).split(',');
                let items = items.map(|item| Some(Value::Number(item.trim().parse().ok()?)));
                items.collect::<Option<_>>().map(Value::Array)
            }
            Kind::Text if text.starts_with('{') => serde_json::from_str(text).ok(),
            Kind::Text => Some(text.into()),
        }
    }
}

fn unknown(key: &str, keys: &[Key]) -> ConfigError {
    let names: Vec<&str> = keys.iter().map(|known| known.name.as_str()).collect();
    let hint = nearest(key, names.iter().copied())
        .map(|one| format!("did you mean '{one}'? "))
        .unwrap_or_default();
    let problem = format!(
        "no setting has this name: {hint}There are {}",
        names.join(", ")
    );
    ConfigError::new(key.to_owned(), problem)
}

/// Adds the keys of the table that `schema` describes.
fn list(schema: &Value, prefix: &str, keys: &mut Vec<Key>) {
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let name = format!("{prefix}{name}");
        if schema["properties"].is_object() {
            list(schema, &format!("{name}."), keys);
        } else {
            keys.push(describe(name, schema));
        }
    }
}

fn describe(name: String, schema: &Value) -> Key {
    // An optional type with words of its own is one of two schemas.
    let of_value = schema["anyOf"].get(0).unwrap_or(schema);
    let types = match &of_value["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        Value::String(one) => vec![one.as_str()],
        _ => Vec::new(),
    };
    let kind = match types.first() {
        Some(&"boolean") => Kind::Truth,
        Some(&("number" | "integer")) => Kind::Number,
        Some(&"array") => Kind::List,
        _ => Kind::Text,
    };
    let is_law = name == "ccid2.law";
    let words = if is_law { Vec::new() } else { words(of_value) };
    let is_optional = types.contains(&"null") || schema["anyOf"].is_array();
    let unit = match of_value["format"].as_str() {
        Some("timespan") => Some("s"),
        Some("size") => Some("B"),
        Some("packets") => Some("packets"),
        Some("rate") => Some("bit/s"),
        _ => None,
    };
    let mut allowed = match kind {
        Kind::Truth => "true or false".to_owned(),
        Kind::Number => "a number".to_owned(),
        Kind::List => "numbers with commas between them, such as \"2, 3\"".to_owned(),
        Kind::Text if is_law => {
            let names: Vec<_> = laws().iter().map(laws::Kind::name).collect();
            format!("the name of a window law: {}", names.join(", "))
        }
        Kind::Text if !words.is_empty() => words.join(" or "),
        Kind::Text => {
            let example = of_value["examples"][0].as_str().unwrap_or_default();
            format!("a text such as \"{example}\"")
        }
    };
    if is_optional {
        let _ = write!(allowed, ", or {NONE}");
    }
    if let Some(advice) = schema["advice"].as_str() {
        let _ = write!(allowed, " ({advice})");
    }
    let default = text(&schema["default"]);
    let meaning = schema["description"].as_str().unwrap_or_default();
    Key {
        name,
        meaning: without_links(meaning),
        allowed,
        default,
        unit,
        kind,
        is_optional,
        words,
    }
}

/// Returns the text for [`Config::set`] of what a file states.
fn text(value: &Value) -> String {
    match value {
        Value::Null => NONE.to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        // A window law with its defaults goes by its name.
        Value::Object(table) => table.get("kind").map_or_else(String::new, text),
        other => other.to_string(),
    }
}

/// Returns the words of a schema that allows nothing else.
fn words(schema: &Value) -> Vec<String> {
    let several = |schema: &Map<String, Value>| -> Vec<String> {
        let all = schema.get("enum").and_then(Value::as_array);
        let all = all.into_iter().flatten().chain(schema.get("const"));
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let alternatives = schema["oneOf"].as_array().into_iter().flatten();
    let tables = alternatives.chain([schema]).filter_map(Value::as_object);
    tables.flat_map(several).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::time::Duration;

    use super::{Config, Kind, NONE};
    use crate::laws::{Chosen, NewReno};
    use crate::{FeedbackRate, PathMtuDiscovery, QueuePolicy};

    fn refused(key: &str, text: &str) -> String {
        let mut config = Config::default();
        let error = config.set(key, text).expect_err(key);
        assert_eq!(error.field(), key);
        assert_eq!(format!("{config:?}"), format!("{:?}", Config::default()));
        error.to_string()
    }

    /// Returns the keys as a type of Python, in the words of this crate.
    fn as_python() -> String {
        let mut text = String::from(
            "\"\"\"The settings of a connection.\n\nA test in crates/proto/src/config/set.rs writes this file if \
             UPDATE_DOCS=1.\n\"\"\"\n\n# fmt: off\nfrom \
             __future__ import annotations\n\nfrom typing import Literal, TypedDict\n\nKeys = \
             TypedDict(\"Keys\", {\n",
        );
        for key in Config::keys() {
            let value = match (key.kind, key.unit) {
                (Kind::Truth, _) => "bool".to_owned(),
                (Kind::List, _) => "list[int]".to_owned(),
                (Kind::Number, _) => "float".to_owned(),
                (Kind::Text, Some("s" | "bit/s")) => "float | str".to_owned(),
                (Kind::Text, Some(_)) => "int | str".to_owned(),
                (Kind::Text, _) if key.words.is_empty() => "str".to_owned(),
                (Kind::Text, _) => format!("Literal[\"{}\"]", key.words.join("\", \"")),
            };
            let value = if key.is_optional {
                format!("{value} | None")
            } else {
                value
            };
            let about = format!("{} Default: {}.", key.meaning, key.default);
            let mut line = String::from("    #:");
            for word in about.split_whitespace() {
                if line.len() + word.len() >= 120 {
                    text.push_str(&line);
                    line = String::from("\n    #:");
                }
                line.push(' ');
                line.push_str(word);
            }
            text.push_str(&line);
            let _ = writeln!(text, "\n    \"{}\": {value},", key.name);
        }
        text.push_str("}, total=False)\n");
        text
    }

    /// Python describes all keys, in the same words.
    #[test]
    fn python_describes_each_key() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../python/fairwire/_config.py"
        );
        let text = as_python();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &text).expect("it can be written");
        }
        let stored = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(stored, text, "run this test with UPDATE_DOCS=1");
    }

    /// Each key has a meaning, and its default, written as a text, is what it has already.
    #[test]
    fn every_key_takes_its_default() {
        let keys = Config::keys();
        assert!(keys.len() > 60, "{}", keys.len());
        for key in keys {
            assert!(!key.meaning.is_empty(), "{}", key.name);
            let mut config = Config::default();
            config.set(&key.name, &key.default).expect(&key.name);
            assert_eq!(
                format!("{config:?}"),
                format!("{:?}", Config::default()),
                "{} = {}",
                key.name,
                key.default
            );
        }
    }

    /// Keys of each kind are set from a text; those that are not named stay, also what no text could state.
    #[test]
    fn texts_set_values() {
        let mut config = Config::default();
        config.ccid2.law = Chosen::of("of-mine", std::sync::Arc::new(NewReno));
        config.ccid2.initial_window = Some(1.5);
        for (key, text) in [
            ("ccid3.history_discounting", "false"),
            ("ccid3.b", "2"),
            ("ccid3.feedback", "10 per rtt"),
            ("ccid2.initial_ssthresh", "20 packets"),
            ("send_queue.age", "200 ms"),
            ("send_queue.policy", "drop-oldest"),
            ("receive_queue_bytes", "1 MiB"),
            ("keep_alive", NONE),
            ("path_mtu_discovery", "icmp"),
            ("send_ccids", "3, 2"),
            ("slow_receiver_percent", "101"),
        ] {
            config.set(key, text).expect(key);
        }
        assert!(!config.ccid3.history_discounting);
        assert!((config.ccid3.b - 2.0).abs() < f64::EPSILON);
        assert_eq!(config.ccid3.feedback, FeedbackRate::PerRoundTrip(10));
        assert_eq!(config.ccid2.initial_ssthresh, Some(20.0));
        assert_eq!(config.ccid2.initial_window, Some(1.5));
        assert_eq!(config.ccid2.law.kind(), "of-mine");
        assert_eq!(config.send_queue.age, Some(Duration::from_millis(200)));
        assert_eq!(config.send_queue.policy, QueuePolicy::DropOldest);
        assert_eq!(config.receive_queue_bytes, 1 << 20);
        assert_eq!(config.keep_alive, None);
        assert_eq!(config.path_mtu_discovery, PathMtuDiscovery::Icmp);
        assert_eq!(config.send_ccids, [3.into(), 2.into()]);
        assert_eq!(config.slow_receiver_percent, 101);
        config.set("ccid2.law", "cubic").expect("built in");
        assert_eq!(config.ccid2.law.kind(), "cubic");
        let law = r#"{"kind": "threshold-window", "cut": "50 %"}"#;
        config.set("ccid2.law", law).expect("a law with settings");
        assert_eq!(config.ccid2.law.kind(), "threshold-window");
    }

    /// An error names the key, says what was wrong and what is allowed, and changes nothing.
    #[test]
    fn errors_say_what_is_allowed() {
        for (key, text, said) in [
            (
                "ccid3.history_discount",
                "false",
                "did you mean 'ccid3.history_discounting'?",
            ),
            ("ccid3", "false", "There are "),
            ("ecn", "yes", "'yes' is not valid: write true or false"),
            ("send_queue.policy", "newest", "write refuse or drop-oldest"),
            ("idle_timeout", "5", "idle_timeout: '5' has no unit"),
            ("idle_timeout", "0 s", "more than zero"),
            ("idle_timeout", NONE, "300 ms"),
            ("ccid3.b", "0.5", "at least one packet"),
            ("ccid3.b", "NaN", "at least one packet"),
            ("ccid3.segment", "0 B", "1460 B literally"),
            ("ccid2.ack_ratio", "0 packets", "0"),
            ("ccid2.ack_ratio", "65536 packets", "too large"),
            ("ccid2.law", "cubik", "did you mean 'cubic'?"),
            ("sequence_window", "31 packets", "at least 32 packets"),
            ("send_ccids", "2, x", "2, 3"),
            ("send_ccids", "7", "(2, 3, 4)"),
            ("path_mtu", "70000 B", "too large"),
            ("checksum_coverage", "16", "1 to 15"),
            ("checksum_coverage", "300", "300"),
        ] {
            let error = refused(key, text);
            assert!(error.contains(said), "{key} = {text}: {error}");
        }
    }
}
