//! Axes: the range of values, their positions, and the ticks.

use crate::markup::minus;
use fairwire_paper::Scale;

/// An axis for values from `from` to `to`, over `length` units of the drawing.
#[derive(Clone, Debug)]
pub struct Axis {
    scale: Scale,
    from: f64,
    to: f64,
    length: f64,
    /// The values that are labelled.
    pub ticks: Vec<f64>,
}

impl Axis {
    /// Returns an axis for values from `least` to `greatest` with about `wanted` ticks.
    ///
    /// A linear axis begins at zero unless the values are far from it. The axis ends at a tick. Bounds in `given` are
    /// used as they are.
    pub fn new(
        scale: Scale,
        (least, greatest): (f64, f64),
        given: (Option<f64>, Option<f64>),
        length: f64,
        wanted: usize,
    ) -> Self {
        let mut axis = match scale {
            Scale::Linear => Self::linear(least, greatest, given, wanted),
            Scale::Log => Self::log(least, greatest, given, wanted),
        };
        axis.length = length;
        axis
    }

    fn linear(
        least: f64,
        greatest: f64,
        (from, to): (Option<f64>, Option<f64>),
        wanted: usize,
    ) -> Self {
        let near_zero = least >= 0.0 && least < 0.6 * greatest;
        let low = from.unwrap_or(if near_zero { 0.0 } else { least });
        let mut high = to.unwrap_or(greatest);
        if high <= low {
            high = low + if low == 0.0 { 1.0 } else { low.abs() * 0.1 };
        }
        let step = nice((high - low) / wanted.max(1) as f64);
        let first = (low / step + 1e-9).floor() * step;
        let from = from.unwrap_or(first);
        let last = (high / step - 1e-9).ceil() * step;
        let to = to.unwrap_or(last).max(high);
        let slack = step * 1e-6;
        let mut ticks = Vec::new();
        let mut number = 0.0;
        while first + number * step <= to + slack {
            ticks.push(first + number * step);
            number += 1.0;
        }
        ticks.retain(|tick| *tick >= from - slack);
        Self {
            scale: Scale::Linear,
            ticks,
            from,
            to,
            length: 0.0,
        }
    }

    fn log(
        least: f64,
        greatest: f64,
        (from, to): (Option<f64>, Option<f64>),
        wanted: usize,
    ) -> Self {
        let low = from.unwrap_or(least);
        let low = if low > 0.0 { low } else { 1e-9 };
        let high = to.unwrap_or(greatest).max(low * 1.01);
        let mut all = Vec::new();
        let mut decade = power_of_ten_below(low);
        while decade <= high * 10.0 {
            all.extend([1.0, 2.0, 5.0].map(|digit| digit * decade));
            decade *= 10.0;
        }
        let below = all
            .iter()
            .copied()
            .rfind(|tick| *tick <= low * (1.0 + 1e-9));
        let above = all
            .iter()
            .copied()
            .find(|tick| *tick >= high * (1.0 - 1e-9));
        let from = from.unwrap_or_else(|| below.unwrap_or(low));
        let to = to.unwrap_or_else(|| above.unwrap_or(high));
        let inside = |tick: &f64| *tick >= from * (1.0 - 1e-9) && *tick <= to * (1.0 + 1e-9);
        let mut ticks: Vec<f64> = all.iter().copied().filter(inside).collect();
        if ticks.len() > wanted + 1 {
            // There is room for whole decades only.
            ticks
                .retain(|tick| (tick / power_of_ten_below(tick * (1.0 + 1e-9)) - 1.0).abs() < 1e-6);
        }
        Self {
            scale: Scale::Log,
            from,
            to,
            length: 0.0,
            ticks,
        }
    }

    /// Returns an axis on which only `values` are labelled.
    pub(super) fn at(scale: Scale, values: &[f64], length: f64) -> Self {
        let first = values.first().copied().unwrap_or(0.0);
        let last = values.last().copied().unwrap_or(1.0);
        let (from, to) = match scale {
            Scale::Linear => {
                let room = if last > first {
                    (last - first) * 0.06
                } else {
                    1.0
                };
                (first - room, last + room)
            }
            Scale::Log => (first / 1.2, last * 1.2),
        };
        Self {
            scale,
            from,
            to,
            length,
            ticks: values.to_vec(),
        }
    }

    /// Returns an axis of `count` places of equal width, numbered from zero.
    pub(super) fn places(count: usize, length: f64) -> Self {
        Self {
            scale: Scale::Linear,
            from: -0.5,
            to: count as f64 - 0.5,
            length,
            ticks: (0..count).map(|number| number as f64).collect(),
        }
    }

    /// Returns the position of `value`: zero at the beginning, `length` at the end.
    ///
    /// Values outside are placed at the ends.
    pub fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log => {
                libm::log(value.max(self.from) / self.from) / libm::log(self.to / self.from)
            }
        };
        share.clamp(0.0, 1.0) * self.length
    }

    /// Returns whether `value` can be shown at all.
    pub fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }

    /// Returns the label of a tick, with as many digits as distinguish it from its neighbours.
    pub fn label(&self, tick: f64) -> String {
        let gap = match self.scale {
            Scale::Log => tick.abs(),
            Scale::Linear => {
                let gaps = self.ticks.windows(2).map(|pair| pair[1] - pair[0]);
                gaps.fold(f64::INFINITY, f64::min)
            }
        };
        let mut digits = 0;
        let mut scaled = if gap.is_finite() { gap } else { tick.abs() };
        while digits < 6 && scaled > 0.0 && (scaled - (scaled + 1e-9).floor()).abs() > 1e-6 * scaled
        {
            scaled *= 10.0;
            digits += 1;
        }
        let zero = tick.abs() < 1e-12;
        minus(format_args!("{:.digits$}", if zero { 0.0 } else { tick }))
    }
}

/// Returns the least of 1, 2, 2.5 and 5 times a power of ten that is at least `raw`.
fn nice(raw: f64) -> f64 {
    if !raw.is_finite() || raw <= 0.0 {
        return 1.0;
    }
    let power = power_of_ten_below(raw);
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|digit| digit * power)
        .into_iter()
        .find(|step| *step >= raw * (1.0 - 1e-9))
        .unwrap_or(power * 10.0)
}

/// Returns the greatest power of ten that is at most `value`, which is positive.
fn power_of_ten_below(value: f64) -> f64 {
    let mut power = 1.0;
    while power * 10.0 <= value {
        power *= 10.0;
    }
    while power > value {
        power /= 10.0;
    }
    power
}
