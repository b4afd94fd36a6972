//! Combinations of values of several axes.

/// Returns the number of combinations of one value of each axis, given the number of values of each; at most
/// `usize::MAX`.
pub fn count(values: impl IntoIterator<Item = usize>) -> usize {
    values.into_iter().fold(1, usize::saturating_mul)
}

/// Returns the combinations as indices of values. The first axis changes last.
pub fn choices(values: Vec<usize>) -> impl Iterator<Item = Vec<usize>> {
    (0..count(values.iter().copied())).map(move |number| {
        let mut left = number;
        let mut choice = vec![0; values.len()];
        for (chosen, count) in choice.iter_mut().zip(&values).rev() {
            *chosen = left % count;
            left /= count;
        }
        choice
    })
}
