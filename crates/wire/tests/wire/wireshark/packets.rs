//! The packets of the captures: every type, option and feature that can be sent.

use fairwire_wire::feature::{Feature, Rule};
use fairwire_wire::udp::port_reuse_data;
use fairwire_wire::{
    AckEntries, DccpOption, DropBlocks, DropCounts, Kind, LossInterval, LossIntervals,
    MAX_OPTION_DATA, NO_LOSS, PacketType, Ports, RTT_TOO_LARGE, ResetCode, Seq, SeqNo, ServiceCode,
};

pub(crate) const PORTS: Ports = Ports {
    source: 40_321,
    destination: 5_009,
};

const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"fdpz");
const SEQ: SeqNo = SeqNo::Long(Seq::new(0xFEDC_BA98_7654));
const ACK: SeqNo = SeqNo::Long(Seq::new(0x8123_4567_89AB));
const SHORT_SEQ: SeqNo = SeqNo::Short(0xFF_FFFE);
const SHORT_ACK: SeqNo = SeqNo::Short(0x80_0001);

/// One packet to send.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// The name of the sample in a failure.
    pub(crate) name: String,
    pub(crate) seq: SeqNo,
    pub(crate) kind: Kind,
    pub(crate) ccval: u8,
    pub(crate) cscov: u8,
    pub(crate) options: Vec<DccpOption<'static>>,
    pub(crate) payload: Vec<u8>,
}

impl Sample {
    fn new(name: impl Into<String>, seq: SeqNo, kind: Kind) -> Self {
        Self {
            name: name.into(),
            seq,
            kind,
            ccval: 0,
            cscov: 0,
            options: Vec::new(),
            payload: Vec::new(),
        }
    }

    /// Creates a `DataAck` with these options and a payload.
    fn with(name: impl Into<String>, options: Vec<DccpOption<'static>>) -> Self {
        Self {
            options,
            payload: payload(9),
            ..Self::new(name, SEQ, Kind::DataAck { ack: ACK })
        }
    }
}

/// Returns every packet that can be sent.
pub(crate) fn everything() -> Vec<Sample> {
    let mut samples = types();
    samples.extend(resets());
    samples.extend(coverages());
    for option in options() {
        samples.push(Sample::with(format!("{option:02X?}"), vec![option]));
    }
    samples.extend(negotiations());
    samples.extend(together());
    samples
}

/// Returns packets that we do not send but a peer may: the options, the feature and the Reset Code of multipath DCCP
/// (RFC 9897).
pub(crate) fn multipath() -> Vec<Sample> {
    let ack = ACK;
    let code = ResetCode::Reserved(13);
    let data = [0; 3];
    vec![
        Sample::with(
            "Multipath option",
            vec![DccpOption::Unknown {
                option_type: 46,
                data: &[9, 3],
            }],
        ),
        Sample::with(
            "Multipath Capable",
            vec![DccpOption::ChangeR {
                feature: 10,
                value: &[0x10, 0x00],
            }],
        ),
        Sample::new("multipath ends", SEQ, Kind::Reset { ack, code, data }),
    ]
}

/// Returns a packet with one Change that has a feature number and no value; we never send it.
pub(crate) fn shortest_change() -> Sample {
    let (feature, value) = (1, &[]);
    let change = DccpOption::ChangeL { feature, value };
    Sample::with("an empty Change", vec![change])
}

fn payload(length: u8) -> Vec<u8> {
    (0..length)
        .map(|n| n.wrapping_mul(37).wrapping_add(5))
        .collect()
}

/// Returns every packet type, in the long and the short form, with and without a payload.
fn types() -> Vec<Sample> {
    let (ack, service) = (ACK, SERVICE);
    let (code, data) = (ResetCode::Closed, [0; 3]);
    let long = PacketType::ALL.map(|packet_type| match packet_type {
        PacketType::Request => Kind::Request { service },
        PacketType::Response => Kind::Response { ack, service },
        PacketType::Data => Kind::Data,
        PacketType::Ack => Kind::Ack { ack },
        PacketType::DataAck => Kind::DataAck { ack },
        PacketType::CloseReq => Kind::CloseReq { ack },
        PacketType::Close => Kind::Close { ack },
        PacketType::Reset => Kind::Reset { ack, code, data },
        PacketType::Sync => Kind::Sync { ack },
        PacketType::SyncAck => Kind::SyncAck { ack },
        PacketType::Listen => Kind::Listen { service },
    });
    let ack = SHORT_ACK;
    let short = [Kind::Data, Kind::Ack { ack }, Kind::DataAck { ack }];
    let mut samples = Vec::new();
    let kinds = long.map(|kind| (SEQ, kind)).into_iter();
    for (seq, kind) in kinds.chain(short.map(|kind| (SHORT_SEQ, kind))) {
        let form = if seq.is_short() { "short" } else { "long" };
        for (ccval, length) in [(0, 0), (15, 1), (6, 90)] {
            samples.push(Sample {
                ccval,
                payload: payload(length),
                ..Sample::new(format!("{form} {kind:?}, {length} bytes"), seq, kind)
            });
        }
    }
    for number in [Seq::ZERO, Seq::MAX] {
        let (seq, ack) = (SeqNo::Long(number), SeqNo::Long(number));
        samples.push(Sample::new(
            format!("Seq {number}"),
            seq,
            Kind::Sync { ack },
        ));
    }
    for service in [ServiceCode::NONE, ServiceCode(42), ServiceCode::INVALID] {
        samples.push(Sample::new(
            format!("{service}"),
            SEQ,
            Kind::Request { service },
        ));
    }
    samples
}

