//! Settings by name: the list of all keys, and [`Config::set`].

use fairwire_units::registry::nearest;
use fairwire_units::settings::without_links;
use schemars::generate::SchemaSettings;
use serde::de::Error as _;
use serde_json::Value;

use super::Config;
use crate::error::ConfigError;

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
}

/// The text for the value of an optional key that is not set.
const NONE: &str = "none";

impl Config {
    /// Returns all keys, in the order of their names.
    pub fn keys() -> Vec<Key> {
        let all = schemas().into_iter();
        all.map(|(name, schema)| describe(name, &schema)).collect()
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
        let text = text.trim();
        let mut next = self.clone();
        next.set_text(key, text)
            .map_err(|error| refusal(key, text, &error.to_string()))?;
        if let Err(error) = next.check_values()
            && error.field() == key
        {
            return Err(error);
        }
        *self = next;
        Ok(())
    }

    /// Sets a key as `KEY=VALUE` says.
    ///
    /// # Errors
    /// Those of [`set`](Self::set).
    pub fn apply(&mut self, setting: &str) -> Result<(), ConfigError> {
        let (key, text) = setting.split_once('=').ok_or_else(|| {
            ConfigError::new(setting.to_owned(), "a setting has a value: write KEY=VALUE")
        })?;
        self.set(key.trim(), text)
    }

    /// Sets `key` to the first value of a file that `text` may stand for and the key takes.
    fn set_text(&mut self, key: &str, text: &str) -> Result<(), serde_json::Error> {
        let mut set = |value| match key.split_once('.') {
            Some(("ccid2", key)) => self.ccid2.set_value(key, value),
            Some(("ccid3", key)) => self.ccid3.set_value(key, value),
            Some(("send_queue", key)) => self.send_queue.set_value(key, value),
            _ if ["ccid2", "ccid3", "send_queue"].contains(&key) => {
                Err(serde_json::Error::custom("a table of keys"))
            }
            _ => self.set_value(key, value),
        };
        let plain = serde_json::from_str(text);
        let list = serde_json::from_str(&format!("[{text}]"));
        let none = (text == NONE).then_some(Value::Null);
        let mut values = [plain.ok(), list.ok(), none].into_iter().flatten();
        if values.any(|value| set(value).is_ok()) {
            return Ok(());
        }
        set(text.into())
    }
}

/// Returns the one of `names` that `key` may be a misspelling of, as a whole or without the table that it is in.
fn meant<'a>(key: &str, names: &[&'a str]) -> Option<&'a str> {
    let whole = nearest(key, names.iter().copied());
    whole.or_else(|| {
        let last = nearest(
            key,
            names
                .iter()
                .filter_map(|name| Some(name.rsplit_once('.')?.1)),
        )?;
        let mut of_tables = names
            .iter()
            .filter(|name| name.rsplit_once('.').is_some_and(|(_, name)| name == last));
        of_tables.next().copied()
    })
}

/// Returns what is wrong with `text` as the value of `key`, which serde refused with `error`.
fn refusal(key: &str, text: &str, error: &str) -> ConfigError {
    let keys = Config::keys();
    let Some(known) = keys.iter().find(|known| known.name == key) else {
        let names: Vec<&str> = keys.iter().map(|known| known.name.as_str()).collect();
        let problem = match meant(key, &names) {
            Some(one) => format!("no setting has this name: did you mean '{one}'?"),
            None => format!("no setting has this name: there are {}", names.join(", ")),
        };
        return ConfigError::new(key.to_owned(), problem);
    };
    // The errors of quantities and laws say what to write; serde's own speak of types.
    let is_of_types = ["invalid ", "unknown "]
        .iter()
        .any(|word| error.starts_with(word));
    let mut problem = error.to_owned();
    if is_of_types {
        problem = format!("'{text}' is not valid");
    }
    if !problem.contains("write") && !problem.contains("did you mean") {
        problem = format!("{problem}: write {}", known.allowed);
    }
    ConfigError::new(key.to_owned(), problem)
}

/// Returns the name of each key with its schema.
fn schemas() -> Vec<(String, Value)> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
    });
    let all = settings.into_generator().into_root_schema_for::<Config>();
    let mut keys = Vec::new();
    for (name, schema) in properties(all.as_value()) {
        match schema["properties"].as_object() {
            Some(_) => keys.extend(
                properties(schema).map(|(key, schema)| (format!("{name}.{key}"), schema.clone())),
            ),
            None => keys.push((name.clone(), schema.clone())),
        }
    }
    keys
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn describe(name: String, schema: &Value) -> Key {
    let (of_value, is_optional) = of_value(schema);
    let example = of_value["examples"][0].as_str();
    let words = words(of_value);
    let mut allowed = match (example, first_type(of_value)) {
        (Some(example), _) => format!("a text such as \"{example}\""),
        (_, "boolean") => "true or false".to_owned(),
        (_, "array") => "numbers with commas between them, such as \"2, 3\"".to_owned(),
        _ if words.is_empty() => "a number".to_owned(),
        _ => words.join(" or "),
    };
    if is_optional {
        allowed = format!("{allowed}, or {NONE}");
    }
    if let Some(limit) = schema["advice"].as_str() {
        allowed = format!("{allowed} ({limit})");
    }
    let unit = match of_value["format"].as_str() {
        Some("timespan") => Some("s"),
        Some("size") => Some("B"),
        Some("packets") => Some("packets"),
        Some("rate") => Some("bit/s"),
        _ => None,
    };
    let meaning = schema["description"].as_str().unwrap_or_default();
    Key {
        name,
        meaning: without_links(meaning),
        allowed,
        default: text(&schema["default"]),
        unit,
    }
}

