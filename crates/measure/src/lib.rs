//! Throughput, loss, jitter, delay and their statistics.
//!
//! All items compute from their arguments alone: no clock and no randomness. Memory per flow is constant unless an item
//! says otherwise. The same values in the same order give the same bits on every machine.
//!
//! - Throughput: [`Traffic`] over a [`Window`] or for each period of a [`Series`].
//! - Loss: [`LossAccount`], by sequence number, with duplicates and reordering.
//! - Delay: [`DelayHistogram`] for percentiles, and four quantities that papers call jitter ([`Jitter`] computes all of
//!   them).
//! - Results of several runs: [`Moments`], [`Estimate`] with its confidence interval, [`Repetitions`] for the number of
//!   runs needed, [`jain`] and [`within_factor`] for fairness.
//! - Call quality: [`Call::rating`] and [`mos`] of the E-model.
//! - Texts: [`counted()`].

mod counted;
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

pub use counted::counted;
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
