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

#[cfg(test)]
mod tests {
    use super::{choices, count};

    /// The first axis changes last. No axes have one combination, and an axis without values has none.
    #[test]
    fn the_first_axis_changes_last() {
        let all: Vec<Vec<usize>> = choices(vec![2, 3]).collect();
        assert_eq!(all, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        assert_eq!(choices(Vec::new()).collect::<Vec<_>>(), [[0_usize; 0]]);
        assert_eq!(choices(vec![2, 0]).count(), 0);
        assert_eq!(count([usize::MAX, 2]), usize::MAX);
    }
}
