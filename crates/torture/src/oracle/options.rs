//! The options of packets that an endpoint sends (RFC 4340, sections 5.8 to 13).
//!
//! Hard invariants, except if a lying peer may have been believed.

use fairwire_units::Duration;
use fairwire_wire::{
    DccpOption, DropBlock, DropBlocks, Packet, PacketType, Seq, SeqNo, option_type,
};

use super::books::{Books, Conn, Key};
use super::{Verdict, vectors};

/// The unit of Elapsed Time and of Timestamp Echo (RFC 4340, 13.2 and 13.3).
const TICK: Duration = Duration::from_micros(10);

/// Options that are not allowed on Data (RFC 4340, 5.8, the column "DCCP-Data?").
///
/// Those of a receiving CCID are sent on acknowledgements (RFC 4342, 8).
const NOT_ON_DATA: [u8; 12] = [
    option_type::MANDATORY,
    option_type::CHANGE_L,
    option_type::CONFIRM_L,
    option_type::CHANGE_R,
    option_type::CONFIRM_R,
    option_type::INIT_COOKIE,
    option_type::ACK_VECTOR_0,
    option_type::ACK_VECTOR_1,
    option_type::DATA_DROPPED,
    option_type::ELAPSED_TIME,
    option_type::LOSS_INTERVALS,
    option_type::RECEIVE_RATE,
];

/// Checks the options of a packet that is sent with number `seq`.
pub(crate) fn check(books: &Books, key: Key, packet: &Packet<'_>, seq: Seq) -> Verdict {
    let Some(conn) = books.conn(key) else {
        return Ok(());
    };
    let honest = books.is_honest(key);
    let packet_type = packet.packet_type();
    let ack = ack_of(books, key, packet);
    if let Some(ack) = ack {
        acknowledges(conn, packet_type, ack, honest)?;
    }
    check_ndp_count(conn, packet)?;
    let mut last = None;
    // RFC 4340, 11.7: blocks that do not fit into one option continue in the next one.
    let mut dropped_to = ack.unwrap_or(Seq::ZERO);
    for raw in packet.options {
        last = Some(raw.option_type);
        hold!(
            packet_type != PacketType::Data || !NOT_ON_DATA.contains(&raw.option_type),
            "option-on-data",
            "{seq:?} is Data, with option {}",
            raw.option_type
        );
        let option = DccpOption::decode(raw);
        hold!(
            option.is_ok(),
            "option-form",
            "{seq:?} has an option {} that is wrong: {option:?}",
            raw.option_type
        );
        match option {
            Ok(DccpOption::DataDropped(blocks)) => dropped(conn, blocks, &mut dropped_to)?,
            Ok(option) => check_value(books, conn, option, ack)?,
            Err(_) => {}
        }
    }
    // RFC 4340, 5.8.2: Mandatory applies to the option behind it.
    hold!(
        last != Some(option_type::MANDATORY),
        "option-mandatory",
        "{seq:?} ends with Mandatory"
    );
    if let Some(ack) = ack {
        vectors::check(conn, packet, ack, honest)?;
    }
    Ok(())
}

/// Returns the full number that a packet of this connection acknowledges.
pub(crate) fn ack_of(books: &Books, key: Key, packet: &Packet<'_>) -> Option<Seq> {
    let conn = books.conn(key)?;
    let gsr = conn.last.as_ref().map(|(.., seen)| seen.gsr);
    let unseen = || match packet.ack() {
        Some(SeqNo::Short(bits)) => came_with(conn, bits),
        _ => None,
    };
    let near = newest(conn).or(gsr).or_else(unseen).or(conn.newest_came);
    // For a connection that was never observed, 24 bits do not determine the number.
    packet.ack().and_then(|ack| match (ack, near) {
        (SeqNo::Long(ack), _) => Some(ack),
        (SeqNo::Short(_), None) => None,
        (SeqNo::Short(_), near) => Some(super::packet::whole(ack, near)),
    })
}

/// Returns the last number that arrived with these low 24 bits.
///
/// A connection that was never observed begins with the packet that brought its Init Cookie (RFC 4340, 8.1.4), and
/// acknowledges that packet. Forged packets on its flow before may have any numbers, so the greatest number says
/// nothing.
fn came_with(conn: &Conn, bits: u32) -> Option<Seq> {
    const LOW: u64 = (1 << 24) - 1;
    let counted = conn.arrivals.iter().filter(|(_, arrival)| arrival.counts);
    let fitting = counted.filter(|&(&seq, _)| seq & LOW == u64::from(bits));
    let last = fitting.max_by_key(|(_, arrival)| arrival.order);
    last.map(|(&seq, _)| Seq::new(seq))
}

/// Returns the peer's greatest number in this step that may have been valid.
fn newest(conn: &Conn) -> Option<Seq> {
    conn.expected
        .gsr
        .as_ref()
        .and_then(|all| all.last().copied())
}

