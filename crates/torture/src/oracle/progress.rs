//! What must happen after the network is healed.

use fairwire_units::{Duration, Instant};

use super::books::{Books, Conn, Key};
use super::{Verdict, states};

/// How long a connection may take to make progress: two of the longest timer periods.
///
/// TCP's timer backs off to a minute (RFC 6298, 2.4), and TFRC's lowest rate is a packet in 64 seconds (RFC 5348, 4.3:
/// `t_mbi`).
const PATIENCE: Duration = Duration::from_secs(128);

/// Records that the network is healed.
pub(crate) fn healed(books: &mut Books) {
    books.healed = Some(books.now);
    for conn in books.conns.values_mut() {
        conn.at_healing = Some(conn.out.data);
    }
}

/// Checks all connections at the end of the run.
pub(crate) fn ended(books: &Books) -> Verdict {
    let Some(healed) = books.healed else {
        return Ok(());
    };
    let waited = books.now.saturating_since(healed);
    let keys: Vec<Key> = books.conns.keys().copied().collect();
    for key in keys.into_iter().filter(|&key| books.is_alive(key)) {
        let Some(conn) = books.conn(key) else {
            continue;
        };
        let Some(state) = conn.state().filter(|_| !conn.is_over()) else {
            continue;
        };
        // Half-open connections may disappear without an event.
        if !conn.heard.open && conn.is_server && !conn.is_invited {
            continue;
        }
        let host = books.hosts.get(&key.0);
        let local = host.map_or(books.now, |host| host.clock(books.now));
        states::lasts(conn, state, local)?;
        if state == "OPEN" && books.is_honest(key) && waited >= PATIENCE {
            data_moves(conn)?;
            learns_of_peer(books, conn, local)?;
        }
    }
    Ok(())
}

/// Checks that waiting data was sent.
fn data_moves(conn: &Conn) -> Verdict {
    let Some((_, stats, seen)) = &conn.last else {
        return Ok(());
    };
    let moved = conn.at_healing.is_none_or(|before| conn.out.data > before);
    hold!(
        stats.queued_packets == 0 || moved || !seen.may_send,
        "progress-data",
        "{:?}: {} datagrams wait, and none left since the network healed",
        conn.key,
        stats.queued_packets
    );
    Ok(())
}

/// Checks that a connection whose peer is gone learns of it by keep-alive and silence (`Config::keep_alive`).
fn learns_of_peer(books: &Books, conn: &Conn, local: Instant) -> Verdict {
    let (Some(config), Some(peer)) = (&conn.config, conn.peer) else {
        return Ok(());
    };
    let Some(keep_alive) = config.keep_alive else {
        return Ok(()); // Without keep-alive a connection that only receives stays open.
    };
    let gone = !books.is_alive(peer) || books.conn(peer).is_some_and(Conn::is_over);
    let heard = conn.got.valid_at.unwrap_or(conn.began);
    let silent = local.saturating_since(heard);
    hold!(
        !gone
            || silent <= Duration::from(keep_alive + config.idle_timeout) + Duration::from_secs(2),
        "progress-agree",
        "{:?} is open, and its peer has been silent for {silent}",
        conn.key
    );
    Ok(())
}
