//! Throughput, loss, jitter, delay and their statistics.
//!
//! Everything here is pure: numbers in, numbers out, no clock and no randomness, and in constant
//! memory per flow unless an item says otherwise. The same values in the same order give the
//! same bits everywhere.
//!
//! - What a flow got: [`Traffic`] over a [`Window`] or period by period in a [`Series`].
//! - What it lost: [`LossAccount`], by sequence number, with duplicates and reordering.
//! - How it was delayed: [`DelayHistogram`] for percentiles, and four things that papers call
//!   jitter ([`Jitter`] keeps them side by side).
//! - What the runs of an experiment say together: [`Moments`], [`Estimate`] with its interval,
//!   [`Repetitions`] for how many runs that takes, [`jain`] and [`within_factor`] for fairness.
//! - What a listener thinks of it: [`Call::rating`] and [`mos`] of the E-model.

mod delay;
mod emodel;
mod estimate;
mod fairness;
mod jitter;
mod loss;
mod moments;
mod repetitions;
mod student;
mod traffic;

pub use delay::DelayHistogram;
pub use emodel::{Call, SpeechCodec, mos};
pub use estimate::{Confidence, Estimate, Spread};
pub use fairness::{jain, max_over_min, within_factor};
pub use jitter::{
    DelayDeviation, DelayVariation, InterarrivalJitter, InterarrivalVariation, Jitter,
};
pub use loss::{Arrival, LossAccount};
pub use moments::Moments;
pub use repetitions::Repetitions;
pub use student::student_t;
pub use traffic::{Series, Traffic, Window};
