//! The check of a tree against the format. It reports the first error and its place.

use fairwire_units::registry::nearest;

use super::super::expected;
use super::super::place::{MISSING, ScenarioError};
use super::super::shorten::{QUOTED, shorten};
use super::super::tree::{Entry, Node, Value, whole};
use super::choice::Choice;
use super::forms::{Form, KIND, Key, Kind, Kinds, Shape};
use super::quantity;
use super::renamed::renamed;

/// Checks `node`, which is complete, against `form`.
pub(in super::super) fn check(node: &Node, form: &Form) -> Result<(), ScenarioError> {
    match (&*form.shape, &node.value) {
        (Shape::Bool, Value::Bool(_)) => Ok(()),
        (Shape::Integer | Shape::Number, Value::Integer(number)) => {
            limits(node, form, *number as f64)
        }
        (Shape::Number, Value::Float(number)) => limits(node, form, *number),
        (Shape::Integer, Value::Float(number)) if whole(*number).is_some() => {
            limits(node, form, *number)
        }
        (Shape::Text(format), value) => text(node, form, format.as_deref(), value),
        (Shape::Words(words), Value::Text(word)) => {
            let known = words.iter().map(|(word, _)| word.as_str());
            one_of(node, word, known)
        }
        (Shape::Words(words), _) => {
            let words: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
            let message = format!("write one of {} in quotes", words.join(", "));
            Err(ScenarioError::at(message, &node.place))
        }
        (Shape::List(of), Value::Array(items)) => {
            limits(node, form, items.len() as f64)?;
            items.iter().try_for_each(|item| check(item, of))
        }
        (Shape::Named(form), Value::Table(entries)) => {
            let mut entries = entries.iter();
            entries.try_for_each(|entry| below(entry, form))
        }
        (Shape::Table(keys), Value::Table(entries)) => {
            table(node, entries, (keys, false), (&form.name, &form.choices))
        }
        (Shape::Kinds(kinds), Value::Table(entries)) => alternatives(node, entries, kinds),
        (shape, value) => Err(wrong_type(node, shape, value)),
    }
}

fn below(entry: &Entry, form: &Form) -> Result<(), ScenarioError> {
    check(&entry.node, form).map_err(|error| error.or_at(&entry.place))
}

fn limits(node: &Node, form: &Form, number: f64) -> Result<(), ScenarioError> {
    refuse(node, form.limits.refuse(number))
}

fn refuse(node: &Node, message: Option<String>) -> Result<(), ScenarioError> {
    message.map_or(Ok(()), |message| {
        Err(ScenarioError::at(message, &node.place))
    })
}

/// Checks a text. For a bare number where a quantity belongs, the error says which units are missing.
fn text(
    node: &Node,
    form: &Form,
    format: Option<&str>,
    value: &Value,
) -> Result<(), ScenarioError> {
    let reader = format.and_then(quantity::reader);
    let text = match (value, &reader) {
        (Value::Text(text), _) => text.clone(),
        (Value::Integer(number), Some(_)) => number.to_string(),
        (Value::Float(number), Some(_)) => number.to_string(),
        _ => return Err(wrong_type(node, &form.shape, value)),
    };
    let Some((_, read)) = reader else {
        return Ok(());
    };
    let amount = read(&text).map_err(|message| ScenarioError::at(message, &node.place))?;
    let broken = amount.and_then(|amount| form.limits.refuse_quantity(amount, read));
    refuse(node, broken)
}

fn wrong_type(node: &Node, shape: &Shape, value: &Value) -> ScenarioError {
    let expected = match shape {
        Shape::Bool => "true or false".to_owned(),
        Shape::Integer => "a whole number".to_owned(),
        Shape::Number => "a number".to_owned(),
        Shape::Text(None) => "a text in quotes".to_owned(),
        Shape::Text(Some(_)) => "a text in quotes with its unit".to_owned(),
        Shape::Words(_) => "a word in quotes".to_owned(),
        Shape::List(_) => "a list".to_owned(),
        Shape::Named(_) => "a table of named tables".to_owned(),
        // A table with many keys is not written in one line.
        Shape::Table(keys) if keys.len() <= 3 => {
            let keys: Vec<String> = keys
                .iter()
                .map(|key| format!("{} = ...", key.name))
                .collect();
            format!("a table as {{ {} }}", keys.join(", "))
        }
        Shape::Table(_) => "a table".to_owned(),
        Shape::Kinds(_) => "a kind in quotes, or a table with its 'kind'".to_owned(),
    };
    let message = expected::wrong_type(&expected, value.found());
    ScenarioError::at(message, &node.place)
}

/// Checks a table against the alternative that its `kind` names.
fn alternatives(node: &Node, entries: &[Entry], kinds: &Kinds) -> Result<(), ScenarioError> {
    let names = kinds.all.iter().map(|kind| kind.name.as_str());
    let Some(kind) = entries.iter().find(|entry| entry.name == KIND) else {
        if let Some(error) = unknown_kind(node, entries, kinds) {
            return Err(error);
        }
        let names: Vec<&str> = names.collect();
        let message = format!("'{KIND}' {MISSING}: write one of {}", names.join(", "));
        return Err(missing(node, message));
    };
    let Value::Text(word) = &kind.node.value else {
        let names: Vec<&str> = names.collect();
        let message = format!("write one of {} in quotes", names.join(", "));
        return Err(ScenarioError::at(message, &kind.node.place));
    };
    one_of(&kind.node, word, names)?;
    let stated = kinds.all.iter().find(|kind| kind.name == *word);
    let keys: &[Key] = stated.map_or(&[], |kind| &kind.keys);
    // A key of another kind is reported as such, not as a misspelled key.
    for entry in entries.iter().filter(|entry| entry.name != KIND) {
        let is = |key: &Key| key.name == entry.name;
        if keys.iter().any(is) {
            continue;
        }
        let others = kinds.all.iter().filter(|kind| kind.keys.iter().any(is));
        if let Some(kinds) = words_of_kinds(others) {
            let name = shorten(&entry.name, QUOTED);
            let message = format!(
                "'{name}' belongs to {kinds}, and this is kind \"{word}\": {}",
                allowed_keys(keys, true)
            );
            return Err(ScenarioError::at(message, &entry.place));
        }
    }
    table(node, entries, (keys, true), (word, &[]))
}

