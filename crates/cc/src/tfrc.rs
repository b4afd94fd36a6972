//! TCP-friendly rate control (RFC 5348), independent of a protocol.
//!
//! - [`Equation`]: the rate of a TCP at the same loss event rate and round-trip time, and its inverse.
//! - [`Sender`]: the allowed rate, a [`Controller`](crate::Controller).
//! - [`LossHistory`]: computes loss intervals from arriving packets. A [`Grouping`] decides which losses are one loss
//!   event, by time ([`ByTime`]) or by a field of the protocol's packets.
//! - [`LossAverage`]: computes the loss event rate from loss intervals, by a [`LossMean`].
//! - [`ReceiveRate`]: the rate at which data arrive.
//!
//! Rates are in bytes per second; `p` is a fraction between 0 and 1. For any report of a peer, the allowed rate stays
//! finite and between one packet in 64 seconds and [`TfrcConfig::max_rate`].

mod average;
mod equation;
mod history;
mod receive_rate;
mod sender;

pub use average::{FirstIntervalLife, INTERVALS, LossAverage, LossMean};
pub use equation::{Equation, EquationForm};
pub use history::{ByTime, Grouping, LossHistory, ReceivedPacket, ReportedInterval};
pub use receive_rate::ReceiveRate;
pub use sender::{Bursts, FirstRate, ReceiveLimit, ReductionFrom, SegmentSize, Sender, TfrcConfig};
