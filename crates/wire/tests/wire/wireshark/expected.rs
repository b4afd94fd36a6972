//! The fields that Wireshark should show for a packet. [`exceptions`](super::exceptions) change them into what
//! Wireshark 4.0 does show.

use std::fmt::Write;

use fairwire_wire::feature::{Feature, Rule};
use fairwire_wire::{
    DccpOption, DropBlock, EntryState, Kind, Packet, Ports, Seq, SeqNo, option_type,
};

use super::capture::Carrier;
use super::packets::Sample;
use super::tshark::Fields;

/// Every field of Wireshark's DCCP dissector; a test checks that the list is complete.
pub(crate) const FIELDS: [&str; 48] = [
    "dccp.srcport",
    "dccp.dstport",
    "dccp.port",
    "dccp.stream",
    "dccp.data_offset",
    "dccp.ccval",
    "dccp.cscov",
    "dccp.checksum.status",
    "dccp.checksum",
    "dccp.res1",
    "dccp.res2",
    "dccp.type",
    "dccp.x",
    "dccp.seq",
    "dccp.seq_raw",
    "dccp.ack_res",
    "dccp.ack",
    "dccp.ack_raw",
    "dccp.service_code",
    "dccp.reset_code",
    "dccp.data1",
    "dccp.data2",
    "dccp.data3",
    "dccp.option_type",
    "dccp.feature_number",
    "dccp.ndp_count",
    "dccp.timestamp",
    "dccp.timestamp_echo",
    "dccp.elapsed_time",
    "dccp.checksum_data",
    "dccp.options",
    "dccp.padding",
    "dccp.mandatory",
    "dccp.slow_receiver",
    "dccp.init_cookie",
    "dccp.ack_vector.nonce_0",
    "dccp.ack_vector.nonce_1",
    "dccp.data_dropped",
    "dccp.ccid3_loss_event_rate",
    "dccp.ccid3_loss_intervals",
    "dccp.ccid3_receive_rate",
    "dccp.option_reserved",
    "dccp.ccid_option_data",
    "dccp.option_unknown",
    "dccp.option.len.bad",
    "dccp.advertised_header_length.bad",
    "dccp.packet_type.reserved",
    "dccp.bad_checksum",
];

/// More that is compared: the values of features, which have only a text, the names in the Info column, and Wireshark's
/// complaints.
pub(crate) const TEXTS: [&str; 5] = [
    "text",
    "_ws.col.Info",
    "_ws.expert.message",
    "ip.checksum.status",
    "udp.checksum.status",
];

/// Returns the expected fields of the packet with this head.
pub(crate) fn expected(sample: &Sample, head: &[u8], carrier: Carrier) -> Fields {
    let mut fields = Fields::new();
    let packet = Packet::decode_head(head, sample.payload.len()).expect(&sample.name);
    header(&packet, head, carrier, &mut fields);
    kind(&packet, head, &mut fields);
    if !packet.options.is_empty() {
        add(&mut fields, "dccp.options", 1);
    }
    for raw in packet.options {
        add(&mut fields, "dccp.option_type", raw.option_type);
        if let Ok(decoded) = raw.decode() {
            option(&decoded, &mut fields);
        }
    }
    fields
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "numbers are written where they are named"
)]
pub(crate) fn add(fields: &mut Fields, name: &str, value: impl ToString) {
    let values = fields.entry(name.to_owned()).or_default();
    values.push(value.to_string());
}

pub(crate) fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    bytes.into_iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(crate) fn header(packet: &Packet<'_>, head: &[u8], carrier: Carrier, fields: &mut Fields) {
    let Ports {
        source,
        destination,
    } = packet.ports;
    add(fields, "dccp.srcport", source);
    add(fields, "dccp.dstport", destination);
    add(fields, "dccp.port", source);
    add(fields, "dccp.port", destination);
    // All packets of a capture belong to one connection.
    add(fields, "dccp.stream", 0);
    add(fields, "dccp.data_offset", head.len() / 4);
    add(fields, "dccp.ccval", packet.ccval);
    add(fields, "dccp.cscov", packet.cscov);
    let (good, unverified) = (1, 2);
    let (status, checksum) = match carrier {
        Carrier::Native => (good, format!("0x{}", hex(head[6..8].iter().copied()))),
        // RFC 6773, 3.3: the checksum is zero and is not verified.
        Carrier::Udp { .. } => (unverified, "0x0000".to_owned()),
    };
    add(fields, "dccp.checksum.status", status);
    add(fields, "dccp.checksum", checksum);
    add(fields, "dccp.res1", format!("0x{:02x}", head[8] >> 5));
    add(fields, "dccp.type", packet.packet_type().number());
    add(fields, "info.type", packet.packet_type());
    add(fields, "dccp.x", u8::from(!packet.is_short()));
    if !packet.is_short() {
        add(fields, "dccp.res2", format!("0x{:02x}", head[9]));
    }
    add(fields, "dccp.seq", number(packet.seq));
}

