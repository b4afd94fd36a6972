//! Wireshark 4.0 reads every packet, option and feature that can be sent, and shows in each field the value that we
//! wrote. Its own dissector reads native packets; the one in `wireshark/` also reads packets in UDP.
//!
//! - [`packets`] has the packets, and [`capture`] writes them.
//! - [`expected`] has the fields that Wireshark should show; [`exceptions`] has those that 4.0 does not, and why.
//! - [`tshark`] runs Wireshark.
//! - [`corpus`] compares the inputs that a fuzzer found.

mod capture;
mod corpus;
mod exceptions;
mod expected;
mod packets;
mod tshark;

use std::collections::BTreeSet;
use std::fs;

use capture::{Carrier, FAMILIES};
use expected::{FIELDS, TEXTS};
use fairwire_wire::feature::Feature;
use fairwire_wire::{DccpOption, PacketType, ResetCode, option_type};
use packets::Sample;
use tshark::{Fields, Tshark, dissector};

/// Fields that our packets never have: `dccp.ack` because of the first exception, the others because nothing is wrong
/// with our packets.
const NEVER: [&str; 7] = [
    "dccp.ack",
    "dccp.option_unknown",
    "dccp.option.len.bad",
    "dccp.advertised_header_length.bad",
    "dccp.packet_type.reserved",
    "dccp.bad_checksum",
    "_ws.expert.message",
];

/// The fields of our own dissector.
const OURS: [&str; 14] = [
    "dccp_ext.option",
    "dccp_ext.close_code",
    "dccp_ext.copy_of",
    "dccp_ext.message",
    "dccp_ext.part",
    "dccp_ext.last_part",
    "dccp_ext.rtt_estimate",
    "dccp_ext.dropped_packets",
    "dccp_ext.negotiation",
    "dccp_ext.feature",
    "dccp_ext.feature_value",
    "dccp_ext.reset_code",
    "dccp_ext.reset_packet_type",
    "dccp_ext.reset_udp_port",
];

/// The offset of the length of a `DataAck`'s first option in a capture record.
///
/// Before it are the headers of the record, IPv4 and UDP, and 24 bytes of DCCP.
const MALFORMED_LENGTH_AT: usize = 16 + 20 + 8 + 24 + 1;

/// Wireshark shows every field of every native packet as it was written, over IPv4 and IPv6.
///
/// Every field of its dissector occurs, and every exception is needed.
#[test]
fn native_packets_are_read_as_they_were_written() {
    let Some(tshark) = Tshark::start("native") else {
        return;
    };
    let names = names(false);
    let samples = packets::everything();
    let mut used = BTreeSet::new();
    let mut occurred = BTreeSet::new();
    for (family, client, server) in FAMILIES {
        let carrier = Carrier::Native;
        let mut file = capture::header();
        file.extend(capture::packets(&samples, client, server, carrier));
        let read = tshark.fields(&file, &[], &names);
        assert_eq!(read.len(), samples.len(), "{family}");
        for (sample, read) in samples.iter().zip(read) {
            occurred.extend(read.keys().cloned());
            let head = sample.head(client, server, carrier);
            let mut fields = expected::expected(sample, &head, carrier);
            apply_exceptions(sample, &mut fields, &mut used);
            if family == "IPv4" {
                expected::add(&mut fields, "ip.checksum.status", 1);
            }
            compare(&format!("{family}, {}", sample.name), &fields, read);
        }
    }
    for exception in exceptions::ALL {
        let (name, reason) = (exception.name, exception.reason);
        assert!(used.contains(name), "no longer needed: {name} ({reason})");
    }
    for name in FIELDS {
        let never = NEVER.contains(&name);
        assert_eq!(occurred.contains(name), !never, "{name}");
    }
}

/// DTLS in DCCP (RFC 5238) reaches Wireshark's DTLS dissector in the packets that carry data, from the first record on.
///
/// `dtls.pcap` is a handshake of `fairwire perf -c 127.0.0.1 -p 7021 --dtls-pin FINGERPRINT`, with the probes of path
/// MTU discovery, whose padding is no record.
#[test]
fn dtls_in_dccp_is_read_by_our_dissector() {
    const DATA: [&str; 2] = ["2", "4"];
    let Some(tshark) = Tshark::start("dtls") else {
        return;
    };
    let script = script();
    let names = [
        "dccp.type",
        "dtls.record.content_type",
        "dtls",
        "_ws.malformed",
    ];
    let options = ["-X", &script, "-o", "dccp_udp.port:7021"];
    let read = tshark.fields(include_bytes!("wireshark/dtls.pcap"), &options, &names);
    assert_eq!(read.len(), 15);
    for (number, packet) in (1..).zip(&read) {
        let kind = packet["dccp.type"][0].as_str();
        let has_records = DATA.contains(&kind);
        assert_eq!(
            packet.contains_key("dtls"),
            has_records,
            "packet {number}: {packet:?}"
        );
        assert!(
            !packet.contains_key("_ws.malformed"),
            "packet {number}: {packet:?}"
        );
    }
    let is_handshake = |packet: &&Fields| {
        let types = packet.get("dtls.record.content_type");
        types.is_some_and(|types| types.iter().any(|kind| kind == "22"))
    };
    assert_eq!(
        read.iter().filter(is_handshake).count(),
        4,
        "hellos: two of each side"
    );
}

