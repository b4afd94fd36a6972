//! Tests of the endpoint: two endpoints on a virtual clock, and hand-made packets.

#![expect(
    clippy::field_reassign_with_default,
    reason = "a test sets only the fields that it changes, one per line"
)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "the numbers of tests are small"
)]

mod pair;

mod ack_ratio;
mod admit;
mod adversarial;
mod bounds;
mod ccid;
mod closing;
mod cookies;
mod deadlines;
mod dropped;
mod ecn;
mod flood;
mod full_acks;
mod gsr_rollback;
mod handshake;
mod hostile;
mod integrity;
mod invite;
mod kernel;
mod liveness;
mod memory;
mod model;
mod mtu;
mod nonce;
mod options;
mod paths;
mod pauses;
mod quiescence;
mod reflection;
mod resend;
mod room;
mod rtt_estimate;
mod short;
mod silence;
mod silent_errors;
mod subflows;
mod sweep;
mod sync;
mod target;
mod transfer;
mod turns;
mod unreachable;
mod worlds;

use fairwire_units::Ecn;
use fairwire_wire::{Encoder, HeadBuf, Kind, PacketType, Ports, ResetCode, Seq, SeqNo};

use crate::seal::seal;
use crate::{Payload, Transmit};
use pair::{Pair, SERVICE, Wire};

/// Returns a packet of this type that acknowledges `ack`, where the type carries an acknowledgement.
fn kind_of(packet_type: PacketType, ack: SeqNo) -> Kind {
    let service = SERVICE;
    match packet_type {
        PacketType::Request => Kind::Request { service },
        PacketType::Response => Kind::Response { ack, service },
        PacketType::Data => Kind::Data,
        PacketType::Ack => Kind::Ack { ack },
        PacketType::DataAck => Kind::DataAck { ack },
        PacketType::CloseReq => Kind::CloseReq { ack },
        PacketType::Close => Kind::Close { ack },
        PacketType::Reset => Kind::Reset {
            ack,
            code: ResetCode::Aborted,
            data: [0; 3],
        },
        PacketType::Sync => Kind::Sync { ack },
        PacketType::SyncAck => Kind::SyncAck { ack },
        PacketType::Listen => Kind::Listen { service },
    }
}

/// Builds a packet from side `from` with the given ports and number.
fn forged(pair: &Pair, from: usize, ports: Ports, seq: Seq, kind: &Kind) -> Wire {
    let mut head = HeadBuf::new();
    let path = pair.path(from);
    let encoder = Encoder::new(&mut head, ports, seq.into(), kind, 0, 0);
    seal(encoder, &path, &Payload::EMPTY, 0);
    let transmit = Transmit {
        path,
        ecn: Ecn::NotEct,
        dont_fragment: true,
        payload: Payload::EMPTY,
        connection: None,
        id: None,
    };
    Wire {
        at: pair.now,
        from,
        head: head.as_slice().to_vec(),
        transmit,
    }
}

/// Sets the right checksum in a modified packet.
fn reseal(wire: &mut Wire, path: &crate::Path) {
    use fairwire_wire::checksum::{PseudoHeader, Sum, compute};
    let pseudo = PseudoHeader::new(path.local.ip(), path.remote.ip()).expect("one family");
    let payload = &wire.transmit.payload;
    let covered = match payload {
        Payload::Bytes(_) | Payload::Sealed(_) => Sum::of(payload.as_slice()),
        Payload::Synthetic { len, .. } => Sum::zeros(*len as usize),
    };
    let sum = compute(pseudo, &wire.head, covered, payload.len());
    wire.head[6..8].copy_from_slice(&sum.to_be_bytes());
}
