//! Talk and silence by turns: the artificial conversation of ITU-T P.59, one side of it.

use fairwire_net::Stream;
use fairwire_units::Instant;

use crate::scenario::Spurts;

/// When somebody talks. Spurts and pauses are exponential and have nothing to do with each other; the
/// first spurt begins with the source.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    spurts: Spurts,
    stream: Stream,
    until: Instant,
}

impl Talk {
    pub(crate) fn new(spurts: Spurts, stream: Stream) -> Self {
        Self {
            spurts,
            stream,
            until: Instant::START,
        }
    }

    /// A spurt begins at `at`.
    pub(crate) fn begin(&mut self, at: Instant) {
        self.until = at + self.stream.exponential(self.spurts.talk);
    }

    /// The frame due at `due`, if somebody still talks then; otherwise the first of the next spurt.
    pub(crate) fn next(&mut self, due: Instant) -> Instant {
        if due < self.until {
            return due;
        }
        // A frame begins with its spurt; the last one is sent in full.
        let begin = due.max(self.until + self.stream.exponential(self.spurts.pause));
        self.begin(begin);
        begin
    }
}
