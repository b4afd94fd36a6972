//! The schema, read into what the checks and the documents work on.

use serde_json::{Map, Value};

use super::limits::Limits;

/// What may stand in one place.
#[derive(Clone, Debug)]
pub(in super::super) struct Form {
    /// The name of its type, where that has one of its own.
    pub(in super::super) name: String,
    /// What it means: paragraphs of plain text.
    pub(in super::super) meaning: String,
    /// What it is where nothing is written.
    pub(in super::super) default: Option<Value>,
    pub(in super::super) limits: Limits,
    pub(in super::super) shape: Shape,
}

/// The shape of a value.
#[derive(Clone, Debug)]
pub(in super::super) enum Shape {
    /// True or false.
    Bool,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A text, of a format if it is a quantity.
    Text(Option<String>),
    /// One of some words, each with its meaning.
    Words(Vec<(String, String)>),
    /// A list.
    List(Box<Form>),
    /// Tables or values under names of the author's choice.
    Named(Box<Form>),
    /// A table of known keys.
    Table(Vec<Key>),
    /// One of some tables, told apart by their `kind`.
    Kinds(Kinds),
}

/// A key of a table.
#[derive(Clone, Debug)]
pub(in super::super) struct Key {
    pub(in super::super) name: String,
    pub(in super::super) is_required: bool,
    pub(in super::super) form: Form,
}

/// Alternatives that are told apart by their `kind`.
#[derive(Clone, Debug)]
pub(in super::super) struct Kinds {
    pub(in super::super) all: Vec<Kind>,
    /// What stands in place of a table.
    pub(in super::super) short: Short,
}

/// One alternative.
#[derive(Clone, Debug)]
pub(in super::super) struct Kind {
    pub(in super::super) name: String,
    pub(in super::super) meaning: String,
    pub(in super::super) keys: Vec<Key>,
}

/// What may stand in place of a table of alternatives.
#[derive(Clone, Debug)]
pub(in super::super) struct Short {
    /// A text may be the `kind`.
    pub(in super::super) name: bool,
    /// A value stands for the first kind, with this key of that value.
    pub(in super::super) key: Option<String>,
}

impl Short {
    fn of(schema: &Map<String, Value>) -> Self {
        let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
        Self {
            name: schema.get("short_form") == Some(&Value::Bool(true)),
            key: text("short_value").or_else(|| text("short_form")),
        }
    }

    /// Is `text` the name of a kind? Where it may be a value, too, that begins with a digit.
    pub(in super::super) fn is_name(&self, text: &str) -> bool {
        let letter = |first: char| first.is_ascii_alphabetic();
        self.name && (self.key.is_none() || text.starts_with(letter))
    }
}

/// The key that tells alternatives apart.
pub(in super::super) const KIND: &str = "kind";

impl Form {
    /// Reads `root`, a schema with its definitions.
    pub(super) fn read(root: &Value) -> Self {
        Self::of(root, root)
    }

    fn of(schema: &Value, root: &Value) -> Self {
        let (schema, name) = resolved(schema, root);
        let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
        Self {
            name: name.unwrap_or_else(|| text("title").to_owned()),
            meaning: text("description").to_owned(),
            default: schema.get("default").filter(|it| !it.is_null()).cloned(),
            limits: Limits::of(&schema),
            shape: shape(&schema, root),
        }
    }

    /// The form of `key` in the table that this is; of alternatives, in those of `kind` or else in any.
    pub(in super::super) fn below(&self, key: &str, kind: Option<&str>) -> Option<&Self> {
        match &self.shape {
            Shape::Table(keys) => find(keys, key),
            Shape::Named(form) | Shape::List(form) => Some(form),
            Shape::Kinds(kinds) => {
                let of = |kind: &'_ Kind| kind.keys.iter().any(|known| known.name == key);
                let known = kinds.all.iter().find(|one| Some(one.name.as_str()) == kind);
                let table = known.or_else(|| kinds.all.iter().find(|one| of(one)))?;
                find(&table.keys, key)
            }
            _ => None,
        }
    }

    /// What the alternative called `kind` is.
    pub(in super::super) fn kind_meaning(&self, kind: &str) -> Option<&str> {
        let Shape::Kinds(kinds) = &self.shape else {
            return None;
        };
        let kind = kinds.all.iter().find(|one| one.name == kind)?;
        Some(first_sentence(&kind.meaning))
    }

    /// The first sentence of its meaning.
    pub(in super::super) fn short_meaning(&self) -> &str {
        first_sentence(&self.meaning)
    }
}

fn first_sentence(text: &str) -> &str {
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let end = paragraph.find(". ").unwrap_or(paragraph.len());
    paragraph[..end].trim_end_matches('.')
}

fn find<'a>(keys: &'a [Key], name: &str) -> Option<&'a Form> {
    let key = keys.iter().find(|key| key.name == name);
    key.map(|key| &key.form)
}

