//! Columns of tables: making them.

use std::collections::BTreeMap;

/// A column: its name and its values.
pub type Column = (String, Values);

/// The values of a column, row by row. All but labels may be missing.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Texts that repeat.
    Labels {
        /// The texts, most of them once.
        texts: Vec<String>,
        /// For each row the place of its text.
        places: Vec<usize>,
    },
    /// Texts.
    Texts(Vec<Option<String>>),
    /// Numbers; NaN is one of them.
    Numbers(Vec<Option<f64>>),
    /// Counts.
    Counts(Vec<Option<u64>>),
    /// Integers.
    Integers(Vec<Option<i64>>),
    /// True and false.
    Flags(Vec<Option<bool>>),
    /// Lists of numbers.
    Lists(Vec<Option<Vec<f64>>>),
    /// Bytes.
    Bytes(Vec<Option<Vec<u8>>>),
}

impl Values {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Labels { places, .. } => places.len(),
            Self::Texts(rows) => rows.len(),
            Self::Numbers(rows) => rows.len(),
            Self::Counts(rows) => rows.len(),
            Self::Integers(rows) => rows.len(),
            Self::Flags(rows) => rows.len(),
            Self::Lists(rows) => rows.len(),
            Self::Bytes(rows) => rows.len(),
        }
    }

    /// Adds the rows of another column, and returns whether it is of the same kind.
    pub fn append(&mut self, more: Self) -> bool {
        match (self, more) {
            (
                Self::Labels { texts, places },
                Self::Labels {
                    texts: more,
                    places: added,
                },
            ) => {
                let before = texts.len();
                places.extend(added.into_iter().map(|place| before + place));
                texts.extend(more);
            }
            (Self::Texts(rows), Self::Texts(more)) => rows.extend(more),
            (Self::Numbers(rows), Self::Numbers(more)) => rows.extend(more),
            (Self::Counts(rows), Self::Counts(more)) => rows.extend(more),
            (Self::Integers(rows), Self::Integers(more)) => rows.extend(more),
            (Self::Flags(rows), Self::Flags(more)) => rows.extend(more),
            (Self::Lists(rows), Self::Lists(more)) => rows.extend(more),
            (Self::Bytes(rows), Self::Bytes(more)) => rows.extend(more),
            _ => return false,
        }
        true
    }
}

/// Returns a column of texts that repeat.
pub fn labels<'a>(name: &str, values: impl Iterator<Item = &'a str>) -> Column {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let mut texts: Vec<String> = Vec::new();
    let mut latest = None;
    let mut place_of = |text| match latest {
        // Most texts are that of the row before.
        Some((before, place)) if before == text => place,
        _ => {
            let place = *known.entry(text).or_insert_with(|| {
                texts.push(text.to_owned());
                texts.len() - 1
            });
            latest = Some((text, place));
            place
        }
    };
    let places = values.map(&mut place_of).collect();
    (name.to_owned(), Values::Labels { texts, places })
}

/// Returns a column of texts.
pub fn texts<'a>(name: &str, values: impl Iterator<Item = &'a str>) -> Column {
    let texts = values.map(|text| Some(text.to_owned())).collect();
    (name.to_owned(), Values::Texts(texts))
}

/// Returns a column of numbers, some of which may be missing.
pub fn numbers(name: &str, values: impl Iterator<Item = Option<f64>>) -> Column {
    (name.to_owned(), Values::Numbers(values.collect()))
}

/// Returns a column of counts, some of which may be missing.
pub fn counts(name: &str, values: impl Iterator<Item = Option<u64>>) -> Column {
    (name.to_owned(), Values::Counts(values.collect()))
}

/// Returns a column of true and false.
pub fn flags(name: &str, values: impl Iterator<Item = bool>) -> Column {
    (name.to_owned(), Values::Flags(values.map(Some).collect()))
}
