//! Packets that an endpoint sends: well-formed, numbered without gaps, within the MTU, with data from the application.
//!
//! Hard invariants, because nobody else has a part in it.

use fairwire_proto::{Encapsulation, SendOptions, Transmit};
use fairwire_units::{Ecn, Instant};
use fairwire_wire::{DccpOption, Packet, PacketType, Seq, SeqNo};

use super::books::{Books, Conn, Departure, Key, Offered, SentPacket};
use super::packet::{Digest, checksum_holds, is_data, whole};
use super::{Verdict, acks, cookies, events, features, options, repeats, types};
use crate::seen::{PacketNo, TAG_LEN};

/// The most consecutive numbers that may be skipped.
///
/// Each is drawn separately with a probability of at most one in eight, so seven in a row are one case in two million.
/// Sixteen leave a margin for an endpoint that draws badly.
const SKIPPED_IN_A_ROW: u64 = 16;

/// The first sequence numbers, none of which is skipped.
///
/// RFC 4342, 9, leaves it to the sender which numbers it skips; `Config::check_feedback` promises none among these.
const NEVER_SKIPPED: u64 = 256;

/// Of this many numbers at most one is skipped. `Config::check_feedback` skips one in eight; this leaves room for
/// chance.
const SKIPPED_ONE_IN: u64 = 4;

/// The most Syncs in a second (RFC 4340, 7.5.4).
///
/// Syncs that answer invalid packets are limited to eight a second here. Probes of the MTU and keep-alives each have
/// the same limit. Each limit may be used at both ends of a second.
const SYNCS_PER_S: usize = 27;

/// The most `SyncAck`s in a second (RFC 4340, 5.7): here the limit is 24 a second, with a burst of as many.
const SYNC_ACKS_PER_S: usize = 49;

/// Records and checks a packet that is sent.
pub(crate) fn see(
    books: &mut Books,
    host: usize,
    no: PacketNo,
    head: &[u8],
    transmit: &Transmit,
) -> Verdict {
    let packet = well_formed(head, transmit)?;
    let Some(id) = transmit.connection else {
        return stateless(books, no, &packet, transmit);
    };
    let local = books.local;
    let conn = books.conn_of(host, id);
    let (key, ports) = (conn.key, packet.ports);
    let flow = (
        transmit.path.local,
        transmit.path.remote,
        ports.source,
        ports.destination,
    );
    hold!(
        conn.flow
            .is_none_or(|old| (old.2, old.3) == (flow.2, flow.3)),
        "sent-ports",
        "{id:?} sends on ports {} to {}, and had {:?}",
        ports.source,
        ports.destination,
        conn.flow
    );
    let packet_type = packet.packet_type();
    if conn.flow.is_none() {
        conn.is_server = packet_type != PacketType::Request;
    }
    conn.flow = Some(flow);
    learn_config(books, key, ports.source);
    books.claim(key, flow);
    let Some(conn) = books.conn_mut(key) else {
        return Ok(());
    };
    types::check(conn, packet_type)?;
    if packet_type == PacketType::Listen {
        conn.out.listens += 1;
        conn.out.count += 1;
        return Ok(());
    }
    let seq = number(conn, &packet)?;
    data(conn, &packet, (seq, local), transmit)?;
    size(conn, packet_type, head.len(), transmit)?;
    limits(conn, packet_type, local)?;
    options::check(books, key, &packet, seq)?;
    cookies::check(books, key, &packet, seq)?;
    features::check(books, key, &packet)?;
    repeats::on_sent(books, key, packet_type)?;
    events::on_sent(books, key, &packet);
    acks::on_sent(
        books,
        key,
        &packet,
        (seq, options::ack_of(books, key, &packet)),
    )?;
    note(books, key, no, (&packet, seq), transmit);
    Ok(())
}

/// Checks that the packet can be decoded and its checksum is valid (RFC 4340, sections 5 and 9.1).
fn well_formed<'a>(head: &'a [u8], transmit: &Transmit) -> Result<Packet<'a>, super::Violation> {
    let payload = &*transmit.payload.to_bytes();
    let decoded = Packet::decode_head(head, transmit.payload.len());
    hold!(decoded.is_ok(), "sent-form", "{decoded:?}");
    let packet = decoded.map_err(|error| super::Violation {
        invariant: "sent-form",
        text: error.to_string(),
    })?;
    hold!(
        packet.data_offset == head.len(),
        "sent-form",
        "a head of {} bytes says that {} belong to it",
        head.len(),
        packet.data_offset
    );
    if transmit.path.encapsulation == Encapsulation::Udp {
        // RFC 6773, 3.3: our checksum is zero.
        hold!(packet.checksum == 0, "sent-checksum", "not zero in UDP");
    } else {
        // The pseudo-header has the same sum in both directions.
        let holds = checksum_holds(&packet, &transmit.path, (head, payload));
        hold!(holds, "sent-checksum", "{:04x}", packet.checksum);
    }
    Ok(packet)
}

