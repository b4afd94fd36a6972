use super::{History, MAX_ENTRIES, Order};
use fairwire_wire::{EntryState, Seq};

/// Returns the entries, newest first, as (state, run).
fn entries(history: &History) -> Vec<(u8, u8)> {
    let newest = history.newest().unwrap();
    history
        .entries_from(newest)
        .map(|entry| (entry.state() as u8, entry.run()))
        .collect()
}

fn seq(number: u64) -> Seq {
    Seq::new(number)
}

/// Returns packets 0 to 10 as in RFC 4340, Appendix A: 1 is marked; 6, 8 and 9 are missing.
fn example() -> History {
    let mut history = History::new(Some(seq(0)));
    for number in [0, 1, 2, 3, 4, 5, 7, 10] {
        history.note(seq(number), number == 1);
    }
    history
}

/// RFC 4340, Appendix A.1, with our own numbers: packets arrive at the head, in a gap, and twice.
#[test]
fn arrivals_change_the_cells_they_concern() {
    let mut history = example();
    let before = [(0, 1), (3, 2), (0, 1), (3, 1), (0, 4), (1, 1), (0, 1)];
    assert_eq!(entries(&history), before);
    assert_eq!(history.note(seq(4), false), Order::Old, "a duplicate");
    assert_eq!(entries(&history), before);

    assert_eq!(history.note(seq(11), true), Order::Next);
    assert_eq!(entries(&history)[..2], [(1, 1), (0, 1)]);
    assert_eq!(history.note(seq(13), false), Order::AfterGap);
    assert_eq!(entries(&history)[..4], [(0, 1), (3, 1), (1, 1), (0, 1)]);
    assert_eq!(
        history.note(seq(8), false),
        Order::Late,
        "the older half of a hole"
    );
    assert_eq!(
        entries(&history)[4..],
        [(3, 1), (0, 2), (3, 1), (0, 4), (1, 1), (0, 1)]
    );
    assert_eq!(
        history.note(seq(6), false),
        Order::Late,
        "joins its neighbours"
    );
    assert_eq!(entries(&history)[4..], [(3, 1), (0, 7), (1, 1), (0, 1)]);
    assert_eq!(history.entry_count(), entries(&history).len());
}

/// RFC 4340, 11.4.1: every entry of the receiver's table holds.
#[test]
fn states_combine_as_the_table_says() {
    for (stored, received, result) in [
        (Some(false), false, 0),
        (Some(false), true, 1),
        (Some(true), false, 1),
        (Some(true), true, 1),
        (None, false, 0),
        (None, true, 1),
    ] {
        let mut history = History::new(Some(seq(1)));
        history.note(seq(1), false);
        if let Some(marked) = stored {
            history.note(seq(2), marked);
        }
        history.note(seq(3), false);
        history.note(seq(2), received);
        let states: Vec<_> = history
            .entries_from(seq(3))
            .flat_map(|entry| std::iter::repeat_n(entry.state() as u8, entry.run().into()))
            .collect();
        assert_eq!(states, [0, result, 0], "{stored:?} then {received}");
    }
}

/// RFC 4340, Appendix A.3: packets that the sender knows of are not reported, also in the middle of a run. The newest
/// packet stays, because each vector begins with it.
#[test]
fn known_packets_are_not_reported() {
    let mut history = example();
    history.omit_up_to(seq(3));
    assert_eq!(entries(&history), [(0, 1), (3, 2), (0, 1), (3, 1), (0, 2)]);
    assert_eq!(history.entry_count(), 5);
    assert_eq!(
        history.note(seq(2), true),
        Order::Old,
        "known to the sender"
    );
    assert_eq!(history.note(seq(6), false), Order::Late, "still reported");
    history.omit_up_to(seq(10));
    assert_eq!(entries(&history), [(0, 1)]);
    history.omit_up_to(seq(11));
    assert_eq!(entries(&history), [(0, 1)], "not beyond what arrived");
}

/// RFC 4340, Appendix A.3: a packet that was reported missing, and arrives after the sender has learned that, is
/// reported again, with all that is newer. A second copy is not news.
#[test]
fn a_missing_packet_is_remembered_after_the_report() {
    let mut history = example();
    history.omit_up_to(seq(10));
    assert_eq!(history.note(seq(8), false), Order::Late);
    assert_eq!(entries(&history), [(0, 1), (3, 1), (0, 1)]);
    assert_eq!(history.note(seq(6), true), Order::Late);
    assert_eq!(
        entries(&history),
        [(0, 1), (3, 1), (0, 2), (1, 1)],
        "7 arrived before"
    );
    history.omit_up_to(seq(10));
    for number in [4, 6, 8] {
        assert_eq!(history.note(seq(number), false), Order::Old, "{number}");
    }
    assert_eq!(entries(&history), [(0, 1)]);
}

/// A record with less room keeps the newest packets. It loses nothing while the reports fit.
#[test]
fn less_room_shortens_the_reports() {
    let mut history = example();
    history.omit_up_to(seq(9));
    history.shorten(2);
    assert_eq!(history.note(seq(6), false), Order::Late, "remembered");
    assert_eq!(entries(&history), [(0, 1), (3, 2), (0, 2)]);
    history.shorten(2);
    assert_eq!(entries(&history), [(0, 1), (3, 2)]);
    assert_eq!(history.note(seq(5), true), Order::Old, "forgotten");
}

/// At the bound nothing is forgotten; with one entry more, the oldest packet is.
#[test]
fn the_oldest_is_forgotten_beyond_the_bound() {
    let mut history = History::new(Some(seq(0)));
    let mut number = 0;
    while history.entry_count() < MAX_ENTRIES {
        // Every second packet is marked, so that no two share an entry.
        history.note(seq(number), number % 2 == 1);
        number += 1;
    }
    assert_eq!(
        history.packets as usize, MAX_ENTRIES,
        "packet 0 is the last entry"
    );
    assert_eq!(history.note(seq(0), true), Order::Late, "still known");
    history.note(seq(number), number % 2 == 1);
    assert!(history.entry_count() <= MAX_ENTRIES);
    assert_eq!(history.note(seq(0), true), Order::Old, "forgotten");

    // A gap as wide as the Sequence Window allows leaves the newest packet and what fits.
    history.note(seq(1 << 46), false);
    assert_eq!(history.entry_count(), MAX_ENTRIES);
    assert_eq!(entries(&history)[..2], [(0, 1), (3, 64)]);
    assert!(history.state_len() < 100, "one run, however long");
}

/// A long run without losses is one run in memory and one entry per 64 packets on the wire.
#[test]
fn clean_runs_are_cheap() {
    let mut history = History::new(None);
    for number in 100..=100 + 64 * 3 {
        history.note(seq(number), false);
    }
    assert_eq!(entries(&history), [(0, 64), (0, 64), (0, 64), (0, 1)]);
    assert!(
        history
            .entries_from(seq(105))
            .eq([fairwire_wire::AckEntry::new(EntryState::Received, 6)])
    );
}
