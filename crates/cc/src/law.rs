//! Window laws: how much a congestion window grows and what remains after a cut.
//!
//! A law computes numbers and keeps no timers. [`Windowed`](crate::Windowed) decides when to call it (slow start, once
//! per round trip, idle times, timeouts), in the same way for all laws.
//!
//! A new law is one small file here and one line in [`kinds`], which gives it its name. Connections, simulated TCPs,
//! scenarios and commands can then use it. A law of another crate is registered instead ([`register_law`]).

mod cubic;
mod dctcp;
mod kinds;
mod newreno;
mod rounds;
#[cfg(test)]
mod tests;
mod threshold;
mod vegas;
mod veno;

use std::fmt;

use fairwire_units::{Duration, Ecn, Instant};

use crate::{Flight, RateSample, Signal};

pub use cubic::{Cubic, CubicVersion};
pub use dctcp::Dctcp;
pub use kinds::{default_law, law, laws, register_law};
pub use newreno::NewReno;
pub use threshold::ThresholdWindow;
pub use vegas::Vegas;
pub use veno::Veno;

/// The packets that arrived in one round trip.
///
/// A round ends when the newest packet to arrive is one that was sent in it; then the next round begins.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Round {
    /// The packets that have arrived in this round so far.
    pub delivered: u32,
    /// The marked packets among them.
    pub marked: u32,
    /// Whether the round ends with this event.
    pub ends: bool,
}

impl Round {
    /// Returns the fraction of the arrived packets that were marked, 0.0 to 1.0.
    pub fn marked_part(self) -> f64 {
        f64::from(self.marked) / f64::from(self.delivered.max(1))
    }
}

/// The values on which a law may base its decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The time of the event.
    pub now: Instant,
    /// The congestion window: packets, or segments in a window of bytes ([`WindowUnit`](crate::WindowUnit)). For a cut,
    /// the window from which the cut is computed.
    pub cwnd: f64,
    /// Growth already earned that is less than a whole packet, if windows are whole packets.
    pub credit: f64,
    /// The slow-start threshold, packets; may be infinite.
    pub ssthresh: f64,
    /// The packets acknowledged with this event.
    pub acked: u32,
    /// The packets in the network.
    pub flight: Flight,
    /// How much of the window these and the acknowledged packets fill: their number, or what they count for in a window of
    /// bytes.
    pub in_use: f64,
    /// The round-trip sample that came with this event.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The shortest round trip seen.
    pub min_rtt: Option<Duration>,
    /// The packets that arrived in this round trip, this event included.
    pub round: Round,
    /// The newest sample of the delivery rate, for a law that uses it.
    pub delivery_rate: Option<RateSample>,
}

impl Window {
    /// Returns whether the window is below the slow-start threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// A change of the window by a law that measures, independent of whether the window may grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adjustment {
    /// The new congestion window, packets; ignored if it is larger than the present one.
    pub cwnd: f64,
    /// The new slow-start threshold, packets.
    pub ssthresh: f64,
}

/// The formulas of a congestion window.
///
/// All windows are in packets. The caller rounds the results of [`cut`](Self::cut) and
/// [`after_timeout`](Self::after_timeout) as its protocol requires, and does not let them fall below the minimum. So a
/// law returns the plain value of its formula.
pub trait WindowLaw: fmt::Debug + Send {
    /// Returns what congestion avoidance adds to the window for `acked` packets.
    ///
    /// The protocol's [`Growth`](crate::Growth) determines how they are counted (a TCP counts acknowledgements).
    fn increase(&mut self, window: &Window, acked: f64) -> f64;

    /// Returns the window after a loss or a mark.
    fn cut(&mut self, window: &Window, signal: Signal) -> f64;

    /// Returns the slow-start threshold after a cut that left a window of `left` packets.
    fn threshold(&self, left: f64) -> f64 {
        left
    }

    /// Records an acknowledgement or a round-trip sample, before any other method is called for it.
    ///
    /// A law based on delays measures here and may reduce the window.
    fn observe(&mut self, _window: &Window) -> Option<Adjustment> {
        None
    }

    /// Returns the slow-start threshold after a timeout; the window itself becomes one packet.
    ///
    /// The default is half the window (RFC 5681, section 3.1, and RFC 4341, section 5).
    fn after_timeout(&mut self, window: &Window) -> f64 {
        window.cwnd / 2.0
    }

