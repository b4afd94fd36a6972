//! Validity of packets (RFC 4340, sections 7.5.1 to 7.5.3), computed by the oracle's own arithmetic.
//!
//! A packet is certainly *valid*, certainly *invalid*, or *unsure*. It is unsure if the endpoint's decision depends on
//! something that the oracle does not see: whether the connection was active recently, or whether there was room.

use fairwire_proto::Inspection;
use fairwire_wire::{Kind, Packet, PacketType, Seq};

use super::Verdict;
use super::books::{Books, Conn, Key};
use super::packet::whole;
use super::records::Validity;

/// RFC 4340, 7.5.1: windows end at the initial numbers as long as the connection is young.
const YOUNG: u64 = 1 << 46;

/// Returns SWL, SWH, AWL, AWH as in RFC 4340, 7.5.1, computed from the variables of 7.1.
fn bounds(seen: &Inspection) -> [Seq; 4] {
    let (w, own) = (seen.remote_window, seen.local_window);
    let low = seen.gsr.next().sub(w / 4);
    let swl = if seen.isr.distance(seen.gsr) < YOUNG {
        Seq::max(low, seen.isr)
    } else {
        low
    };
    // RFC 4340, 7.5.1: ceil(3W/4) beyond GSR.
    let swh = seen.gsr.add(w - w / 4);
    let low = seen.gss.next().sub(own);
    let awl = if seen.iss.distance(seen.gss) < YOUNG {
        Seq::max(low, seen.iss)
    } else {
        low
    };
    [swl, swh, awl, seen.gss]
}

/// Returns the full numbers of a packet that arrives at `conn`.
pub(crate) fn numbers(conn: &Conn, packet: &Packet<'_>) -> (Seq, Option<Seq>) {
    let seen = conn.last.as_ref().map(|(.., seen)| seen);
    let gsr = seen
        .filter(|seen| seen.state != "REQUEST")
        .map(|seen| seen.gsr);
    let near = conn.expected.gsr.as_ref().and_then(|all| all.last());
    let gss = seen.map(|seen| seen.gss).or(conn.out.newest);
    let seq = whole(packet.seq, near.copied().or(gsr).or(conn.newest_came));
    (seq, packet.ack().map(|ack| whole(ack, gss)))
}

/// Returns the validity of a packet that arrives now, according to its numbers.
pub(crate) fn judge(conn: &Conn, packet: &Packet<'_>) -> Validity {
    let Some((.., seen)) = &conn.last else {
        return Validity::Unsure;
    };
    // Between two arrivals of one step the windows are unknown.
    if conn.expected.arrivals > 0 {
        return Validity::Unsure;
    }
    let packet_type = packet.packet_type();
    let (seq, ack) = numbers(conn, packet);
    let [_, _, awl, awh] = bounds(seen);
    let ack_in = |low: Seq| ack.is_some_and(|ack| ack.in_window(low, awh));
    match (seen.state, packet_type) {
        ("REQUEST", PacketType::Response | PacketType::Reset) if ack_in(awl) => {
            return Validity::Unsure;
        }
        ("REQUEST" | "CLOSED", _) | (_, PacketType::Listen) => return Validity::Invalid,
        // While a connection waits for its client, packets may be delayed.
        ("INVITED" | "LISTEN1", _) => return Validity::Unsure,
        _ => {}
    }
    match by_numbers(packet, seen, (seq, ack)) {
        // The same is true while it waits for a place in the accept queue. But invalid numbers remain invalid for a
        // connection that knows its windows.
        Validity::Valid if seen.state == "RESPOND" => Validity::Unsure,
        judged => judged,
    }
}

