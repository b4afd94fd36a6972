//! How far a check is from turning out the other way.

use fairwire_measure::Spread;

use super::{Kind, Measured};

/// How far a number, or the difference of two, is inside its limit (below zero: outside), and how
/// far its 95 % interval reaches.
#[derive(Clone, Copy, Debug)]
struct Margin {
    inside: f64,
    reach: f64,
}

impl Margin {
    /// Is the limit within the interval?
    fn is_close(self) -> bool {
        self.inside.abs() < self.reach
    }
}

/// Does chance decide: does a check that came out as `holds` hold only with a limit inside an
/// interval, or fail with nothing but such limits?
///
/// Numbers without an interval, as printed ones or those of one run, are taken as they are.
/// Two numbers that are compared count as independent, though runs of one seed may not be: their
/// difference then reaches less far than is taken here.
pub(super) fn is_close(
    kind: Kind,
    measured: &[Measured],
    expected: &[f64],
    tolerance: f64,
    holds: bool,
) -> bool {
    let Some(numbers) = measured.iter().map(number).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let all = margins(kind, &numbers, expected, tolerance);
    if holds {
        all.iter().any(|margin| margin.is_close())
    } else {
        let mut outside = all.iter().filter(|margin| margin.inside <= 0.0).peekable();
        outside.peek().is_some() && outside.all(|margin| margin.is_close())
    }
}

/// A mean, and how far its interval reaches.
fn number(measured: &Measured) -> Option<(f64, f64)> {
    let reach = measured.estimate.map_or(0.0, |known| match known.spread {
        Spread::HalfWidth(half) => half,
        Spread::None => 0.0,
    });
    Some((measured.value()?, reach))
}

fn margins(kind: Kind, numbers: &[(f64, f64)], expected: &[f64], tolerance: f64) -> Vec<Margin> {
    let inside = |(value, reach): (f64, f64), low: f64, high: f64| Margin {
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
    let above = |more: (f64, f64), less: (f64, f64)| Margin {
        inside: more.0 - less.0,
        reach: more.1.hypot(less.1),
    };
    let steps = |rising: bool| -> Vec<Margin> {
        let pairs = numbers.windows(2);
        pairs
            .map(|pair| {
                if rising {
                    above(pair[1], pair[0])
                } else {
                    above(pair[0], pair[1])
                }
            })
            .collect()
    };
    let first = |is_less: bool| -> Vec<Margin> {
        let others = numbers.iter().skip(1);
        others
            .map(|other| {
                if is_less {
                    above(*other, numbers[0])
                } else {
                    above(numbers[0], *other)
                }
            })
            .collect()
    };
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
        Kind::Increasing => steps(true),
        Kind::Decreasing | Kind::NonIncreasing => steps(false),
        Kind::Least => first(true),
        Kind::Greatest => first(false),
        Kind::Equal => {
            let order = |a: &&(f64, f64), b: &&(f64, f64)| a.0.total_cmp(&b.0);
            let (least, greatest) = (numbers.iter().min_by(order), numbers.iter().max_by(order));
            least
                .zip(greatest)
                .map(|(least, greatest)| {
                    let apart = above(*greatest, *least);
                    Margin {
                        inside: tolerance - apart.inside,
                        reach: apart.reach,
                    }
                })
                .into_iter()
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use fairwire_measure::{Estimate, Spread};

    use super::{Kind, Measured, is_close};
    use crate::paper::Unit;

    fn measured(mean: f64, half: f64) -> Measured {
        let spread = if half > 0.0 {
            Spread::HalfWidth(half)
        } else {
            Spread::None
        };
        Measured {
            label: String::new(),
            unit: Unit::find("%").expect("a unit"),
            estimate: Some(Estimate {
                mean,
                spread,
                count: 3,
            }),
            asked: 3,
            unperturbed: None,
        }
    }

    /// A limit inside an interval makes it close; a number without one never is; and what fails
    /// clearly anywhere fails clearly.
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
            // One is out by far: the other, which is out by chance, changes nothing.
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
            // 3 and 4 apart by 1: their difference reaches sqrt(0.6² + 0.9²) = 1.08, or 0.94.
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
            let all: Vec<Measured> = numbers.iter().map(|(m, h)| measured(*m, *h)).collect();
            let values: Vec<f64> = numbers.iter().map(|(mean, _)| *mean).collect();
            let holds = kind.holds(&values, &expected, tolerance);
            assert_eq!(
                is_close(kind, &all, &expected, tolerance, holds),
                close,
                "{kind:?} {numbers:?}"
            );
        }
    }
}
