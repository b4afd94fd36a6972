//! Tools for real networks.
//!
//! [`perf`] measures a path like iperf3, over DCCP, UDP or TCP, and transfers files without retransmission.
//! [`identity`] makes and reads the keys and certificates for DTLS. [`signals`] are those that ask a command to stop.

pub mod identity;
pub mod perf;
pub mod signals;
