//! TCP as a simulated peer for DCCP.
//!
//! A [`Sender`] and a [`Receiver`] transfer data in one direction. Neither does I/O or reads a clock: both take the
//! time as an argument and return [`TcpSegment`]s. A segment is a value with the sizes of real headers (IPv4 and TCP)
//! and all the data needed to build them; its payload is a length.
//!
//! The calls are those of a network agent: after `handle_segment` or `handle_timeout`, call `poll_transmit` until it
//! returns `None`, then call `next_timeout`.
//!
//! A [`Controller`](fairwire_cc::Controller) owns the congestion window. [`RecoveryKind`] decides what to retransmit
//! and when. [`Config::window`] puts a window law into the environment of TCP.
//!
//! # What is left out
//!
//! - FIN: a connection whose data is acknowledged just stops sending.
//! - D-SACK, proportional rate reduction, the Nagle algorithm, and giving up after many timeouts.
//! - Protection against wrapped sequence numbers by timestamps.
//! - A zero window: the receiving application reads at once.
//!
//! With ECN, SYNs, acknowledgements and retransmissions are not ECN-capable (RFC 3168); RFC 8257, section 3.6, would
//! make SYNs capable. A lost SYN is repeated with the same offer.

mod config;
mod event;
mod receiver;
mod recovery;
mod sack;
mod segment;
mod sender;
mod stats;

pub use config::{AckDelay, Config, DelayedAcks, EcnMode, SackAfterTimeout, Source};
pub use event::{Event, Traced};
pub use receiver::Receiver;
pub use recovery::RecoveryKind;
pub use sack::{MAX_SACK_BLOCKS, SackBlocks};
pub use segment::{Flags, IPV4_HEADER, TCP_HEADER, TIMESTAMPS, TcpSegment, Timestamps};
pub use sender::Sender;
pub use stats::{ReceiverStats, SenderStats};
