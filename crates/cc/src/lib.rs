//! Congestion control, independent of DCCP and TCP.
//!
//! A [`Controller`] owns a window or a rate and nothing else. Its caller owns sequence numbers, loss detection and the
//! packets in flight, and reports events through [`Feedback`]. So the same window law serves DCCP connections and
//! simulated TCPs.
//!
//! A [`TargetEstimator`] and an [`EncoderTarget`] are for applications: the rate that their data can keep up, and the
//! bitrate of an encoder that follows it.

mod bitrate;
mod controller;
mod delivery;
mod encoder;
mod law;
mod rtt;
mod windowed;

pub mod tfrc;

pub use bitrate::{LimitedBy, RoundEnd, TargetBitrate, TargetEstimator};
pub use controller::{
    Congestion, Controller, Delivery, Feedback, Flight, Gauges, HostLimits, Limit, Permit,
    RateSample, Signal, TfrcReport,
};
pub use delivery::{DeliveryRate, with_delivery_rate};
pub use encoder::{EncoderConfig, EncoderInput, EncoderTarget};
pub use law::{
    Adjustment, Cubic, CubicVersion, Dctcp, Law, NewReno, Round, ThresholdWindow, Vegas, Veno,
    Window, WindowLaw, default_law, law, laws, register_law,
};
pub use rtt::{DEFAULT_RTT, RoundTrip, RtoConfig, RttEstimator};
pub use windowed::{
    CutFrom, Growth, IdleRule, SlowStart, WindowUnit, Windowed, rfc3390_window, rfc6928_window,
};
