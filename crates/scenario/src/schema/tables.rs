//! The format as Markdown tables, for `docs/scenario.md` and the pages of `docs/scenario`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fairwire_units::settings::without_links;
use serde_json::Value;

use super::forms::{Form, KIND, Key, Kinds, Shape};
use super::prose::{BEGIN, Page, Places, WITHOUT, capital, sentences, wrapped};
use super::quantity;

/// The marker after a table in a document.
const END: &str = "<!-- end of keys -->";

/// The characters of a row to which sentences are added. The other sentences follow below the table.
const ROW: usize = 200;
/// The characters of a row with one sentence. From here on it ends at a colon.
const LONG_ROW: usize = 220;

/// Returns the pages with their tables of keys up to date. A page is named by its path below `docs`. What stands between
/// `<!-- keys: NAME -->` and `<!-- end of keys -->` describes the keys of the type NAME, without those of the type OTHER
/// if the marker is `<!-- keys: NAME without OTHER -->`.
///
/// # Errors
/// If a type is not known, or a table has no end marker.
pub fn documented(pages: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, String> {
    let form = super::form();
    let places = Places::of(pages);
    let page = |(name, text): (&String, &String)| {
        let page = Page::new(name, &places);
        let text = with_tables(&page, text, &form).map_err(|error| format!("{name}: {error}"))?;
        Ok((name.clone(), text))
    };
    pages.iter().map(page).collect()
}

/// Returns the text of a page with its tables up to date.
fn with_tables(page: &Page<'_>, text: &str, form: &Form) -> Result<String, String> {
    let mut parts = text.split(BEGIN);
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (marker, rest) = part.split_once(" -->").ok_or("a marker has no end")?;
        let (_, rest) = rest
            .split_once(END)
            .ok_or_else(|| format!("the keys of {marker} have no end"))?;
        let (name, without) = match marker.split_once(WITHOUT) {
            Some((name, without)) => (name, Some(without)),
            None => (marker, None),
        };
        let known = |name| find(form, name).ok_or_else(|| format!("no type is called {name}"));
        let of = known(name)?;
        let rows = Rows {
            table: String::new(),
            more: String::new(),
            page,
            is_root: of.name == form.name,
            without: without.map(known).transpose()?.map(keys_of),
        };
        let _ = write!(all, "{BEGIN}{marker} -->\n{}{END}{rest}", rows.of(of));
    }
    Ok(all)
}

/// Returns the keys of a table.
fn keys_of(form: &Form) -> &[Key] {
    match &*form.shape {
        Shape::Table(keys) => keys,
        _ => &[],
    }
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
    table: String,
    /// What the rows have no room for, as a list.
    more: String,
    page: &'a Page<'a>,
    /// Whether this is the head of the file, whose tables have pages of their own.
    is_root: bool,
    /// The keys that are left out.
    without: Option<&'a [Key]>,
}

/// The place of a key: within another table, or within one of several kinds.
#[derive(Clone, Copy)]
struct Place<'a> {
    kind: Option<&'a str>,
    prefix: &'a str,
}