/// Returns every Reset Code with a name, and three CCID-specific ones, with Data bytes for some.
fn resets() -> Vec<Sample> {
    let codes = (0..=12).chain([128, 192, 255]).map(ResetCode::from_number);
    codes
        .map(|code| {
            let data = match code {
                ResetCode::PacketError => [PacketType::Listen.number(), 0, 0],
                ResetCode::OptionError | ResetCode::MandatoryError => [32, 1, 250],
                ResetCode::EncapsulatedPortReuse => port_reuse_data(PacketType::DataAck, 50_001),
                _ => [0; 3],
            };
            Sample {
                payload: b"why".to_vec(),
                ..Sample::new(
                    format!("{code:?}"),
                    SEQ,
                    Kind::Reset {
                        ack: ACK,
                        code,
                        data,
                    },
                )
            }
        })
        .collect()
}

/// Returns every Checksum Coverage that a payload of 61 bytes allows, and the smallest without a payload.
fn coverages() -> Vec<Sample> {
    let mut samples: Vec<_> = (0..16)
        .map(|cscov| Sample {
            cscov,
            ccval: cscov,
            payload: payload(61),
            ..Sample::new(format!("CsCov {cscov}"), SEQ, Kind::Data)
        })
        .collect();
    samples.push(Sample {
        cscov: 1,
        ..Sample::new("CsCov 1 of nothing", SHORT_SEQ, Kind::Data)
    });
    samples
}

/// Entries of every state that is sent, with runs of one, two and 64 packets.
///
/// The first four suffice for a short option; all of them make the longest option.
static ENTRIES: [u8; MAX_OPTION_DATA] = {
    let mut entries = [0x3F; MAX_OPTION_DATA];
    (entries[0], entries[1], entries[2], entries[3]) = (0x00, 0x41, 0xFF, 0xC0);
    entries
};
static INTERVALS: [[u8; 9]; LossInterval::MAX_PER_OPTION] = {
    let mut intervals = [[0, 0, 200, 0, 0, 1, 0, 0, 201]; LossInterval::MAX_PER_OPTION];
    intervals[0] = [0xFF, 0xFF, 0xFE, 0x81, 0x02, 0x03, 0x04, 0x05, 0x06];
    intervals
};
static COUNTS: [[u8; 3]; DropCounts::MAX_PER_OPTION] = {
    let mut counts = [[0, 0, 1]; DropCounts::MAX_PER_OPTION];
    (counts[0], counts[1]) = ([0, 0, 0], [0xFF, 0xFF, 0xFF]);
    counts
};
/// Seven delivered packets, then one dropped packet for each reason, then sixteen for the last reason.
static BLOCKS: [u8; 7] = [0x06, 0x80, 0x90, 0xA0, 0xB0, 0xF0, 0xFF];
static COOKIE: [u8; 40] = [0xC7; 40];

/// Returns every option in all its sizes, without those that negotiate features.
fn options() -> Vec<DccpOption<'static>> {
    let mut options = vec![
        DccpOption::Padding,
        DccpOption::SlowReceiver,
        DccpOption::InitCookie(&[]),
        DccpOption::InitCookie(&COOKIE),
        DccpOption::DataDropped(DropBlocks(&BLOCKS[..1])),
        DccpOption::DataDropped(DropBlocks(&BLOCKS)),
        DccpOption::DataChecksum(0),
        DccpOption::DataChecksum(0xE306_9283),
    ];
    options.extend((0..6).map(|byte| DccpOption::NdpCount(0xFB << (8 * byte))));
    for nonce in [false, true] {
        for entries in [&ENTRIES[..1], &ENTRIES[..4], &ENTRIES] {
            let entries = AckEntries(entries);
            options.push(DccpOption::AckVector { nonce, entries });
        }
    }
    for elapsed in [0, 0xFFFF, 0x1_0000, u32::MAX] {
        options.push(DccpOption::ElapsedTime(elapsed));
        for elapsed in [None, Some(elapsed)] {
            let timestamp = 0xFEDC_BA98;
            options.push(DccpOption::TimestampEcho { timestamp, elapsed });
        }
    }
    for word in [0, 1, 0x8000_0000, NO_LOSS] {
        options.push(DccpOption::Timestamp(word));
        options.push(DccpOption::LossEventRate(word));
        options.push(DccpOption::ReceiveRate(word));
    }
    for first in [Seq::ZERO, Seq::new(0x1234_5678_9ABC), Seq::MAX] {
        options.push(DccpOption::CopyOf(first));
    }
    for (message, index, last) in [(0, 0, 1), (0x1234_5678, 54, 55), (u32::MAX, 255, 255)] {
        options.push(DccpOption::PartOf {
            message,
            index,
            last,
        });
    }
    options.push(DccpOption::CloseCode(&[0, 0, 0, 7]));
    options.push(DccpOption::CloseCode(b"\x80\x00\x00\x01too many players"));
    for us in [0, 255, 256, 0xFFFF, 0x1_0000, RTT_TOO_LARGE] {
        options.push(DccpOption::RttEstimate(us));
    }
    for (skip, count) in [(0, 1), (3, 2), (1, INTERVALS.len())] {
        let intervals = LossIntervals::new(&INTERVALS[..count]);
        options.push(DccpOption::LossIntervals { skip, intervals });
    }
    for count in [1, 2, COUNTS.len()] {
        options.push(DccpOption::DroppedPackets(DropCounts::new(
            &COUNTS[..count],
        )));
    }
    options
}