/// Packets in UDP are read like native ones, on DCCP's own UDP port and on one that the user chose.
///
/// The checksum of zero is not called bad (RFC 6773, section 3.3), and our dissector names what Wireshark does not.
#[test]
fn packets_in_udp_are_read_by_our_dissector() {
    let Some(tshark) = Tshark::start("udp") else {
        return;
    };
    let chosen: &[&str] = &["-o", "dccp_udp.port:7001"];
    for (port, options) in [(6511, &[][..]), (6511, chosen), (7001, chosen)] {
        read_with_our_dissector(&tshark, Carrier::Udp { port }, options);
    }
    let (_, client, server) = FAMILIES[0];
    let carrier = Carrier::Udp { port: 7001 };
    let mut file = capture::header();
    file.extend(capture::packets(
        &packets::multipath(),
        client,
        server,
        carrier,
    ));
    let script = script();
    let read = tshark.fields(&file, &["-X", &script], &["dccp.type"]);
    let none = read.iter().all(Fields::is_empty);
    assert!(none && !read.is_empty(), "7001 is any port unless chosen");
}

/// Our dissector adds the names that Wireshark 4.0 lacks to native packets too, and removes nothing.
#[test]
fn our_dissector_adds_names_to_native_packets() {
    if let Some(tshark) = Tshark::start("names") {
        read_with_our_dissector(&tshark, Carrier::Native, &[]);
    }
}

/// Native checksums are still verified in a capture that also has packets in UDP, whose checksums are not verified.
///
/// This holds also after packets in UDP that Wireshark's dissector cannot read to the end: malformed and truncated
/// ones. (`Tshark::run` fails if Lua complains, and so does this test.)
#[test]
fn native_checksums_are_still_checked() {
    let Some(tshark) = Tshark::start("mixed") else {
        return;
    };
    let (_, client, server) = FAMILIES[0];
    let udp = Carrier::Udp { port: 6511 };
    let everything = capture::packets(&packets::everything(), client, server, udp);
    let mut file = capture::header();
    // The cuts are inside the UDP header, at every length of a DCCP header, and behind it.
    for length in (20..=80).step_by(2).chain([300, 2000]) {
        file.extend(capture::cut(&everything, length));
    }
    let change = [packets::shortest_change()];
    let mut malformed = capture::packets(&change, client, server, udp);
    // With this length the Change ends before the number of its feature.
    malformed[MALFORMED_LENGTH_AT] = 2;
    file.extend(malformed);
    let samples = &packets::everything()[..1];
    let native = capture::packets(samples, client, server, Carrier::Native);
    let mut corrupt = native.clone();
    *corrupt.last_mut().expect("not empty") ^= 1;
    file.extend([native, corrupt].concat());
    let script = script();
    let names = [
        "dccp.checksum.status",
        "_ws.malformed",
        "_ws.expert.message",
    ];
    let mut read = tshark.fields(&file, &["-X", &script], &names);
    for fields in &read {
        let complaints = fields.get("_ws.expert.message");
        let lua = complaints.is_some_and(|all| all.iter().any(|one| one.contains("Lua")));
        assert!(!lua, "{fields:?}");
    }
    let last = read.split_off(read.len() - 3);
    assert!(last[0].contains_key("_ws.malformed"), "{:?}", last[0]);
    let status = |fields: &Fields| fields["dccp.checksum.status"].concat();
    let (bad, good, unverified) = ("0", "1", "2");
    assert_eq!(
        last.iter().map(status).collect::<Vec<_>>(),
        [unverified, good, bad]
    );
    let whole = read.split_off(read.len() - packets::everything().len());
    assert!(whole.iter().all(|fields| status(fields) == unverified));
}

/// The dissector is loaded without being named if it is copied where the README says.
#[test]
fn the_dissector_installs_as_the_readme_says() {
    let Some(tshark) = Tshark::start("install") else {
        return;
    };
    let folders = tshark.run(&["-G", "folders"]);
    let plugins = tshark.plugins();
    let told = plugins.to_str().expect("a plain path");
    let personal = folders
        .lines()
        .find(|line| line.starts_with("Personal Lua Plugins"));
    assert!(
        personal.is_some_and(|line| line.ends_with(told)),
        "{folders}"
    );
    fs::create_dir_all(&plugins).expect("a folder");
    fs::copy(dissector(), plugins.join("fairwire.lua")).expect("copied");
    let (_, client, server) = FAMILIES[0];
    let samples = packets::everything();
    let mut file = capture::header();
    let carrier = Carrier::Udp { port: 6511 };
    file.extend(capture::packets(&samples, client, server, carrier));
    let read = tshark.fields(&file, &[], &["dccp.type"]);
    assert_eq!(read.len(), samples.len());
    assert!(read.iter().all(|fields| !fields.is_empty()));
}

