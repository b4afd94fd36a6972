//! Ack Vector feedback: packet by packet, as CCID 2 uses it.
//!
//! The receiving half remembers which packets arrived and reports them in Ack Vectors (RFC 4340, section 11.4). The
//! sending half reads the vectors, tracks the packets in flight (the pipe) and feeds a controller (RFC 4341, section
//! 5). Both keep bounded state whatever the peer does, and allocate nothing once their buffers have grown to the size
//! of the path.
//!
//! # Map
//! - [`Receiver`] decides when feedback is due and writes it.
//! - [`history`] holds the packets that arrived, as runs of equal state; [`records`] which of our packets reported
//!   them.
//! - [`Sender`] is the other end; [`pipe`] holds its packets in flight, [`vector`] reads the options.
//! - [`ack_loss`] detects lost and marked acknowledgements; [`ack_ratio`] then asks for fewer of them.
//! - [`in_use`] counts what leaves in a round trip; [`outage`] lets probes leave while nothing is acknowledged.
//! - [`nonce`] remembers the ECN nonces sent; [`nonce_check`] compares the peer's vectors with them.
//!
//! The ECN nonce is off by default (RFC 8311, section 6): data is then ECT(0), which is a nonce of zero. A peer's
//! nonces are always echoed.

mod ack_loss;
mod ack_ratio;
mod history;
mod host;
mod in_use;
mod nonce;
mod nonce_check;
mod outage;
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
