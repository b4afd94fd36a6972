//! How close a check is to the opposite outcome.

use super::kind::Kind;

/// A mean and the half-width of its 95 % interval; 0 without one.
pub(super) type Number = (f64, f64);

/// How far a number, or the difference of two, is inside its limit, and the half-width of its 95 % interval.
///
/// `inside` is negative outside the limit.
#[derive(Clone, Copy, Debug)]
struct Margin {
    inside: f64,
    reach: f64,
}

impl Margin {
    /// Returns whether the limit lies within the interval.
    fn is_close(self) -> bool {
        self.inside.abs() < self.reach
    }
}

/// Returns whether other seeds could change the outcome `holds` of a check.
///
/// A check that holds is close if any limit lies within an interval. A check that fails is close if every limit that it
/// violates lies within an interval. `apart` returns the half-width of the interval of the difference of two numbers.
/// Numbers without an interval, such as published ones and those of one run, are taken as exact.
pub(super) fn is_close(
    kind: Kind,
    numbers: &[Number],
    apart: &dyn Fn(usize, usize) -> f64,
    (expected, tolerance): (&[f64], f64),
    holds: bool,
) -> bool {
    let all = margins(kind, numbers, apart, (expected, tolerance));
    if holds {
        return all.iter().any(|margin| margin.is_close());
    }
    let strict = matches!(
        kind,
        Kind::Increasing | Kind::Decreasing | Kind::Least | Kind::Greatest
    );
    let fails = |margin: &&Margin| margin.inside < 0.0 || (strict && margin.inside == 0.0);
    let mut outside = all.iter().filter(fails).peekable();
    outside.peek().is_some() && outside.all(|margin| margin.is_close())
}

fn margins(
    kind: Kind,
    numbers: &[Number],
    apart: &dyn Fn(usize, usize) -> f64,
    (expected, tolerance): (&[f64], f64),
) -> Vec<Margin> {
    let inside = |(value, reach): Number, low: f64, high: f64| Margin {
        inside: (value - low).min(high - value),
        reach,
    };
    let about = |limits: &dyn Fn(f64) -> (f64, f64)| -> Vec<Margin> {
        let pairs = numbers.iter().zip(expected);
        pairs
            .map(|(number, wanted)| {
                let (low, high) = limits(*wanted);
                inside(*number, low, high)
            })
            .collect()
    };
    let above = |more: usize, less: usize| Margin {
        inside: numbers[more].0 - numbers[less].0,
        reach: apart(more, less),
    };
    let others = 1..numbers.len();
    match kind {
        Kind::Absolute => about(&|wanted| (wanted - tolerance, wanted + tolerance)),
        Kind::Relative => about(&|wanted| {
            let room = tolerance * wanted.abs();
            (wanted - room, wanted + room)
        }),
        Kind::Factor => about(&|wanted| (wanted / tolerance, wanted * tolerance)),
        Kind::Range => match expected {
            [low, high] => numbers
                .iter()
                .map(|number| inside(*number, *low, *high))
                .collect(),
            _ => Vec::new(),
        },
        Kind::Increasing => others.map(|next| above(next, next - 1)).collect(),
        Kind::Decreasing | Kind::NonIncreasing => {
            others.map(|next| above(next - 1, next)).collect()
        }
        Kind::Least => others.map(|other| above(other, 0)).collect(),
        Kind::Greatest => others.map(|other| above(0, other)).collect(),
        Kind::Equal => {
            let order = |a: &usize, b: &usize| numbers[*a].0.total_cmp(&numbers[*b].0);
            let ends = (0..numbers.len())
                .max_by(order)
                .zip((0..numbers.len()).min_by(order));
            let margin = ends.map(|(greatest, least)| {
                let apart = above(greatest, least);
                Margin {
                    inside: tolerance - apart.inside,
                    ..apart
                }
            });
            margin.into_iter().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Number, is_close};

    /// A check is close if a limit lies within an interval.
    ///
    /// A number without an interval is never close, and one clear failure makes the whole check fail clearly.
    #[test]
    fn close_is_where_the_interval_reaches_over_the_limit() {
        let upto = Kind::Range;
        for (kind, numbers, expected, tolerance, close) in [
            // 0.94 ± 0.27 for 0.45 to 0.9: outside by 0.04.
            (upto, vec![(0.94, 0.27)], vec![0.45, 0.9], 0.0, true),
            (upto, vec![(0.94, 0.03)], vec![0.45, 0.9], 0.0, false),
            (upto, vec![(0.94, 0.0)], vec![0.45, 0.9], 0.0, false),
            (upto, vec![(0.88, 0.03)], vec![0.45, 0.9], 0.0, true),
            (upto, vec![(0.6, 0.1)], vec![0.45, 0.9], 0.0, false),
            // The second number is clearly outside, so it does not matter that the first may be outside by chance.
            (
                upto,
                vec![(0.94, 0.27), (3.0, 0.1)],
                vec![0.45, 0.9],
                0.0,
                false,
            ),
            (Kind::Absolute, vec![(161.9, 0.2)], vec![160.0], 2.0, true),
            (Kind::Relative, vec![(103.1, 0.2)], vec![100.0], 0.03, true),
            (Kind::Factor, vec![(3.1, 0.05)], vec![1.0], 3.0, false),
            // 3 and 4 differ by 1. As for independent numbers, the half-width is sqrt(0.6² + 0.9²) = 1.08, then 0.94.
            (
                Kind::Increasing,
                vec![(3.0, 0.6), (4.0, 0.9)],
                vec![],
                0.0,
                true,
            ),
            (
                Kind::Increasing,
                vec![(3.0, 0.6), (4.0, 0.72)],
                vec![],
                0.0,
                false,
            ),
            (
                Kind::NonIncreasing,
                vec![(3.0, 0.6), (4.0, 0.9)],
                vec![],
                0.0,
                true,
            ),
            (Kind::Least, vec![(3.0, 0.5), (3.2, 0.0)], vec![], 0.0, true),
            (
                Kind::Greatest,
                vec![(9.0, 0.5), (3.2, 0.5)],
                vec![],
                0.0,
                false,
            ),
            (
                Kind::Equal,
                vec![(100.0, 3.0), (111.0, 0.0)],
                vec![],
                10.0,
                true,
            ),
        ] {
            let numbers: Vec<Number> = numbers;
            let apart = |a: usize, b: usize| numbers[a].1.hypot(numbers[b].1);
            let values: Vec<f64> = numbers.iter().map(|(mean, _)| *mean).collect();
            let holds = kind.holds(&values, &expected, tolerance);
            assert_eq!(
                is_close(kind, &numbers, &apart, (&expected, tolerance), holds),
                close,
                "{kind:?} {numbers:?}"
            );
        }
    }

    /// A value exactly at a limit passes where the limit is inclusive.
    ///
    /// Of two values that do not rise and one that rises by chance, only the last fails "non-increasing", so it is
    /// close.
    #[test]
    fn limits_that_belong_to_it_are_no_failures() {
        let numbers = [(0.0, 0.0), (0.0, 0.0), (1.0, 2.0)];
        let apart = |a: usize, b: usize| f64::hypot(numbers[a].1, numbers[b].1);
        let close = |kind| is_close(kind, &numbers, &apart, (&[], 0.0), false);
        assert!(close(Kind::NonIncreasing));
        assert!(
            !close(Kind::Decreasing),
            "the first two are equal in every run"
        );
    }
}