/// Returns the validity of a packet for a connection that knows the numbers of both endpoints.
fn by_numbers(packet: &Packet<'_>, seen: &Inspection, (seq, ack): (Seq, Option<Seq>)) -> Validity {
    let [swl, swh, awl, awh] = bounds(seen);
    let ack_in = |low: Seq| ack.is_some_and(|ack| ack.in_window(low, awh));
    // RFC 4340, 7.6.1.
    if packet.is_short() && !seen.short_taken {
        return Validity::Invalid;
    }
    match packet.kind {
        Kind::Sync { .. } | Kind::SyncAck { .. } => {
            if !ack_in(awl) {
                Validity::Invalid
            } else if seq.in_window(swl, swh) && !seq.is_before(seen.gsr) {
                Validity::Valid
            } else {
                Validity::Unsure
            }
        }
        Kind::Close { .. } | Kind::CloseReq { .. } | Kind::Reset { .. } => {
            // RFC 4340, 7.5.3: the packet must be newer than all before.
            validity(seq.in_window(seen.gsr.next(), swh) && ack_in(seen.gar))
        }
        // The source may have used up its allowance of answers to Requests.
        Kind::Request { .. } => match validity(seq.in_window(swl, swh)) {
            Validity::Valid => Validity::Unsure,
            other => other,
        },
        _ => validity(seq.in_window(swl, swh) && (ack.is_none() || ack_in(awl))),
    }
}

fn validity(is_valid: bool) -> Validity {
    if is_valid {
        Validity::Valid
    } else {
        Validity::Invalid
    }
}

/// Checks after a step that GSR, GAR and the windows follow from the packets.
pub(crate) fn see(books: &Books, key: Key, seen: &Inspection) -> Verdict {
    let Some(conn) = books.conn(key) else {
        return Ok(());
    };
    let begun = !matches!(seen.state, "REQUEST" | "INVITED" | "LISTEN1" | "CLOSED");
    if begun {
        let ours = bounds(seen);
        let theirs = [seen.swl, seen.swh, seen.awl, seen.awh];
        hold!(
            ours == theirs,
            "window-bounds",
            "SWL, SWH, AWL, AWH are {theirs:?}, not {ours:?}"
        );
    }
    let Some((_, _, last)) = &conn.last else {
        return Ok(());
    };
    own_numbers(conn, seen)?;
    // A client's GSR has no meaning before its Response.
    if last.state == "REQUEST" && conn.expected.arrivals == 0 {
        return Ok(());
    }
    if matches!(last.state, "INVITED" | "LISTEN1") || last.state == "REQUEST" {
        return Ok(());
    }
    let unchanged = [last.gsr];
    let may = conn.expected.gsr.as_deref().unwrap_or(&unchanged);
    hold!(
        may.contains(&seen.gsr),
        "window-gsr",
        "GSR became {:?} from {:?}, expected one of {may:?}",
        seen.gsr,
        last.gsr
    );
    let honest = books.is_honest(key);
    hold!(
        !honest || !seen.gsr.is_before(last.gsr),
        "window-gsr-back",
        "GSR went back from {:?} to {:?}",
        last.gsr,
        seen.gsr
    );
    let unchanged = [last.gar];
    let may = conn.expected.gar.as_deref().unwrap_or(&unchanged);
    hold!(
        may.contains(&seen.gar) && !seen.gar.is_before(last.gar),
        "window-gar",
        "GAR became {:?} from {:?}, expected one of {may:?}",
        seen.gar,
        last.gar
    );
    // RFC 4340, 7.4: only received packets are acknowledged.
    hold!(
        !seen.acknowledgeable.is_after(seen.gsr),
        "window-acknowledgeable",
        "{:?} would be acknowledged, beyond GSR {:?}",
        seen.acknowledgeable,
        seen.gsr
    );
    Ok(())
}

/// Checks GSS and ISS (RFC 4340, 7.1).
///
/// GSS is the newest number sent, or one skipped after it; ISS never changes.
fn own_numbers(conn: &Conn, seen: &Inspection) -> Verdict {
    let Some((_, _, last)) = &conn.last else {
        return Ok(());
    };
    hold!(
        last.iss == seen.iss,
        "window-iss",
        "ISS became {:?} from {:?}",
        seen.iss,
        last.iss
    );
    if let Some(newest) = conn.out.newest {
        let ahead = newest.distance(seen.gss);
        let checks = conn
            .config
            .as_ref()
            .is_none_or(|config| config.check_feedback || config.ecn_nonce);
        let most = if checks { 16 } else { 0 };
        hold!(
            ahead <= most,
            "window-gss",
            "GSS is {:?}, and the newest packet sent has {newest:?}",
            seen.gss
        );
    }
    Ok(())
}
