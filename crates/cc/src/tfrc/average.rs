//! The average loss interval and the loss event rate (RFC 5348, sections 5.4 and 5.5).

/// The number of closed loss intervals in the mean: `n` of RFC 5348, section 5.4.
pub const INTERVALS: usize = 8;

/// The weights of RFC 5348, section 5.4, for n = 8, newest first.
const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// The weights of Linux 2.6.20, newest first.
const CLOSED_WEIGHTS: [f64; INTERVALS] = [4.0, 4.0, 4.0, 4.0, 3.0, 2.0, 1.0, 1.0];

/// The least discount factor of older intervals in a long time without losses (RFC 5348, section 5.5).
const THRESHOLD: f64 = 0.25;

/// The divisor of the weighted sum of loss intervals while fewer than eight intervals are closed.
///
/// From the eighth loss event on, `known` and `all-weights` give the same mean.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum LossMean {
    /// Divide by the weights of the known intervals: the sums of RFC 5348, section 5.4, end at `k`.
    #[default]
    Known,
    /// Divide by all eight weights; an interval that does not exist yet has length zero.
    ///
    /// The sums of RFC 3448, section 5.4, always run to `n`, and it does not say which length a missing interval has.
    /// The DCCP module of ns-2.35 uses zero. So the first loss event leaves a sixth of the interval before it, and a
    /// rate far below the one for which section 6.3.1 of both RFCs computes this interval. Use it to compare results
    /// with that simulator, not for real traffic.
    AllWeights,
    /// Use only closed intervals, never the current one, so that p changes only at loss events. The weights are 4, 4,
    /// 4, 4, 3, 2, 1, 1, newest first. The sum is computed with the newest interval, and again without it and with the
    /// others one place up; the larger sum counts. Linux 2.6.20 does so, but no RFC.
    Closed,
}

/// How long the artificial interval counts that stands for the time before the first loss event.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum FirstIntervalLife {
    /// Until eight other intervals have replaced it (RFC 5348, section 5.4).
    #[default]
    PushedOut,
    /// Until the second loss event, and as the only interval until then, as in Linux since 2.6.25. At the second loss
    /// event the rate changes at once to that of one real interval.
    SecondEvent,
}

/// The lengths of the current loss interval and of the eight before it, with their weighted mean.
///
/// Lengths are in packets, at least one. The list is empty before the first loss event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossAverage {
    /// `I_0` to `I_n`.
    lengths: [f64; INTERVALS + 1],
    /// `DF_0` to `DF_n`; `DF_0` is always 1.
    discounts: [f64; INTERVALS + 1],
    known: usize,
    discounting: bool,
    mean: LossMean,
    life: FirstIntervalLife,
    /// Whether the only closed interval is that before the first loss event.
    first_is_alone: bool,
    /// Whether the current interval is short and therefore does not count.
    current_is_short: bool,
}

impl LossAverage {
    /// Creates an empty list; `discounting` switches history discounting on or off (RFC 5348, section 5.5).
    pub const fn new(discounting: bool) -> Self {
        Self {
            lengths: [0.0; INTERVALS + 1],
            discounts: [1.0; INTERVALS + 1],
            known: 0,
            discounting,
            mean: LossMean::Known,
            life: FirstIntervalLife::PushedOut,
            first_is_alone: false,
            current_is_short: false,
        }
    }

    /// Returns this average with another divisor.
    #[must_use]
    pub const fn with_mean(mut self, mean: LossMean) -> Self {
        self.mean = mean;
        self
    }

    /// Returns this average with another life of the interval before the first loss event.
    #[must_use]
    pub const fn with_first_interval(mut self, life: FirstIntervalLife) -> Self {
        self.life = life;
        self
    }

    /// Returns whether there was no loss event yet.
    pub const fn is_empty(&self) -> bool {
        self.known == 0
    }

    /// Returns how many intervals are known, the current one included: at most nine.
    pub const fn known(&self) -> usize {
        self.known
    }

    /// Begins a loss event: closes the current interval with its present length and begins a new one of one packet.
    pub fn begin(&mut self) {
        if self.known > 0 {
            // RFC 5348, 5.5: the discount by the closing interval stays with the older intervals.
            let discount = self.general_discount();
            for i in (1..=INTERVALS).rev() {
                self.discounts[i] = if i == 1 {
                    1.0
                } else {
                    self.discounts[i - 1] * discount
                };
                self.lengths[i] = self.lengths[i - 1];
            }
        }
        self.lengths[0] = 1.0;
        self.known = (self.known + 1).min(INTERVALS + 1);
        if std::mem::take(&mut self.first_is_alone) && self.life == FirstIntervalLife::SecondEvent {
            // The interval that has just closed replaces it.
            self.known = 2;
        }
    }

