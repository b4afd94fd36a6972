//! The link for which a model is built.

use fairwire_units::Rate;

use crate::{Stream, Streams};

/// The link for which a queue, a loss model or a delay variation is built.
#[derive(Clone, Copy, Debug)]
pub struct LinkContext<'a> {
    /// Its name. The names of its random streams begin with it.
    pub name: &'a str,
    /// Its rate.
    pub rate: Rate,
    /// Bytes that it adds to each packet.
    pub framing: u32,
    /// The random streams of the run.
    pub streams: Streams,
}

impl LinkContext<'_> {
    /// Returns the stream called `NAME/what`, for a random property of this link.
    pub fn stream(&self, what: &str) -> Stream {
        self.streams.stream(&format!("{}/{what}", self.name))
    }
}
