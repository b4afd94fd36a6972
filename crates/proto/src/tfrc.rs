//! TFRC congestion control: CCID 3 (RFC 4342 with RFC 5348), and CCID 4 for small packets (RFC 5622 with RFC 4828).
//!
//! [`TfrcTx`] reads the feedback on our data and passes it to the rate controller of `fairwire-cc`. [`TfrcRx`] observes
//! the peer's data and writes feedback. The state of both is bounded. TFRC does not acknowledge single packets, so the
//! fate of a datagram that left is [`Fate::Sent`](crate::Fate::Sent).

mod profile;
mod rx;
mod tx;

#[cfg(test)]
mod tests;

pub(crate) use profile::Profile;
pub(crate) use rx::TfrcRx;
pub(crate) use tx::TfrcTx;