    /// Begins the first loss event, after an interval that counts as `first` packets (RFC 5348, section 6.3.1).
    pub fn begin_first(&mut self, first: f64) {
        *self = Self::new(self.discounting)
            .with_mean(self.mean)
            .with_first_interval(self.life);
        self.known = 1;
        self.set(0, first);
        self.begin();
        self.first_is_alone = true;
    }

    /// Sets the length of interval `index`: 0 is the current one, 1 the one before it.
    ///
    /// An unknown interval becomes known if all newer ones are; otherwise the call is ignored.
    pub fn set(&mut self, index: usize, length: f64) {
        if index <= self.known && index <= INTERVALS {
            // NaN becomes 1 as well.
            self.lengths[index] = length.max(1.0);
            self.known = self.known.max(index + 1);
        }
    }

    /// Sets whether the current interval is short (RFC 4828, section 3; RFC 5622, section 6.1).
    ///
    /// A short interval does not count if there are closed ones, and does not discount them, because its length may
    /// still decrease. Only small packets need this.
    pub const fn set_current_short(&mut self, is_short: bool) {
        self.current_is_short = is_short;
    }

    /// Returns the loss event rate: 0 before the first loss event, at most 1.
    pub fn p(&self) -> f64 {
        let Some(closed) = self.known.checked_sub(1) else {
            return 0.0;
        };
        if self.mean == LossMean::Closed {
            return self.closed_loss_rate(closed);
        }
        let discount = self.general_discount();
        let (mut total, mut weight) = (self.lengths[0] * WEIGHTS[0], WEIGHTS[0]);
        for (i, w) in WEIGHTS
            .iter()
            .enumerate()
            .take(self.counted(closed))
            .skip(1)
        {
            let w = w * self.discounts[i] * discount;
            total += self.lengths[i] * w;
            weight += w;
        }
        let with_current = weight / total;
        // RFC 5348, 5.4: the current interval counts only if it makes the mean longer.
        let p = self.closed_mean().map_or(with_current, |mean| {
            let closed_loss_rate = 1.0 / mean;
            let first_alone = self.first_is_alone && self.life == FirstIntervalLife::SecondEvent;
            if self.current_is_short || first_alone {
                closed_loss_rate
            } else {
                with_current.min(closed_loss_rate)
            }
        });
        p.min(1.0)
    }

    /// Returns the loss event rate of [`LossMean::Closed`], from `closed` intervals.
    fn closed_loss_rate(&self, closed: usize) -> f64 {
        let lengths = &self.lengths[1..=closed];
        let sum =
            |weights: &[f64]| -> f64 { lengths.iter().zip(weights).map(|(l, w)| l * w).sum() };
        let weight: f64 = CLOSED_WEIGHTS[..closed].iter().sum();
        // All closed intervals in order, the newest with the first weight.
        let in_place = sum(&CLOSED_WEIGHTS);
        let shifted: f64 = lengths
            .iter()
            .skip(1)
            .zip(&CLOSED_WEIGHTS)
            .map(|(l, w)| l * w)
            .sum();
        let total = in_place.max(shifted);
        if total > 0.0 {
            (weight / total).min(1.0)
        } else {
            0.0
        }
    }

    /// Returns the mean of the closed intervals, with the discounts of earlier events.
    fn closed_mean(&self) -> Option<f64> {
        let closed = self.known.checked_sub(1).filter(|&closed| closed > 0)?;
        let (mut total, mut weight) = (0.0, 0.0);
        for i in 1..=self.counted(closed) {
            let w = WEIGHTS[i - 1] * self.discounts[i];
            total += self.lengths[i] * w;
            weight += w;
        }
        Some(total / weight)
    }

    /// Returns the number of intervals in the mean if `closed` are closed.
    const fn counted(&self, closed: usize) -> usize {
        match self.mean {
            LossMean::Known | LossMean::Closed => closed,
            LossMean::AllWeights => INTERVALS,
        }
    }