/// `schema` with what it refers to, and the name of that; what stands beside a reference wins.
fn resolved(schema: &Value, root: &Value) -> (Map<String, Value>, Option<String>) {
    let mut here = schema.as_object().cloned().unwrap_or_default();
    let mut name = None;
    // `Option` of a type with a definition of its own is that type or null.
    if let Some(Value::Array(any)) = here.get("anyOf") {
        let mut others = any.iter().filter(|one| one["type"] != "null");
        if let (Some(only), None) = (others.next(), others.next()) {
            let only = only.clone();
            here.remove("anyOf");
            let (below, of) = resolved(&only, root);
            name = of;
            lay_under(&mut here, below);
        }
    }
    if let Some(Value::String(reference)) = here.remove("$ref") {
        let path = reference.trim_start_matches('#');
        name = reference.rsplit('/').next().map(str::to_owned);
        let target = root.pointer(path).cloned().unwrap_or_default();
        let (below, deeper) = resolved(&target, root);
        name = deeper.or(name);
        lay_under(&mut here, below);
    }
    (here, name)
}

fn lay_under(here: &mut Map<String, Value>, below: Map<String, Value>) {
    for (key, value) in below {
        here.entry(key).or_insert(value);
    }
}

fn shape(schema: &Map<String, Value>, root: &Value) -> Shape {
    if let Some(kinds) = kinds(schema, root) {
        return Shape::Kinds(kinds);
    }
    if let Some(words) = words(schema) {
        return Shape::Words(words);
    }
    let kind = match schema.get("type") {
        Some(Value::Array(types)) => types.iter().find(|one| **one != "null"),
        other => other,
    };
    match kind.and_then(Value::as_str) {
        Some("boolean") => Shape::Bool,
        Some("integer") => Shape::Integer,
        Some("number") => Shape::Number,
        Some("array") => Shape::List(Box::new(Form::of(&schema["items"], root))),
        Some("object") => match schema.get("additionalProperties") {
            Some(of @ Value::Object(_)) => Shape::Named(Box::new(Form::of(of, root))),
            _ => Shape::Table(keys(schema, root)),
        },
        _ => {
            let format = schema.get("format").and_then(Value::as_str);
            Shape::Text(format.map(str::to_owned))
        }
    }
}

/// The keys of a table: those that it needs in the order of its type, then the others by name.
fn keys(schema: &Map<String, Value>, root: &Value) -> Vec<Key> {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.unwrap_or(&none);
    let required = schema.get("required").and_then(Value::as_array);
    let needed: Vec<&str> = required
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let others = properties.keys().map(String::as_str);
    let others = others.filter(|name| !needed.contains(name));
    let key = |name: &str, is_required| {
        let property = properties.get(name)?;
        let form = if is_laid_over(property) {
            laid_over(property, root)
        } else {
            Form::of(property, root)
        };
        Some(Key {
            name: name.to_owned(),
            is_required,
            form,
        })
    };
    let needed_keys = needed.iter().filter_map(|name| key(name, true));
    needed_keys
        .chain(others.filter_map(|name| key(name, false)))
        .filter(|key| key.name != KIND || !is_one_word(&key.form))
        .collect()
}

/// Is it a table that is laid over the one in which it stands?
pub(super) fn is_laid_over(property: &Value) -> bool {
    property["laid_over"] == true
}

/// The form of such a table: it may have the keys of the other one, none of them needed and none of them laid
/// over in its turn.
fn laid_over(property: &Value, root: &Value) -> Form {
    let (mut table, name) = resolved(property, root);
    table.remove("required");
    if let Some(Value::Object(properties)) = table.get_mut("properties") {
        properties.retain(|_, property| !is_laid_over(property));
    }
    let form = Form::of(&Value::Object(table), root);
    Form {
        name: name.unwrap_or_default(),
        ..form
    }
}

/// Is it the tag of an alternative?
fn is_one_word(form: &Form) -> bool {
    matches!(&form.shape, Shape::Words(words) if words.len() == 1)
}

fn words(schema: &Map<String, Value>) -> Option<Vec<(String, String)>> {
    let word = |value: &Value, meaning: &Value| {
        let meaning = meaning.as_str().unwrap_or_default();
        Some((value.as_str()?.to_owned(), meaning.to_owned()))
    };
    if let Some(only) = schema.get("const") {
        return word(only, &Value::Null).map(|word| vec![word]);
    }
    if let Some(Value::Array(all)) = schema.get("enum") {
        return Some(
            all.iter()
                .filter_map(|one| word(one, &Value::Null))
                .collect(),
        );
    }
    let Some(Value::Array(all)) = schema.get("oneOf") else {
        return None;
    };
    let mut words = Vec::new();
    for one in all {
        match (one.get("const"), one.get("enum").and_then(Value::as_array)) {
            (Some(only), _) => words.extend(word(only, &one["description"])),
            (None, Some(several)) => {
                words.extend(several.iter().filter_map(|one| word(one, &Value::Null)));
            }
            (None, None) if one["type"] == "null" => {}
            (None, None) => return None,
        }
    }
    Some(words)
}

fn kinds(schema: &Map<String, Value>, root: &Value) -> Option<Kinds> {
    let Some(Value::Array(all)) = schema.get("oneOf") else {
        return None;
    };
    let mut kinds = Vec::new();
    for one in all.iter().filter(|one| one["type"] == "object") {
        let (one, _) = resolved(one, root);
        let name = one["properties"].get(KIND)?.get("const")?.as_str()?;
        let meaning = one.get("description").and_then(Value::as_str);
        kinds.push(Kind {
            name: name.to_owned(),
            meaning: meaning.unwrap_or_default().to_owned(),
            keys: keys(&one, root),
        });
    }
    (!kinds.is_empty()).then_some(Kinds {
        all: kinds,
        short: Short::of(schema),
    })
}
