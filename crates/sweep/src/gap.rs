//! Where a damaged table can be read again.

/// More rows than a page of a table has.
const ROWS_OF_A_PAGE: i64 = 256;

/// Returns the first number after `bad` from which rows can be read again: at first one by one, and then in steps that
/// grow, because a page of the tree may stand for many rows.
///
/// # Errors
/// Those of `is_readable`, which returns whether there is a readable row with this number or a greater one.
pub fn beyond<E>(
    mut bad: i64,
    is_readable: &mut dyn FnMut(i64) -> Result<bool, E>,
) -> Result<Option<i64>, E> {
    let (first, mut step) = (bad, 1i64);
    let mut good = loop {
        let next = bad.saturating_add(step);
        if next == bad {
            return Ok(None);
        }
        if is_readable(next)? {
            break next;
        }
        bad = next;
        if bad - first >= ROWS_OF_A_PAGE {
            step = step.saturating_mul(2);
        }
    };
    while good - bad > 1 {
        let middle = bad + (good - bad) / 2;
        if is_readable(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(Some(good))
}
