//! Wireshark reads the inputs that a fuzzer found as we do. The inputs are the committed corpus of the target `codec`,
//! each packet unchanged in one capture.
//!
//! The test compares every field, including the verdict on the checksum, and every refusal. It does not compare the
//! names of types, codes and features, because the tests of our own packets compare them all.

use std::collections::BTreeSet;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use fairwire_wire::checksum::{self, IP_PROTOCOL, PseudoHeader, Sum};
use fairwire_wire::{DecodeError, OptionError, Packet, RawOption};

use super::capture::{self, Carrier, FAMILIES};
use super::exceptions::rename;
use super::expected::{self, FIELDS, add, hex};
use super::tshark::{Fields, Tshark};

/// A case in which Wireshark 4.0 shows an option differently, and what it shows.
struct Exception {
    name: &'static str,
    reason: &'static str,
    applies: fn(RawOption<'_>) -> bool,
    shown: fn(RawOption<'_>, &mut Fields),
}

/// The name of a field that means: the fields after this option are not compared.
const STOP: &str = "stop";

const EXCEPTIONS: [Exception; 7] = [
    Exception {
        name: "no bytes",
        reason: "tshark writes <MISSING> for bytes of which there are none, be they allowed or not",
        applies: |raw| raw.data.is_empty() && bytes_field(raw.option_type).is_some(),
        shown: |raw, fields| {
            let field = bytes_field(raw.option_type).expect("it applies");
            add(fields, field, "<MISSING>");
        },
    },
    Exception {
        name: "reserved options of one byte",
        reason: "the byte shown is the type, for there are no data",
        applies: |raw| (3..32).contains(&raw.option_type),
        shown: |raw, fields| add(fields, "dccp.option_reserved", hex([raw.option_type])),
    },
    Exception {
        name: "options of a CCID",
        reason: "those of RFC 5622 and RFC 6323, and unassigned ones, are bytes without a meaning",
        applies: |raw| matches!(raw.option_type, 128..=191 | 195..=255),
        shown: |raw, fields| {
            let data = hex(raw.data.iter().copied());
            add(fields, "dccp.ccid_option_data", data);
        },
    },
    Exception {
        name: "lengths that an option cannot have",
        reason: "there is a note instead of the field",
        applies: |raw| {
            let error = raw.decode().err();
            let Some(OptionError::Length { option_type, data }) = error else {
                return false;
            };
            matches!(option_type, 41..=44 | 192 | 194) || option_type == 37 && data > 6
        },
        shown: |_, fields| add(fields, "dccp.option.len.bad", 1),
    },
    Exception {
        name: "Loss Intervals as bytes",
        reason: "neither their length nor Skip Length is looked at",
        applies: |raw| raw.option_type == 193 && raw.decode().is_err(),
        shown: |raw, fields| {
            let data = hex(raw.data.iter().copied());
            add(fields, "dccp.ccid3_loss_intervals", data);
        },
    },
    Exception {
        name: "an NDP Count of no bytes",
        reason: "a number of no bytes is read, which ends the reading of the packet",
        applies: |raw| raw.option_type == 37 && raw.data.is_empty(),
        shown: |_, fields| add(fields, STOP, ""),
    },
    Exception {
        name: "a negotiation of no feature",
        reason: "the byte behind the option is taken for the feature's number, and what is behind \
                 that for values without an end",
        applies: |raw| matches!(raw.option_type, 32..=35) && raw.data.is_empty(),
        shown: |_, fields| add(fields, STOP, ""),
    },
];

/// Returns the field of an option that Wireshark shows as bytes.
fn bytes_field(option_type: u8) -> Option<&'static str> {
    Some(match option_type {
        36 => "dccp.init_cookie",
        38 => "dccp.ack_vector.nonce_0",
        39 => "dccp.ack_vector.nonce_1",
        40 => "dccp.data_dropped",
        45..=127 => "dccp.option_reserved",
        193 => "dccp.ccid3_loss_intervals",
        128..=191 | 195..=255 => "dccp.ccid_option_data",
        _ => return None,
    })
}

/// Wireshark reads the corpus as we do, in every field and every refusal, and every exception is needed.
#[test]
fn the_corpus_of_the_fuzzer_is_read_alike() {
    let Some(tshark) = Tshark::start("corpus") else {
        return;
    };
    let (_, client, server) = FAMILIES[0];
    let inputs = inputs();
    let mut file = capture::header();
    for (_, data) in &inputs {
        file.extend(capture::record(client, server, IP_PROTOCOL, data));
    }
    let names = [&FIELDS[..], &["_ws.expert.message", "_ws.malformed"]].concat();
    let read = tshark.fields(&file, &[], &names);
    assert_eq!(read.len(), inputs.len());
    let (mut used, mut decoded) = (BTreeSet::new(), 0);
    let mut different = Vec::new();
    for ((name, data), read) in inputs.iter().zip(read) {
        let found = match Packet::decode(data) {
            Ok(packet) => {
                decoded += 1;
                let fields = shown(&packet, data, (client, server), &mut used);
                compare(&packet, data, fields, read)
            }
            Err(refused) => refuse(refused, &read),
        };
        different.extend(found.err().map(|what| format!("{name}: {what}")));
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(decoded >= 100, "{decoded} packets are no corpus");
    for Exception { name, reason, .. } in &EXCEPTIONS {
        assert!(used.contains(name), "no longer needed: {name} ({reason})");
    }
}

/// Returns the fields that Wireshark should show for a packet.
fn shown(
    packet: &Packet<'_>,
    data: &[u8],
    (client, server): (IpAddr, IpAddr),
    used: &mut BTreeSet<&'static str>,
) -> Fields {
    let mut fields = Fields::new();
    let (head, payload) = data.split_at(packet.data_offset);
    expected::header(packet, head, Carrier::Native, &mut fields);
    expected::kind(packet, head, &mut fields);
    if !packet.options.is_empty() {
        add(&mut fields, "dccp.options", 1);
    }
    for raw in packet.options {
        add(&mut fields, "dccp.option_type", raw.option_type);
        if let Some(exception) = EXCEPTIONS.iter().find(|one| (one.applies)(raw)) {
            used.insert(exception.name);
            (exception.shown)(raw, &mut fields);
            if fields.contains_key(STOP) {
                break;
            }
        } else if let Ok(option) = raw.decode() {
            expected::option(&option, &mut fields);
        }
    }
    let pseudo = PseudoHeader::new(client, server).expect("one family");
    let covered = Sum::of(&payload[..checksum::coverage(packet.cscov, payload.len())]);
    let verdict = packet.verify_checksum(pseudo, head, covered, payload.len());
    if let Err(DecodeError::Checksum { expected, .. }) = verdict {
        let bad = vec!["0".to_owned()];
        fields.insert("dccp.checksum.status".to_owned(), bad);
        add(&mut fields, "dccp.bad_checksum", 1);
        let text = format!("Bad checksum [should be 0x{expected:04x}]");
        add(&mut fields, "_ws.expert.message", text);
    }
    // As in the first exception for our own packets.
    if !packet.is_short() {
        rename(&mut fields, "dccp.seq", "dccp.seq_raw");
    }
    rename(&mut fields, "dccp.ack", "dccp.ack_raw");
    // Wireshark sees one conversation for each pair of ports in the corpus.
    for name in ["dccp.stream", "info.type", "info.code", "text"] {
        fields.remove(name);
    }
    fields
}

/// Compares the fields, and reports one that differs.
fn compare(
    packet: &Packet<'_>,
    data: &[u8],
    mut expected: Fields,
    mut read: Fields,
) -> Result<(), String> {
    let stopped = expected.remove(STOP).is_some();
    read.remove("dccp.stream");
    let malformed = read.remove("_ws.malformed").is_some();
    // A complaint about an option has its own field, which is compared.
    if let Some(messages) = read.get_mut("_ws.expert.message") {
        messages.retain(|message| message.starts_with("Bad checksum"));
    }
    read.retain(|_, values| !values.is_empty());
    let mut options = packet.options.iter();
    options.by_ref().for_each(drop);
    let rest = options.remainder();
    if !rest.is_empty() && !stopped {
        // RFC 4340, 5.8: we ignore the options from an invalid length on. Wireshark shows the type and complains. If
        // the payload is long enough, it continues reading there instead.
        let behind = &data[packet.data_offset - rest.len()..];
        let length = behind.get(1).copied().map_or(0, usize::from);
        let reads_on = (2..=behind.len()).contains(&length);
        let bad = read.get("dccp.option.len.bad").map_or(0, Vec::len);
        let told = expected.get("dccp.option.len.bad").map_or(0, Vec::len);
        if !(reads_on || malformed || bad > told) {
            return Err(format!("{rest:?} is read without a complaint"));
        }
        add(&mut expected, "dccp.option_type", rest[0]);
    }
    if !rest.is_empty() || stopped {
        for (name, values) in &mut read {
            if let Some(expected) = expected.get(name) {
                values.truncate(expected.len());
            }
        }
        read.retain(|name, _| expected.contains_key(name));
    } else if malformed {
        return Err("it is called malformed".to_owned());
    }
    for name in expected.keys().chain(read.keys()) {
        if read.get(name) != expected.get(name) {
            let (ours, theirs) = (expected.get(name), read.get(name));
            return Err(format!("{name}: ours {ours:?}, theirs {theirs:?}"));
        }
    }
    Ok(())
}

/// Checks that Wireshark calls malformed what we refuse.
///
/// It does not compare Checksum Coverage with the payload (RFC 4340, 9.2), and sums the bytes that are there.
fn refuse(refused: DecodeError, read: &Fields) -> Result<(), String> {
    if read.contains_key("_ws.malformed") || matches!(refused, DecodeError::CsCovTooLarge { .. }) {
        return Ok(());
    }
    Err(format!("{refused} is read without a complaint: {read:?}"))
}

/// Returns the corpus, sorted by name.
fn inputs() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/codec");
    let files = fs::read_dir(folder).expect("the corpus");
    let mut inputs: Vec<_> = files
        .map(|entry| {
            let path = entry.expect("a readable entry").path();
            let name = path.file_name().expect("a file").to_string_lossy();
            (
                name.into_owned(),
                fs::read(&path).expect("a readable input"),
            )
        })
        .collect();
    inputs.sort();
    inputs
}