/// Checks an answer to a packet of no connection (RFC 4340, 8.1.3, 8.1.4 and 8.3.1).
fn stateless(books: &mut Books, no: PacketNo, packet: &Packet<'_>, transmit: &Transmit) -> Verdict {
    let packet_type = packet.packet_type();
    hold!(
        matches!(packet_type, PacketType::Reset | PacketType::Response),
        "sent-stateless-type",
        "{packet_type:?} belongs to no connection"
    );
    books.packets.insert(
        no,
        Departure {
            sender: None,
            ecn: transmit.ecn,
            arrived: false,
            arrived_marked: false,
        },
    );
    Ok(())
}

/// Gives a server's connection the configuration of the listener at its port.
fn learn_config(books: &mut Books, key: Key, port: u16) {
    let host = books.host_mut(key.0);
    let config = host.listeners.get(&port).cloned();
    if let Some(conn) = books.conn_mut(key)
        && conn.config.is_none()
    {
        conn.config = config;
    }
}

/// Checks that numbers increase by one for every packet (RFC 4340, 7.1).
///
/// If configured, the endpoint skips some numbers to see whether the peer claims to have received them (RFC 4342, 9).
fn number(conn: &mut Conn, packet: &Packet<'_>) -> Result<Seq, super::Violation> {
    let newest = conn
        .out
        .newest
        .or_else(|| named_behind_cookie(conn, packet));
    let next = newest.map(Seq::next);
    let seq = whole(packet.seq, next);
    if let SeqNo::Short(_) = packet.seq {
        // RFC 4340, 7.6.1: only after both endpoints have agreed.
        let agreed = conn.last.as_ref().is_none_or(|(.., seen)| seen.short_sent);
        hold!(
            agreed || conn.expected.arrivals > 0,
            "sent-short-number",
            "{:?} has a number of 24 bits, which was not agreed on",
            packet.packet_type()
        );
    }
    let Some(newest) = conn.out.newest else {
        conn.out.first = Some(seq);
        conn.out.newest = Some(seq);
        return Ok(seq);
    };
    let skipped = newest.next().distance(seq);
    hold!(
        skipped <= SKIPPED_IN_A_ROW,
        "sent-number",
        "{seq:?} follows {newest:?}"
    );
    if skipped > 0 {
        let checks = conn
            .config
            .as_ref()
            .is_none_or(|config| config.check_feedback || config.ecn_nonce);
        hold!(checks, "sent-number", "{seq:?} follows {newest:?}");
        conn.out.skipped += skipped;
        conn.out.quiet = 0;
        let all = conn.out.place(seq);
        // A suspicious receiver is tested at once. So is an honest one if nonces are checked on a path that rewrites
        // ECN fields (`Config::ecn_nonce`).
        let suspects = conn.tainted || conn.config.as_ref().is_none_or(|c| c.ecn_nonce);
        hold!(
            (suspects || all >= NEVER_SKIPPED) && conn.out.skipped <= 16 + all / SKIPPED_ONE_IN,
            "sent-skips",
            "{} of {all} numbers were passed over",
            conn.out.skipped
        );
    }
    conn.out.newest = Some(seq);
    Ok(seq)
}

/// Returns the number of the Response that an Init Cookie stands for, one before that of the first packet.
///
/// The Response was not observed, but the client acknowledged it in the packet that the first packet acknowledges now.
/// Other packets on the flow may be forged and may have any number. A Sync asks about such a forged packet, so the
/// client's packet is the last of the others.
fn named_behind_cookie(conn: &Conn, packet: &Packet<'_>) -> Option<Seq> {
    let named = packet.ack()?;
    let syncs = packet.packet_type() == PacketType::Sync;
    let fits = |seq: u64| (whole(named, Some(Seq::new(seq))).get() == seq) != syncs;
    let fitting = conn.arrivals.iter().filter(|&(&seq, _)| fits(seq));
    let fitting = fitting.filter_map(|(_, came)| Some((came.order, came.ack?)));
    fitting.max_by_key(|&(order, _)| order).map(|(_, ack)| ack)
}