/// The compared fields are all the fields of Wireshark's dissector.
#[test]
fn no_field_is_left_out() {
    let Some(tshark) = Tshark::start("fields") else {
        return;
    };
    let listing = tshark.run(&["-G", "fields"]);
    let theirs: BTreeSet<&str> = listing
        .lines()
        .filter_map(|line| line.split('\t').nth(2))
        .filter(|name| name.starts_with("dccp."))
        .collect();
    assert_eq!(theirs, FIELDS.into_iter().collect());
}

/// The packets include every type, every option, every feature in every negotiation, and every Reset Code with a name.
#[test]
fn nothing_that_can_be_sent_is_left_out() {
    let (mut types, mut options) = (BTreeSet::new(), BTreeSet::new());
    let (mut features, mut codes) = (BTreeSet::new(), BTreeSet::new());
    for sample in packets::everything() {
        types.insert(sample.kind.packet_type());
        for option in &sample.options {
            let number = option.option_type();
            options.insert(number);
            if let DccpOption::ChangeL { feature, .. }
            | DccpOption::ConfirmL { feature, .. }
            | DccpOption::ChangeR { feature, .. }
            | DccpOption::ConfirmR { feature, .. } = *option
            {
                features.insert((feature, number));
            }
        }
        if let fairwire_wire::Kind::Reset { code, .. } = sample.kind {
            codes.insert(code.number());
        }
    }
    assert_eq!(types, PacketType::ALL.into_iter().collect());
    let known = (0..=255).filter(|&number| {
        // An option type is known if data of neither length decode as an unknown option.
        let data = [0; 10];
        let unknown = |len| {
            let raw = fairwire_wire::RawOption {
                option_type: number,
                data: &data[..len],
            };
            matches!(raw.decode(), Ok(DccpOption::Unknown { .. }))
        };
        !unknown(0) && !unknown(10)
    });
    assert_eq!(options, known.collect());
    for feature in Feature::ALL {
        for number in option_type::CHANGE_L..=option_type::CONFIRM_R {
            let sent = features.contains(&(feature.number(), number));
            assert!(sent, "{feature} in option {number}");
        }
    }
    let named = (0..128).filter(|&n| !matches!(ResetCode::from_number(n), ResetCode::Reserved(_)));
    assert!(named.clone().count() == 13 && named.into_iter().all(|n| codes.contains(&n)));
}

/// Compares every packet, those of multipath DCCP included, with our dissector loaded.
fn read_with_our_dissector(tshark: &Tshark, carrier: Carrier, options: &[&str]) {
    let names = names(true);
    let script = script();
    let more = [&["-X", script.as_str()], options].concat();
    let mut samples = packets::everything();
    samples.extend(packets::multipath());
    for (family, client, server) in FAMILIES {
        let mut file = capture::header();
        file.extend(capture::packets(&samples, client, server, carrier));
        let read = tshark.fields(&file, &more, &names);
        assert_eq!(read.len(), samples.len(), "{family}");
        for (sample, read) in samples.iter().zip(read) {
            let head = sample.head(client, server, carrier);
            let mut fields = expected::expected(sample, &head, carrier);
            let named: Fields = fields
                .iter()
                .filter(|(name, _)| OURS.contains(&name.as_str()))
                .map(|(name, values)| (name.clone(), values.clone()))
                .collect();
            apply_exceptions(sample, &mut fields, &mut BTreeSet::new());
            fields.extend(named);
            expected::extension(sample, &mut fields);
            if family == "IPv4" {
                expected::add(&mut fields, "ip.checksum.status", 1);
            }
            if carrier != Carrier::Native {
                expected::add(&mut fields, "udp.checksum.status", 1);
            }
            let what = format!("{carrier:?}, {family}, {}", sample.name);
            compare(&what, &fields, read);
        }
    }
}

fn names(ours: bool) -> Vec<&'static str> {
    let mut names = [&FIELDS[..], &TEXTS].concat();
    if ours {
        names.extend(OURS);
    }
    names
}

fn script() -> String {
    format!("lua_script:{}", dissector().display())
}

fn apply_exceptions(sample: &Sample, fields: &mut Fields, used: &mut BTreeSet<&'static str>) {
    for exception in exceptions::ALL {
        let before = fields.clone();
        (exception.apply)(sample, fields);
        if *fields != before {
            used.insert(exception.name);
        }
    }
}

/// Compares field by field, so that a failure names the field.
fn compare(what: &str, expected: &Fields, mut read: Fields) {
    // The names in a line such as "1 → 2 [Reset] Seq=3 (Ack=4) (code=Closed)".
    let info = read
        .remove("_ws.col.Info")
        .expect("a line about it")
        .concat();
    for (name, before, after) in [("info.type", "[", "]"), ("info.code", "(code=", ")")] {
        let found = info
            .split_once(before)
            .and_then(|(_, rest)| rest.split_once(after));
        if let Some((found, _)) = found {
            read.insert(name.to_owned(), vec![found.to_owned()]);
        }
    }
    let names: BTreeSet<_> = expected.keys().chain(read.keys()).collect();
    for name in names {
        assert_eq!(read.get(name), expected.get(name), "{what}: {name}");
    }
}
