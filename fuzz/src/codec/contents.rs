//! Reads everything in a packet, to the end, and counts the steps.

use std::fmt::Write;

use fairwire_wire::feature::{Confirmed, Feature, Rule, ValueError};
use fairwire_wire::option_type::{ignored_on, ignored_on_data};
use fairwire_wire::{DccpOption, Options, Packet, PacketType, RawOption};

use super::Nowhere;

/// Reads the options of a packet, and checks which options its type ignores.
pub(super) fn read(packet: &Packet<'_>) {
    options(packet.options);
    for raw in packet.options {
        let on_type = ignored_on(raw.option_type, packet.packet_type());
        match packet.packet_type() {
            PacketType::Data => assert_eq!(on_type, ignored_on_data(raw.option_type)),
            PacketType::Listen => assert!(on_type),
            _ => {}
        }
    }
}

/// Reads each of `options`. Options, entries, blocks, intervals and counts together are never more than bytes.
pub(crate) fn options(options: Options<'_>) {
    let area = options.as_bytes();
    let mut steps = 0;
    let mut walked = 0;
    let mut iter = options.iter();
    for raw in iter.by_ref() {
        // RFC 4340, 5.8: each option begins where the length of the one before it ends.
        let at = &area[walked..];
        assert_eq!(raw.option_type, at[0]);
        let length = match raw.option_type {
            0..=31 => 1,
            _ => usize::from(at[1]),
        };
        assert_eq!(raw.data, &at[length.min(2)..length]);
        walked += length;
        steps += 1 + option(raw);
    }
    let rest = iter.remainder();
    assert_eq!(rest, &area[walked..]);
    assert!(iter.next().is_none(), "it stays ended");
    // Options end at a length that is missing, below two, or beyond the area.
    match *rest {
        [option_type, ..] if option_type < 32 => panic!("{option_type} has no length"),
        [] | [_] => {}
        [_, length, ..] => assert!(length < 2 || usize::from(length) > rest.len()),
    }
    assert!(
        steps <= area.len(),
        "{steps} steps for {} bytes",
        area.len()
    );
}

/// Reads one option, and returns the number of its entries.
fn option(raw: RawOption<'_>) -> usize {
    let [blamed, first, second] = raw.reset_data();
    assert_eq!(blamed, raw.option_type);
    assert_eq!(first, raw.data.first().copied().unwrap_or(0));
    assert_eq!(second, raw.data.get(1).copied().unwrap_or(0));
    let option = match raw.decode() {
        Ok(option) => option,
        Err(error) => {
            write!(Nowhere, "{error}").expect("an error can be printed");
            return 0;
        }
    };
    assert_eq!(option.option_type(), raw.option_type);
    match option {
        DccpOption::ChangeL { feature, value } | DccpOption::ChangeR { feature, value } => {
            change(feature, value);
            0
        }
        DccpOption::ConfirmL { feature, value } | DccpOption::ConfirmR { feature, value } => {
            confirm(feature, value);
            0
        }
        DccpOption::AckVector { entries, .. } => {
            let told: u64 = entries.iter().map(|entry| u64::from(entry.run())).sum();
            assert_eq!(entries.packets(), told);
            assert!(told <= 64 * entries.iter().len() as u64);
            entries.iter().len()
        }
        DccpOption::DataDropped(blocks) => {
            assert!(blocks.iter().all(|block| (1..=128).contains(&block.run())));
            blocks.iter().len()
        }
        DccpOption::LossIntervals { skip, intervals } => {
            assert!(skip <= 3, "RFC 4342, 8.6.1");
            for interval in intervals.iter() {
                assert!(interval.lossless_length < 1 << 24 && interval.data_length < 1 << 24);
                assert!(interval.loss_length < 1 << 23);
            }
            intervals.iter().len()
        }
        DccpOption::DroppedPackets(counts) => {
            assert!(counts.iter().all(|count| count < 1 << 24));
            counts.iter().len()
        }
        DccpOption::NdpCount(count) => {
            assert!(count < 1 << 48, "RFC 4340, 7.7");
            0
        }
        DccpOption::RttEstimate(us) => {
            assert!(us < 1 << 24, "RFC 6323, 3.2.1");
            0
        }
        _ => 0,
    }
}

/// Checks a Change's value: decodes it as its feature requires and encodes it again.
fn change(number: u8, bytes: &[u8]) {
    let Some(feature) = Feature::from_number(number) else {
        return;
    };
    assert_eq!(feature.number(), number);
    let list = feature.decode_list(bytes);
    match feature.rule() {
        Rule::ServerPriority if !bytes.is_empty() => assert_eq!(list, Ok(bytes)),
        _ => assert!(list.is_err()),
    }
    match feature.decode_value(bytes) {
        Ok(value) => {
            assert_eq!(feature.encode_value(value).as_slice(), bytes);
            let valid = feature.values().contains(&value);
            assert!(valid || feature.rule() == Rule::ServerPriority);
        }
        Err(error @ ValueError::Length { got, .. }) => {
            assert_eq!(got, bytes.len());
            assert_ne!(got, feature.value_len());
            write!(Nowhere, "{error}").expect("an error can be printed");
        }
        Err(error @ ValueError::Range { value, .. }) => {
            assert!(!feature.values().contains(&value));
            write!(Nowhere, "{error}").expect("an error can be printed");
        }
    }
}

/// Checks a Confirm's value and preferences.
fn confirm(number: u8, bytes: &[u8]) {
    let Some(feature) = Feature::from_number(number) else {
        return;
    };
    match feature.decode_confirm(bytes) {
        Ok(Confirmed::Empty) => assert!(bytes.is_empty()),
        Ok(Confirmed::Value { value, preferences }) => {
            let (chosen, rest) = bytes.split_at(feature.value_len());
            assert_eq!(feature.encode_value(value).as_slice(), chosen);
            assert_eq!(preferences, rest);
        }
        Err(_) => assert!(!bytes.is_empty() && feature.rule() == Rule::NonNegotiable),
    }
}
