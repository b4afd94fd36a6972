//! Numbers of things in words.

/// Returns a number of things: `1 cell`, `2 cells`.
pub fn counted(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    /// One thing is not several.
    #[test]
    fn one_is_singular() {
        assert_eq!(counted(0, "cell"), "0 cells");
        assert_eq!(counted(1, "cell"), "1 cell");
        assert_eq!(counted(2, "cell"), "2 cells");
    }
}
