//! Window laws: by how much a congestion window grows and what a cut leaves of it.
//!
//! A law answers questions about numbers and keeps no time of its own; when to ask it (slow
//! start, once per round trip, idleness, timeouts) is decided by
//! [`Windowed`](crate::Windowed), once for all laws.
//!
//! A new law is one small file here and one line in [`kinds`], which gives it its name: connections, simulated
//! TCPs, scenarios and commands then have it. A law of another crate is registered instead ([`register_law`]).

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

/// What arrived in a round trip: a round begins when the one before ends, which is when a packet that was sent
/// in it is the newest to arrive.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Round {
    /// Packets that arrived in it so far.
    pub delivered: u32,
    /// Of these, marked ones.
    pub marked: u32,
    /// Does it end with this event?
    pub ends: bool,
}

impl Round {
    /// The part of what arrived that was marked, 0.0 to 1.0.
    pub fn marked_part(self) -> f64 {
        f64::from(self.marked) / f64::from(self.delivered.max(1))
    }
}

/// What a law may look at when it decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// The time of the event.
    pub now: Instant,
    /// Congestion window, packets; for a cut, the part of it that the cut counts from.
    pub cwnd: f64,
    /// Growth already earned that is not yet worth a whole packet, where windows are whole packets.
    pub credit: f64,
    /// Slow-start threshold, packets; may be infinite.
    pub ssthresh: f64,
    /// Packets acknowledged with this event.
    pub acked: u32,
    /// What is in the network.
    pub flight: Flight,
    /// The round-trip sample that came with this event.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The shortest round trip seen.
    pub min_rtt: Option<Duration>,
    /// What arrived in this round trip, with this event.
    pub round: Round,
    /// The newest sample of the delivery rate, for a law that wants it.
    pub delivery_rate: Option<RateSample>,
}

impl Window {
    /// Is the window still below the slow-start threshold?
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// What a law that measures makes of the window, whether or not it may grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adjustment {
    /// Congestion window, packets; a larger one than before is not taken.
    pub cwnd: f64,
    /// Slow-start threshold, packets.
    pub ssthresh: f64,
}

/// The arithmetic of a congestion window.
///
/// All windows are in packets. The caller rounds what [`cut`](Self::cut) and
/// [`after_timeout`](Self::after_timeout) return as its protocol asks and keeps it at or above the
/// minimum, so a law returns the plain value of its formula.
pub trait WindowLaw: fmt::Debug + Send {
    /// What congestion avoidance adds to the window for `acked` packets, counted as the
    /// protocol's [`Growth`](crate::Growth) says (a TCP counts acknowledgements).
    fn increase(&mut self, window: &Window, acked: f64) -> f64;

    /// The window after a loss or a mark.
    fn cut(&mut self, window: &Window, signal: Signal) -> f64;

    /// The slow-start threshold after a cut that left `left` packets.
    fn threshold(&self, left: f64) -> f64 {
        left
    }

    /// An acknowledgement or a round-trip sample came, before anything else is asked about it. A law
    /// that lives on delays takes note here, and may bring the window down.
    fn observe(&mut self, _window: &Window) -> Option<Adjustment> {
        None
    }

    /// The slow-start threshold after a timeout; the window itself becomes one packet.
    ///
    /// Half the window, as in RFC 5681, section 3.1, and RFC 4341, section 5, unless a law differs.
    fn after_timeout(&mut self, window: &Window) -> f64 {
        window.cwnd / 2.0
    }

    /// What slow start adds, given that the protocol's growth proposes `growth` packets.
    fn slow_start(&mut self, _window: &Window, growth: f64) -> f64 {
        growth
    }

    /// The ECN codepoint of data.
    fn ecn(&self) -> Ecn {
        Ecn::Ect0
    }

    /// Does it look at [`Window::delivery_rate`]?
    fn wants_delivery_rate(&self) -> bool {
        false
    }

    /// Does it live on delays? A TCP then gives it a round-trip sample with each acknowledgement, not only one per
    /// round trip.
    fn wants_every_sample(&self) -> bool {
        false
    }

    /// Does it count marks? A TCP's receiver then has to say of each segment whether it was marked (RFC 8257, section
    /// 3.2), as Ack Vectors do anyway.
    fn counts_marks(&self) -> bool {
        false
    }

    /// What is wrong with its parameters, if something is.
    fn problem(&self) -> Option<&'static str> {
        None
    }

    /// Bytes of memory that it holds beside its own size.
    fn memory(&self) -> usize {
        0
    }

    /// Where this law starts its slow-start threshold, if it has an opinion; packets.
    fn initial_ssthresh(&self) -> Option<f64> {
        None
    }

    /// Forget the past: the path changed.
    fn reset(&mut self) {}
}

/// A law with its parameters, of which each connection gets one of its own: what a configuration holds, as
/// [`Chosen<dyn Law>`](fairwire_units::registry::Chosen).
///
/// Every [`WindowLaw`] that can be cloned is one.
pub trait Law: fmt::Debug + Send + Sync {
    /// A law that has seen nothing yet.
    fn build(&self) -> Box<dyn WindowLaw>;

    /// [`WindowLaw::wants_every_sample`] of what it builds.
    fn wants_every_sample(&self) -> bool;

    /// [`WindowLaw::counts_marks`] of what it builds.
    fn counts_marks(&self) -> bool;

    /// What is wrong with its parameters, if something is.
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
