//! TCP as a simulated peer for DCCP.
//!
//! A [`Sender`] and a [`Receiver`] move data one way. Neither does any I/O or reads a clock: both
//! take the time as an argument and hand out [`TcpSegment`]s, which are values with the sizes of
//! real headers (IPv4 and TCP) and all that is needed to build them; payloads are lengths.
//!
//! The calls have the shape of a network agent: after `handle_segment` or `handle_timeout`, drain
//! `poll_transmit` until it returns `None`, then ask `next_timeout`.
//!
//! The congestion window is a [`Controller`](fairwire_cc::Controller)'s; what to send again and
//! when is [`RecoveryKind`]'s. [`Config::window`] puts a window law into TCP's setting.
//!
//! # What is left out
//!
//! There is no FIN (a connection whose data is acknowledged falls silent), no D-SACK, no proportional rate reduction, no Nagle delay, no protection against wrapped sequence numbers by timestamps, no zero
//! window (the receiving application reads at once) and no giving up. With ECN, SYNs, acknowledgements and
//! retransmissions are not ECN-capable, as RFC 3168 has it (RFC 8257, section 3.6, would have SYNs capable), and
//! a lost SYN is repeated with the same offer.

mod config;
mod event;
mod receiver;
mod recovery;
mod sack;
mod segment;
mod sender;
mod stats;

pub use config::{Config, DelayedAcks, EcnMode, SackAfterTimeout, Source};
pub use event::{Event, Traced};
pub use receiver::Receiver;
pub use recovery::RecoveryKind;
pub use sack::{MAX_SACK_BLOCKS, SackBlocks};
pub use segment::{Flags, IPV4_HEADER, TCP_HEADER, TIMESTAMPS, TcpSegment, Timestamps};
pub use sender::Sender;
pub use stats::{ReceiverStats, SenderStats};