/// Returns `kind "red"`, or `the kinds "red" and "codel"`; `None` if there are none.
fn words_of_kinds<'a>(kinds: impl Iterator<Item = &'a Kind>) -> Option<String> {
    let names: Vec<String> = kinds.map(|kind| format!("\"{}\"", kind.name)).collect();
    let (last, before) = names.split_last()?;
    Some(match before {
        [] => format!("kind {last}"),
        _ => format!("the kinds {} and {last}", before.join(", ")),
    })
}

/// Returns the error for a `--set` below a table that no file states, so that its kind is unknown.
fn unknown_kind(node: &Node, entries: &[Entry], kinds: &Kinds) -> Option<ScenarioError> {
    let [entry] = entries else {
        return None;
    };
    let path = node.place.path_set()?;
    let table = path.strip_suffix(&entry.name)?.strip_suffix('.')?;
    let is = |key: &Key| key.name == entry.name;
    let owners = kinds.all.iter().filter(|kind| kind.keys.iter().any(is));
    // Prefers a kind that needs no other key.
    let needs_more = |kind: &&Kind| kind.keys.iter().any(|key| key.is_required && !is(key));
    let first = owners.clone().min_by_key(needs_more)?;
    let message = format!(
        "nothing states '{table}', so there is a default in its place and nothing to change: '{0}' belongs to {1}; write \
         the whole table, as in '{table}={{ kind = \"{2}\", {0} = {3} }}'",
        entry.name,
        words_of_kinds(owners)?,
        first.name,
        entry.node.inline()
    );
    Some(ScenarioError::at(message, &node.place))
}

fn one_of<'a>(
    node: &Node,
    word: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), ScenarioError> {
    if known.clone().any(|one| one == word) {
        return Ok(());
    }
    let hint = nearest(word, known.clone())
        .map(|one| format!("did you mean \"{one}\"? "))
        .unwrap_or_default();
    let known: Vec<&str> = known.collect();
    let word = shorten(word, QUOTED);
    let message = format!(
        "unknown value '{word}': {hint}write one of {}",
        known.join(", ")
    );
    Err(ScenarioError::at(message, &node.place))
}

fn table(
    node: &Node,
    entries: &[Entry],
    (keys, is_kind): (&[Key], bool),
    (name, choices): (&str, &[Choice]),
) -> Result<(), ScenarioError> {
    let find = |name: &str| keys.iter().find(|key| key.name == name);
    for entry in entries {
        if find(&entry.name).is_none() && !(is_kind && entry.name == KIND) {
            return Err(unknown(entry, keys, is_kind, name));
        }
    }
    let mut choices = choices.iter();
    choices.try_for_each(|choice| choice.check(node, entries))?;
    for entry in entries {
        if let Some(key) = find(&entry.name) {
            below(entry, &key.form)?;
        }
    }
    for key in keys.iter().filter(|key| key.is_required) {
        if !entries.iter().any(|entry| entry.name == key.name) {
            let message = format!(
                "'{}' {MISSING}: {}",
                key.name,
                key.form.meaning_after_colon()
            );
            let Some(path) = node.place.path_set().filter(|_| is_kind) else {
                return Err(missing(node, message));
            };
            let table = path.strip_suffix(".kind").unwrap_or(path);
            let message = format!(
                "{message}. If '{table}' was of another kind before, its settings went with that: write the whole \
                 table, as in '{table}={{ kind = \"{name}\", {} = ... }}'. If nothing was there, look at the name",
                key.name
            );
            return Err(ScenarioError::at(message, &node.place));
        }
    }
    Ok(())
}

/// Returns the error for a missing key. It has no place yet, because the caller's `or_at` may know a better one than
/// the braces of the table.
fn missing(node: &Node, message: String) -> ScenarioError {
    ScenarioError::new(message).or_at(&node.place)
}

fn unknown(entry: &Entry, keys: &[Key], is_kind: bool, table: &str) -> ScenarioError {
    let name = shorten(&entry.name, QUOTED);
    if let Some(now) = renamed(table, &entry.name) {
        let message = format!("'{name}' is now written {now}");
        return ScenarioError::at(message, &entry.place);
    }
    let known = keys.iter().map(|key| key.name.as_str());
    let hint = nearest(&entry.name, known)
        .map(|one| format!("did you mean '{one}'? "))
        .unwrap_or_default();
    let message = format!(
        "unknown key '{name}': {hint}{}",
        allowed_keys(keys, is_kind)
    );
    ScenarioError::at(message, &entry.place)
}

fn allowed_keys(keys: &[Key], is_kind: bool) -> String {
    let kind = is_kind.then_some(KIND);
    let names = kind
        .into_iter()
        .chain(keys.iter().map(|key| key.name.as_str()));
    let mut names: Vec<&str> = names.collect();
    // These tables are taken out of the file before the scenario is read.
    if ["topology", "flows"]
        .iter()
        .all(|head| names.contains(head))
    {
        names.extend(["cells", "axes", "extends", "groups", "parts", "shared"]);
    }
    if names.is_empty() {
        return "no key is allowed here".to_owned();
    }
    format!("allowed keys: {}", names.join(", "))
}
