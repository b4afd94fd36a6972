//! Tests of the features against RFC 4340, section 6.4, and of the bounds of their values.

use super::{Confirmed, Feature, Rule, ValueError, is_at_receiver, is_ccid_specific};

/// The features have the properties of RFC 4340, 6.4, table 4, of RFC 6323, 3.2.2, and of RFC 4342, 8.4. Feature 120 is
/// our own.
///
/// The properties are number, rule, initial value, and whether every implementation must know the feature.
#[test]
fn the_table_of_features() {
    use Rule::{NonNegotiable, ServerPriority};
    let table: Vec<_> = Feature::ALL
        .into_iter()
        .map(|f| (f.number(), f.rule(), f.initial(), f.is_required()))
        .collect();
    assert_eq!(
        table,
        [
            (1, ServerPriority, 2, true),
            (2, ServerPriority, 0, true),
            (3, NonNegotiable, 100, true),
            (4, ServerPriority, 0, false),
            (5, NonNegotiable, 2, false),
            (6, ServerPriority, 0, false),
            (7, ServerPriority, 0, false),
            (8, ServerPriority, 0, false),
            (9, ServerPriority, 0, false),
            (120, ServerPriority, 0, false),
            (121, ServerPriority, 0, false),
            (128, ServerPriority, 0, false),
            (192, ServerPriority, 0, false),
        ]
    );
    let known = (0..=255).filter(|&n| Feature::from_number(n).is_some());
    assert_eq!(known.count(), Feature::ALL.len());
    assert!(is_ccid_specific(128));
    assert!(!is_ccid_specific(127));
    assert!(is_at_receiver(192));
    assert!(!is_at_receiver(191));
}

/// RFC 4340, 7.5.2 (adversarial item 23): a Sequence Window is 32 to 2^46 - 1 and has six bytes.
#[test]
fn sequence_window_bounds() {
    let window = Feature::SequenceWindow;
    let max = (1u64 << 46) - 1;
    for good in [32, 100, max] {
        let value = window.encode_value(good);
        assert_eq!(value.as_slice().len(), 6);
        assert_eq!(window.decode_value(value.as_slice()), Ok(good));
    }
    for bad in [0, 31, max + 1] {
        let value = window.encode_value(bad);
        let refused = window.decode_value(value.as_slice());
        let (feature, value) = (window, bad);
        assert_eq!(refused, Err(ValueError::Range { feature, value }));
    }
    for len in [0, 5, 7] {
        let refused = window.decode_value(&[1; 7][..len]);
        let (feature, got) = (window, len);
        assert_eq!(refused, Err(ValueError::Length { feature, got }));
    }
}

/// RFC 4340, 11.3 with erratum 1049: an Ack Ratio of zero is valid, an Ack Ratio of three bytes is not.
#[test]
fn ack_ratio_zero_is_valid() {
    assert_eq!(Feature::AckRatio.decode_value(&[0, 0]), Ok(0));
    assert_eq!(Feature::AckRatio.decode_value(&[1, 2]), Ok(0x0102));
    assert!(Feature::AckRatio.decode_value(&[0, 0, 1]).is_err());
    let too_large = Feature::AckRatio.encode_value(70_000);
    assert_eq!(too_large.as_slice(), [0xFF, 0xFF]);
}

/// RFC 4340, 6.3.1 and 6.6.8: unknown values in a preference list are allowed.
///
/// An empty list is an error, and a non-negotiable feature has no list.
#[test]
fn lists_hold_any_value() {
    assert_eq!(
        Feature::Ccid.decode_list(&[3, 250, 2]),
        Ok(&[3, 250, 2][..])
    );
    assert_eq!(Feature::EcnIncapable.decode_list(&[7]), Ok(&[7][..]));
    assert!(Feature::Ccid.decode_list(&[]).is_err());
    assert!(Feature::AckRatio.decode_list(&[0, 2]).is_err());
}

/// RFC 4340, 6.2: a Confirm is empty, or has a value, followed by an optional list for a server-priority feature.
#[test]
fn confirms() {
    let ccid = Feature::Ccid;
    assert_eq!(ccid.decode_confirm(&[]), Ok(Confirmed::Empty));
    let value = |value, preferences| Ok(Confirmed::Value { value, preferences });
    assert_eq!(ccid.decode_confirm(&[2]), value(2, &[]));
    assert_eq!(ccid.decode_confirm(&[2, 3, 2]), value(2, &[3, 2]));
    assert_eq!(Feature::AckRatio.decode_confirm(&[0, 4]), value(4, &[]));
    assert!(Feature::AckRatio.decode_confirm(&[4]).is_err());
    assert!(Feature::AckRatio.decode_confirm(&[0, 4, 4]).is_err());
}
