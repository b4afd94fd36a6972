use fairwire_units::Duration;
use fairwire_wire::{DropBlock, DropCode, EntryState, Options};

use super::PacketOptions;

fn read(area: &[u8]) -> PacketOptions<'_> {
    PacketOptions::read(Options::new(area))
}

/// RFC 4340, 5.8: of an option that occurs twice the last valid one counts, and an invalid one is ignored.
#[test]
fn the_last_valid_one_counts() {
    let area = [
        43, 4, 0, 1, 43, 4, 0, 2, 43, 3, 9, // Elapsed Time 10 us, 20 us, and an invalid one
        37, 3, 7, 37, 3, 8, // NDP Count 7, then 8
        194, 6, 0, 0, 0, 1, 194, 6, 0, 0, 0, 2, 194, 3,
        1, // Receive Rate 1, 2, and an invalid one
        2, // Slow Receiver
    ];
    let said = read(&area);
    assert_eq!(said.elapsed, Some(Duration::from_micros(20)));
    assert_eq!(said.ndp_count, Some(8));
    assert_eq!(said.receive_rate, Some(2));
    assert!(said.is_slow);
    assert!(!said.vectors.is_sound());
    assert!(said.drops.is_empty());
}

/// RFC 4340, 11.4 and 11.7: options that continue each other may stand anywhere in the packet, with other options
/// between them, which are not part of the list.
#[test]
fn lists_go_on_in_later_options() {
    let area = [
        38, 3, 1, // two received
        40, 3, 2, // three delivered
        39, 3, 0xC0, // one missing, nonce one
        41, 6, 0, 0, 0, 9, // Timestamp
        38, 2, // an empty vector, which is invalid
        40, 4, 160, 1, // one dropped because of a full buffer, two delivered
        38, 4, 0x41, 2, // two marked, three received
        2,
    ];
    let said = read(&area);
    let entries: Vec<_> = said
        .vectors
        .entries()
        .map(|c| (c.state(), c.run()))
        .collect();
    let expected = [
        (EntryState::Received, 2),
        (EntryState::NotReceived, 1),
        (EntryState::Marked, 2),
        (EntryState::Received, 3),
    ];
    assert_eq!(entries, expected);
    let nonces: Vec<_> = said.vectors.iter().map(|vector| vector.nonce).collect();
    assert_eq!(nonces, [false, true, false]);
    assert!(said.vectors.is_sound());
    let blocks: Vec<_> = said.drop_blocks().collect();
    let dropped = DropBlock::Dropped {
        code: DropCode::ReceiveBuffer,
        run: 1,
    };
    let delivered = |run| DropBlock::Delivered { run };
    assert_eq!(blocks, [delivered(3), dropped, delivered(2)]);
}

/// RFC 4340, 11.4: one reserved state in any of the vectors makes all of them invalid.
#[test]
fn a_reserved_state_makes_all_vectors_unsound() {
    assert!(read(&[38, 3, 0, 38, 3, 1]).vectors.is_sound());
    assert!(!read(&[38, 3, 0, 38, 4, 1, 0x80]).vectors.is_sound());
    assert!(!read(&[38, 3, 0xBF, 38, 3, 1]).vectors.is_sound());
}
