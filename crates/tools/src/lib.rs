//! What people run on real networks.
//!
//! [`perf`] measures a path as iperf3 does, over DCCP, UDP or TCP, and moves files without ever
//! retransmitting.

pub mod perf;
