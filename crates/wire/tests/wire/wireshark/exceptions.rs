//! Cases in which Wireshark 4.0 has no field for a part of a packet, or shows something else.
//!
//! Each exception changes the expected fields into the fields that Wireshark 4.0 shows, and has a reason. The test
//! fails if no packet needs an exception, because it is then out of date.
//!
//! Ack Vectors, Data Dropped and Loss Intervals need no exception: their fields hold bytes, and the bytes are compared.

use fairwire_wire::{DccpOption, Kind, option_type};

use super::expected::{add, hex};
use super::packets::Sample;
use super::tshark::Fields;

/// An exception.
pub(crate) struct Exception {
    pub(crate) name: &'static str,
    pub(crate) reason: &'static str,
    /// Changes the expected fields of the packets that it applies to.
    pub(crate) apply: fn(&Sample, &mut Fields),
}

/// All exceptions, in the order in which they are applied.
pub(crate) const ALL: [Exception; 7] = [
    Exception {
        name: "numbers as they are",
        reason: "with absolute numbers wanted, 48-bit Sequence Numbers and every Acknowledgement \
                 Number are in the field that is named raw",
        apply: raw_numbers,
    },
    Exception {
        name: "an empty cookie",
        reason: "tshark writes <MISSING> for bytes of which there are none",
        apply: empty_cookie,
    },
    Exception {
        name: "names of features",
        reason: "the label beside the values looks the option's type up among the features, and \
                 32 to 35 are reserved there; dccp.feature_number is right",
        apply: |_, fields| feature_names(fields),
    },
    Exception {
        name: "RTT Estimate",
        reason: "RFC 6323's option is the bytes of a CCID option",
        apply: rtt_estimate,
    },
    Exception {
        name: "Dropped Packets",
        reason: "RFC 5622's option is the bytes of a CCID option",
        apply: dropped_packets,
    },
    Exception {
        name: "Encapsulated Port Reuse",
        reason: "RFC 6773's Reset Code 12 is called Reserved",
        apply: port_reuse,
    },
    Exception {
        name: "other Reset Codes",
        reason: "from 13 on there are no names; those from 128 belong to a CCID",
        apply: other_codes,
    },
];

fn raw_numbers(sample: &Sample, fields: &mut Fields) {
    if !sample.seq.is_short() {
        rename(fields, "dccp.seq", "dccp.seq_raw");
    }
    rename(fields, "dccp.ack", "dccp.ack_raw");
}

pub(crate) fn rename(fields: &mut Fields, from: &str, to: &str) {
    if let Some(values) = fields.remove(from) {
        fields.insert(to.to_owned(), values);
    }
}

fn empty_cookie(sample: &Sample, fields: &mut Fields) {
    if sample.options.contains(&DccpOption::InitCookie(&[])) {
        fields.insert("dccp.init_cookie".to_owned(), vec!["<MISSING>".to_owned()]);
    }
}

/// Changes the feature's name to "Reserved". For a feature that Wireshark does not know, its number replaces its
/// values.
pub(crate) fn feature_names(fields: &mut Fields) {
    let numbers = fields.get("dccp.feature_number").cloned();
    let (Some(numbers), Some(texts)) = (numbers, fields.get_mut("text")) else {
        return;
    };
    for (text, number) in texts.iter_mut().zip(numbers) {
        let values = text.rfind('(').expect("values in parentheses");
        *text = match number.as_str() {
            "10" | "120" | "121" | "128" => format!("Reserved({number})"),
            _ => format!("Reserved{}", &text[values..]),
        };
    }
}

fn rtt_estimate(_: &Sample, fields: &mut Fields) {
    for estimate in fields.remove("dccp_ext.rtt_estimate").unwrap_or_default() {
        let us: u32 = estimate.parse().expect("a number");
        // RFC 6323, 3.2.1: the estimate has the smallest of three sizes.
        let digits = match us {
            0..=0xFF => format!("{us:02x}"),
            0x100..=0xFFFF => format!("{us:04x}"),
            _ => format!("{us:06x}"),
        };
        add(fields, "dccp.ccid_option_data", digits);
    }
}

fn dropped_packets(sample: &Sample, fields: &mut Fields) {
    fields.remove("dccp_ext.dropped_packets");
    // The data of each option are a separate value, in the order of the options.
    let mut data = fields
        .remove("dccp.ccid_option_data")
        .unwrap_or_default()
        .into_iter();
    for option in &sample.options {
        match option {
            DccpOption::RttEstimate(_) => {
                let estimate = data.next().expect("an estimate");
                add(fields, "dccp.ccid_option_data", estimate);
            }
            DccpOption::DroppedPackets(counts) => {
                let bytes = counts.iter().flat_map(|count| {
                    [count >> 16, count >> 8, count].map(|part| part.to_le_bytes()[0])
                });
                add(fields, "dccp.ccid_option_data", hex(bytes));
            }
            other => debug_assert!(
                other.option_type() < option_type::FIRST_CCID_SPECIFIC
                    || (192..=194).contains(&other.option_type())
            ),
        }
    }
}

fn port_reuse(sample: &Sample, fields: &mut Fields) {
    if code(sample) == Some(12) {
        fields.insert("info.code".to_owned(), vec!["Reserved".to_owned()]);
    }
}

fn other_codes(sample: &Sample, fields: &mut Fields) {
    if code(sample).is_some_and(|code| code > 12) {
        fields.insert("info.code".to_owned(), vec!["Unknown".to_owned()]);
    }
}

fn code(sample: &Sample) -> Option<u8> {
    match sample.kind {
        Kind::Reset { code, .. } => Some(code.number()),
        _ => None,
    }
}
