//! Writes the inputs that fuzzing begins with into a folder: packets of a Linux kernel, every
//! option, every message.
//!
//! `scripts/fuzz` calls it; the inputs that a minimal corpus needs come from there.

use std::fs;
use std::path::{Path, PathBuf};

use fairwire_wire::feature::Feature;
use fairwire_wire::{
    DccpOption, Encoder, HeadBuf, Kind, PacketType, Ports, ResetCode, Seq, SeqNo, ServiceCode,
};

fn main() {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.expect("usage: seeds FOLDER");
    write(&folder, "codec", "kernel", &kernel_packets());
    write(&folder, "codec", "type", &every_type());
    let options = every_option();
    let packets: Vec<_> = options.iter().map(|area| with_area(area)).collect();
    write(&folder, "codec", "option", &packets);
    let areas: Vec<_> = options
        .iter()
        .map(|area| [&[0], area.as_slice()].concat())
        .collect();
    write(&folder, "options", "area", &areas);
    let texts = ["SC:fdpz", "SC=1717858426", "SC=x6664707A", "SC:?FwP"];
    let texts = texts.map(|text| [&[3], text.as_bytes()].concat());
    write(&folder, "options", "service", &texts);
}

fn write(folder: &Path, target: &str, name: &str, inputs: &[Vec<u8>]) {
    let folder = folder.join(target);
    fs::create_dir_all(&folder).expect("a folder");
    for (n, input) in inputs.iter().enumerate() {
        fs::write(folder.join(format!("{name}-{n:03}")), input).expect("written");
    }
}

const PORTS: Ports = Ports {
    source: 40_321,
    destination: 5_009,
};
const SEQ: SeqNo = SeqNo::Long(Seq::new(0xFEDC_BA98_7654));
const ACK: SeqNo = SeqNo::Long(Seq::new(0x8123_4567_89AB));

/// The first packets of each capture under `crates/wire/tests/fixtures`, their payloads cut to a
/// few bytes.
fn kernel_packets() -> Vec<Vec<u8>> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/wire/tests/fixtures");
    let mut files: Vec<_> = fs::read_dir(fixtures)
        .expect("the fixtures")
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "pcap"))
        .collect();
    files.sort();
    let mut packets = Vec::new();
    for file in files {
        let capture = fs::read(file).expect("a readable capture");
        let mut records = &capture[24..];
        let mut left = 24;
        while let Some((record, rest)) = records.split_at_checked(16) {
            let length = u32::from_le_bytes([record[8], record[9], record[10], record[11]]);
            let (frame, rest) = rest.split_at(length as usize);
            let ip = if frame[12..14] == [0x86, 0xDD] {
                40
            } else {
                20
            };
            let dccp = &frame[14 + ip..];
            let head = usize::from(dccp[4]) * 4;
            packets.push(dccp[..dccp.len().min(head + 16)].to_vec());
            left -= 1;
            if left == 0 {
                break;
            }
            records = rest;
        }
    }
    packets
}

fn every_type() -> Vec<Vec<u8>> {
    let service = ServiceCode::from_bytes(*b"fdpz");
    let kinds = |ack: SeqNo| {
        PacketType::ALL.map(|packet_type| match packet_type {
            PacketType::Request => Kind::Request { service },
            PacketType::Response => Kind::Response { ack, service },
            PacketType::Data => Kind::Data,
            PacketType::Ack => Kind::Ack { ack },
            PacketType::DataAck => Kind::DataAck { ack },
            PacketType::CloseReq => Kind::CloseReq { ack },
            PacketType::Close => Kind::Close { ack },
            PacketType::Reset => {
                let (code, data) = (ResetCode::PacketError, [4, 0, 0]);
                Kind::Reset { ack, code, data }
            }
            PacketType::Sync => Kind::Sync { ack },
            PacketType::SyncAck => Kind::SyncAck { ack },
            PacketType::Listen => Kind::Listen { service },
        })
    };
    let short = SeqNo::Short(0x80_0001);
    let mut packets = Vec::new();
    for (seq, ack) in [(SEQ, ACK), (short, short)] {
        for kind in kinds(ack) {
            if !seq.is_short() || kind.packet_type().may_be_short() {
                for cscov in [0, 2] {
                    let mut buf = HeadBuf::new();
                    let encoder = Encoder::new(&mut buf, PORTS, seq, &kind, 5, cscov);
                    packets.push([encoder.finish().as_slice(), b"payload"].concat());
                }
            }
        }
    }
    packets
}

/// An options area for every option, in each of its lengths, and for every feature.
fn every_option() -> Vec<Vec<u8>> {
    let mut areas = vec![vec![0, 0, 0, 0], vec![1, 1, 2, 0], vec![99, 1, 0, 0]];
    for option_type in (32..=46).chain([128, 192, 193, 194, 195, 255]) {
        for len in [0_u8, 1, 2, 3, 4, 6, 8, 9, 10, 19] {
            let data = (0..len).map(|n| n.wrapping_mul(55) & 0xC3);
            let mut area = vec![option_type, len + 2];
            area.extend(data);
            areas.push(area);
        }
    }
    for feature in Feature::ALL {
        let value = feature.encode_value(*feature.values().end());
        let (feature, value) = (feature.number(), value.as_slice());
        for option in [
            DccpOption::ChangeL { feature, value },
            DccpOption::ConfirmR { feature, value },
        ] {
            let area = [
                &[
                    option.option_type(),
                    3 + u8::try_from(value.len()).expect("short"),
                    feature,
                ],
                value,
            ];
            areas.push(area.concat());
        }
    }
    for area in &mut areas {
        area.resize(area.len().next_multiple_of(4), 0);
    }
    areas
}

/// An Ack with these options.
fn with_area(area: &[u8]) -> Vec<u8> {
    let mut buf = HeadBuf::new();
    let encoder = Encoder::new(&mut buf, PORTS, SEQ, &Kind::Ack { ack: ACK }, 0, 0);
    let mut packet = encoder.finish().as_slice().to_vec();
    packet.extend(area);
    packet[4] += u8::try_from(area.len() / 4).expect("a short area");
    packet
}
