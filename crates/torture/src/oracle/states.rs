//! The state machine (RFC 4340, section 8.4, and RFC 5596, section 2.2), and the events that report it.

use fairwire_proto::{CloseReason, Config, ConnectionId, Event, Inspection};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{PacketType, ResetCode};

use super::Verdict;
use super::books::{Books, Conn, Key};

/// RFC 4340, 8.1.3 and 8.1.5: a handshake is abandoned after four maximum segment lifetimes.
const FOUR_MSL: Duration = Duration::from_secs(480);

/// How late a timer may be: the world rounds inexact clocks up to the next time.
const LATE: Duration = Duration::from_secs(1);

/// How much shorter an inexact clock may make a time appear, by rounding.
const ROUNDING: Duration = Duration::from_millis(1);

/// Checks the state after a step.
pub(crate) fn see(books: &Books, key: Key, seen: &Inspection) -> Verdict {
    let Some(conn) = books.conn(key) else {
        return Ok(());
    };
    if let Some(before) = conn.state() {
        hold!(
            may_follow(conn, before, seen.state),
            "state-change",
            "{} follows {before} after {:?}, asked to end: {:?}",
            seen.state,
            conn.step_types,
            conn.asked.end
        );
    }
    hold!(
        seen.is_server == conn.is_server,
        "state-role",
        "the role changed"
    );
    timed(conn, seen)?;
    lasts(conn, seen.state, books.local)?;
    // `Event::Closed` is the last event of a connection and is reported when it closes.
    let closed = &conn.heard.closed;
    hold!(
        closed.is_none() || seen.state == "CLOSED",
        "state-closed",
        "{} although it was told that it is over",
        seen.state
    );
    if let (Some(CloseReason::PeerError { code, data }), Some(reset)) = (closed, conn.out.reset) {
        hold!(
            reset == (*code, *data),
            "state-peer-error",
            "we told the peer {reset:?}, and the application {code:?}"
        );
    }
    Ok(())
}

/// Returns whether state `after` may follow `before`, in one step or several at the same time.
fn may_follow(conn: &Conn, before: &str, after: &str) -> bool {
    use PacketType::{CloseReq, Request, Reset, Response, Sync};
    let came = |types: &[PacketType]| conn.step_types.iter().any(|came| types.contains(came));
    let came_else = |types: &[PacketType]| conn.step_types.iter().any(|came| !types.contains(came));
    let asked = conn.asked.end.is_some();
    if before == after || after == "CLOSED" {
        return true; // `grounds` checks the reason.
    }
    match (before, after) {
        // RFC 4340, 8.5, steps 4 and 10.
        ("REQUEST", "PARTOPEN") => came(&[Response]),
        ("REQUEST", "OPEN") => came(&[Response]) && came_else(&[Response, Sync, Reset]),
        ("REQUEST", "CLOSING") => came(&[Response]) && (asked || came(&[CloseReq])),
        // Step 12. RFC 4340, 8.1.5: not by a Response, Reset or Sync.
        ("PARTOPEN", "OPEN") => came_else(&[Response, Sync, Reset]),
        ("PARTOPEN" | "OPEN", "CLOSING") => {
            !conn.is_server && (asked || came(&[CloseReq]) || conn.got.close_req)
        }
        // RFC 5596, 2.2.2.
        ("INVITED", "LISTEN1") => true,
        ("INVITED" | "LISTEN1", "RESPOND") => came(&[Request]),
        ("INVITED" | "LISTEN1", "OPEN") => came(&[Request]) && came_else(&[Request]),
        // Step 11.
        ("RESPOND", "OPEN") => came_else(&[Request]),
        ("RESPOND", "CLOSEREQ") => asked && came_else(&[Request]),
        // RFC 4340, 8.3.
        ("OPEN", "CLOSEREQ") => conn.is_server && asked,
        _ => false,
    }
}

/// Checks that every state has a timer, so that none lasts forever. OPEN without keep-alive needs none.
fn timed(conn: &Conn, seen: &Inspection) -> Verdict {
    let keeps_alive = conn
        .config
        .as_ref()
        .is_some_and(|config| config.keep_alive.is_some());
    let rests = seen.state == "CLOSED" || (seen.state == "OPEN" && !keeps_alive);
    hold!(
        rests || seen.wakes_at.is_some(),
        "state-timer",
        "no timer runs in {}",
        seen.state
    );
    Ok(())
}

/// Checks that no state except OPEN lasts longer than its timers allow.
pub(crate) fn lasts(conn: &Conn, state: &str, local: Instant) -> Verdict {
    let (Some(config), Some(before)) = (&conn.config, conn.state()) else {
        return Ok(());
    };
    let most = match state {
        "REQUEST" | "INVITED" | "LISTEN1" => config.connect_timeout.into(),
        "RESPOND" | "PARTOPEN" => FOUR_MSL,
        // `Config::close_timeout`: extended to 14 round trips if they are longer, but not beyond the idle timeout.
        "CLOSEREQ" | "CLOSING" => config.close_timeout.max(config.idle_timeout).into(),
        _ => return Ok(()),
    };
    let lasted = local.saturating_since(conn.state_since);
    hold!(
        before != state || lasted <= most + LATE,
        "state-lasts",
        "{state} lasts {lasted}, and {most} are the most"
    );
    Ok(())
}

