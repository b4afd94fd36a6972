//! Endpoints and connections through their public interface, on a virtual clock, and hand-made packets.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the numbers of tests are small"
)]
#![expect(
    clippy::unwrap_used,
    reason = "what a test prepares works, or the test fails"
)]

mod ack_ratio;
mod admit;
mod adversarial;
mod bounds;
mod calls;
mod close_code;
mod closing;
mod cookies;
mod deadlines;
mod dropped;
mod ecn;
mod flood;
mod handshake;
mod hostile;
mod integrity;
mod invite;
mod kernel;
mod liars;
mod liveness;
mod messages;
mod model;
mod mtu;
mod nonce;
mod option_floods;
mod options;
mod paths;
mod pauses;
mod quiescence;
mod reflection;
mod requirements;
mod resend;
mod rtt_estimate;
mod short;
mod silence;
mod sweep;
mod sync;
mod target;
mod traces;
mod transfer;
mod unreachable;

/// Counts for each thread what it holds: the tests here run beside each other.
#[global_allocator]
static ALLOCATOR: fairwire_held::Counting = fairwire_held::Counting;
