//! An application: a source with its stop time and its limit in bytes.

use fairwire_cc::EncoderInput;
use fairwire_units::Instant;

use crate::traffic::{Offer, Source, When};

/// A running source, as transports see it.
#[derive(Debug)]
pub struct Application {
    source: Box<dyn Source>,
    stop: Option<Instant>,
    /// The bytes that it may still send; `None` means no limit.
    left: Option<u64>,
    is_on: bool,
}

impl Application {
    /// Returns an application that sends nothing from `stop` on, and at most `total` bytes.
    pub fn new(source: Box<dyn Source>, stop: Option<Instant>, total: Option<u64>) -> Self {
        Self {
            source,
            stop,
            left: total,
            is_on: false,
        }
    }

    /// Lets it send from `at` on.
    pub fn begin(&mut self, at: Instant) {
        self.source.begin(at);
        self.is_on = true;
    }

    /// Ends it: it sends no more.
    pub fn end(&mut self) {
        self.is_on = false;
    }

    /// Returns whether it sends whenever there is room.
    pub fn is_greedy(&self) -> bool {
        let next = self.source.next();
        next.is_some_and(|offer| offer.when == When::ItFits)
    }

    /// Returns the time from which it sends nothing.
    pub fn stop(&self) -> Option<Instant> {
        self.stop
    }

    /// Returns the bytes that it may still send, if there is a limit.
    pub fn left(&self) -> Option<u64> {
        self.left
    }

    /// Returns the time of its next offer, if the offer has one.
    pub fn next(&self) -> Option<Instant> {
        match self.offer()?.when {
            When::At(at) => Some(at).filter(|at| self.stop.is_none_or(|stop| *at < stop)),
            When::ItFits => None,
        }
    }

    /// Returns whether its source adapts to the transport.
    pub fn adapts(&self) -> bool {
        self.source.adapts()
    }

    /// Lets a source that adapts see what the transport reports, if its next offer is due.
    pub fn adapt(&mut self, now: Instant, input: impl FnOnce() -> EncoderInput) {
        if self.adapts() && self.next().is_some_and(|at| at <= now) {
            self.source.adapt(now, &input());
        }
    }

    /// Returns the next offer if it is due, and goes on to the next. Each offer is returned once.
    pub fn due(&mut self, now: Instant) -> Option<Offer> {
        self.next().filter(|at| *at <= now)?;
        let offer = self.offer()?;
        self.source.advance();
        Some(offer)
    }

    /// Returns what a greedy source sends when there is room, until it stops.
    pub fn wanted(&self, now: Instant) -> Option<Offer> {
        let goes_on = self.stop.is_none_or(|stop| now < stop);
        let offer = self.offer().filter(|_| goes_on)?;
        (offer.when == When::ItFits).then_some(offer)
    }

    /// Returns whether it has sent all of its `total`.
    pub fn is_spent(&self) -> bool {
        self.left == Some(0)
    }

    /// Returns the part of `bytes` that it may still send; zero when everything is sent.
    pub fn allowed(&self, bytes: u32) -> u32 {
        let left = self.left.unwrap_or(u64::MAX);
        bytes.min(u32::try_from(left).unwrap_or(u32::MAX))
    }

    /// Counts `bytes` as sent.
    pub fn spend(&mut self, bytes: u32) {
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(u64::from(bytes));
        }
    }

    /// Returns the bytes of an offer that is due, limited to what it may still send, and counts them as sent. Ends the
    /// application when everything is sent.
    pub fn take(&mut self, now: Instant) -> Option<u32> {
        let due = self.due(now)?;
        let bytes = self.allowed(due.bytes);
        self.spend(bytes);
        if bytes == 0 {
            self.end();
            return None;
        }
        Some(bytes)
    }

    fn offer(&self) -> Option<Offer> {
        self.source.next().filter(|_| self.is_on)
    }
}
