//! Tools for real networks.
//!
//! [`perf`] measures a path like iperf3, over DCCP, UDP or TCP, and transfers files without retransmission.

pub mod perf;