/// Checks that exactly the data packets carry a datagram, and that each was offered (RFC 4340, 5.4; `Endpoint::send`).
///
/// Each datagram is sent unchanged. Those of one priority leave in the order in which they were offered, except when
/// they are sent again.
fn data(
    conn: &mut Conn,
    packet: &Packet<'_>,
    (seq, local): (Seq, Instant),
    transmit: &Transmit,
) -> Verdict {
    let Some(id) = transmit.id else {
        return without_datagram(conn, packet.packet_type(), transmit);
    };
    hold!(
        is_data(packet.packet_type()),
        "sent-data",
        "{:?} with {id:?}",
        packet.packet_type()
    );
    let Some(given) = conn.given.get_mut(&id) else {
        hold!(false, "sent-data", "{id:?} leaves and was never given");
        return Ok(());
    };
    hold!(
        given.fate.is_none(),
        "fate-never-left",
        "{id:?} leaves after its fate {:?}",
        given.fate
    );
    let payload = transmit.payload.to_bytes();
    if conn.asked.encryption {
        sealed(given, &payload)?;
    } else {
        hold!(
            given.digest == Digest::of(&payload),
            "sent-data",
            "{id:?} leaves with other bytes than it was given with"
        );
    }
    let options = given.options;
    let first = *given.first.get_or_insert(seq);
    given.left = Some(seq);
    copy(conn, (packet, first == seq), first, (local, options))?;
    if first == seq {
        let newest = conn.out.newest_ids.insert(options.priority, id);
        hold!(
            newest.is_none_or(|newest| newest < id),
            "sent-order",
            "{id:?} leaves after {newest:?}"
        );
    }
    ecn(conn, true, transmit.ecn)
}

/// Checks a packet without a datagram of the application: data only if it is a message of the encryption, which is sent
/// like data (RFC 5238, 3), and otherwise nothing that an application could read.
fn without_datagram(conn: &mut Conn, packet_type: PacketType, transmit: &Transmit) -> Verdict {
    let encrypts = conn.asked.encryption;
    let is_data = is_data(packet_type);
    hold!(
        !is_data || encrypts,
        "sent-data",
        "{packet_type:?} without a datagram"
    );
    // RFC 4340, 5.7: Syncs may be padded, as probes of the path MTU are (RFC 8899). 5.6: a Reset may have a text, such
    // as why the encryption failed.
    let may_carry = is_data
        || packet_type == PacketType::Sync
        || (encrypts && packet_type == PacketType::Reset);
    hold!(
        may_carry || transmit.payload.is_empty(),
        "sent-data",
        "{packet_type:?} carries {} bytes",
        transmit.payload.len()
    );
    conn.out.own += u64::from(is_data);
    ecn(conn, is_data, transmit.ecn)
}

/// Checks that an encrypted datagram cannot be read on the path, and is longer than what the application gave.
fn sealed(given: &Offered, payload: &[u8]) -> Verdict {
    hold!(
        payload.len() > given.digest.len,
        "sent-sealed",
        "{} bytes leave as {}",
        given.digest.len,
        payload.len()
    );
    let shows = |tag: &[u8; TAG_LEN]| payload.windows(TAG_LEN).any(|part| part == tag);
    hold!(
        !given.tag.as_ref().is_some_and(shows),
        "sent-sealed",
        "a datagram of an encrypted connection leaves in clear text"
    );
    Ok(())
}

