//! Packets of the peer: those of an honest handshake, and any that the input describes.

use arbitrary::Unstructured;
use fairwire_kit::{kind_of, reseal_bytes};
use fairwire_units::{Duration, Ecn};
use fairwire_wire::{
    Encoder, HeadBuf, Kind, PacketType, Ports, ResetCode, Seq, SeqNo, ServiceCode,
};

use super::flow::Flow;
use super::number;
use super::options::{self, Written};
use super::peer::{SERVICE, World};
use crate::content::datagram;
use crate::setup::{byte, pick};

/// Data lengths of a packet, bytes.
const LENGTHS: [usize; 8] = [0, 1, 3, 20, 100, 512, 1_400, 8_000];

/// How often a packet is repeated, with consecutive or spaced numbers.
const REPEATS: [u16; 8] = [1, 2, 5, 16, 40, 64, 130, 300];

/// The contents of a packet besides its options.
#[derive(Clone, Copy, Debug)]
struct Fields {
    kind: Kind,
    seq: SeqNo,
    ccval_cscov: u8,
    payload: (u64, usize),
}

/// Encodes a packet of `flow`.
fn encode(flow: &Flow, fields: Fields, options: &[Written]) -> Vec<u8> {
    let ports = Ports {
        source: flow.local_port,
        destination: flow.remote_port,
    };
    let by = fields.ccval_cscov;
    let mut head = HeadBuf::new();
    let mut encoder = Encoder::new(&mut head, ports, fields.seq, &fields.kind, by >> 4, by & 15);
    for (ty, data) in options {
        if encoder.raw_option(*ty, data).is_err() {
            break;
        }
    }
    let mut bytes = encoder.finish().as_slice().to_vec();
    bytes.extend_from_slice(&datagram(fields.payload.0, fields.payload.1));
    reseal_bytes(&mut bytes, &flow.path);
    bytes
}

/// Returns this packet type with fields from the input.
fn kind(ty: PacketType, ack: SeqNo, how: u8) -> Kind {
    let service = match how & 3 {
        0..=2 => SERVICE,
        _ => pick(
            &[
                ServiceCode(43),
                ServiceCode(99),
                ServiceCode::INVALID,
                ServiceCode::NONE,
            ],
            how >> 2,
        ),
    };
    match ty {
        PacketType::Request => Kind::Request { service },
        PacketType::Response => Kind::Response { ack, service },
        PacketType::Reset => Kind::Reset {
            ack,
            code: ResetCode::from_number(how),
            data: [how; 3],
        },
        PacketType::Listen => Kind::Listen { service },
        _ => kind_of(ty, ack),
    }
}

/// Returns whether this type has a field that the input should fill.
fn has_more(ty: PacketType) -> bool {
    ty.has_service() || ty == PacketType::Reset
}

impl World {
    /// Sends an honest packet of the peer, with the next number and an acknowledgement of everything received.
    fn honest(&mut self, at: usize, ty: PacketType, options: &[Written], payload: (u64, usize)) {
        let flow = &mut self.flows[at];
        let seq = flow.last.next();
        flow.note_sent(seq);
        let fields = Fields {
            kind: kind(ty, flow.heard.into(), 0),
            seq: seq.into(),
            ccval_cscov: 0,
            payload,
        };
        let bytes = encode(flow, fields, options);
        let path = flow.path;
        self.launch(path, Ecn::NotEct, bytes);
    }

