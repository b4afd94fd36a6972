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
//! - [`nonce`] remembers ECN nonces, [`nonce_check`] holds the peer's vectors against them.
//!
//! The ECN nonce is off unless asked for (RFC 8311, section 6): data is then ECT(0), a nonce of
//! zero. A peer's nonces are echoed in any case.

mod ack_ratio;
mod ack_watch;
mod history;
mod host;
mod nonce;
mod nonce_check;
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
