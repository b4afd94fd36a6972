//! Calls of the application.

use fairwire_proto::{Config, ConnectionId, DatagramId, SendError, SendOptions};

use super::Verdict;
use super::books::{Books, Offered};
use super::packet::Digest;
use crate::seen::Call;

/// Records and checks a call of the application.
pub(crate) fn see(books: &mut Books, host: usize, call: &Call<'_>) -> Verdict {
    match call {
        Call::Listen { port, config, .. } => {
            let listeners = &mut books.host_mut(host).listeners;
            listeners.insert(*port, (*config).clone());
        }
        Call::Connect { config, result, .. } => {
            if let Ok(id) = result {
                begin(books, host, *id, config, false)?;
            }
        }
        Call::Invite { config, result, .. } => {
            if let Ok(id) = result {
                begin(books, host, *id, config, true)?;
            }
        }
        Call::Send {
            id,
            payload,
            options,
            result,
        } => return send(books, host, *id, (payload, *options), *result),
        Call::Secure(id) => {
            let key = books.key(host, *id);
            if let Some(conn) = key.and_then(|key| books.conn_mut(key)) {
                conn.asked.encryption = true;
            }
        }
        Call::Close(id) | Call::Abandon(id) | Call::Discard(id) | Call::Abort(id) => {
            let local = books.local;
            let key = books.key(host, *id);
            if let Some(conn) = key.and_then(|key| books.conn_mut(key)) {
                conn.asked.end.get_or_insert(local);
            }
        }
        Call::Release(id) => {
            let key = books.key(host, *id);
            if let Some(conn) = key.and_then(|key| books.conn_mut(key)) {
                // `Endpoint::release`: a connection that is not closed is not released.
                conn.heard.released |= conn.is_over();
            }
        }
        Call::PathChanged(id) => {
            let key = books.key(host, *id);
            if let Some(conn) = key.and_then(|key| books.conn_mut(key)) {
                // In all other states nothing is sent by a window that could restart.
                if matches!(conn.state(), Some("PARTOPEN" | "OPEN")) {
                    conn.asked.anew = true;
                    super::pipe::begin_anew(conn);
                }
            }
        }
        Call::ReportDropped(id, seq) => {
            let key = books.key(host, *id);
            if let Some(conn) = key.and_then(|key| books.conn_mut(key)) {
                // `Endpoint::report_dropped`: the peer may send it again, and it is delivered again.
                let payloads = conn.arrivals.get(&seq.get()).map(|it| &it.payloads);
                for (digest, ..) in payloads.into_iter().flatten() {
                    conn.heard.delivered.remove(digest);
                }
            }
        }
        // A requested change of the CCID has no effect until the peer agrees.
        Call::ChangeCcid { .. } | Call::StopReading(_) | Call::Other(..) => {
            let _ = name_of(call);
        }
    }
    Ok(())
}

/// Records that the application began a connection.
fn begin(
    books: &mut Books,
    host: usize,
    id: ConnectionId,
    config: &Config,
    invited: bool,
) -> Verdict {
    // `ConnectionId`: never used twice.
    hold!(
        books.key(host, id).is_none(),
        "call-new-id",
        "{id:?} was used before"
    );
    let conn = books.conn_of(host, id);
    conn.config = Some(config.clone());
    conn.is_server = invited;
    conn.is_invited = invited;
    Ok(())
}

/// Records and checks that a datagram was accepted or refused.
fn send(
    books: &mut Books,
    host: usize,
    id: ConnectionId,
    (payload, options): (&[u8], SendOptions),
    result: Result<DatagramId, SendError>,
) -> Verdict {
    let local = books.local;
    let key = books.key(host, id);
    let conn = key.and_then(|key| books.conn_mut(key));
    let (Ok(name), Some(conn)) = (result, conn) else {
        let key = books.key(host, id);
        if let Some(conn) = key.and_then(|key| books.conn_mut(key)) {
            super::room::offered(conn, result.err());
        }
        hold!(
            result.is_err(),
            "call-send",
            "{id:?} is unknown and takes data"
        );
        return Ok(());
    };
    hold!(
        !conn.is_over() && conn.asked.end.is_none(),
        "call-send",
        "{id:?} is closed or closing and takes data"
    );
    // `DatagramId`: counts up from zero within a connection.
    let next = DatagramId(conn.given.len() as u64);
    hold!(
        name == next,
        "call-send",
        "a datagram is called {name:?}, not {next:?}"
    );
    let digest = Digest::of(payload);
    let tag = payload.first_chunk().copied();
    let given = Offered {
        digest,
        tag,
        at: local,
        options,
        left: None,
        first: None,
        fate: None,
    };
    conn.given.insert(name, given);
    if conn.asked.encryption && tag.is_some() {
        books.sealed.insert(digest);
    }
    Ok(())
}

/// Returns the name of the call, for messages.
pub(crate) fn name_of(call: &Call<'_>) -> &'static str {
    match call {
        Call::Listen { .. } => "listen",
        Call::Connect { .. } => "connect",
        Call::Invite { .. } => "invite",
        Call::Secure(_) => "secure",
        Call::Send { .. } => "send",
        Call::Close(_) => "close",
        Call::Abandon(_) => "abandon",
        Call::Discard(_) => "discard",
        Call::Abort(_) => "abort",
        Call::Release(_) => "release",
        Call::StopReading(_) => "stop_reading",
        Call::ChangeCcid { .. } => "change_ccid",
        Call::PathChanged(_) => "path_changed",
        Call::ReportDropped(..) => "report_dropped",
        Call::Other(_, name) => name,
    }
}
