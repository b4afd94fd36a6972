//! Packets that no endpoint sent: forgeries by attackers on and off the path, and false ICMP errors.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use bytes::Bytes;
use fairwire_proto::{IcmpError, Unreachable};

use super::layout::{Layout, number};
use super::store::{Content, Parcel};
use super::surgery::{seal, set_number};
use crate::dice::Dice;
use crate::plan::{ConnectionPlan, Plan};
use crate::seen::Origin;
use fairwire_wire::option_type::{INIT_COOKIE, RTT_ESTIMATE};

/// Kinds of unreachability.
const WAYS: [Unreachable; 7] = [
    Unreachable::Port,
    Unreachable::Network,
    Unreachable::Host,
    Unreachable::HopLimit,
    Unreachable::NotPermitted,
    Unreachable::Prohibited,
    Unreachable::Protocol,
];

/// Returns the ICMP error with this number in a plan.
pub(super) fn unreachable(number: u8) -> IcmpError {
    IcmpError::Unreachable {
        why: WAYS[usize::from(number) % WAYS.len()],
    }
}

/// Forges a packet of type `kind`, modelled on one that passed (`like`), or by guessing.
pub(super) fn forge(
    dice: &mut Dice,
    plan: &Plan,
    (from, to): (SocketAddr, SocketAddr),
    (kind, like): (u8, Option<&[u8]>),
) -> Parcel {
    let known = like.and_then(|like| Layout::of(like).map(|layout| (like, layout)));
    let (ports, seq, ack) = match &known {
        Some((like, layout)) => {
            let seq = number(like, layout.seq.clone());
            let ack = layout.ack.clone().map(|ack| number(like, ack));
            let near = seq.wrapping_add(dice.pick(&[0, 1, 2, 3, 20, 100, 600, 5_000, 60_000]));
            ([like[0], like[1], like[2], like[3]], near, ack)
        }
        None => (guessed_ports(dice, plan), dice.bits(), None),
    };
    // The data packet with all its options, but with another sequence number and window counter.
    if let (Some((like, layout)), 2 | 4) = (&known, kind)
        && matches!(like[8] >> 1 & 15, 2 | 4)
        && dice.per_mille(500)
    {
        let mut head = like.to_vec();
        let bits = layout.seq.len() * 8;
        set_number(&mut head, layout.seq.clone(), seq & ((1 << bits) - 1));
        head[5] = dice.byte() & 0xF0 | head[5] & 0x0F;
        // Some packets state a round-trip time of a microsecond (RFC 6323), and are consecutive beyond a hole.
        if dice.per_mille(500)
            && let Some((_, place)) = layout.list(like).iter().find(|(ty, _)| *ty == RTT_ESTIMATE)
        {
            let row = dice.below(6);
            set_number(&mut head, place.start + 2..place.end, 1);
            set_number(
                &mut head,
                layout.seq.clone(),
                (seq + row) & ((1 << bits) - 1),
            );
        }
        let payload = (0..dice.between(60, 100)).map(|_| dice.byte()).collect();
        return parcel((from, to), head, payload, plan.udp);
    }
    // A forger who needs a long number cannot use a short one.
    let is_long = !matches!(&known, Some((_, layout)) if layout.seq.len() == 3);
    let mut head = begin(ports, kind, is_long, seq);
    if !matches!(kind, 0 | 2 | 10) {
        let ack = ack.unwrap_or_else(|| dice.bits());
        let place = head.len();
        if is_long {
            head.extend_from_slice(&[0; 8]);
            set_number(&mut head, place + 2..place + 8, ack & ((1 << 48) - 1));
        } else {
            head.extend_from_slice(&[0; 4]);
            set_number(&mut head, place + 1..place + 4, ack & ((1 << 24) - 1));
        }
    }
    match kind {
        0 | 1 | 10 => head.extend_from_slice(b"fair"),
        7 => head.extend_from_slice(&[dice.small(0, 13), 0, 0, 0]),
        _ => {}
    }
    if dice.per_mille(300) {
        for _ in 0..dice.between(1, 8) * 4 {
            head.push(dice.byte());
        }
    }
    head[4] = u8::try_from(head.len() / 4).unwrap_or(u8::MAX);
    let payload = if matches!(kind, 0 | 1 | 2 | 4) {
        (0..dice.below(40)).map(|_| dice.byte()).collect()
    } else {
        Bytes::new()
    };
    parcel((from, to), head, payload, plan.udp)
}

/// Returns the number of the packet's type.
pub(super) fn packet_type(head: &[u8]) -> Option<u8> {
    head.get(8).map(|byte| byte >> 1 & 15)
}

/// Returns whether the packet is Data or `DataAck`.
pub(super) fn is_data(head: &[u8]) -> bool {
    matches!(packet_type(head), Some(2 | 4))
}

/// Forges data packets modelled on `like`, with numbers `ahead` of it, that state a round-trip time.
pub(super) fn row(
    plan: &Plan,
    addresses: (SocketAddr, SocketAddr),
    like: &[u8],
    ahead: RangeInclusive<u64>,
    stated_us: u16,
) -> Vec<Parcel> {
    let Some(layout) = Layout::of(like) else {
        return Vec::new();
    };
    let mut head = like.to_vec();
    let options = layout.list(like);
    let stated = options.iter().find(|(ty, _)| *ty == RTT_ESTIMATE);
    if let Some((_, place)) = stated {
        set_number(&mut head, place.start + 2..place.end, stated_us.into());
    } else {
        let [high, low] = stated_us.to_be_bytes();
        head.splice(layout.options.end.., [RTT_ESTIMATE, 4, high, low]);
        head[4] = head[4].saturating_add(1);
    }
    let bits = layout.seq.len() * 8;
    let seq = number(like, layout.seq.clone());
    let numbered = ahead.map(|ahead| {
        let mut head = head.clone();
        let seq = seq.wrapping_add(ahead) & ((1 << bits) - 1);
        set_number(&mut head, layout.seq.clone(), seq);
        parcel(addresses, head, Bytes::from_static(&[0; 100]), plan.udp)
    });
    numbered.collect()
}

