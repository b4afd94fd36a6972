//! CUBIC: a window that grows with the cube of the time since the last cut.
//!
//! This implements RFC 9438, and the older RFC 8312 as another version. Section and equation numbers are those of RFC
//! 9438; where a comment means the older one, it says so. Windows are in segments, times in seconds.
//!
//! Slow start is that of RFC 5681, without `HyStart++`. A spurious timeout is undone (RFC 9438, 4.9.1), if the protocol
//! detects it; a cut by a loss that turns out to be spurious is not (4.9.2).

use std::sync::Arc;

use fairwire_units::registry::Kind;
use fairwire_units::{Duration, Instant};

use super::{Adjustment, Law, Window, WindowLaw};
use crate::Signal;

/// The part of the window that remains after a cut (4.6).
const BETA: f64 = 0.7;
/// The steepness of the cubic function, segments per cubed second (5.1).
const C: f64 = 0.4;
/// The growth per round trip that, with this beta, is as fast as Reno's (4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The version of CUBIC.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CubicVersion {
    /// RFC 9438 (2023).
    #[default]
    Rfc9438,
    /// RFC 8312 (2018), which describes Linux since 2.6.19. It estimates Reno's window from the time alone (its
    /// equation 4), and it remembers the maximum from before fast convergence.
    Rfc8312,
}

/// CUBIC: its settings and its state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cubic {
    version: CubicVersion,
    fast_convergence: bool,
    state: State,
    /// The state before a timeout, which a spurious one gives back (4.9.1).
    before_timeout: Option<State>,
}

/// What changes with acknowledgements and cuts.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    w_max: f64,
    /// `W_last_max` of RFC 8312: the maximum before fast convergence reduced it.
    w_last_max: f64,
    /// The window before the last cut.
    cwnd_prior: f64,
    /// Whether the next epoch begins at its own plateau, as after a timeout (4.8).
    flat: bool,
    epoch: Option<Epoch>,
    seen: Option<Seen>,
}

/// A congestion avoidance stage: the growth from one cut to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Epoch {
    began: Instant,
    k: f64,
    pub(super) w_max: f64,
    w_est: f64,
}

/// The last acknowledgement, and whether the window could grow by it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    at: Instant,
    grew: bool,
}

impl Default for Cubic {
    fn default() -> Self {
        Self::new(CubicVersion::default())
    }
}

impl Cubic {
    /// Creates CUBIC with fast convergence.
    pub const fn new(version: CubicVersion) -> Self {
        Self {
            version,
            fast_convergence: true,
            state: State {
                w_max: 0.0,
                w_last_max: 0.0,
                cwnd_prior: 0.0,
                flat: true,
                epoch: None,
                seen: None,
            },
            before_timeout: None,
        }
    }

    /// Returns this law with fast convergence on or off.
    ///
    /// A flow that is alone on its path does better without it (4.7).
    #[must_use]
    pub const fn with_fast_convergence(self, fast_convergence: bool) -> Self {
        Self {
            fast_convergence,
            ..self
        }
    }

    pub(super) fn begin(&self, now: Instant, cwnd: f64) -> Epoch {
        // 4.8, 4.10: after a timeout, or when slow start ended without a loss, the plateau is the present window.
        let flat = self.state.flat || cwnd >= self.state.w_max;
        let (k, w_max) = if flat {
            (0.0, cwnd)
        } else {
            // 4.2, equation 2.
            (libm::cbrt((self.state.w_max - cwnd) / C), self.state.w_max)
        };
        Epoch {
            began: now,
            k,
            w_max,
            w_est: cwnd,
        }
    }

    /// Records the window before a cut as the maximum (4.6), or a lower one to release bandwidth to others (4.7).
    fn record_maximum(&mut self, cwnd: f64) {
        let last = match self.version {
            CubicVersion::Rfc9438 => self.state.w_max,
            CubicVersion::Rfc8312 => self.state.w_last_max,
        };
        self.state.w_last_max = cwnd;
        self.state.w_max = if self.fast_convergence && cwnd < last {
            cwnd * (1.0 + BETA) / 2.0
        } else {
            cwnd
        };
        self.state.cwnd_prior = cwnd;
        self.state.epoch = None;
    }
}

impl Epoch {
    /// Returns the cubic function at `t` seconds (4.2, equation 1).
    fn w_cubic(&self, t: f64) -> f64 {
        let x = t - self.k;
        C * x * x * x + self.w_max
    }
}

