//! Init Cookies (RFC 4340, section 8.1.4). A hard invariant.

use fairwire_wire::{DccpOption, Packet, PacketType, Seq};

use super::Verdict;
use super::books::{Books, Key};

/// Returns the cookies in a packet, in order.
fn of(packet: &Packet<'_>) -> Vec<Vec<u8>> {
    let cookies = packet.options.iter();
    let cookies = cookies.filter_map(|raw| match DccpOption::decode(raw) {
        Ok(DccpOption::InitCookie(cookie)) => Some(cookie.to_vec()),
        _ => None,
    });
    cookies.collect()
}

/// Records the cookies of an arriving packet that may be valid.
pub(crate) fn on_arrival(books: &mut Books, key: Key, packet: &Packet<'_>) {
    if packet.packet_type() == PacketType::Response
        && let Some(conn) = books.conn_mut(key)
        && !conn.is_server
    {
        let cookies = of(packet);
        if !conn.cookies.contains(&cookies) {
            conn.cookies.push(cookies);
        }
    }
}

/// Checks that a client returns all cookies of a Response in order (RFC 4340, 8.1.4).
pub(crate) fn check(books: &Books, key: Key, packet: &Packet<'_>, seq: Seq) -> Verdict {
    let Some(conn) = books.conn(key).filter(|conn| !conn.is_server) else {
        return Ok(());
    };
    let cookies = of(packet);
    hold!(
        cookies.is_empty() || conn.cookies.contains(&cookies),
        "cookie-echo",
        "{seq:?} carries {} Init Cookies, and no Response came with these",
        cookies.len()
    );
    Ok(())
}