fn number(number: SeqNo) -> u64 {
    number.long().map_or(u64::from(number.short()), Seq::get)
}

pub(crate) fn kind(packet: &Packet<'_>, head: &[u8], fields: &mut Fields) {
    let kind = packet.kind;
    if let Some(ack) = kind.ack() {
        let reserved = if packet.is_short() {
            u16::from(head[12])
        } else {
            u16::from_be_bytes([head[16], head[17]])
        };
        add(fields, "dccp.ack_res", format!("0x{reserved:04x}"));
        add(fields, "dccp.ack", number(ack));
    }
    if let Some(service) = kind.service() {
        add(fields, "dccp.service_code", service.0);
    }
    if let Kind::Reset { code, data, .. } = kind {
        add(fields, "dccp.reset_code", code.number());
        add(fields, "info.code", code);
        for (name, byte) in ["dccp.data1", "dccp.data2", "dccp.data3"].iter().zip(data) {
            add(fields, name, byte);
        }
    }
}

/// Adds the fields of one option.
///
/// Where Wireshark shows only bytes, this function computes them from the decoded option with the RFC's arithmetic, not
/// with the crate's encoder.
pub(crate) fn option(option: &DccpOption<'_>, fields: &mut Fields) {
    match *option {
        DccpOption::Padding => add(fields, "dccp.padding", "00"),
        DccpOption::Mandatory => add(fields, "dccp.mandatory", "01"),
        DccpOption::SlowReceiver => add(fields, "dccp.slow_receiver", "02"),
        DccpOption::ChangeL { feature, value }
        | DccpOption::ConfirmL { feature, value }
        | DccpOption::ChangeR { feature, value }
        | DccpOption::ConfirmR { feature, value } => {
            add(fields, "dccp.feature_number", feature);
            add(fields, "text", negotiation(feature, value));
        }
        DccpOption::InitCookie(cookie) => {
            add(fields, "dccp.init_cookie", hex(cookie.iter().copied()));
        }
        DccpOption::NdpCount(count) => add(fields, "dccp.ndp_count", count),
        DccpOption::AckVector { nonce, entries } => {
            let field = format!("dccp.ack_vector.nonce_{}", u8::from(nonce));
            let bytes = entries.iter().map(|entry| {
                let state = match entry.state() {
                    EntryState::Received => 0,
                    EntryState::Marked => 1,
                    EntryState::Reserved => 2,
                    EntryState::NotReceived => 3,
                };
                state * 64 + (entry.run() - 1)
            });
            add(fields, &field, hex(bytes));
        }
        DccpOption::DataDropped(blocks) => {
            let bytes = blocks.iter().map(|block| match block {
                DropBlock::Delivered { run } => run - 1,
                DropBlock::Dropped { code, run } => 128 + code.number() * 16 + (run - 1),
            });
            add(fields, "dccp.data_dropped", hex(bytes));
        }
        DccpOption::Timestamp(timestamp) => add(fields, "dccp.timestamp", timestamp),
        DccpOption::TimestampEcho { timestamp, elapsed } => {
            add(fields, "dccp.timestamp_echo", timestamp);
            if let Some(elapsed) = elapsed {
                add(fields, "dccp.elapsed_time", elapsed);
            }
        }
        DccpOption::ElapsedTime(elapsed) => add(fields, "dccp.elapsed_time", elapsed),
        DccpOption::DataChecksum(sum) => {
            add(fields, "dccp.checksum_data", format!("0x{sum:08x}"));
        }
        DccpOption::CopyOf(first) => {
            add(
                fields,
                "dccp.option_reserved",
                format!("{:012x}", first.get()),
            );
        }
        DccpOption::CloseCode(value) => {
            add(fields, "dccp.option_reserved", hex(value.iter().copied()));
        }
        DccpOption::PartOf {
            message,
            index,
            last,
        } => add(
            fields,
            "dccp.option_reserved",
            format!("{message:08x}{index:02x}{last:02x}"),
        ),
        DccpOption::RttEstimate(us) => add(fields, "dccp_ext.rtt_estimate", us),
        DccpOption::LossEventRate(rate) => add(fields, "dccp.ccid3_loss_event_rate", rate),
        DccpOption::LossIntervals { skip, intervals } => {
            let mut text = format!("{skip:02x}");
            for interval in intervals.iter() {
                let nonce = u32::from(interval.ecn_nonce) * 0x80_0000;
                let (lossless, data) = (interval.lossless_length, interval.data_length);
                let loss = nonce + interval.loss_length;
                let _ = write!(text, "{lossless:06x}{loss:06x}{data:06x}");
            }
            add(fields, "dccp.ccid3_loss_intervals", text);
        }
        DccpOption::ReceiveRate(rate) => add(fields, "dccp.ccid3_receive_rate", rate),
        DccpOption::DroppedPackets(counts) => {
            for count in counts.iter() {
                add(fields, "dccp_ext.dropped_packets", count);
            }
        }
        DccpOption::Unknown { data, .. } => {
            add(fields, "dccp.option_reserved", hex(data.iter().copied()));
        }
    }
}