impl Rows<'_> {
    /// Returns the table of `form`, and the list of what its rows have no room for.
    fn of(mut self, form: &Form) -> String {
        match &*form.shape {
            Shape::Kinds(kinds) => {
                self.table.push_str(
                    "| kind | key | value | default | meaning |\n|---|---|---|---|---|\n",
                );
                for kind in &kinds.all {
                    let row = format!("| `\"{}\"` | | | | ", kind.name);
                    let name = format!("`\"{}\"`", kind.name);
                    self.row(&row, &name, &kind.meaning, &[]);
                    let place = Place {
                        kind: Some(&kind.name),
                        prefix: "",
                    };
                    self.keys(&kind.keys, place);
                }
            }
            Shape::Table(keys) => {
                self.table
                    .push_str("| key | value | default | meaning |\n|---|---|---|---|\n");
                let place = Place {
                    kind: None,
                    prefix: "",
                };
                self.keys(keys, place);
            }
            _ => {}
        }
        if self.more.is_empty() {
            return self.table;
        }
        format!("{}\nMore about some keys:\n\n{}", self.table, self.more)
    }

    fn keys(&mut self, keys: &[Key], place: Place<'_>) {
        for key in keys {
            let is_left_out = |all: &[Key]| all.iter().any(|other| other.name == key.name);
            if !self.without.is_some_and(is_left_out) {
                self.key(key, place);
            }
        }
    }

    fn key(&mut self, key: &Key, place: Place<'_>) {
        let form = &key.form;
        let name = format!("{}{}", place.prefix, key.name);
        let default = match &form.default {
            Some(default) => written(default, &form.shape),
            None if key.is_required => "required".to_owned(),
            None => "none".to_owned(),
        };
        let words: &[(String, String)] = match &*form.shape {
            Shape::Words(words) => words,
            _ => &[],
        };
        let value = self.value(form);
        let margin = if place.kind.is_some() { "| " } else { "" };
        let row = format!("{margin}| `{name}` | {value} | {default} | ");
        let whole = match place.kind {
            Some(kind) => format!("`{name}` of `\"{kind}\"`"),
            None => format!("`{name}`"),
        };
        self.row(&row, &whole, &form.meaning, words);
        // The keys of a table that has no place of its own.
        let (below, inner) = match &*form.shape {
            Shape::Named(below) => (&**below, format!("{name}.NAME.")),
            Shape::List(below) => (&**below, format!("{name}[].")),
            _ => (form, format!("{name}.")),
        };
        if let Shape::Table(keys) = &*below.shape
            && !self.is_root
            && self.page.link(&below.name).is_none()
        {
            let place = Place {
                prefix: &inner,
                ..place
            };
            self.keys(keys, place);
        }
    }

    /// Writes a row that begins with `row`, and as many sentences of the meaning as it has room for, at least one. The
    /// others, and the meanings of words, go into the list, under `name`.
    fn row(&mut self, row: &str, name: &str, meaning: &str, words: &[(String, String)]) {
        let meaning = self.page.text(&without_links(meaning));
        let length = |text: &str| row.chars().count() + text.chars().count() + " |".len();
        let mut ends = sentences(&meaning);
        let mut end = ends.next().unwrap_or_default();
        end = ends
            .take_while(|end| length(&meaning[..*end]) <= ROW)
            .last()
            .unwrap_or(end);
        let (mut shown, mut rest) = (
            meaning[..end].to_owned(),
            meaning[end..].trim_start().to_owned(),
        );
        if length(&shown) > LONG_ROW
            && let Some(colon) = shown.rfind(": ")
        {
            rest = format!("{} {rest}", capital(&shown[colon + 2..]));
            shown.replace_range(colon.., ".");
        }
        let _ = writeln!(self.table, "{row}{} |", shown.replace('|', "\\|"));
        let words: Vec<_> = words.iter().filter(|(_, what)| !what.is_empty()).collect();
        if rest.is_empty() && words.is_empty() {
            return;
        }
        self.more
            .push_str(&wrapped("- ", format!("{name}: {rest}").trim_end()));
        for (word, what) in words {
            let what = self.page.text(&without_links(what));
            self.more
                .push_str(&wrapped("  - ", &format!("`\"{word}\"`: {what}")));
        }
    }

    /// Returns the words for the value of a key, with a link to the table that describes it.
    fn value(&self, form: &Form) -> String {
        let linked = |form: &Form, words: &str| match self.page.link(&form.name) {
            Some(link) => format!("[{words}]({link})"),
            None => words.to_owned(),
        };
        let value = match &*form.shape {
            Shape::List(of) if matches!(&*of.shape, Shape::Table(_)) => {
                linked(of, "list of tables")
            }
            // A table cell has no room for the names of all metrics.
            Shape::List(of) if matches!(&*of.shape, Shape::Words(_)) => "list of names".to_owned(),
            Shape::List(of) => format!("list: {}", self.value(of)),
            Shape::Named(of) => linked(of, "tables by name"),
            Shape::Table(_) => linked(form, "table"),
            Shape::Kinds(kinds) => {
                let table = linked(form, &format!("table with a `{KIND}`"));
                match short(kinds) {
                    Some(short) => format!("{}, or {table}", self.value(short)),
                    None => table,
                }
            }
            shape => plain_value(shape),
        };
        let limits = form.limits.words();
        if limits.is_empty() {
            return value;
        }
        format!("{value}, {limits}")
    }
}

/// Returns the words for a value that holds no others.
fn plain_value(shape: &Shape) -> String {
    match shape {
        Shape::Bool => "`true` or `false`".to_owned(),
        Shape::Integer => "whole number".to_owned(),
        Shape::Number => "number".to_owned(),
        Shape::Text(Some(format)) => match quantity::reader(format) {
            Some((word, _)) => word.to_owned(),
            None => format.clone(),
        },
        Shape::Words(words) => words
            .iter()
            .map(|(word, _)| format!("`\"{word}\"`"))
            .collect::<Vec<_>>()
            .join(", "),
        _ => "text".to_owned(),
    }
}

/// Returns a default as a file would state it. The keys of a table state their own defaults.
fn written(default: &Value, shape: &Shape) -> String {
    if let Shape::Kinds(kinds) = shape
        && let (Some(first), Some(key)) = (kinds.all.first(), &kinds.short.key)
        && default[KIND] == first.name.as_str()
    {
        return format!("`{}`", default[key]);
    }
    if let Shape::Kinds(kinds) = shape
        && let Some(name) = name_alone(default, kinds)
    {
        return format!("`\"{name}\"`");
    }
    match default {
        Value::Object(_) => "see its keys".to_owned(),
        other => format!("`{other}`"),
    }
}

/// Returns the name of a kind if the name alone stands for `value`: with the defaults of its keys.
fn name_alone<'a>(value: &'a Value, kinds: &Kinds) -> Option<&'a str> {
    let name = value[KIND].as_str().filter(|_| kinds.short.name)?;
    let kind = kinds.all.iter().find(|kind| kind.name == name)?;
    let is_default = |key: &str, value: &Value| {
        let known = kind.keys.iter().find(|it| it.name == key);
        known.is_some_and(|it| it.form.default.as_ref() == Some(value))
    };
    let mut stated = value.as_object()?.iter().filter(|(key, _)| *key != KIND);
    let is_alone = stated.all(|(key, value)| value.is_null() || is_default(key, value));
    is_alone.then_some(name)
}

/// Returns the form of a value that may replace a table of alternatives.
fn short(kinds: &Kinds) -> Option<&Form> {
    let key = kinds.short.key.as_ref()?;
    let keys = &kinds.all.first()?.keys;
    let key = keys.iter().find(|one| one.name == *key)?;
    Some(&key.form)
}