    /// Returns `DF` of RFC 5348, 5.5: below 1 while the current interval is longer than twice the mean.
    fn general_discount(&self) -> f64 {
        let current = self.lengths[0];
        match self.closed_mean() {
            Some(mean) if self.discounting && !self.current_is_short && current > 2.0 * mean => {
                (2.0 * mean / current).max(THRESHOLD)
            }
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FirstIntervalLife, LossAverage, LossMean};

    fn history(discounting: bool, lengths: &[f64]) -> LossAverage {
        let mut average = LossAverage::new(discounting);
        for (index, &length) in lengths.iter().enumerate() {
            average.set(index, length);
        }
        average
    }

    fn mean(average: &LossAverage) -> f64 {
        1.0 / average.p()
    }

    /// RFC 5348, 5.4: eight closed intervals have the weights 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2; a short current interval
    /// does not count.
    #[test]
    fn weights_of_eight_closed_intervals() {
        let average = history(
            false,
            &[1.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0],
        );
        // (10+20+30+40 + 0.8*50 + 0.6*60 + 0.4*70 + 0.2*80) / 6 = 220 / 6
        assert!((mean(&average) - 220.0 / 6.0).abs() < 1e-9);
    }

    /// RFC 5348, 5.4: a current interval long enough to raise the mean takes the newest weight, and the oldest interval
    /// drops out.
    #[test]
    fn a_long_current_interval_counts() {
        let average = history(
            false,
            &[100.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0],
        );
        // (100+10+20+30 + 0.8*40 + 0.6*50 + 0.4*60 + 0.2*70) / 6 = 260 / 6
        assert!((mean(&average) - 260.0 / 6.0).abs() < 1e-9);
    }

    /// Before the first loss p is zero. Then the interval before it is the seed, and the longer of seed and current
    /// interval counts.
    #[test]
    fn the_first_loss_seeds_the_history() {
        let mut average = LossAverage::new(true);
        assert_eq!(average.p(), 0.0);
        average.begin_first(40.0);
        assert_eq!(average.known(), 2);
        assert!((mean(&average) - 40.0).abs() < 1e-9);
        average.set(0, 60.0);
        assert!((mean(&average) - 60.0).abs() < 1e-9);
    }

    /// RFC 5348, 5.5: with two closed intervals of 10 and 30 (mean 20), a current one of 80 gives
    /// DF = 2*20/80 = 0.5, so p = (1 + 0.5) / (80 + 0.5*10).
    #[test]
    fn a_long_current_interval_discounts_older_ones() {
        let average = history(true, &[80.0, 10.0, 30.0]);
        assert!((average.p() - 1.5 / 85.0).abs() < 1e-12);
        let plain = history(false, &[80.0, 10.0, 30.0]);
        assert!((plain.p() - 2.0 / 90.0).abs() < 1e-12);
        assert!(average.p() < plain.p());
    }

    /// RFC 5348, 5.5: the discount by a closed interval stays with the older ones and is never below the threshold.
    #[test]
    fn discounts_stay_after_the_next_event() {
        let mut average = history(true, &[80.0, 10.0, 30.0]);
        average.begin();
        // I = 1, 80, 10, 30 with DF = 1, 1, 0.5, 0.5:
        // p = (1 + 0.5 + 0.5) / (80 + 0.5*10 + 0.5*30) = 2 / 100.
        assert!((average.p() - 0.02).abs() < 1e-12);
        let long = history(true, &[1e6, 10.0, 10.0]);
        // DF is limited to 0.25: p = 1.25 / (1e6 + 2.5).
        assert!((long.p() - 1.25 / (1e6 + 2.5)).abs() < 1e-15);
    }

    /// At twice the mean nothing is discounted; just beyond, a little is.
    #[test]
    fn discounting_starts_beyond_twice_the_mean() {
        let at = history(true, &[40.0, 20.0, 20.0]);
        assert_eq!(at.p(), history(false, &[40.0, 20.0, 20.0]).p());
        let beyond = history(true, &[41.0, 20.0, 20.0]);
        assert!(beyond.p() < history(false, &[41.0, 20.0, 20.0]).p());
    }

    /// RFC 4828, 3: a short current interval neither counts nor discounts older ones, whatever its length. Once it is
    /// no longer short it does both.
    #[test]
    fn a_short_current_interval_is_left_out() {
        let mut average = history(true, &[80.0, 10.0, 30.0]);
        average.set_current_short(true);
        assert!((average.p() - 2.0 / 40.0).abs() < 1e-12);
        let mut closed = average;
        closed.begin();
        // I = 1, 80, 10, 30 and no discount: p = 3 / 120.
        assert!((closed.p() - 3.0 / 120.0).abs() < 1e-12);
        average.set_current_short(false);
        assert!((average.p() - 1.5 / 85.0).abs() < 1e-12);
    }

    /// With all weights (RFC 3448, 5.4, and zeros for missing intervals) one interval of 60 packets counts as a sixth,
    /// and a second one of 30 adds its sixth. With the weights of known intervals (RFC 5348, 5.4) the means are 60 and
    /// 45.
    #[test]
    fn all_weights_divide_by_six_from_the_first_event_on() {
        let mut known = LossAverage::new(false);
        let mut all = LossAverage::new(false).with_mean(LossMean::AllWeights);
        assert_eq!(all.p(), 0.0, "no loss event yet");
        for average in [&mut known, &mut all] {
            average.begin_first(60.0);
        }
        // The weights are 6 in all. Without the current interval: 60 / 6; with it: (1 + 60) / 6.
        assert!((mean(&all) - 61.0 / 6.0).abs() < 1e-9);
        assert!((mean(&known) - 60.0).abs() < 1e-9);
        for average in [&mut known, &mut all] {
            average.set(0, 30.0);
            average.begin();
        }
        assert!((mean(&all) - 91.0 / 6.0).abs() < 1e-9);
        assert!((mean(&known) - 45.0).abs() < 1e-9);
    }

    /// With eight closed intervals none is missing, so both means agree, whether or not the current interval counts;
    /// with seven they differ.
    #[test]
    fn both_means_agree_once_eight_intervals_are_closed() {
        for current in [1.0, 100.0, 1000.0] {
            let lengths = [current, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0];
            for discounting in [false, true] {
                let known = history(discounting, &lengths);
                let all = known.with_mean(LossMean::AllWeights);
                assert_eq!(known.p(), all.p());
            }
        }
        // (10+20+30+40 + 0.8*50 + 0.6*60 + 0.4*70) / 5.8 = 204 / 5.8, and 204 / 6.
        let seven = [1.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0];
        let known = history(false, &seven);
        assert!((mean(&known) - 204.0 / 5.8).abs() < 1e-9);
        let all = known.with_mean(LossMean::AllWeights);
        assert!((mean(&all) - 34.0).abs() < 1e-9);
    }

    /// All weights and discounting (RFC 3448, 5.5): closed intervals of 10 and 30 have a mean of 40/6, so a current one
    /// of 80 gives DF = 2 * (40/6) / 80 = 1/6, limited to 1/4. All weights but the newest are discounted. Without the
    /// 30, which has the next weight, p = (1 + 5/4) / (80 + 10/4); with it, p = (1 + 5/4) / (80 + 40/4).
    #[test]
    fn all_weights_are_discounted_as_any() {
        let all = history(true, &[80.0, 10.0, 30.0]).with_mean(LossMean::AllWeights);
        assert!((all.p() - 2.25 / 90.0).abs() < 1e-12);
    }

    /// All weights never make p more than one: a single interval of one packet gives a sixth of a packet.
    #[test]
    fn all_weights_stay_at_one() {
        let mut all = LossAverage::new(true).with_mean(LossMean::AllWeights);
        all.begin_first(1.0);
        assert_eq!(all.p(), 1.0);
    }

    /// Nine intervals are kept; zero and NaN count as one packet; an index beyond the known intervals is ignored.
    #[test]
    fn the_history_is_bounded() {
        let mut average = LossAverage::new(true);
        average.set(3, 10.0);
        assert!(average.is_empty(), "intervals 0 to 2 are not known");
        for _ in 0..20 {
            average.begin();
        }
        assert_eq!(average.known(), 9);
        average.set(9, 10.0);
        average.set(0, f64::NAN);
        average.set(1, 0.0);
        assert_eq!(average.p(), 1.0);
    }

    /// As in Linux since 2.6.25: the interval before the first loss event counts alone until the second one, whose real
    /// length then replaces it.
    #[test]
    fn the_first_interval_can_end_with_the_second_event() {
        let mut average =
            LossAverage::new(false).with_first_interval(FirstIntervalLife::SecondEvent);
        average.begin_first(1_000.0);
        average.set(0, 5_000.0);
        assert!(
            (mean(&average) - 1_000.0).abs() < 1e-9,
            "the current one waits"
        );
        average.set(0, 40.0);
        average.begin();
        assert_eq!(average.known(), 2);
        assert!((mean(&average) - 40.0).abs() < 1e-9);
        average.set(0, 100.0);
        assert!(
            (mean(&average) - 100.0).abs() < 1e-9,
            "it counts from now on"
        );
        average.begin();
        assert_eq!(average.known(), 3);
    }

    /// As in Linux 2.6.20: only closed intervals count. For 60, 30 and 90, newest first, all in order give 180 / 3;
    /// without the newest, one place up, they give 120 / 3.
    #[test]
    fn closed_intervals_can_count_alone() {
        let mut average = LossAverage::new(false).with_mean(LossMean::Closed);
        assert!(average.p().abs() < 1e-12);
        average.begin_first(90.0);
        for length in [30.0, 60.0] {
            average.set(0, length);
            average.begin();
        }
        assert!((mean(&average) - 60.0).abs() < 1e-9);
        average.set(0, 10_000.0);
        assert!(
            (mean(&average) - 60.0).abs() < 1e-9,
            "the current one never counts"
        );
        // A short newest interval of 1 before seven of 80: in order (4 + 80 x 19) / 23; without it, and the others one
        // place up, 80 x 22 / 23.
        let mut eight = LossAverage::new(false).with_mean(LossMean::Closed);
        eight.begin_first(80.0);
        for length in [80.0, 80.0, 80.0, 80.0, 80.0, 80.0, 1.0] {
            eight.set(0, length);
            eight.begin();
        }
        assert!(
            (mean(&eight) - 80.0 * 22.0 / 23.0).abs() < 1e-9,
            "{}",
            mean(&eight)
        );
    }
}
