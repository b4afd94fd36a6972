//! TCP-friendly rate control (RFC 5348), without a protocol around it.
//!
//! - [`Equation`]: the rate of a TCP under the same loss and round-trip time, and its inverse.
//! - [`Sender`]: the allowed rate, a [`Controller`](crate::Controller).
//! - [`LossHistory`]: from packets that arrived to loss intervals; a [`Grouping`] says which losses
//!   are one loss event, by time ([`ByTime`]) or by what a protocol's packets carry.
//! - [`LossAverage`]: from loss intervals to the loss event rate, by a [`LossMean`].
//! - [`ReceiveRate`]: the rate at which data arrive.
//!
//! Rates are bytes per second; `p` is a fraction between 0 and 1. Whatever a peer reports, the
//! allowed rate stays finite and between one packet in 64 seconds and [`TfrcConfig::max_rate`].

mod average;
mod equation;
mod history;
mod receive_rate;
mod sender;

pub use average::{FirstIntervalLife, INTERVALS, LossAverage, LossMean};
pub use equation::{Equation, EquationForm};
pub use history::{ByTime, Grouping, LossHistory, Seen, SeenInterval};
pub use receive_rate::ReceiveRate;
pub use sender::{FirstRate, ReceiveLimit, SegmentSize, Sender, TfrcConfig};
