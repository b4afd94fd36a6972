//! A hash of everything that determines the future of one side.
//!
//! It is computed from the output of `Debug`, which is derived nearly everywhere and so omits nothing. Times are
//! absolute: initial sequence numbers depend on them, so two states that differ only in time do not have the same
//! future.
//!
//! These fields of an endpoint are left out, for the reasons given:
//! - `config` and `secret`: the same in all states of a world with equally many restarts, which are hashed;
//! - `table`, `connecting`, `live`, `incoming`, `memory`: they follow from the connections;
//! - `count`: part of the next connection's id, which affects nothing;
//! - `source_limits`: a source may have 4,096 answers at once, and no world has as many packets;
//! - `stats`: counters that nothing reads;
//! - `told`, `events`, `ready`: empty between calls, which is asserted.
//!
//! The negotiation of a connection is hashed as the next packet finds it. Its record of the last packet would
//! distinguish about a tenth of the states needlessly (`Negotiation::between_packets` says why).
//!
//! `Debug` hides one thing, the keys of a connection's nonces; they follow from the secret and the flow.

use std::fmt::{self, Write};
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::endpoint::Endpoint;

/// A hash wide enough to avoid collisions: with a million states their probability is less than 10^-26.
pub(super) type Hash = u128;

/// The initial capacity, bytes. The text of a side with one connection fits without reallocation.
const ROOM: usize = 16_384;

/// A buffer that is hashed at the end as a whole, because `Debug` writes a few bytes at a time.
pub(super) struct Digest(Vec<u8>);

impl Default for Digest {
    fn default() -> Self {
        Self(Vec::with_capacity(ROOM))
    }
}

impl Digest {
    /// Adds bytes unchanged.
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

/// Adds an endpoint, after all of its packets and events have been taken.
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
        source_limits: _,
        events,
        outcome: _,
        stats: _,
        records: _,
        followers: _,
        mobile: _,
        seconds: _,
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
