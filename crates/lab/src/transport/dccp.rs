//! DCCP: its settings, and whole endpoints of `fairwire-proto` with the applications above them.

mod check;
mod config;
mod connect;
mod feedback;
mod packet;
mod peer;
mod settings;

pub use feedback::Feedback;
pub use settings::{
    CcidChange, Dccp, Encapsulation, FirstIntervalName, IdleName, LossMeanName, QueuePolicy,
    Receive, SendQueue,
};