/// Returns a feature with its values, in the form of Wireshark's dissector.
fn negotiation(number: u8, value: &[u8]) -> String {
    let feature = Feature::from_number(number);
    let name = match feature {
        Some(Feature::Ccid) => "Congestion Control ID (CCID)".to_owned(),
        Some(feature) => feature.to_string(),
        None => number.to_string(),
    };
    let values: Vec<String> = match feature.map(Feature::rule) {
        Some(Rule::NonNegotiable) if value.is_empty() => Vec::new(),
        Some(Rule::NonNegotiable) => {
            let number = value.iter().fold(0, |n, &byte| n << 8 | u64::from(byte));
            vec![format!(" {number}")]
        }
        _ => value.iter().map(|byte| format!(" {byte}")).collect(),
    };
    format!("{name}({})", values.join(","))
}

/// Adds the fields of our [`dissector`](super::tshark::dissector), computed from the sample.
pub(crate) fn extension(sample: &Sample, fields: &mut Fields) {
    let multipath = "Multipath DCCP (RFC 9897): not supported here";
    for option in &sample.options {
        let number = option.option_type();
        match *option {
            DccpOption::ChangeL { feature, value }
            | DccpOption::ConfirmL { feature, value }
            | DccpOption::ChangeR { feature, value }
            | DccpOption::ConfirmR { feature, value }
                if matches!(feature, 10 | 120 | 121 | 128) =>
            {
                add(fields, "dccp_ext.negotiation", number);
                add(fields, "dccp_ext.feature", feature);
                for byte in value {
                    add(fields, "dccp_ext.feature_value", byte);
                }
                if feature == 10 {
                    add(fields, "_ws.expert.message", multipath);
                }
            }
            DccpOption::CopyOf(first) => {
                add(fields, "dccp_ext.option", number);
                add(fields, "dccp_ext.copy_of", first.get());
            }
            DccpOption::PartOf {
                message,
                index,
                last,
            } => {
                add(fields, "dccp_ext.option", number);
                add(fields, "dccp_ext.message", message);
                add(fields, "dccp_ext.part", index);
                add(fields, "dccp_ext.last_part", last);
            }
            DccpOption::CloseCode(value) => {
                add(fields, "dccp_ext.option", number);
                add(fields, "dccp_ext.close_code", hex(value.iter().copied()));
            }
            DccpOption::RttEstimate(_) | DccpOption::DroppedPackets(_) => {
                add(fields, "dccp_ext.option", number);
            }
            DccpOption::Unknown { .. } if number == option_type::MULTIPATH => {
                add(fields, "dccp_ext.option", number);
                add(fields, "_ws.expert.message", multipath);
            }
            _ => {}
        }
    }
    if let Kind::Reset { code, data, .. } = sample.kind {
        match code.number() {
            12 => {
                add(fields, "dccp_ext.reset_code", 12);
                add(fields, "dccp_ext.reset_packet_type", data[0]);
                let port = u16::from_be_bytes([data[1], data[2]]);
                add(fields, "dccp_ext.reset_udp_port", port);
            }
            13 => {
                add(fields, "dccp_ext.reset_code", 13);
                add(fields, "_ws.expert.message", multipath);
            }
            _ => {}
        }
    }
}
