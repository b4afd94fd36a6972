//! Packets made by hand, and their checksums.

use fairwire_proto::{Encapsulation, Meta, Path, Payload, Transmit};
use fairwire_units::{Ecn, Instant};
use fairwire_wire::checksum::{PseudoHeader, Sum, compute, coverage};
use fairwire_wire::{Encoder, HeadBuf, Kind, PacketType, Ports, ResetCode, SeqNo};

use super::configs::SERVICE;
use super::wire::Wire;

const CHECKSUM: usize = 6;

/// Returns a packet of this type that acknowledges `ack`, where the type carries an acknowledgement.
pub fn kind_of(packet_type: PacketType, ack: SeqNo) -> Kind {
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

/// A packet that a test makes: what its header says.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Its ports.
    pub ports: Ports,
    /// Its number.
    pub seq: SeqNo,
    /// Its type.
    pub kind: Kind,
    /// `CCVal`.
    pub ccval: u8,
    /// Checksum Coverage.
    pub cscov: u8,
    /// Its data.
    pub payload: Payload,
}

impl Draft {
    /// Begins a packet without data.
    pub fn new(ports: Ports, seq: impl Into<SeqNo>, kind: Kind) -> Self {
        Self {
            ports,
            seq: seq.into(),
            kind,
            ccval: 0,
            cscov: 0,
            payload: Payload::EMPTY,
        }
    }

    /// Gives it data.
    #[must_use]
    pub fn with(mut self, payload: Payload) -> Self {
        self.payload = payload;
        self
    }

    /// Writes its header with these options and the checksum of `path`.
    pub fn head(&self, path: &Path, options: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
        let mut head = HeadBuf::new();
        let mut encoder = Encoder::new(
            &mut head, self.ports, self.seq, &self.kind, self.ccval, self.cscov,
        );
        options(&mut encoder);
        let mut head = encoder.finish().as_slice().to_vec();
        seal(&mut head, path, self.payload.len(), |n| {
            sum(&self.payload, n)
        });
        head
    }

    /// Makes the packet as side `from` sends it along `path`.
    pub fn wire(
        self,
        (at, from, path): (Instant, usize, Path),
        options: impl FnOnce(&mut Encoder<'_>),
    ) -> Wire {
        let head = self.head(&path, options);
        let transmit = Transmit {
            path,
            ecn: Ecn::NotEct,
            dont_fragment: true,
            payload: self.payload,
            connection: None,
            id: None,
        };
        Wire {
            at,
            from,
            head,
            transmit,
        }
    }
}

/// Returns how a packet arrives along `path` that is not ECN-capable.
pub fn plain(path: Path) -> Meta {
    let ecn = Ecn::NotEct;
    Meta { path, ecn }
}

/// Writes the checksum that `path` requires, given the sum of so many bytes of data; in UDP there is none.
fn seal(head: &mut [u8], path: &Path, len: usize, sum: impl FnOnce(usize) -> Sum) {
    if path.encapsulation == Encapsulation::Native {
        let covered = coverage(head[CHECKSUM - 1] & 15, len).min(len);
        write_checksum(head, path, sum(covered), len);
    }
}

/// Returns the sum over the first bytes of a payload.
fn sum(payload: &Payload, bytes: usize) -> Sum {
    match payload.as_slice().get(..bytes) {
        Some(stored) => Sum::of(stored),
        None => Sum::zeros(bytes),
    }
}

fn write_checksum(head: &mut [u8], path: &Path, covered: Sum, len: usize) {
    let pseudo = PseudoHeader::new(path.local.ip(), path.remote.ip()).expect("one family");
    let sum = compute(pseudo, head, covered, len);
    head[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Writes a checksum over the header and all data into a modified packet, also in UDP, where it is ignored.
pub fn reseal(wire: &mut Wire, path: &Path) {
    let payload = &wire.transmit.payload;
    let covered = sum(payload, payload.len());
    write_checksum(&mut wire.head, path, covered, payload.len());
}

/// Writes the checksum that `path` requires into the bytes of a packet. `path` may be that of either end. Nothing
/// changes if its Data Offset makes no sense.
pub fn reseal_bytes(bytes: &mut [u8], path: &Path) {
    let head_len = bytes.get(4).map_or(0, |&words| usize::from(words) * 4);
    if head_len >= CHECKSUM + 2
        && let Some((head, payload)) = bytes.split_at_mut_checked(head_len)
    {
        seal(head, path, payload.len(), |n| Sum::of(&payload[..n]));
    }
}
