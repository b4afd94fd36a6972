//! The packet types that each endpoint may send in each state (RFC 4340, sections 5.1 and 8). Hard invariants.

use fairwire_wire::PacketType;

use super::Verdict;
use super::books::Conn;

/// Checks the type of a packet that a connection sends.
pub(crate) fn check(conn: &Conn, packet_type: PacketType) -> Verdict {
    use PacketType::{Close, CloseReq, Data, Listen, Request, Reset, Response, Sync, SyncAck};
    // RFC 4340, 8.3: nothing is sent after a Reset.
    hold!(
        conn.out.reset.is_none(),
        "type-after-reset",
        "{packet_type:?} after a Reset of the same connection"
    );
    // RFC 4340, 8.3: after a close an endpoint sends no more data and no acknowledgements.
    if let Some((closing, _)) = conn.out.closing {
        let fits = packet_type == closing || matches!(packet_type, Sync | SyncAck | Reset);
        hold!(
            fits,
            "type-after-close",
            "{packet_type:?} after {closing:?}"
        );
    }
    let of_role = if conn.is_server {
        // RFC 4340, 5.1.
        packet_type != Request
    } else {
        // RFC 4340, 5.1, and RFC 5596, 2.2.
        !matches!(packet_type, Response | CloseReq | Listen)
    };
    let role = ["client", "server"][usize::from(conn.is_server)];
    hold!(of_role, "type-of-role", "a {role} sends {packet_type:?}");
    let newest = conn.out.packets.values().next_back();
    let newest = newest.map(|left| left.packet_type);
    if conn.is_server {
        match packet_type {
            // RFC 5596, 2.2.2: a Listen comes before anything else.
            Listen => hold!(
                newest.is_none() && conn.is_invited,
                "type-listen",
                "a Listen after {newest:?}"
            ),
            // RFC 4340, 8.1.3: a Response answers a Request while the client is still in the handshake.
            Response => hold!(
                newest.is_none_or(|newest| matches!(newest, Response | Sync)),
                "type-response",
                "a Response after {newest:?}"
            ),
            Sync | Reset => {}
            // RFC 4340, 8.1.3: in RESPOND only Responses are sent. Here a client's Sync counts as a packet that ends
            // RESPOND.
            _ => hold!(
                conn.got.beyond_respond() || conn.got.packets == 0,
                "type-in-respond",
                "{packet_type:?} before the client has gone on"
            ),
        }
        return Ok(());
    }
    match packet_type {
        // RFC 4340, 8.1.1.
        Request => hold!(
            newest.is_none_or(|newest| newest == Request),
            "type-request",
            "a Request after {newest:?}"
        ),
        Reset => {}
        // RFC 4340, 8.1.5: every packet in PARTOPEN has an acknowledgement.
        Data => hold!(
            conn.got.response && conn.got.beyond,
            "type-in-partopen",
            "Data before the server has gone on"
        ),
        Close if conn.got.close_req => {}
        _ => hold!(
            conn.got.response,
            "type-in-request",
            "{packet_type:?} before a Response"
        ),
    }
    Ok(())
}