/// Turns a Response into the next one with other Init Cookies. Returns false if it has none.
pub(super) fn next_response(parcel: &mut Parcel, udp: bool) -> bool {
    let Content::Dccp { head, .. } = &mut parcel.content else {
        return false;
    };
    let Some(layout) = Layout::of(head).filter(|_| head[8] >> 1 & 15 == 1) else {
        return false;
    };
    let options = layout.list(head);
    let cookies: Vec<_> = options
        .iter()
        .filter(|(ty, _)| *ty == INIT_COOKIE)
        .collect();
    for (_, place) in &cookies {
        head[place.start + 2..place.end].reverse();
    }
    let seq = number(head, layout.seq.clone());
    set_number(head, layout.seq, seq.wrapping_add(1) & ((1 << 48) - 1));
    let found = !cookies.is_empty();
    parcel.origin = Origin::Forged;
    seal(parcel, udp);
    found
}

/// Forges a Request from a host that does not exist.
///
/// Sometimes there are two: the first requests the widest Sequence Window, and the second makes use of it.
pub(super) fn forge_request(
    dice: &mut Dice,
    plan: &Plan,
    to: SocketAddr,
    of: &ConnectionPlan,
) -> Vec<Parcel> {
    let mut from = to;
    from.set_ip(match to.ip() {
        IpAddr::V4(_) => IpAddr::from([192, 0, dice.byte() % 4, dice.byte()]),
        IpAddr::V6(_) => {
            let mut octets = [0x20; 16];
            octets[7] = dice.byte() % 4;
            octets[15] = dice.byte();
            IpAddr::from(octets)
        }
    });
    let [s0, s1] = dice.small::<u16>(1, 60_000).to_be_bytes();
    let [d0, d1] = of.port().to_be_bytes();
    let seq = dice.bits();
    let mut head = begin([s0, s1, d0, d1], 0, true, seq);
    head.extend_from_slice(b"fair");
    head[4] = 5;
    if !dice.per_mille(100) {
        return vec![parcel((from, to), head, Bytes::new(), plan.udp)];
    }
    let ahead = dice.magnitude(1, 1 << 45);
    let second = begin([s0, s1, d0, d1], 0, true, seq.wrapping_add(ahead));
    let mut second = [second, b"fair".to_vec()].concat();
    second[4] = 5;
    // Change L of feature 3, 2^46 - 1 (RFC 4340, 7.5.2).
    head.extend_from_slice(&[32, 9, 3, 0x3F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0]);
    head[4] = 8;
    let data = Bytes::from_static(b"data");
    let pair = [head, second].map(|head| parcel((from, to), head, data.clone(), plan.udp));
    pair.into()
}

/// Returns a generic header.
fn begin(ports: [u8; 4], kind: u8, is_long: bool, seq: u64) -> Vec<u8> {
    let mut head = ports.to_vec();
    head.resize(if is_long { 16 } else { 12 }, 0);
    head[8] = (kind & 15) << 1 | u8::from(is_long);
    let place = if is_long { 10..16 } else { 9..12 };
    let bits = place.len() * 8;
    set_number(&mut head, place, seq & ((1 << bits) - 1));
    head
}

fn guessed_ports(dice: &mut Dice, plan: &Plan) -> [u8; 4] {
    let [mut c, mut s] = match plan.connections.as_slice() {
        [] => [1, 2],
        all => {
            let plan = &all[dice.index(all.len())];
            [plan.client_port(), plan.port()]
        }
    };
    if dice.per_mille(500) {
        std::mem::swap(&mut c, &mut s);
    }
    let ([c0, c1], [s0, s1]) = (c.to_be_bytes(), s.to_be_bytes());
    [c0, c1, s0, s1]
}

fn parcel(
    (from, to): (SocketAddr, SocketAddr),
    head: Vec<u8>,
    payload: Bytes,
    udp: bool,
) -> Parcel {
    let mut parcel = Parcel {
        from,
        to,
        origin: Origin::Forged,
        intact: true,
        dont_fragment: false,
        content: Content::Dccp { head, payload },
    };
    seal(&mut parcel, udp);
    parcel
}

/// Forges an ICMP error about a packet that was sent to `about`; `seen` is such a packet.
pub(super) fn false_icmp(
    dice: &mut Dice,
    (to, about): (SocketAddr, SocketAddr),
    (says, quote): (u8, u8),
    seen: Option<&[u8]>,
) -> Parcel {
    let error = match says {
        0 | 8 => IcmpError::TooBig {
            mtu: dice.pick(&[0, 68, 296, 576, 600, 1_280, 1_400, 65_535]),
        },
        says => unreachable(says - 1),
    };
    let seen = seen.unwrap_or_default();
    let quote = match quote {
        0 => Vec::new(),
        1 => seen[..seen.len().min(8)].to_vec(),
        2 => seen.to_vec(),
        _ => {
            let mut wrong = seen.to_vec();
            if let Some(layout) = Layout::of(seen) {
                let bits = layout.seq.len() * 8;
                set_number(&mut wrong, layout.seq, dice.bits() & ((1 << bits) - 1));
            }
            wrong
        }
    };
    Parcel {
        from: about,
        to,
        origin: Origin::Forged,
        intact: true,
        dont_fragment: false,
        content: Content::Icmp {
            error,
            quote,
            genuine: false,
            about,
        },
    }
}
