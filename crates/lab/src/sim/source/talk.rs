//! Talk and silence by turns: the artificial conversation of ITU-T P.59, one side of it.

use fairwire_net::Stream;
use fairwire_units::{Duration, Instant};

use super::offer::{Offer, Source, When};
use crate::scenario::Spurts;

/// Sends a frame at a constant interval while somebody talks. Spurts and pauses are exponential and have
/// nothing to do with each other; the first spurt begins with the source.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    spurts: Spurts,
    stream: Stream,
    interval: Duration,
    bytes: u32,
    /// The next frame.
    at: Instant,
    /// The end of the spurt.
    until: Instant,
}

impl Talk {
    pub(crate) fn new(spurts: Spurts, stream: Stream, interval: Duration, bytes: u32) -> Self {
        Self {
            spurts,
            stream,
            interval,
            bytes,
            at: Instant::START,
            until: Instant::START,
        }
    }
}

impl Source for Talk {
    /// A spurt begins.
    fn begin(&mut self, at: Instant) {
        self.at = at;
        self.until = at + self.stream.exponential(self.spurts.talk);
    }

    fn next(&self) -> Option<Offer> {
        Some(Offer {
            when: When::At(self.at),
            bytes: self.bytes,
        })
    }

    /// The frame one interval later, if somebody still talks then; otherwise the first of the next spurt.
    fn advance(&mut self) {
        let due = self.at + self.interval;
        if due < self.until {
            self.at = due;
            return;
        }
        // A frame begins with its spurt; the last one is sent in full.
        let pause = self.stream.exponential(self.spurts.pause);
        self.begin(due.max(self.until + pause));
    }
}

#[cfg(test)]
mod tests {
    use fairwire_net::Streams;
    use fairwire_units::{Duration, Instant};

    use super::{Offer, Source, Talk, When};
    use crate::scenario::Spurts;

    /// Somebody who talks 1.004 s and pauses 1.587 s on average (ITU-T P.59) talks 38.75 % of the
    /// time; within a spurt frames are 20 ms apart, and the last one is sent in full.
    #[test]
    fn talk_has_its_share() {
        let stream = Streams::new(1).stream("talk/voice");
        let every = Duration::from_millis(20);
        let mut talk = Talk::new(Spurts::default(), stream, every, 172);
        talk.begin(Instant::START);
        let (mut frames, mut spurts, mut last) = (0u32, 1u32, Instant::START);
        let end = Instant::START + Duration::from_secs(20_000);
        while let Some(Offer {
            when: When::At(at),
            bytes,
        }) = talk.next()
        {
            if at >= end {
                break;
            }
            talk.advance();
            assert_eq!(bytes, 172);
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
}
