use super::{DELIVERED, DEPARTED, Digest, DigestValue, record};
use crate::{DropReason, FlowId, Handle, LinkId, NodeId, Observation, Observer, Packet, Place};
use fairwire_units::{Ecn, Instant};
use xxhash_rust::xxh3::xxh3_128;

fn packet(flow: u32, handle: u32) -> Packet {
    Packet {
        source: NodeId(0),
        destination: NodeId(1),
        flow: FlowId(flow),
        wire_len: 1500,
        ecn: Ecn::Ect0,
        handle: Handle(handle),
    }
}

fn seen(at: u64, place: Place, packet: &Packet) -> Observation<'_, ()> {
    Observation {
        at: Instant::from_nanos(at),
        place,
        packet,
        store: &(),
    }
}

const LINK: Place = Place::Link(LinkId(0));

/// Digests a departure, a delivery and a drop on one link, and a drop at a node.
fn sample(handle: u32) -> Digest {
    let mut digest = Digest::new();
    let (a, b) = (packet(7, handle), packet(8, handle + 1));
    digest.entered(&seen(0, LINK, &a));
    digest.departed(&seen(5, LINK, &a));
    digest.dropped(&seen(6, LINK, &b), DropReason::QueueFull);
    digest.delivered(&seen(9, LINK, &a));
    digest.dropped(&seen(9, Place::Node(NodeId(3)), &b), DropReason::NoRoute);
    digest
}

/// The layout of the records, the order of their digests and the value do not change.
///
/// If this test fails, every golden digest has changed.
#[test]
fn pinned_layout() {
    let departure = b"\x05\0\0\0\0\0\0\0\0\0\0\0\x07\0\0\0\xdc\x05\0\0\x02\x01\0\0";
    let delivery = b"\x09\0\0\0\0\0\0\0\0\0\0\0\x07\0\0\0\xdc\x05\0\0\x02\x02\0\0";
    let drop = b"\x06\0\0\0\0\0\0\0\0\0\0\0\x08\0\0\0\xdc\x05\0\0\x02\x11\0\0";
    let at_node = b"\x09\0\0\0\0\0\0\0\x03\0\0\0\x08\0\0\0\xdc\x05\0\0\x02\x14\0\0";
    let whole: Vec<u8> = [departure, delivery, drop, at_node]
        .iter()
        .flat_map(|record| xxh3_128(&record[..]).to_le_bytes())
        .collect();
    let value = sample(0).value();
    assert_eq!(value, DigestValue(xxh3_128(&whole)));
    assert_eq!(value.to_string(), "f2460fc83ebb5adece55795257e75a51");
    assert_eq!(sample(0).records(), 4);
}

/// Handles and events inside a queue do not change the digest.
#[test]
fn internals_do_not_show() {
    assert_eq!(sample(0).value(), sample(1_000).value());
}

/// The order of simultaneous events on different links does not change the digest.
#[test]
fn order_across_links_does_not_show() {
    let packet = packet(1, 0);
    let other = Place::Link(LinkId(1));
    let mut one = Digest::new();
    one.departed(&seen(5, LINK, &packet));
    one.departed(&seen(5, other, &packet));
    let mut two = Digest::new();
    two.departed(&seen(5, other, &packet));
    two.departed(&seen(5, LINK, &packet));
    assert_eq!(one.value(), two.value());
}

/// Everything that an observer sees changes the digest: time, link, flow, length, ECN, fate.
#[test]
fn everything_seen_shows() {
    let digest = |at, place, packet: Packet, delivered: bool| {
        let mut digest = Digest::new();
        if delivered {
            digest.delivered(&seen(at, place, &packet));
        } else {
            digest.departed(&seen(at, place, &packet));
        }
        digest.value()
    };
    let p = packet(1, 0);
    let base = digest(5, LINK, p, true);
    assert_ne!(base, digest(6, LINK, p, true), "time");
    assert_ne!(base, digest(5, Place::Link(LinkId(1)), p, true), "link");
    assert_ne!(base, digest(5, LINK, packet(2, 0), true), "flow");
    assert_ne!(
        base,
        digest(
            5,
            LINK,
            Packet {
                wire_len: 1499,
                ..p
            },
            true
        )
    );
    assert_ne!(base, digest(5, LINK, Packet { ecn: Ecn::Ce, ..p }, true));
    assert_ne!(base, digest(5, LINK, p, false), "fate");
}

/// However many records there are, each kind of a link's records is digested in order, apart from all others.
#[test]
fn many_records_are_digested_by_link_and_kind() {
    let mut digest = Digest::new();
    let mut parts = vec![Vec::new(); 6];
    for at in 0..20_000_u64 {
        let (link, delivered) = (u32::from(at % 5 > 2), at % 3 == 0);
        let packet = packet(link, 0);
        let seen = seen(at, Place::Link(LinkId(link)), &packet);
        let fate = if delivered {
            digest.delivered(&seen);
            DELIVERED
        } else {
            digest.departed(&seen);
            DEPARTED
        };
        parts[3 * link as usize + usize::from(delivered)].extend(record(&seen, fate));
    }
    parts.push(Vec::new());
    let parts = parts.iter().flat_map(|part| xxh3_128(part).to_le_bytes());
    let whole: Vec<u8> = parts.collect();
    assert_eq!(digest.value(), DigestValue(xxh3_128(&whole)));
    assert_eq!(digest.records(), 20_000);
}
