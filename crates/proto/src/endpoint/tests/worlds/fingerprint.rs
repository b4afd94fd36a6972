//! A hash of all that decides the future of one side.
//!
//! It is taken of what `Debug` prints, which is derived nearly everywhere and so leaves nothing out.
//! Times are absolute: initial sequence numbers depend on them, so two states that differ in nothing
//! but the time do not have the same future.
//!
//! Left out of an endpoint, and why that is safe:
//! - `config` and `secret`: the same in all states of a world with equally many restarts, which count;
//! - `table`, `connecting`, `live`, `incoming`, `memory`: they follow from the connections;
//! - `count`: part of the next connection's name, which nobody acts upon;
//! - `allowances`: a source may have 4,096 answers at once, and no world has as many packets;
//! - `stats`: counters that nothing reads;
//! - `told`, `events`, `ready`: empty between calls, which is asserted.
//!
//! Of a connection the negotiation is taken as the next packet finds it: what it keeps of the last one kept about
//! a tenth of the states apart for nothing (`Negotiation::between_packets` says why).
//!
//! `Debug` hides one thing, the keys of a connection's nonces; they follow from the secret and the flow.

use std::fmt::{self, Write};
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::endpoint::Endpoint;

/// A hash wide enough that two states never share one by chance: with a million states the chance is
/// less than one in 10^26.
pub(super) type Hash = u128;

/// The text of a side with one connection fits, so that it does not move while it grows.
const ROOM: usize = 16_384;

/// Hashes what is written to it, all at once in the end: `Debug` writes a few bytes at a time.
pub(super) struct Digest(Vec<u8>);

impl Default for Digest {
    fn default() -> Self {
        Self(Vec::with_capacity(ROOM))
    }
}

impl Digest {
    /// Adds bytes as they are.
    pub(super) fn add_bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn finish(&self) -> Hash {
        let mut hasher = SipHasher13::new();
        hasher.write(&self.0);
        hasher.finish128().as_u128()
    }
}

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add_bytes(text.as_bytes());
        Ok(())
    }
}

/// Adds an endpoint, all of whose packets and events have been taken.
pub(super) fn add(digest: &mut Digest, end: &Endpoint) -> fmt::Result {
    let Endpoint {
        config: _,
        secret: _,
        listeners,
        connections,
        memory: _,
        count: _,
        table: _,
        time_wait,
        timers,
        ready,
        is_ready: _,
        connecting: _,
        backlog,
        spare,
        live: _,
        incoming: _,
        draws,
        cookies_until,
        replies,
        allowances: _,
        events,
        told: _,
        stats: _,
    } = end;
    assert!(events.is_empty() && ready.is_empty(), "not drained");
    write!(digest, "{listeners:?};{time_wait:?};{timers:?};")?;
    write!(
        digest,
        "{backlog:?};{spare:?};{draws};{cookies_until:?};{replies:?};"
    )?;
    for (slot, connection) in connections {
        write!(digest, "{slot}:")?;
        connection.fingerprint(digest)?;
    }
    Ok(())
}
