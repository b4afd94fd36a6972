//! Deserialization of types from a tree: serde over [`Node`], so that every error points at its line.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::place::ScenarioError;
use super::schema::KIND;
use super::tree::{Entry, Node, Value};

/// A deserializer of one node.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a Node);

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = ScenarioError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ScenarioError> {
        let result = match &self.0.value {
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Integer(value) => visitor.visit_i64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(value) => visitor.visit_borrowed_str(value),
            Value::Array(items) => visitor.visit_seq(Items(items.iter())),
            Value::Table(entries) => visitor.visit_map(Entries::of(entries)),
        };
        result.map_err(|error| error.or_at(&self.0.place))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ScenarioError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ScenarioError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ScenarioError> {
        let Value::Text(word) = &self.0.value else {
            let message = format!("write one of {} in quotes", variants.join(", "));
            return Err(ScenarioError::at(message, &self.0.place));
        };
        let word: StrDeserializer<'_, ScenarioError> = word.as_str().into_deserializer();
        word.deserialize_enum(name, variants, visitor)
            .map_err(|error| error.or_at(&self.0.place))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Items<'a>(std::slice::Iter<'a, Node>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = ScenarioError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ScenarioError> {
        self.0
            .next()
            .map(|node| seed.deserialize(Reader(node)))
            .transpose()
    }
}

/// The entries of a table: first its kind, on which the others depend, and then the others in their order.
struct Entries<'a> {
    kind: Option<&'a Entry>,
    others: std::slice::Iter<'a, Entry>,
    current: Option<&'a Entry>,
}

/// Returns whether the entry is the tag of an alternative. A link or a flow may also be called `kind`, but is a table.
fn is_kind(entry: &Entry) -> bool {
    entry.name == KIND && matches!(entry.node.value, Value::Text(_))
}

impl<'a> Entries<'a> {
    fn of(entries: &'a [Entry]) -> Self {
        Self {
            kind: entries.iter().find(|entry| is_kind(entry)),
            others: entries.iter(),
            current: None,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = ScenarioError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ScenarioError> {
        let mut others = self.others.by_ref().filter(|entry| !is_kind(entry));
        self.current = self.kind.take().or_else(|| others.next());
        let Some(entry) = self.current else {
            return Ok(None);
        };
        let name: StrDeserializer<'_, ScenarioError> = entry.name.as_str().into_deserializer();
        seed.deserialize(name)
            .map(Some)
            .map_err(|error| error.or_at(&entry.place))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, ScenarioError> {
        let entry = self
            .current
            .take()
            .ok_or_else(|| ScenarioError::new("a key without a value"))?;
        seed.deserialize(Reader(&entry.node))
            .map_err(|error| error.or_at(&entry.node.place))
    }
}