    /// Restores the state from before the last timeout, which turned out to be spurious.
    ///
    /// The window and the threshold are not the law's concern here.
    fn undo_timeout(&mut self) {}

    /// Returns what slow start adds to the window if the protocol's growth proposes `growth` packets.
    fn slow_start(&mut self, _window: &Window, growth: f64) -> f64 {
        growth
    }

    /// Returns the ECN codepoint of data packets.
    fn ecn(&self) -> Ecn {
        Ecn::Ect0
    }

    /// Returns whether the law uses [`Window::delivery_rate`].
    fn wants_delivery_rate(&self) -> bool {
        false
    }

    /// Returns whether the law is based on delays.
    ///
    /// A TCP then gives it a round-trip sample with each acknowledgement, instead of one per round trip.
    fn wants_every_sample(&self) -> bool {
        false
    }

    /// Returns whether the law counts marks.
    ///
    /// A TCP receiver then has to report for each segment whether it was marked (RFC 8257, section 3.2). Ack Vectors
    /// always do so.
    fn counts_marks(&self) -> bool {
        false
    }

    /// Returns what is wrong with the parameters, or `None` if they are valid.
    fn problem(&self) -> Option<&'static str> {
        None
    }

    /// Returns the bytes of memory held in addition to the law's own size.
    fn memory(&self) -> usize {
        0
    }

    /// Returns the initial slow-start threshold in packets, if this law sets one.
    fn initial_ssthresh(&self) -> Option<f64> {
        None
    }

    /// Forgets the history: the path changed.
    fn reset(&mut self) {}
}

/// A law with its parameters, as a configuration holds it; each connection builds its own copy.
///
/// Configurations hold it as [`Chosen<dyn Law>`](fairwire_units::registry::Chosen). Every [`WindowLaw`] that can be
/// cloned implements this trait.
pub trait Law: fmt::Debug + Send + Sync {
    /// Creates a law without history.
    fn build(&self) -> Box<dyn WindowLaw>;

    /// Returns [`WindowLaw::wants_every_sample`] of the law that this builds.
    fn wants_every_sample(&self) -> bool;

    /// Returns [`WindowLaw::counts_marks`] of the law that this builds.
    fn counts_marks(&self) -> bool;

    /// Returns what is wrong with the parameters, or `None` if they are valid.
    fn problem(&self) -> Option<&'static str>;
}

impl<L: WindowLaw + Clone + Sync + 'static> Law for L {
    fn build(&self) -> Box<dyn WindowLaw> {
        Box::new(self.clone())
    }

    fn wants_every_sample(&self) -> bool {
        WindowLaw::wants_every_sample(self)
    }

    fn counts_marks(&self) -> bool {
        WindowLaw::counts_marks(self)
    }

    fn problem(&self) -> Option<&'static str> {
        WindowLaw::problem(self)
    }
}

impl<L: WindowLaw + ?Sized> WindowLaw for Box<L> {
    fn increase(&mut self, window: &Window, acked: f64) -> f64 {
        (**self).increase(window, acked)
    }

    fn cut(&mut self, window: &Window, signal: Signal) -> f64 {
        (**self).cut(window, signal)
    }

    fn threshold(&self, left: f64) -> f64 {
        (**self).threshold(left)
    }

    fn observe(&mut self, window: &Window) -> Option<Adjustment> {
        (**self).observe(window)
    }

    fn after_timeout(&mut self, window: &Window) -> f64 {
        (**self).after_timeout(window)
    }

    fn undo_timeout(&mut self) {
        (**self).undo_timeout();
    }

    fn slow_start(&mut self, window: &Window, growth: f64) -> f64 {
        (**self).slow_start(window, growth)
    }

    fn ecn(&self) -> Ecn {
        (**self).ecn()
    }

    fn wants_delivery_rate(&self) -> bool {
        (**self).wants_delivery_rate()
    }

    fn wants_every_sample(&self) -> bool {
        (**self).wants_every_sample()
    }

    fn counts_marks(&self) -> bool {
        (**self).counts_marks()
    }

    fn problem(&self) -> Option<&'static str> {
        (**self).problem()
    }

    fn memory(&self) -> usize {
        size_of_val(&**self) + (**self).memory()
    }

    fn initial_ssthresh(&self) -> Option<f64> {
        (**self).initial_ssthresh()
    }

    fn reset(&mut self) {
        (**self).reset();
    }
}
