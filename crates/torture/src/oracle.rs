//! The invariants that must hold at every step, whatever the network, the peers and the applications do.
//!
//! The oracle observes the interface of an endpoint ([`Seen`]) and decodes packets with the codec only. It keeps its
//! own records: what each connection sent, what of it arrived, what the application sent and received. It checks the
//! endpoint against these records and against RFCs 4340, 4341, 4342, 5348 and 5622.
//!
//! There are two kinds of invariants:
//! - *Hard* ones hold even if peers lie: what an endpoint sends, its states, the fates of datagrams, memory.
//! - *Honest* ones need a truthful peer. They are not checked for a connection and its peer once a packet from an
//!   attacker, or one changed by the network, may have been accepted as valid ([`books::Books::is_honest`]). A packet
//!   that fails its checksum or lies outside the window does not matter.
//!
//! The modules are:
//! - [`books`]: the oracle's records; [`packet`]: decoding of packets.
//! - [`sent`], [`options`], [`vectors`], [`types`]: what an endpoint sends.
//! - [`arrived`], [`windows`]: what reaches an endpoint, and which packets are valid (RFC 4340, 7.5).
//! - [`states`]: the state machine and the events (RFC 4340, 8.4).
//! - [`fates`], [`data`], [`delivery`]: the fate of each datagram.
//! - [`pipe`]: flight, losses and the window of CCID 2; [`rates`]: the rate of CCIDs 3 and 4.
//! - [`acks`], [`events`]: what a receiver must report; [`timers`]: timeouts of congestion control; [`ccid`]: properties
//!   of CCIDs.
//! - [`repeats`], [`cookies`], [`features`]: handshakes and negotiation; [`room`]: the send queue.
//! - [`statistics`], [`memory`]: the counters of an endpoint.
//! - [`progress`]: what must happen after the network is healed.

use fairwire_units::Instant;

use crate::seen::Seen;
use books::Books;

pub(crate) use verdict::Verdict;
pub use verdict::Violation;

/// Checks a condition. If it is false, the function returns a violation of the named invariant.
macro_rules! hold {
    ($holds:expr, $invariant:expr, $($text:tt)+) => {
        if !$holds {
            return Err($crate::oracle::Violation {
                invariant: $invariant,
                text: format!($($text)+),
            });
        }
    };
}

mod acks;
mod arrived;
mod books;
mod calls;
mod ccid;
mod cookies;
mod data;
pub mod delivery;
mod events;
mod fates;
mod features;
mod memory;
mod options;
mod packet;
mod pipe;
mod progress;
mod rates;
mod records;
mod repeats;
mod room;
mod sent;
mod states;
mod statistics;
mod timers;
mod types;
mod vectors;
mod verdict;
mod windows;

/// The oracle of one run.
#[derive(Debug, Default)]
pub struct Oracle {
    books: Books,
}

impl Oracle {
    /// Creates an oracle without observations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks one observation at `host`, at the observer's time `now`.
    ///
    /// # Errors
    /// The violated invariant. The run must end then, because the oracle's records may be incomplete.
    pub fn see(&mut self, now: Instant, host: usize, seen: &Seen<'_>) -> Result<(), Violation> {
        let books = &mut self.books;
        books.turn_to(now, host);
        let judged = match seen {
            Seen::Started { config } => {
                books.start(host, config);
                Ok(())
            }
            Seen::Clock { shows, gains_ppm } => {
                books.host_mut(host).set_clock(now, *shows, *gains_ppm);
                Ok(())
            }
            Seen::Call(call) => calls::see(books, host, call),
            Seen::Sent {
                packet,
                head,
                transmit,
            } => sent::see(books, host, *packet, head, transmit),
            Seen::Arrived {
                origin,
                meta,
                head,
                payload,
            } => {
                arrived::see(books, host, *origin, *meta, (head, payload));
                Ok(())
            }
            Seen::Icmp { error, .. } => {
                books.host_mut(host).icmp.push(*error);
                Ok(())
            }
            Seen::Event { id, event } => states::see_event(books, host, *id, event)
                .and_then(|()| fates::see_event(books, host, *id, event)),
            Seen::Received { id, received, .. } => data::see(books, host, *id, received),
            Seen::State {
                id,
                stats,
                inspection,
            } => see_state(books, host, *id, stats, inspection),
            Seen::Endpoint { stats } => memory::see(books, host, stats),
            Seen::Gone { .. } => Ok(()),
            Seen::Inside { inspection } => memory::check_inspection(books, host, inspection),
            Seen::Healed => {
                progress::healed(books);
                Ok(())
            }
            Seen::Ended => progress::ended(books),
        };
        judged.map_err(|violation| Violation {
            text: format!("host {host} at {now}: {}", violation.text),
            ..violation
        })
    }
}

/// Checks everything that depends on the state after a step.
fn see_state(
    books: &mut Books,
    host: usize,
    id: fairwire_proto::ConnectionId,
    stats: &fairwire_proto::Stats,
    inspection: &fairwire_proto::Inspection,
) -> Verdict {
    let Some(key) = books.key(host, id) else {
        return Ok(());
    };
    arrived::settle(books, key, stats);
    states::see(books, key, inspection)?;
    windows::see(books, key, inspection)?;
    statistics::see(books, key, stats, inspection)?;
    sent::see_size(books, key, stats)?;
    fates::see(books, key, stats)?;
    timers::see(books, key, stats, inspection)?;
    pipe::see(books, key, stats, inspection)?;
    rates::see(books, key, stats)?;
    memory::see_connection(inspection)?;
    data::see_gsr(books, key, inspection);
    repeats::see(books, key, inspection)?;
    features::see(books, key, inspection)?;
    acks::see(books, key, stats, inspection)?;
    events::see(books, key, stats, inspection)?;
    room::see(books, key, inspection)?;
    data::see_counts(books, key, stats, inspection)?;
    books.close_step(key, stats, inspection);
    Ok(())
}