impl WindowLaw for Cubic {
    fn increase(&mut self, window: &Window, acked: f64) -> f64 {
        if let Some(seen) = &mut self.state.seen {
            seen.grew = true;
        }
        // The earned credit counts, although a window of whole packets does not show it yet.
        let cwnd = window.cwnd + window.credit;
        let mut epoch = match self.state.epoch {
            Some(epoch) => epoch,
            None => self.begin(window.now, cwnd),
        };
        let t = window.now.saturating_since(epoch.began).as_secs_f64();
        let rtt = window.srtt.unwrap_or(Duration::ZERO).as_secs_f64();
        match self.version {
            CubicVersion::Rfc9438 => {
                // 4.3, equation 4; as fast as Reno once the window before the cut is reached.
                let alpha = if epoch.w_est >= self.state.cwnd_prior {
                    1.0
                } else {
                    ALPHA
                };
                epoch.w_est += alpha * acked / cwnd;
            }
            CubicVersion::Rfc8312 => {
                // RFC 8312, 4.2, equation 4. Before the first sample, the number of round trips is zero.
                let rounds = if rtt > 0.0 { t / rtt } else { 0.0 };
                epoch.w_est = epoch.w_max * if epoch.k > 0.0 { BETA } else { 1.0 } + ALPHA * rounds;
            }
        }
        self.state.epoch = Some(epoch);
        if epoch.w_cubic(t) < epoch.w_est {
            // At most what slow start would add; only equation 4 of RFC 8312 can give more.
            return (epoch.w_est - cwnd).clamp(0.0, acked);
        }
        // 4.2: the target is not below the window and not more than half above it. RFC 8312 has no such bounds, but
        // Linux has.
        let target = epoch.w_cubic(t + rtt).clamp(cwnd, 1.5 * cwnd);
        acked * (target - cwnd) / cwnd
    }

    fn cut(&mut self, window: &Window, _signal: Signal) -> f64 {
        self.record_maximum(window.cwnd);
        self.state.flat = false;
        window.cwnd * BETA
    }

    fn after_timeout(&mut self, window: &Window) -> f64 {
        self.before_timeout = Some(self.state);
        self.record_maximum(window.cwnd);
        self.state.flat = true;
        window.cwnd * BETA
    }

    fn undo_timeout(&mut self) {
        // The time of the timeout then counts as a pause (4.2).
        self.state = self.before_timeout.take().unwrap_or(self.state);
    }

    fn observe(&mut self, window: &Window) -> Option<Adjustment> {
        if let (Some(epoch), Some(seen)) = (&mut self.state.epoch, self.state.seen) {
            // 4.2: time in which the window was not used does not count. The window was not the limit if the last
            // acknowledgement earned nothing, or if there was no acknowledgement for several round trips.
            let gap = window.now.saturating_since(seen.at);
            let idle = window.srtt.is_some_and(|srtt| gap > srtt * 4);
            if !seen.grew || idle {
                epoch.began += gap;
            }
        }
        self.state.seen = Some(Seen {
            at: window.now,
            grew: false,
        });
        None
    }

    fn reset(&mut self) {
        *self = Self::new(self.version).with_fast_convergence(self.fast_convergence);
    }
}

/// The settings of CUBIC.
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(default, deny_unknown_fields)
)]
struct Settings {
    /// Whether to release bandwidth to other flows after a loss below the last maximum (RFC 9438, section 4.7).
    fast_convergence: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            fast_convergence: true,
        }
    }
}

impl Settings {
    fn of(&self, version: CubicVersion) -> Arc<dyn Law> {
        Arc::new(Cubic::new(version).with_fast_convergence(self.fast_convergence))
    }
}

/// Returns the kind `cubic`.
pub(super) fn kind() -> Kind<dyn Law> {
    Kind::<dyn Law>::new(
        "cubic",
        "A window that grows with the cube of the time since the last cut (RFC 9438).",
    )
    .standard(|| Arc::new(Cubic::default()))
    .settings(|it: Settings| it.of(CubicVersion::Rfc9438))
}

/// Returns the kind `cubic-8312`.
pub(super) fn kind_8312() -> Kind<dyn Law> {
    Kind::<dyn Law>::new(
        "cubic-8312",
        "CUBIC as in RFC 8312 and in Linux since 2.6.19.",
    )
    .standard(|| Arc::new(Cubic::new(CubicVersion::Rfc8312)))
    .settings(|it: Settings| it.of(CubicVersion::Rfc8312))
}
