//! The clock of a CBR source.

use fairwire_units::{Duration, Instant};

/// Ticks at a constant interval until its end or until enough was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticker {
    next: Option<Instant>,
    interval: Duration,
    stop: Option<Instant>,
}

impl Ticker {
    /// Ticks first at `start`.
    pub(crate) fn new(start: Instant, interval: Duration, stop: Option<Instant>) -> Self {
        Self {
            next: Some(start),
            interval,
            stop,
        }
        .unless_over()
    }

    /// The next tick.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Has its moment come? Then the next tick is one interval later.
    pub(crate) fn tick(&mut self, now: Instant) -> bool {
        match self.next {
            Some(at) if at <= now => {
                self.next = Some(at + self.interval);
                *self = self.unless_over();
                true
            }
            _ => false,
        }
    }

    /// No more ticks.
    pub(crate) fn end(&mut self) {
        self.next = None;
    }

    fn unless_over(mut self) -> Self {
        self.next = self
            .next
            .filter(|next| self.stop.is_none_or(|stop| *next < stop));
        self
    }
}

/// How much a source may still send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget(Option<u64>);

impl Budget {
    pub(crate) fn new(total: Option<u64>) -> Self {
        Self(total)
    }

    /// The size of the next packet, at most `size`; zero when all is sent.
    pub(crate) fn next(&self, size: u32) -> u32 {
        let left = self.0.unwrap_or(u64::MAX);
        size.min(u32::try_from(left).unwrap_or(u32::MAX))
    }

    /// `bytes` were sent.
    pub(crate) fn spend(&mut self, bytes: u32) {
        if let Some(left) = &mut self.0 {
            *left = left.saturating_sub(u64::from(bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use fairwire_units::{Duration, Instant};

    use super::{Budget, Ticker};

    fn ms(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    /// Ticks come at start, start + interval, ..., and none at the stop or after it.
    #[test]
    fn ticks_stop_before_the_stop() {
        let mut ticker = Ticker::new(ms(5), Duration::from_millis(10), Some(ms(25)));
        assert!(!ticker.tick(ms(4)));
        assert!(ticker.tick(ms(5)));
        assert_eq!(ticker.next(), Some(ms(15)));
        assert!(ticker.tick(ms(15)));
        assert_eq!(ticker.next(), None);
        assert_eq!(
            Ticker::new(ms(5), Duration::from_millis(1), Some(ms(5))).next(),
            None
        );
    }

    /// The last packet is as long as what is left.
    #[test]
    fn the_budget_ends_exactly() {
        let mut budget = Budget::new(Some(250));
        let mut sizes = Vec::new();
        while budget.next(100) > 0 {
            sizes.push(budget.next(100));
            budget.spend(budget.next(100));
        }
        assert_eq!(sizes, [100, 100, 50]);
        assert_eq!(Budget::new(None).next(100), 100);
    }
}