/// Returns the schema of a value that is set, and whether there may be none.
fn of_value(schema: &Value) -> (&Value, bool) {
    let types = schema["type"].as_array();
    let may_be_null = types.is_some_and(|types| types.iter().any(|one| one == "null"));
    // An optional type with words of its own is one of two schemas.
    match schema["anyOf"].get(0) {
        Some(of_value) => (of_value, true),
        None => (schema, may_be_null),
    }
}

fn first_type(schema: &Value) -> &str {
    let first = schema["type"].get(0).unwrap_or(&schema["type"]);
    first.as_str().unwrap_or_default()
}

/// Returns the text for [`Config::set`] of what a file states.
fn text(value: &Value) -> String {
    match value {
        Value::Null => NONE.to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        // A window law with its defaults goes by its name.
        Value::Object(table) => text(&table["kind"]),
        other => other.to_string(),
    }
}

/// Returns the words of a schema that allows nothing else.
fn words(schema: &Value) -> Vec<&str> {
    let alternatives = schema["oneOf"].as_array().into_iter().flatten();
    let words = alternatives.chain([schema]).flat_map(|one| {
        let several = one["enum"].as_array().into_iter().flatten();
        // A window law is a table of a kind, for which its name will do.
        let kind = one.pointer("/properties/kind/const");
        several.chain(one.get("const")).chain(kind)
    });
    words.filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::time::Duration;

    use serde_json::Value;

    use super::{Config, Key, NONE, describe, first_type, of_value, schemas, words};
    use crate::laws::{Chosen, NewReno};
    use crate::{FeedbackRate, PathMtuDiscovery, QueuePolicy};

    fn refused(key: &str, text: &str) -> String {
        let mut config = Config::default();
        let error = config.set(key, text).expect_err(key);
        assert_eq!(error.field(), key);
        assert_eq!(format!("{config:?}"), format!("{:?}", Config::default()));
        error.to_string()
    }

    /// Returns the type of a key's values in Python.
    fn python_type(key: &Key, schema: &Value) -> String {
        let (of_value, is_optional) = of_value(schema);
        let words = words(of_value);
        let value = match (key.unit, first_type(of_value)) {
            (Some("s"), _) => "float | str | timedelta".to_owned(),
            (Some("bit/s"), _) => "float | str".to_owned(),
            (Some(_), _) => "int | str".to_owned(),
            (None, "boolean") => "bool".to_owned(),
            (None, "array") => "list[int]".to_owned(),
            (None, "number") => "float".to_owned(),
            (None, "integer") => "int".to_owned(),
            _ if words.is_empty() || key.name == "ccid2.law" => "str".to_owned(),
            _ => format!("Literal[\"{}\"]", words.join("\", \"")),
        };
        if is_optional {
            format!("{value} | None")
        } else {
            value
        }
    }

    /// Python knows all keys, and the types of their values.
    #[test]
    fn python_knows_each_key() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../python/fairwire/_config.py"
        );
        let stored = std::fs::read_to_string(path).expect("it is there");
        let (head, _) = stored.split_once("Keys = ").expect("the keys");
        let mut text = format!("{head}Keys = TypedDict(\"Keys\", {{\n");
        for (name, schema) in schemas() {
            let key = describe(name, &schema);
            let _ = writeln!(
                text,
                "    \"{}\": {},",
                key.name,
                python_type(&key, &schema)
            );
        }
        text.push_str("}, total=False)\n");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &text).expect("it can be written");
        }
        let stored = std::fs::read_to_string(path).expect("it is there");
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
            ("min_rto", "1 s", "did you mean 'ccid2.min_rto'?"),
            ("ccid3", "false", "there are "),
            ("send_queue", "", "there are "),
            ("ccid2", "{}", "there are "),
            ("ecn", "yes", "'yes' is not valid: write true or false"),
            ("send_queue.policy", "newest", "write refuse or drop-oldest"),
            ("idle_timeout", "5", "idle_timeout: '5' has no unit"),
            ("idle_timeout", "0 s", "must be above 0 s"),
            ("idle_timeout", NONE, "300 ms"),
            ("ccid3.b", "0.5", "at least 1.0 and at most 100.0"),
            ("ccid3.b", "NaN", "at least 1.0 and at most 100.0"),
            ("ccid3.segment", "0 B", "1460 B literally"),
            ("ccid2.ack_ratio", "0 packets", "0"),
            ("ccid2.ack_ratio", "65536 packets", "too large"),
            ("ccid2.law", "cubik", "did you mean 'cubic'?"),
            ("sequence_window", "31 packets", "at least 32 packets"),
            ("send_ccids", "2, x", "2, 3"),
            ("send_ccids", "7", "2 (TCP-like), 3 (TFRC)"),
            ("path_mtu", "70000 B", "too large"),
            ("checksum_coverage", "16", "at most 15"),
            ("checksum_coverage", "300", "300"),
        ] {
            let error = refused(key, text);
            assert!(error.contains(said), "{key} = {text}: {error}");
        }
    }
}
