//! A second packet decoder, written from the figures of RFC 4340, section 5, bit by bit and without the crate's
//! arithmetic.

use fairwire_wire::{DecodeError, Kind, Packet, PacketType, Seq, SeqNo};

/// The fields of a packet, as bits.
#[derive(Debug)]
pub(super) struct Fields {
    ports: (u64, u64),
    data_offset: usize,
    ccval: u64,
    cscov: u64,
    checksum: u64,
    packet_type: u64,
    x: u64,
    seq: u64,
    /// Where the Acknowledgement Number begins, its reserved bits included.
    subheader: usize,
    fixed: usize,
}

/// Per type: whether it has an Acknowledgement Number, has four bytes of its own, and may have X = 0.
const TYPES: [(bool, bool, bool); 11] = [
    (false, true, false), // Request
    (true, true, false),  // Response
    (false, false, true), // Data
    (true, false, true),  // Ack
    (true, false, true),  // DataAck
    (true, false, false), // CloseReq
    (true, false, false), // Close
    (true, true, false),  // Reset
    (true, false, false), // Sync
    (true, false, false), // SyncAck
    (false, true, false), // Listen
];

/// Returns `count` bits of `data` from bit `first` on, the highest first.
fn bits(data: &[u8], first: usize, count: usize) -> u64 {
    (first..first + count).fold(0, |number, at| {
        number << 1 | u64::from(data[at / 8] >> (7 - at % 8) & 1)
    })
}

/// Reads a packet, or returns why it must be ignored.
pub(super) fn read(data: &[u8]) -> Result<Fields, DecodeError> {
    if data.len() < 12 {
        let got = data.len();
        return Err(DecodeError::Truncated { needed: 12, got });
    }
    let packet_type = bits(data, 67, 4);
    let x = bits(data, 71, 1);
    let number = u8::try_from(packet_type).expect("four bits");
    let Some(&(has_ack, has_own, may_be_short)) = TYPES.get(usize::from(number)) else {
        return Err(DecodeError::ReservedType { number });
    };
    let name = PacketType::from_number(number).expect("it is in the table");
    if x == 0 && !may_be_short {
        return Err(DecodeError::ShortSeqForbidden { packet_type: name });
    }
    let subheader = if x == 1 { 16 } else { 12 };
    let ack = match (has_ack, x) {
        (false, _) => 0,
        (true, 1) => 8,
        (true, _) => 4,
    };
    let fixed = subheader + ack + if has_own { 4 } else { 0 };
    let data_offset = usize::from(data[4]) * 4;
    if data_offset < fixed {
        return Err(DecodeError::DataOffsetTooSmall {
            packet_type: name,
            offset: data_offset,
            minimum: fixed,
        });
    }
    let Some(payload) = data.len().checked_sub(data_offset) else {
        return Err(DecodeError::DataOffsetBeyondPacket {
            offset: data_offset,
            got: data.len(),
        });
    };
    let cscov = bits(data, 44, 4);
    let covers = usize::try_from(cscov).expect("four bits").saturating_sub(1) * 4;
    if cscov > 0 && covers > payload {
        return Err(DecodeError::CsCovTooLarge {
            cscov: data[5] % 16,
            covers,
            payload,
        });
    }
    Ok(Fields {
        ports: (bits(data, 0, 16), bits(data, 16, 16)),
        data_offset,
        ccval: bits(data, 40, 4),
        cscov,
        checksum: bits(data, 48, 16),
        packet_type,
        x,
        seq: if x == 1 {
            bits(data, 80, 48)
        } else {
            bits(data, 72, 24)
        },
        subheader,
        fixed,
    })
}

impl Fields {
    /// Asserts that the packet has the values of the bits.
    pub(super) fn compare(&self, packet: &Packet<'_>, data: &[u8]) {
        let ports = (packet.ports.source, packet.ports.destination);
        assert_eq!((u64::from(ports.0), u64::from(ports.1)), self.ports);
        assert_eq!(packet.data_offset, self.data_offset);
        assert_eq!(u64::from(packet.ccval), self.ccval);
        assert_eq!(u64::from(packet.cscov), self.cscov);
        assert_eq!(u64::from(packet.checksum), self.checksum);
        assert_eq!(u64::from(packet.packet_type().number()), self.packet_type);
        assert_eq!(number(packet.seq), (self.x, self.seq));
        let at = self.subheader * 8;
        let ack = match self.x {
            1 => (1, at + 16, 48),
            _ => (0, at + 8, 24),
        };
        let has_ack = TYPES[usize::from(packet.packet_type().number())].0;
        let expected = has_ack.then(|| (ack.0, bits(data, ack.1, ack.2)));
        assert_eq!(packet.ack().map(number), expected);
        let own = bits(data, (self.fixed - 4) * 8, 32);
        match packet.kind {
            Kind::Request { service }
            | Kind::Response { service, .. }
            | Kind::Listen { service } => assert_eq!(u64::from(service.0), own),
            Kind::Reset { code, data, .. } => {
                let [a, b, c] = data;
                assert_eq!(u64::from(u32::from_be_bytes([code.number(), a, b, c])), own);
            }
            _ => {}
        }
        assert_eq!(
            packet.options.as_bytes(),
            &data[self.fixed..self.data_offset]
        );
        self.extension(packet.seq);
    }

    /// Checks RFC 4340, 7.6: a short number is extended to one that ends with it and is at most half of its circle away
    /// from the reference.
    fn extension(&self, seq: SeqNo) {
        for reference in [0, self.seq << 24 | self.ports.0, (1 << 48) - 1] {
            let reference = Seq::new(reference);
            let whole = seq.extend(reference);
            match seq {
                SeqNo::Long(seq) => assert_eq!(whole, seq),
                SeqNo::Short(_) => {
                    assert_eq!(u64::from(whole.short()), self.seq);
                    let away = whole.delta(reference).unsigned_abs();
                    assert!(away <= 1 << 23, "{whole} from {reference}");
                }
            }
        }
    }
}

fn number(number: SeqNo) -> (u64, u64) {
    match number {
        SeqNo::Long(seq) => (1, seq.get()),
        SeqNo::Short(short) => (0, u64::from(short)),
    }
}
