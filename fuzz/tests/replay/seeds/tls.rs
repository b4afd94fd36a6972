//! Inputs of `tls`.

use super::Seeds;

/// Each kind of step has its place in a seed.
pub(super) fn seeds() -> Seeds {
    let all_of = |code: u8, one: u8, two: u8, times: usize| [code, one, two].repeat(times);
    let clean = |setup: u8| [vec![setup], all_of(120, 0, 0, 4)].concat();
    let mut all = Vec::new();
    for setup in 0..8_u8 {
        all.push((format!("seed-handshake-{setup}"), clean(setup)));
    }
    let data = [
        all_of(41, 0, 9, 3),
        all_of(41 + 0x80, 1, 0, 3),
        all_of(120, 0, 0, 2),
    ]
    .concat();
    for setup in [0x80, 0x81, 0x84] {
        all.push((
            format!("seed-data-{setup:02x}"),
            [vec![setup], data.repeat(3)].concat(),
        ));
    }
    let lossy = [
        all_of(22, 0, 0, 1),
        all_of(34, 0, 0, 1),
        all_of(120, 0, 0, 1),
    ]
    .concat();
    all.push(("seed-loss".to_owned(), [vec![1], lossy.repeat(12)].concat()));
    let reordered = [all_of(16, 1, 0, 1), all_of(0, 2, 0, 1), all_of(34, 0, 0, 1)].concat();
    all.push((
        "seed-reorder".to_owned(),
        [vec![1], reordered.repeat(12)].concat(),
    ));
    let hostile = [
        all_of(59, 0, 13, 2),
        all_of(69, 0, 20, 1),
        all_of(75, 0, 1, 1),
        all_of(51, 0, 0, 2),
        vec![79, 4, 0, 1, 2, 3, 4],
        vec![95, 4, 0, 1, 2, 3, 4],
        vec![95 + 0x80, 2, 9, 2, 40],
    ];
    let hostile = hostile.concat();
    all.push((
        "seed-hostile".to_owned(),
        [clean(0), hostile.clone(), data.clone()].concat(),
    ));
    all.push((
        "seed-hostile-open".to_owned(),
        [vec![0x80], data.clone(), hostile].concat(),
    ));
    // Sealing often enough replaces keys that protect one record each.
    let sealing = [
        all_of(41, 0, 1, 100),
        all_of(120, 0, 0, 3),
        all_of(34, 0, 0, 1),
    ]
    .concat();
    all.push((
        "seed-keys".to_owned(),
        [vec![0x84], sealing.repeat(2)].concat(),
    ));
    let narrow = [all_of(111, 40, 0, 1), all_of(111 + 0x80, 30, 0, 1)].concat();
    all.push((
        "seed-limit".to_owned(),
        [vec![0], narrow, all_of(120, 0, 0, 5)].concat(),
    ));
    let close = [
        data,
        all_of(118, 0, 0, 1),
        all_of(120, 0, 0, 1),
        all_of(118 + 0x80, 0, 0, 1),
    ];
    all.push((
        "seed-close".to_owned(),
        [vec![0x80], close.concat(), all_of(120, 0, 0, 1)].concat(),
    ));
    let waiting = [
        all_of(115, 1, 0, 1),
        all_of(34, 0, 0, 2),
        all_of(115, 0, 0, 1),
    ]
    .concat();
    all.push((
        "seed-waiting".to_owned(),
        [vec![0], waiting, all_of(34, 0, 0, 5)].concat(),
    ));
    all
}
