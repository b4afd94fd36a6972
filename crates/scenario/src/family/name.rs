//! Names that are made of values.

/// Returns `value` as a part of a name: `20 packets` is `20packets`, `5 Mbit/s` is `5Mbit`.
pub fn word(value: &str) -> String {
    let value = value.replace("/s", "");
    let known = value.chars().filter_map(|c| match c {
        ' ' => None,
        c if c.is_ascii_alphanumeric() || c == '.' => Some(c),
        _ => Some('-'),
    });
    known.collect()
}

/// Returns `value` as a part of a cell's name, which has no dots.
pub fn plain(value: &str) -> String {
    word(value).replace('.', "-")
}

/// Finds `name` among the `known` names of cells: written as it is, or with values as they stand in names of cells.
pub fn find_cell<'a>(
    name: &str,
    mut known: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let exact = known.clone().find(|known| *known == name);
    exact.or_else(|| {
        let name = plain(name);
        known.find(|known| *known == name)
    })
}

/// Returns the name of a cell with these values of axes. A value that begins with a digit has its axis before it. There
/// are no hyphens side by side or at an end of a value, which may be a whole table.
pub(crate) fn joined<'a>(values: impl Iterator<Item = (&'a str, String)>) -> String {
    let mut name = String::new();
    for (axis, value) in values {
        let value = plain(&value);
        let parts = value.split('-').filter(|part| !part.is_empty());
        let value = parts.collect::<Vec<_>>().join("-");
        if !name.is_empty() {
            name.push('-');
        }
        if value.starts_with(|first: char| first.is_ascii_digit()) {
            name += axis;
        }
        name += &value;
    }
    name
}
