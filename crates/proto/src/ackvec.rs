//! The Ack Vector dialect: feedback packet by packet, as CCID 2 uses it.
//!
//! The receiving half remembers which packets arrived and says so in Ack Vectors (RFC 4340,
//! section 11.4); the sending half reads them, keeps the pipe and feeds a controller (RFC 4341,
//! section 5). Both promise bounded state whatever the peer does, and no allocation once their
//! buffers have grown to the size of the path.
//!
//! # Map
//! - [`Receiver`] decides when feedback is due and writes it.
//! - [`history`] is what it remembers, as runs; [`records`] what it told in which packet.
//! - [`Sender`] is the other end; [`pipe`] are its packets in flight, [`vector`] reads the options.
//! - [`ack_watch`] sees acknowledgements lost or marked, [`ack_ratio`] asks for fewer of them then.
//!
//! The ECN nonce is off: vectors are sent with nonce 0 and a peer's nonce is not looked at
//! (RFC 8311, section 6).

mod ack_ratio;
mod ack_watch;
mod history;
mod host;
mod pipe;
mod receiver;
mod records;
mod sender;
mod vector;

#[cfg(test)]
mod tests;

pub(crate) use receiver::Receiver;
pub(crate) use records::Records;
pub(crate) use sender::Sender;
pub(crate) use vector::Report;