    /// Performs a complete handshake, with features and delays from the input.
    pub(super) fn open(&mut self, which: usize, u: &mut Unstructured<'_>) {
        let at = self.flow(which);
        let how = byte(u);
        let trip = pick(&[10, 0, 1, 100], how >> 6);
        let first = pick(&[1_000, (1 << 48) - 3, 0, 1 << 47], how >> 4);
        let wishes = options::wishes(how);
        if self.flows[at].is_ours {
            if self.flows[at].numbers.is_empty() {
                self.begin(at & 1, u);
            }
            self.flows[at].restart_peer(Seq::new(first));
            self.run_for(Duration::from_millis(trip));
            let mut answers = options::confirms(&self.flows[at]);
            answers.extend(wishes);
            self.honest(at, PacketType::Response, &answers, (0, 0));
            self.run_for(Duration::from_millis(trip));
            let answers = options::confirms(&self.flows[at]);
            self.honest(at, PacketType::DataAck, &answers, (u64::from(how), 10));
        } else {
            self.flows[at].restart(Seq::new(first));
            self.honest(at, PacketType::Request, &wishes, (0, 0));
            self.run_for(Duration::from_millis(trip));
            let mut answers = options::confirms(&self.flows[at]);
            answers.extend(options::cookie(&self.flows[at]));
            self.honest(at, PacketType::Ack, &answers, (0, 0));
        }
        self.flows[at].asks.clear();
    }

    /// Sends an honest acknowledgement with the feedback of every CCID.
    pub(super) fn acknowledge(&mut self, which: usize) {
        let at = self.flow(which);
        if which & 4 != 0 {
            self.run_for(Duration::from_millis(10));
        }
        let options = options::honest(&self.flows[at], which);
        let ty = if which & 8 == 0 {
            PacketType::Ack
        } else {
            PacketType::DataAck
        };
        self.honest(
            at,
            ty,
            &options,
            (which as u64, if which & 8 == 0 { 0 } else { 50 }),
        );
    }

    /// Sends a packet as the input describes it, once or several times with increasing numbers.
    pub(super) fn craft(&mut self, which: usize, u: &mut Unstructured<'_>) {
        const TYPES: [PacketType; 16] = [
            PacketType::Data,
            PacketType::Ack,
            PacketType::DataAck,
            PacketType::Request,
            PacketType::Response,
            PacketType::CloseReq,
            PacketType::Close,
            PacketType::Reset,
            PacketType::Sync,
            PacketType::SyncAck,
            PacketType::Listen,
            PacketType::Data,
            PacketType::Ack,
            PacketType::DataAck,
            PacketType::Ack,
            PacketType::DataAck,
        ];
        let ty = TYPES[which % TYPES.len()];
        let (flags, data) = (byte(u), byte(u));
        let at = self.flow(usize::from(flags & 3));
        let seq = number::seq(&self.flows[at], u);
        let ack = if ty.has_ack() {
            number::ack(&self.flows[at], u)
        } else {
            Seq::ZERO
        };
        let short = flags & 4 != 0 && ty.may_be_short();
        let more = if has_more(ty) { byte(u) } else { 0 };
        let ccval_cscov = if flags & 8 != 0 { byte(u) } else { 0 };
        let repeats = if flags & 16 != 0 {
            pick(&REPEATS, byte(u))
        } else {
            1
        };
        let len = pick(&LENGTHS, data);
        let options = options::draw(&self.flows[at], usize::from(data >> 3 & 7), len, u);
        let gap = u64::from(data >> 6) * u64::from(repeats > 1) + 1;
        let ecn = Ecn::from_bits(flags >> 5);
        for n in 0..u64::from(repeats) {
            if self.is_exhausted() {
                break;
            }
            let seq = seq.add(n * gap);
            let number = |seq: Seq| {
                if short {
                    SeqNo::Short(seq.short())
                } else {
                    SeqNo::Long(seq)
                }
            };
            let fields = Fields {
                kind: kind(ty, number(ack), more),
                seq: number(seq),
                ccval_cscov,
                payload: (n + u64::from(data), len),
            };
            let flow = &mut self.flows[at];
            flow.note_sent(seq);
            let mut bytes = encode(flow, fields, &options);
            if flags & 128 != 0 {
                bytes[6] ^= 0x55;
            }
            let path = flow.path;
            self.launch(path, ecn, bytes);
        }
    }
}