/// Checks that a datagram that leaves again says in which packet it left first, and that it does not leave too late.
fn copy(
    conn: &mut Conn,
    (packet, is_first): (&Packet<'_>, bool),
    first: Seq,
    (local, options): (Instant, SendOptions),
) -> Verdict {
    let mut said = packet.options.iter();
    let says = said.find_map(|raw| match raw.decode() {
        Ok(DccpOption::CopyOf(seq)) => Some(seq),
        _ => None,
    });
    // An encrypted one says so inside.
    let expected = (!is_first && !conn.asked.encryption).then_some(first);
    hold!(
        says == expected,
        "sent-copy",
        "a datagram first sent in {first:?} leaves as a copy of {says:?}, not {expected:?}"
    );
    let until = if is_first {
        options.deadline
    } else {
        Some(options.resend_until().unwrap_or(Instant::START))
    };
    hold!(
        until.is_none_or(|until| local <= until),
        "sent-late",
        "a datagram leaves at {local}, and may leave until {until:?}"
    );
    conn.out.copies += u64::from(!is_first);
    Ok(())
}

/// Checks the ECN field: data packets are ECN-capable if configured (RFC 4341, 3, and RFC 4342, 3).
///
/// This implementation sends other packets without ECT. RFC 8311: ECT(1) is only for the nonce, which is an option.
fn ecn(conn: &Conn, is_data: bool, ecn: Ecn) -> Verdict {
    let config = conn.config.as_ref();
    let (may, nonce) = config.map_or((true, true), |c| (c.ecn, c.ecn_nonce));
    let fits = match ecn {
        Ecn::NotEct => true,
        Ecn::Ect0 => is_data && may,
        Ecn::Ect1 => is_data && may && nonce,
        Ecn::Ce => false,
    };
    hold!(fits, "sent-ecn", "{ecn:?} on a packet with data: {is_data}");
    Ok(())
}

/// Checks that no packet exceeds the MTU of the first hop (RFC 4340, 14).
fn size(conn: &mut Conn, packet_type: PacketType, head: usize, transmit: &Transmit) -> Verdict {
    let path = &transmit.path;
    let ip = if path.local.is_ipv4() { 20 } else { 40 };
    let udp = match path.encapsulation {
        Encapsulation::Native => 0,
        Encapsulation::Udp => 8,
    };
    let all = ip + udp + head + transmit.payload.len();
    let most = conn.config.as_ref().map(|config| config.path_mtu);
    hold!(
        most.is_none_or(|most| all <= usize::from(most)),
        "sent-size",
        "{all} bytes on a path of {most:?}"
    );
    if is_data(packet_type) {
        conn.out.largest_in_step = conn.out.largest_in_step.max(all);
    }
    Ok(())
}

/// Checks after a step that no data packet exceeded the path MTU (RFC 4340, 14.2).
///
/// This includes data that was accepted before the path MTU decreased.
pub(crate) fn see_size(books: &Books, key: Key, stats: &fairwire_proto::Stats) -> Verdict {
    let Some(conn) = books.conn(key) else {
        return Ok(());
    };
    // It may have changed in this step, before or after the packet was sent.
    let before = conn.last.as_ref().map(|(_, stats, _)| stats.path_mtu);
    let most = before.unwrap_or(u16::MAX).max(stats.path_mtu);
    let largest = conn.out.largest_in_step;
    hold!(
        largest <= usize::from(most),
        "sent-path-mtu",
        "{largest} bytes with data left on a path that takes {most}"
    );
    Ok(())
}

/// Checks the rate limits of Syncs and their answers (RFC 4340, 5.7 and 7.5.4).
fn limits(conn: &mut Conn, packet_type: PacketType, local: Instant) -> Verdict {
    let (which, most) = match packet_type {
        PacketType::Sync => (0, SYNCS_PER_S),
        PacketType::SyncAck => (1, SYNC_ACKS_PER_S),
        _ => return Ok(()),
    };
    let second = fairwire_units::Duration::from_secs(1);
    let left = &mut conn.out.syncs[which];
    left.retain(|&at| local.saturating_since(at) < second);
    left.push(local);
    hold!(
        left.len() <= most,
        "sent-sync-limit",
        "{} of type {packet_type:?} within a second",
        left.len()
    );
    Ok(())
}

/// Enters a packet into the records.
fn note(
    books: &mut Books,
    key: Key,
    no: PacketNo,
    (packet, seq): (&Packet<'_>, Seq),
    transmit: &Transmit,
) {
    let at = books.local;
    let departed = Departure {
        sender: Some(key),
        ecn: transmit.ecn,
        arrived: false,
        arrived_marked: false,
    };
    books.packets.insert(no, departed);
    let Some(conn) = books.conn_mut(key) else {
        return;
    };
    let packet_type = packet.packet_type();
    let out = &mut conn.out;
    out.count += 1;
    let is_data = is_data(packet_type);
    if is_data {
        out.data += 1;
        out.data_in_step += 1;
        out.bytes += transmit.payload.len() as u64;
    }
    // RFC 4340, 7.7: Request and Response count as data packets.
    out.quiet = if packet_type.carries_data() {
        0
    } else {
        out.quiet + 1
    };
    if matches!(packet_type, PacketType::Close | PacketType::CloseReq) {
        out.closing.get_or_insert((packet_type, at));
    }
    if let fairwire_wire::Kind::Reset { code, data, .. } = packet.kind {
        out.reset = Some((code, data));
    }
    let left = SentPacket {
        no,
        packet_type,
        acked: false,
    };
    let place = out.place(seq);
    out.packets.insert(place, left);
    conn.pipe.sent(place, is_data, at);
    conn.rates.sent(at, is_data.then(|| transmit.payload.len()));
}