/// Checks an Acknowledgement Number: it is the greatest number received (RFC 4340, 7.4).
///
/// A Sync names the packet that it asks about, and a `SyncAck` the Sync that it answers (5.7).
fn acknowledges(conn: &Conn, packet_type: PacketType, ack: Seq, honest: bool) -> Verdict {
    let known = conn.arrivals.get(&ack.get());
    match packet_type {
        // RFC 4340, 8.1.1: in REQUEST there is nothing to acknowledge. If a Response came in an earlier step and the
        // state is still REQUEST, the Response was refused (5.3: for example because of another Service Code).
        PacketType::Reset => {
            let waits = conn.state() == Some("REQUEST") && conn.expected.arrivals == 0;
            let nothing = ack == Seq::ZERO && (!conn.got.response || waits);
            hold!(
                known.is_some() || nothing || conn.arrivals.is_empty(),
                "ack-received",
                "a Reset acknowledges {ack:?}, which never came"
            );
        }
        PacketType::Sync => hold!(
            known.is_some(),
            "ack-sync",
            "a Sync asks about {ack:?}, which never came"
        ),
        PacketType::SyncAck => hold!(
            known.is_some_and(|known| known.counts && known.is_sync),
            "ack-sync-ack",
            "a SyncAck answers {ack:?}, which is no Sync that came"
        ),
        _ => {
            hold!(
                known.is_some_and(|known| known.counts),
                "ack-received",
                "{packet_type:?} acknowledges {ack:?}, which never came"
            );
            let may = conn.expected.gsr.clone();
            let old = conn.last.as_ref().map(|(.., seen)| vec![seen.gsr]);
            // Before the state RESPOND is observed, GSR is unknown.
            if let Some(may) = may.or(old).filter(|_| honest) {
                hold!(
                    may.contains(&ack),
                    "ack-greatest",
                    "{packet_type:?} acknowledges {ack:?}, and {may:?} came last"
                );
            }
        }
    }
    Ok(())
}

/// Checks that an NDP Count is the number of consecutive non-data packets before (RFC 4340, 7.7).
fn check_ndp_count(conn: &Conn, packet: &Packet<'_>) -> Verdict {
    let says = packet
        .options
        .iter()
        .find_map(|raw| match DccpOption::decode(raw) {
            Ok(DccpOption::NdpCount(count)) => Some(count),
            _ => None,
        });
    let quiet = conn.out.quiet;
    hold!(
        says.is_none_or(|says| says == quiet),
        "option-ndp",
        "an NDP Count of {says:?} behind {quiet} packets without data"
    );
    // RFC 4340, 7.7.2: if agreed on, it may be omitted only directly after a data packet.
    let agreed = conn
        .last
        .as_ref()
        .is_some_and(|(.., seen)| seen.ndp_sent && conn.expected.arrivals == 0);
    let handshake = matches!(
        packet.packet_type(),
        PacketType::Request | PacketType::Response
    );
    hold!(
        !agreed || quiet == 0 || handshake || says.is_some(),
        "option-ndp-missing",
        "no NDP Count behind {quiet} packets without data"
    );
    Ok(())
}

/// Checks the value of one option.
fn check_value(books: &Books, conn: &Conn, option: DccpOption<'_>, ack: Option<Seq>) -> Verdict {
    let age_of = |since: fairwire_units::Instant| books.local.saturating_since(since) + TICK;
    let told = |ticks: u32| TICK * u64::from(ticks);
    match option {
        // RFC 4340, 13.2: the time since the acknowledged packet arrived.
        DccpOption::ElapsedTime(ticks) => {
            let came = ack.and_then(|ack| conn.arrivals.get(&ack.get()));
            hold!(
                came.is_some_and(|came| told(ticks) <= age_of(came.at)),
                "option-elapsed",
                "Elapsed Time says {}, and {ack:?} came at {:?}",
                told(ticks),
                came.map(|came| came.at)
            );
        }
        // RFC 4340, 13.3: an echo of a Timestamp that arrived, with the time since its arrival.
        DccpOption::TimestampEcho { timestamp, elapsed } => {
            let came = conn.timestamps.get(&timestamp);
            let known = came.is_some_and(|&came| elapsed.is_none_or(|e| told(e) <= age_of(came)));
            // Packets that came before the connection was known were not fully recorded.
            hold!(
                known || conn.last.is_none(),
                "option-echo",
                "Timestamp Echo of {timestamp} after {elapsed:?}, which came at {came:?}"
            );
        }
        // RFC 4340, 6.6: no Confirm without a Change.
        DccpOption::ConfirmL { feature, .. } => asked(conn, option_type::CHANGE_R, feature)?,
        DccpOption::ConfirmR { feature, .. } => asked(conn, option_type::CHANGE_L, feature)?,
        _ => {}
    }
    Ok(())
}

/// Checks a Data Dropped option whose blocks begin at `high` and go down from there.
fn dropped(conn: &Conn, blocks: DropBlocks<'_>, high: &mut Seq) -> Verdict {
    for block in blocks.iter() {
        let low = high.sub(u64::from(block.run()) - 1);
        let fine = !matches!(block, DropBlock::Dropped { .. })
            || (low.distance(*high) < 256 && all_came(conn, low, *high));
        hold!(
            fine,
            "option-dropped",
            "data of {low:?} to {high:?} are reported dropped, and some never came"
        );
        *high = low.prev();
    }
    Ok(())
}

/// Checks that a Change arrived which this Confirm answers.
fn asked(conn: &Conn, change: u8, feature: u8) -> Verdict {
    // Packets that came before the connection was known were not fully recorded.
    hold!(
        conn.changes.contains(&(change, feature)) || conn.last.is_none(),
        "option-confirm",
        "a Confirm of feature {feature} answers no Change"
    );
    Ok(())
}

fn all_came(conn: &Conn, low: Seq, high: Seq) -> bool {
    (0..=low.distance(high)).all(|n| conn.took(low.add(n)).is_some())
}