/// Returns Change and Confirm of every feature from both sides, with lists and empty Confirms.
fn negotiations() -> Vec<Sample> {
    let mut samples = Vec::new();
    for feature in Feature::ALL {
        let (list, chosen): (&[u8], &[u8]) = match feature {
            Feature::SequenceWindow => (&[0x2F, 0, 0, 1, 2, 3], &[0, 0, 0, 0, 0, 100]),
            Feature::AckRatio => (&[0x12, 0x34], &[0, 2]),
            Feature::Ccid => (&[4, 3, 2], &[3, 3, 2, 4]),
            Feature::MinimumChecksumCoverage => (&[15, 0], &[1]),
            _ => (&[1, 0], &[0]),
        };
        let valid = match feature.rule() {
            Rule::NonNegotiable => feature.decode_value(list).is_ok(),
            Rule::ServerPriority => feature.decode_list(list).is_ok(),
        };
        assert!(valid && feature.decode_confirm(chosen).is_ok(), "{feature}");
        let feature = feature.number();
        for value in [list, chosen] {
            let options = [
                DccpOption::ChangeL { feature, value },
                DccpOption::ConfirmL { feature, value },
                DccpOption::ChangeR { feature, value },
                DccpOption::ConfirmR { feature, value },
            ];
            samples.extend(options.map(|option| Sample::with(format!("{option:?}"), vec![option])));
        }
        let value = &[];
        let empty = [
            DccpOption::ConfirmL { feature, value },
            DccpOption::ConfirmR { feature, value },
        ];
        samples.extend(empty.map(|option| Sample::with(format!("{option:?}"), vec![option])));
    }
    samples
}

/// Returns packets with several options.
///
/// They are a Request and a Response with Mandatory before a Change, the feedback of CCID 2, 3 and 4, and a head of
/// 1,020 bytes.
fn together() -> Vec<Sample> {
    let mandatory = vec![
        DccpOption::Mandatory,
        DccpOption::ChangeL {
            feature: 1,
            value: &[3],
        },
        DccpOption::ChangeR {
            feature: 1,
            value: &[3],
        },
        DccpOption::NdpCount(0),
        DccpOption::Timestamp(1),
    ];
    let entries = AckEntries(&ENTRIES);
    let vector = DccpOption::AckVector {
        nonce: false,
        entries,
    };
    let skip = 0;
    let intervals = LossIntervals::new(&INTERVALS[..9]);
    let feedback = vec![
        DccpOption::ElapsedTime(7),
        DccpOption::LossEventRate(81),
        DccpOption::LossIntervals { skip, intervals },
        DccpOption::ReceiveRate(1_000_000),
        DccpOption::DroppedPackets(DropCounts::new(&COUNTS[..9])),
        DccpOption::RttEstimate(31_415),
        DccpOption::SlowReceiver,
    ];
    let (ack, service) = (ACK, SERVICE);
    let filled = vec![
        vector,
        vector,
        vector,
        DccpOption::InitCookie(&[0xC7; 226]),
        DccpOption::NdpCount(3),
    ];
    let make = |name: &str, kind, options| Sample {
        options,
        payload: payload(20),
        ..Sample::new(name, SEQ, kind)
    };
    vec![
        make("a client's", Kind::Request { service }, mandatory.clone()),
        make("a server's", Kind::Response { ack, service }, mandatory),
        make(
            "feedback of CCID 2",
            Kind::Ack { ack },
            vec![vector, vector],
        ),
        make("feedback of CCID 3 and 4", Kind::Ack { ack }, feedback),
        make("the longest head", Kind::Ack { ack }, filled),
    ]
}
