//! What must hold at every step, whatever the network, the peers and the applications do.
//!
//! The oracle sees what crosses an endpoint's seam ([`Seen`]), reads packets with the codec alone, and
//! keeps books of its own: what each connection sent, what of it arrived, what the application gave
//! and got. It judges what the endpoint says by these books and by RFCs 4340, 4341, 4342, 5348 and 5622.
//!
//! Two kinds of invariants:
//! - *Hard* ones hold whoever lies: what an endpoint sends, its states, the fates of datagrams, memory.
//! - *Honest* ones need a peer that tells the truth: they are not asked of a connection, nor of its
//!   peer, once a packet that an attacker made or the network changed may have been taken for a
//!   valid one ([`books::Books::is_honest`]). A packet that a checksum or a window keeps out changes nothing.
//!
//! - [`books`] is what the oracle remembers; [`packet`] how it reads a packet.
//! - [`sent`], [`options`], [`vectors`], [`types`]: what an endpoint sends.
//! - [`arrived`], [`windows`]: what reaches it, and which of it counts (RFC 4340, 7.5).
//! - [`states`]: the state machine and the events (RFC 4340, 8.4).
//! - [`fates`], [`data`]: what became of each datagram.
//! - [`pipe`]: flight, losses and the window of CCID 2; [`rates`]: the rate of CCIDs 3 and 4.
//! - [`acks`], [`events`]: what a receiver has to tell; [`timers`]: timeouts of congestion control.
//! - [`repeats`], [`cookies`], [`features`]: handshakes and negotiation; [`room`]: the send queue.
//! - [`statistics`], [`memory`]: what an endpoint counts.
//! - [`progress`]: what must happen once the network is well again.

use fairwire_units::Instant;

use crate::seen::Seen;
use books::Books;

pub(crate) use verdict::Verdict;
pub use verdict::Violation;

/// Holds if the condition does; otherwise the step breaks the invariant of that name.
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
mod cookies;
mod data;
mod events;
mod fates;
mod features;
mod kept;
mod memory;
mod options;
mod packet;
mod pipe;
mod progress;
mod rates;
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

/// The judge of one run.
#[derive(Debug, Default)]
pub struct Oracle {
    books: Books,
}

impl Oracle {
    /// An oracle that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in one thing that was seen at `host` at the observer's time `now`.
    ///
    /// # Errors
    /// The invariant that it breaks. The oracle's books may be incomplete afterwards: the run is over.
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
            Seen::Inside { inspection } => memory::see_inside(books, host, inspection),
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

/// A step is over: all that can be judged by the state after it.
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

#[cfg(test)]
mod tests;
