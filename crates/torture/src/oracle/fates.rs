//! The fate of each datagram: reported once, correctly, and in time (`Fate`). Hard, except for the arrival.

use fairwire_proto::{ConnectionId, DatagramId, Event, Fate, Stats};
use fairwire_units::{Duration, Instant};

use super::Verdict;
use super::books::{Books, Conn, Key, Offered};
use super::records::NUMDUPACK;

/// Checks an event that the endpoint reported.
pub(crate) fn see_event(
    books: &mut Books,
    host: usize,
    id: ConnectionId,
    event: &Event,
) -> Verdict {
    let Some(key) = books.key(host, id) else {
        return Ok(());
    };
    match event {
        Event::Fate { id, fate } => told(books, key, *id, *fate),
        Event::Closed { .. } => books.conn(key).map_or(Ok(()), all_told),
        Event::PathMtu { max_datagram, .. } => books
            .conn(key)
            .map_or(Ok(()), |conn| none_too_large(conn, *max_datagram)),
        _ => Ok(()),
    }
}

/// Checks the reported fate of one datagram.
fn told(books: &mut Books, key: Key, id: DatagramId, fate: Fate) -> Verdict {
    let (honest, local) = (books.is_honest(key), books.local);
    let Some(conn) = books.conn(key) else {
        return Ok(());
    };
    let reports = conn.config.as_ref().is_none_or(|c| c.report_fates);
    hold!(reports, "fate-unasked", "{id:?}: {fate:?}");
    let Some(given) = conn.given.get(&id) else {
        hold!(false, "fate-known", "{id:?} was never given: {fate:?}");
        return Ok(());
    };
    hold!(
        given.fate.is_none(),
        "fate-once",
        "{id:?}: {fate:?} after {:?}",
        given.fate
    );
    match fate {
        Fate::Expired | Fate::Refused | Fate::GroupBroken | Fate::TooLarge => {
            never_left(conn, given, id, fate, local)?;
        }
        _ => left(books, conn, (id, given), fate, honest)?,
    }
    let Some(conn) = books.conn_mut(key) else {
        return Ok(());
    };
    let once = conn
        .given
        .get(&id)
        .is_some_and(|given| !given.may_be_resent());
    if fate == Fate::Lost && once {
        conn.step_losses.push(id);
    }
    if let Some(given) = conn.given.get_mut(&id) {
        given.fate = Some(fate);
    }
    Ok(())
}

/// Checks a fate which says that the datagram was never sent.
fn never_left(conn: &Conn, given: &Offered, id: DatagramId, fate: Fate, local: Instant) -> Verdict {
    hold!(
        given.left.is_none(),
        "fate-never-left",
        "{id:?}: {fate:?}, and it left as {:?}",
        given.left
    );
    let age = conn
        .config
        .as_ref()
        .map(|config| config.send_queue.age.map(Duration::from));
    let waited = local.saturating_since(given.at);
    let late = given.options.deadline.is_some_and(|at| local > at);
    let expired = late || age.is_none_or(|age| age.is_some_and(|age| waited > age));
    hold!(
        fate != Fate::Expired || expired,
        "fate-expired",
        "{id:?} expired after {waited}, and may wait {age:?}"
    );
    hold!(
        fate != Fate::GroupBroken || given.options.group.is_some(),
        "fate-group",
        "{id:?} is in no group"
    );
    Ok(())
}

/// Checks a fate which says that the datagram was sent.
fn left(
    books: &Books,
    conn: &Conn,
    (id, given): (DatagramId, &Offered),
    fate: Fate,
    honest: bool,
) -> Verdict {
    let left = given.left.and_then(|seq| conn.out.get(seq));
    let Some(left) = left else {
        hold!(false, "fate-left", "{id:?}: {fate:?}, and it never left");
        return Ok(());
    };
    // An earlier packet with it may be the one that arrived, but the fate is that of the last one.
    let departed = books.packets.get(&left.no);
    let arrived = departed.is_none_or(|departed| departed.arrived);
    let marked = departed.is_none_or(|departed| departed.arrived_marked);
    let arrives = matches!(
        fate,
        Fate::Acknowledged | Fate::Marked | Fate::Dropped { .. }
    );
    hold!(
        !honest || !arrives || arrived,
        "fate-arrived",
        "{id:?}: {fate:?}, and it never arrived"
    );
    hold!(
        !honest || fate != Fate::Marked || marked,
        "fate-marked",
        "{id:?} was never marked"
    );
    // A packet that a report named as received cannot be lost any more. One whose data was dropped can be sent again,
    // and be too late then.
    hold!(
        !honest || fate != Fate::Lost || !left.acked || given.may_be_resent(),
        "fate-lost",
        "{id:?} is lost, and a report has said that it arrived"
    );
    Ok(())
}

/// Checks that each datagram has a fate before the connection is over, if fates are reported.
fn all_told(conn: &Conn) -> Verdict {
    if conn.config.as_ref().is_none_or(|c| !c.report_fates) {
        return Ok(());
    }
    let untold = conn.given.iter().find(|(_, given)| given.fate.is_none());
    hold!(
        untold.is_none(),
        "fate-told",
        "the connection is over, and nothing was told of {untold:?}"
    );
    Ok(())
}

/// Checks `Event::PathMtu`: a waiting datagram that no longer fits has its fate, and does not delay the ones behind it.
fn none_too_large(conn: &Conn, most: usize) -> Verdict {
    if conn.config.as_ref().is_none_or(|c| !c.report_fates) {
        return Ok(());
    }
    let mut waiting = conn
        .given
        .iter()
        .filter(|(_, given)| given.fate.is_none() && given.left.is_none());
    let kept = waiting.find(|(_, given)| given.digest.len > most);
    hold!(
        kept.is_none(),
        "fate-too-large",
        "datagrams of {most} bytes fit, and this one still waits: {kept:?}"
    );
    Ok(())
}

/// Checks after a step that reported losses had a reason (RFC 4341, 5).
pub(crate) fn see(books: &Books, key: Key, stats: &Stats) -> Verdict {
    let Some(conn) = books.conn(key) else {
        return Ok(());
    };
    let before = conn.last.as_ref().map(|(_, stats, _)| stats);
    let timeouts = before.map_or(0, |stats| stats.gauges.timeouts);
    let unsure = conn.asked.anew;
    if stats.gauges.timeouts != timeouts || !books.is_honest(key) || unsure {
        return Ok(());
    }
    for &id in &conn.step_losses {
        let seq = conn.given.get(&id).and_then(|given| given.left);
        let later = seq.map_or(NUMDUPACK, |seq| {
            conn.pipe.perhaps_acked_after(conn.out.place(seq))
        });
        hold!(
            later >= NUMDUPACK,
            "fate-lost-early",
            "{id:?} is lost, and {later} later packets have arrived"
        );
    }
    Ok(())
}
