//! Writes the inputs with which fuzzing begins into a folder: packets of a Linux kernel, every option, every message.
//!
//! `scripts/fuzz` runs it; the minimized corpus takes its inputs from there.

use std::fs;
use std::path::{Path, PathBuf};

use fairwire_kit::kind_of;
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
    write(&folder, "perf_messages", "seed", &perf_messages());
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

/// Returns the first packets of each capture under `crates/wire/tests/fixtures`, with payloads cut to a few bytes.
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
            PacketType::Reset => {
                let (code, data) = (ResetCode::PacketError, [4, 0, 0]);
                Kind::Reset { ack, code, data }
            }
            PacketType::Listen => Kind::Listen { service },
            _ => kind_of(packet_type, ack),
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

/// Returns an options area for every option, in each of several lengths, and for every feature.
fn every_option() -> Vec<Vec<u8>> {
    let mut areas = vec![vec![0, 0, 0, 0], vec![1, 1, 2, 0], vec![99, 1, 0, 0]];
    for option_type in (32..=46).chain([120, 128, 192, 193, 194, 195, 255]) {
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

/// Returns an Ack with these options.
fn with_area(area: &[u8]) -> Vec<u8> {
    let mut buf = HeadBuf::new();
    let encoder = Encoder::new(&mut buf, PORTS, SEQ, &Kind::Ack { ack: ACK }, 0, 0);
    let mut packet = encoder.finish().as_slice().to_vec();
    packet.extend(area);
    packet[4] += u8::try_from(area.len() / 4).expect("a short area");
    packet
}

/// Returns every message, alone and in a stream and in a flow, a report of each side, and ranges.
fn perf_messages() -> Vec<Vec<u8>> {
    let params = br#"{"version":1,"test":7,"flow":1,"flows":1,"reverse":false,"length":1200,"rate":1000,"seconds":2.5,"bytes":null,"file_size":70000}"#;
    let path = r#"{"ccid":2,"rtt_ms":1.5,"cwnd_packets":4.0,"rate_bits_per_second":1e6,"loss_event_rate":0.01,"lost":3,"never_sent":1,"marked":0,"cuts":1,"timeouts":0,"syncs":2,"path_mtu":1500,"mtu_probes":3}"#;
    let sender = format!(
        r#"{{"datagrams":9,"bytes":900,"seconds":1.5,"bits_per_second":4800.0,"cpu_seconds":0.1,"path":{path},"sha256":"00ff"}}"#
    );
    let receiver = br#"{"datagrams":8,"bytes":800,"seconds":1.5,"bits_per_second":4800.0,"lost":1,"reordered":2,"duplicates":1,"marked":1,"jitter_ms":0.5,"dropped_here":1,"cpu_seconds":null,"missing":{"bytes":100,"count":2,"first":[[0,50],[100,150]]},"not_saved":null,"saved":"out","sha256":"00ff"}"#;
    let mut messages: Vec<Vec<u8>> = [b"FwPY".to_vec(), b"FwPW".to_vec(), b"FwPE".to_vec()].into();
    messages.push([b"FwPP", params.as_slice()].concat());
    messages.push([b"FwPF", sender.as_bytes()].concat());
    messages.push([b"FwPR", receiver.as_slice()].concat());
    messages.push(b"FwPAno \x1b[2J".to_vec());
    messages.push(b"FwPT12345678".to_vec());
    for number in [0_u64, 2, 1, 1 << 40] {
        let data = [b"FwPD", &number.to_be_bytes()[..], &[0; 8], b"data"];
        messages.push(data.concat());
        let offset = (number % 3 * 100).to_be_bytes();
        let piece = [
            b"FwPO",
            &number.to_be_bytes()[..],
            &[7; 8],
            &offset,
            b"piece",
        ];
        messages.push(piece.concat());
    }
    let mut inputs = Vec::new();
    let (mut stream, mut flow) = (vec![1, 5], vec![2]);
    flow.extend(1_000_u64.to_be_bytes());
    flow.push(0);
    for message in &messages {
        inputs.push([&[0], message.as_slice()].concat());
        let length = u32::try_from(message.len()).expect("a short message");
        if message.len() < 40 {
            stream.extend(length.to_be_bytes());
            stream.extend(message);
            flow.extend([u8::try_from(length).expect("below 40"), 20]);
            flow.extend(message);
        }
    }
    inputs.extend([stream, flow]);
    inputs.push([&[3, 40], sender.as_bytes()].concat());
    inputs.push([&[3, 40], receiver.as_slice()].concat());
    inputs.push(vec![4, 10, 10, 40, 10, 20, 10, 45, 2, 60, 0, 48, 7]);
    inputs
}
