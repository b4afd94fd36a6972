//! What a model is told of the link that it is made for.

use fairwire_units::Rate;

use crate::{Stream, Streams};

/// The link that a queue, a loss model or a varying delay is made for.
#[derive(Clone, Copy, Debug)]
pub struct LinkContext<'a> {
    /// Its name, with which the names of its random streams begin.
    pub name: &'a str,
    /// Its rate.
    pub rate: Rate,
    /// Bytes that it adds to each packet.
    pub framing: u32,
    /// The random streams of the run.
    pub streams: Streams,
}

impl LinkContext<'_> {
    /// The stream of what is random about `what` of this link, called `NAME/what`.
    pub fn stream(&self, what: &str) -> Stream {
        self.streams.stream(&format!("{}/{what}", self.name))
    }
}