/// Checks an event that the endpoint reported.
pub(crate) fn see_event(
    books: &mut Books,
    host: usize,
    id: ConnectionId,
    event: &Event,
) -> Verdict {
    if let Event::Accepted { .. } = event {
        let conn = books.conn_of(host, id);
        hold!(
            conn.is_server && !conn.is_invited && conn.got.beyond_respond(),
            "event-accepted",
            "{id:?} is accepted, and its client has not gone on"
        );
        hold!(!conn.heard.open, "event-once", "{id:?} is accepted twice");
        conn.heard.open = true;
        let key = conn.key;
        books.settle(key);
        return Ok(());
    }
    let Some(key) = books.key(host, id) else {
        hold!(
            false,
            "event-known",
            "{event:?} of {id:?}, which is not a connection"
        );
        return Ok(());
    };
    if let Event::Closed { reason } = event {
        not_accused(books, key, reason)?;
    }
    let local = books.local;
    let icmp = !books.host_mut(host).icmp.is_empty();
    let Some(conn) = books.conn_mut(key) else {
        return Ok(());
    };
    super::room::see_event(conn, event);
    let (over, released) = (conn.heard.closed.is_some(), conn.heard.released);
    hold!(
        !over && !released,
        "event-after-end",
        "{event:?} of {id:?} after its end"
    );
    match event {
        Event::Connected => {
            let grounds = conn.got.response || (conn.is_invited && conn.got.packets > 0);
            hold!(
                !conn.heard.open && grounds,
                "event-connected",
                "{id:?} is connected: twice, or without an answer"
            );
            conn.heard.open = true;
        }
        Event::Closed { reason } => {
            grounds(conn, reason, local, icmp)?;
            conn.heard.closed = Some(reason.clone());
        }
        // There may be news of datagrams that are queued while the connection is set up.
        Event::Fate { .. } | Event::Writable | Event::PathMtu { .. } => {}
        _ => hold!(
            conn.heard.open,
            "event-before-open",
            "{event:?} of {id:?} before it is open"
        ),
    }
    Ok(())
}

/// Checks that there are grounds for this reason.
fn grounds(conn: &Conn, reason: &CloseReason, local: Instant, icmp: bool) -> Verdict {
    let resets = |wanted: &dyn Fn(ResetCode, [u8; 3]) -> bool| {
        let mut all = conn.arrivals.values().filter(|arrival| arrival.counts);
        all.any(|arrival| arrival.reset.is_some_and(|(code, data)| wanted(code, data)))
    };
    let asked = conn.asked.end.is_some();
    let is_grounded = match reason {
        // RFC 4340, 8.3. A repeated Close may find that the peer is gone (8.3.1: No Connection).
        CloseReason::Closed | CloseReason::ApplicationClosed { .. } => {
            conn.got.close
                || resets(&|code, _| code == ResetCode::Closed)
                || (conn.out.closing.is_some()
                    && resets(&|code, _| code == ResetCode::NoConnection))
        }
        CloseReason::Reset { code, data, .. } => {
            resets(&|came, with| came.effective() == *code && with == *data)
        }
        CloseReason::ConnectTimeout => {
            let config = conn.config.as_ref();
            let most = config.map(|config| Duration::from(config.connect_timeout));
            let waited = local.saturating_since(conn.began);
            !conn.heard.open && most.is_none_or(|most| waited + ROUNDING >= most)
        }
        CloseReason::IdleTimeout => {
            let idle = conn
                .config
                .as_ref()
                .map(|config: &Config| Duration::from(config.idle_timeout));
            let heard = conn.got.valid_at.unwrap_or(conn.began);
            let silent = local.saturating_since(heard.max(conn.began));
            idle.is_none_or(|idle| silent + ROUNDING >= idle.min(FOUR_MSL))
        }
        CloseReason::CloseTimeout => asked || conn.got.close_req,
        CloseReason::Unreachable { .. } => icmp,
        CloseReason::Aborted => asked,
        CloseReason::Reflected => !conn.is_server && !conn.heard.open,
        // The peer's packet was invalid; the Reset that is sent is compared with the reason.
        _ => true,
    };
    hold!(
        is_grounded,
        "closed-reason",
        "{reason:?} without a ground for it"
    );
    Ok(())
}

/// Checks that neither of two honest endpoints is accused of misbehaviour.
fn not_accused(books: &Books, key: Key, reason: &CloseReason) -> Verdict {
    let honest = books.is_honest(key);
    // A feature that one endpoint needs and the other refuses ends an honest connection with a Mandatory Error (RFC
    // 4340, 6.6.9), and so may a CCID change that came too soon.
    let (code, accuser) = match reason {
        CloseReason::PeerError { code, .. } => (*code, Some(key)),
        CloseReason::Reset { code, .. } => (*code, books.conn(key).and_then(|conn| conn.peer)),
        _ => return Ok(()),
    };
    // A path that rewrites ECN fields makes an honest peer look dishonest (`Config::ecn_nonce`). This applies to an
    // endpoint that checks nonces and whose data arrived with a rewritten field.
    let misled = accuser.and_then(|key| books.conn(key)).is_some_and(|conn| {
        let nonce = conn.config.as_ref().is_none_or(|config| config.ecn_nonce);
        nonce && conn.out.ecn_rewritten
    });
    let accused = match code {
        ResetCode::AggressionPenalty => !misled,
        ResetCode::OptionError => true,
        _ => false,
    };
    hold!(
        !honest || !accused,
        "closed-accused",
        "{reason:?}, and both ends were honest"
    );
    Ok(())
}
