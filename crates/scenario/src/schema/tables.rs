//! The format as Markdown tables, for `docs/scenario.md`.

use std::fmt::Write as _;

use fairwire_units::settings::without_links;
use serde_json::Value;

use super::forms::{Form, KIND, Key, Kinds, Shape};
use super::quantity;

/// The marker before a table in a document; the name of the type whose keys the table lists follows it.
const BEGIN: &str = "<!-- keys: ";
const END: &str = "<!-- end of keys -->";

/// Returns `text` with its tables of keys up to date. The table between `<!-- keys: NAME -->` and `<!-- end of keys
/// -->` lists the keys of the type NAME.
///
/// # Errors
/// If a type is not known, or a table has no end marker.
pub fn documented(text: &str) -> Result<String, String> {
    let form = super::form();
    let documented = |name: &str| text.contains(&format!("{BEGIN}{name} -->"));
    let mut parts = text.split(BEGIN);
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->").ok_or("a marker has no end")?;
        let (_, rest) = rest
            .split_once(END)
            .ok_or_else(|| format!("the keys of {name} have no end"))?;
        let of = find(&form, name).ok_or_else(|| format!("no type is called {name}"))?;
        let rows = Rows {
            text: String::new(),
            documented: &documented,
            is_root: of.name == form.name,
        };
        let table = rows.table(of);
        let _ = write!(all, "{BEGIN}{name} -->\n{table}{END}{rest}");
    }
    Ok(all)
}

/// Returns the first form of this name.
fn find<'a>(form: &'a Form, name: &str) -> Option<&'a Form> {
    if form.name == name {
        return Some(form);
    }
    match &*form.shape {
        Shape::Named(below) | Shape::List(below) => find(below, name),
        Shape::Table(keys) => in_keys(keys, name),
        Shape::Kinds(kinds) => kinds.all.iter().find_map(|kind| in_keys(&kind.keys, name)),
        _ => None,
    }
}

fn in_keys<'a>(keys: &'a [Key], name: &str) -> Option<&'a Form> {
    keys.iter().find_map(|key| find(&key.form, name))
}

/// The rows of a table under construction.
struct Rows<'a> {
    text: String,
    /// Whether the document lists the keys of this type elsewhere.
    documented: &'a dyn Fn(&str) -> bool,
    /// Whether this is the head of the file, whose tables have sections of their own.
    is_root: bool,
}

impl Rows<'_> {
    fn table(mut self, form: &Form) -> String {
        match &*form.shape {
            Shape::Kinds(kinds) => {
                self.text.push_str(
                    "| kind | key | value | default | meaning |\n|---|---|---|---|---|\n",
                );
                for kind in &kinds.all {
                    let meaning = plain(&kind.meaning);
                    let _ = writeln!(self.text, "| `\"{}\"` | | | | {meaning} |", kind.name);
                    self.keys(&kind.keys, "| ", "");
                }
            }
            Shape::Table(keys) => {
                self.text
                    .push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
                self.keys(keys, "", "");
            }
            _ => {}
        }
        self.text
    }

    fn keys(&mut self, keys: &[Key], margin: &str, prefix: &str) {
        for key in keys {
            let name = format!("{prefix}{}", key.name);
            self.key(key, margin, &name);
        }
    }

    fn key(&mut self, key: &Key, margin: &str, name: &str) {
        let form = &key.form;
        let mut meaning = plain(&form.meaning);
        if let Shape::Words(words) = &*form.shape {
            for (word, what) in words.iter().filter(|(_, what)| !what.is_empty()) {
                let _ = write!(meaning, " `\"{word}\"`: {}", plain(what));
            }
        }
        let default = match &form.default {
            Some(default) => written(default, &form.shape),
            None if key.is_required => "required".to_owned(),
            None => "none".to_owned(),
        };
        let value = value(form);
        let _ = writeln!(
            self.text,
            "{margin}| `{name}` | {value} | {default} | {meaning} |"
        );
        // The keys of a table that the document does not list elsewhere.
        let (below, inner) = match &*form.shape {
            Shape::Named(below) => (&**below, format!("{name}.NAME.")),
            Shape::List(below) => (&**below, format!("{name}[].")),
            _ => (form, format!("{name}.")),
        };
        if let Shape::Table(keys) = &*below.shape
            && !self.is_root
            && !(self.documented)(&below.name)
        {
            self.keys(keys, margin, &inner);
        }
    }
}

/// Returns the words for the value of a key.
fn value(form: &Form) -> String {
    let value = match &*form.shape {
        Shape::Bool => "`true` or `false`".to_owned(),
        Shape::Integer => "whole number".to_owned(),
        Shape::Number => "number".to_owned(),
        Shape::Text(None) => "text".to_owned(),
        Shape::Text(Some(format)) => match quantity::reader(format) {
            Some((word, _)) => word.to_owned(),
            None => format.clone(),
        },
        Shape::Words(words) => words
            .iter()
            .map(|(word, _)| format!("`\"{word}\"`"))
            .collect::<Vec<_>>()
            .join(", "),
        Shape::List(of) => match &*of.shape {
            Shape::Table(_) => "list of tables".to_owned(),
            // A table cell has no room for the names of all metrics.
            Shape::Words(_) => "list of names".to_owned(),
            _ => format!("list: {}", value(of)),
        },
        Shape::Named(_) => "tables by name".to_owned(),
        Shape::Table(_) => "table".to_owned(),
        Shape::Kinds(kinds) => {
            let names = kinds.all.iter().map(|kind| format!("`\"{}\"`", kind.name));
            let table = format!("table of {KIND} {}", names.collect::<Vec<_>>().join(", "));
            match short(kinds) {
                Some(short) => format!("{}, or {table}", value(short)),
                None => table,
            }
        }
    };
    let limits = form.limits.words();
    if limits.is_empty() {
        return value;
    }
    format!("{value}, {limits}")
}

/// Returns a default as a file would state it. The keys of a table state their own defaults.
fn written(default: &Value, shape: &Shape) -> String {
    if let Shape::Kinds(kinds) = shape
        && let (Some(first), Some(key)) = (kinds.all.first(), &kinds.short.key)
        && default[KIND] == first.name.as_str()
    {
        return format!("`{}`", default[key]);
    }
    match default {
        Value::Object(_) => "see its keys".to_owned(),
        other => format!("`{other}`"),
    }
}

/// Returns the form of a value that may replace a table of alternatives.
fn short(kinds: &Kinds) -> Option<&Form> {
    let key = kinds.short.key.as_ref()?;
    let keys = &kinds.all.first()?.keys;
    let key = keys.iter().find(|one| one.name == *key)?;
    Some(&key.form)
}

/// Returns a meaning as the text of a cell.
fn plain(meaning: &str) -> String {
    without_links(meaning).replace('|', "\\|")
}
