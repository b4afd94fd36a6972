use super::{AGE, Arrival, Assembly, MAX_BYTES, MAX_WAITING, Placed, Whole};
use crate::part::Part;
use fairwire_units::{Duration, Ecn, Instant};

const AT: Instant = Instant::START;

fn add(all: &mut Assembly, (message, index, last): (u32, u8, u8), data: &[u8]) -> Placed {
    add_at(all, AT, (message, index, last), data)
}

fn add_at(
    all: &mut Assembly,
    now: Instant,
    (message, index, last): (u32, u8, u8),
    data: &[u8],
) -> Placed {
    let arrival = Arrival {
        part: Part {
            message,
            index,
            last,
        },
        data,
        ecn: Ecn::NotEct,
        corrupt: false,
        resent: false,
    };
    all.add(now, arrival)
}

fn whole(data: &'static [u8]) -> Placed {
    Placed::Whole(Whole {
        data: data.into(),
        ecn: Ecn::NotEct,
        corrupt: false,
        resent: false,
    })
}

/// The parts may come in any order, and twice; those of other messages may come between them. A message comes once.
#[test]
fn parts_make_a_message() {
    let mut all = Assembly::default();
    assert_eq!(add(&mut all, (7, 2, 2), b"!"), Placed::Kept);
    assert_eq!(add(&mut all, (8, 0, 1), b"x"), Placed::Kept);
    assert_eq!(add(&mut all, (7, 0, 2), b"hel"), Placed::Kept);
    assert_eq!(add(&mut all, (7, 0, 2), b"xxx"), Placed::Useless);
    assert_eq!(add(&mut all, (7, 1, 2), b"lo"), whole(b"hello!"));
    for index in 0..=2 {
        assert_eq!(add(&mut all, (7, index, 2), b"hello"), Placed::Useless);
    }
    assert_eq!(add(&mut all, (8, 1, 1), b""), whole(b"x"));
    assert!(all.is_empty() && all.bytes() == 0 && all.given_up == 0);
}

/// Parts that contradict each other, or cannot be, end their own message only.
#[test]
fn contradictions_end_one_message() {
    for wrong in [(7, 1, 3), (7, 4, 2), (7, 0, 0)] {
        let mut all = Assembly::default();
        assert_eq!(add(&mut all, (7, 0, 2), b"a"), Placed::Kept);
        assert_eq!(add(&mut all, (8, 0, 1), b"b"), Placed::Kept);
        assert_eq!(add(&mut all, wrong, b"?"), Placed::Wrong, "{wrong:?}");
        assert_eq!(add(&mut all, (7, 1, 2), b"a"), Placed::Useless);
        assert_eq!(add(&mut all, (8, 1, 1), b"c"), whole(b"bc"));
        // Two that arrived before, and one that came later.
        assert_eq!((all.given_up, all.take_vain(), all.bytes()), (1, 3, 0));
    }
}

/// A message that is longer than 64 KiB ends when that shows: it never ends otherwise.
#[test]
fn a_message_has_an_end() {
    let mut all = Assembly::default();
    for index in 0..=255_u8 {
        let placed = add(&mut all, (7, index, 255), &[index; 1_000]);
        let expected = match index {
            0..65 => Placed::Kept,
            65 => Placed::Wrong,
            _ => Placed::Useless,
        };
        assert_eq!(placed, expected, "{index}");
    }
    assert!(all.is_empty() && all.bytes() == 0);
}

/// A message with a missing part is given up after a while, and what it held is free.
#[test]
fn a_missing_part_is_awaited_for_a_while() {
    let mut all = Assembly::default();
    let (late, tick) = (AT + AGE, Duration::from_nanos(1));
    assert_eq!(add(&mut all, (7, 0, 1), &[1; 500]), Placed::Kept);
    assert_eq!(
        add_at(&mut all, AT + tick, (8, 0, 1), &[1; 500]),
        Placed::Kept
    );
    assert_eq!(all.next_expiry(), Some(late));
    all.expire(AT + (AGE - tick));
    assert_eq!(all.given_up, 0);
    all.expire(late);
    assert_eq!((all.given_up, all.take_vain()), (1, 1));
    all.expire(late + tick);
    assert_eq!((all.given_up, all.take_vain(), all.bytes()), (2, 1, 0));
    assert_eq!(all.next_expiry(), None);
    assert_eq!(add(&mut all, (7, 1, 1), b"late"), Placed::Useless);
    assert_eq!(all.take_vain(), 1, "it is missing, too");
}

/// However many messages a peer begins, few wait and they hold little; the oldest are given up.
#[test]
fn the_memory_is_bounded() {
    for (size, last) in [(1, 1), (1, 255), (1_400, 40), (60_000, 1)] {
        let mut all = Assembly::default();
        for message in 0..1_000 {
            add(&mut all, (message, 0, last), &vec![7; size]);
            assert!(all.waiting.len() <= MAX_WAITING);
            assert!(all.bytes() <= MAX_BYTES, "{size} {last}: {}", all.bytes());
        }
        assert_eq!(all.given_up + all.waiting.len() as u64, 1_000);
        assert!(all.waiting.contains_key(&999) && !all.waiting.contains_key(&0));
    }
}
