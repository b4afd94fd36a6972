//! The clock of a source: CBR, or talk spurts.

use fairwire_units::{Duration, Instant};

use super::spurts::Talk;

/// Ticks at a constant interval until its end or until enough was sent.
#[derive(Clone, Debug)]
pub(crate) struct Ticker {
    next: Option<Instant>,
    interval: Duration,
    stop: Option<Instant>,
    /// A generator is large, and most sources have none.
    talk: Option<Box<Talk>>,
}

impl Ticker {
    /// Ticks first at `start`.
    pub(crate) fn new(start: Instant, interval: Duration, stop: Option<Instant>) -> Self {
        Self {
            next: Some(start),
            interval,
            stop,
            talk: None,
        }
        .unless_over()
    }

    /// Ticks only while somebody talks, who begins now.
    pub(crate) fn talking(mut self, talk: Option<Talk>) -> Self {
        self.talk = talk.map(Box::new);
        if let (Some(talk), Some(start)) = (&mut self.talk, self.next) {
            talk.begin(start);
        }
        self
    }

    /// The next tick.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Has its moment come? Then the next tick is one interval later.
    pub(crate) fn tick(&mut self, now: Instant) -> bool {
        match self.next {
            Some(at) if at <= now => {
                let due = at + self.interval;
                self.next = Some(self.talk.as_mut().map_or(due, |talk| talk.next(due)));
                self.end_if_over();
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
        self.end_if_over();
        self
    }

    fn end_if_over(&mut self) {
        let stop = self.stop;
        self.next = self
            .next
            .filter(|next| stop.is_none_or(|stop| *next < stop));
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
    use fairwire_net::Streams;
    use fairwire_units::{Duration, Instant};

    use super::{Budget, Talk, Ticker};
    use crate::scenario::Spurts;

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

    /// Somebody who talks 1.004 s and pauses 1.587 s on average (ITU-T P.59) talks 38.75 % of the
    /// time; within a spurt frames are 20 ms apart, and the last one is sent in full.
    #[test]
    fn talk_has_its_share() {
        let stream = Streams::new(1).stream("talk/voice");
        let every = Duration::from_millis(20);
        let mut ticker =
            Ticker::new(ms(0), every, None).talking(Some(Talk::new(Spurts::default(), stream)));
        let (mut frames, mut spurts, mut last) = (0u32, 1u32, ms(0));
        let end = ms(20_000_000);
        while let Some(at) = ticker.next().filter(|at| *at < end) {
            assert!(ticker.tick(at));
            frames += 1;
            if at > last + every {
                spurts += 1;
            }
            last = at;
        }
        // A spurt of t has 1 + floor(t / 20 ms) frames: 1 / (1 - exp(-0.02 / 1.004)) = 50.7 on average,
        // so it lasts 1.014 s; the pause counts from the end of the talk, and what is left of the last frame
        // comes off it: spurts come each 2.591 s but for those pauses that are shorter than it, 0.03 %.
        let each = 20_000.0 / f64::from(spurts);
        // Four standard errors: 4 * sqrt(1.004^2 + 1.587^2) / sqrt(7719) = 0.086.
        assert!((each - 2.591).abs() < 0.086, "{each}");
        let length = f64::from(frames) / f64::from(spurts);
        // 4 * 50.2 / sqrt(7719) = 2.3.
        assert!((length - 50.7).abs() < 2.3, "{length}");
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
