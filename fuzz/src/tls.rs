//! The target `tls`: two DTLS sessions, a network that may do anything, and two applications.
//!
//! The first byte of an input selects the configuration, and whether the handshake is done before. Then come steps,
//! each of an opcode and up to three bytes. Keys are drawn by the cryptographic library, so the bytes on the wire
//! differ from run to run; what must hold does not depend on them.

mod ends;

use arbitrary::Unstructured;
use fairwire_held::thread::measure;
use fairwire_units::Duration;

use ends::{Ends, Setup};

/// The most steps of one input.
const MAX_STEPS: usize = 512;

/// What two sessions take at most, bytes, and for each byte of the input: what arrived may wait until it is complete.
const MEMORY: u64 = 2 << 20;
const MEMORY_PER_BYTE: u64 = 512;

/// Runs one input.
///
/// # Panics
/// Panics if a promise is broken.
pub fn run(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let Ok(first) = input.arbitrary::<u8>() else {
        return;
    };
    let setup = Setup::chosen(first);
    // The configurations are made once, with what the libraries keep for good.
    setup.warm();
    let ((), taken) = measure(|| {
        let mut ends = Ends::new(setup);
        if first & 0x80 != 0 {
            ends.shake_hands();
        }
        for _ in 0..MAX_STEPS {
            if step(&mut ends, &mut input).is_err() || input.is_empty() {
                break;
            }
        }
        ends.rest();
    });
    let bound = MEMORY + MEMORY_PER_BYTE * data.len() as u64;
    assert!(taken.peak <= bound, "{} bytes: {taken:?}", data.len());
}

/// Does one step: of the network, of an attacker, of time or of an application.
fn step(ends: &mut Ends, input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let [code, one, two] = input.arbitrary::<[u8; 3]>()?;
    let end = usize::from(code >> 7);
    let (number, wide) = (usize::from(one), u16::from_be_bytes([one, two]));
    match code & 0x7f {
        0..=15 => ends.deliver(number, false),
        16..=21 => ends.deliver(number, true),
        22..=24 => ends.lose(number),
        25..=33 => ends.pass(Duration::from_millis(1) * u64::from(wide)),
        34..=40 => ends.pass_until_timer(),
        41..=50 => ends.seal(end, usize::from(wide) % 1_600),
        51..=58 => ends.replay(usize::from(wide), end),
        59..=68 => ends.corrupt(number, usize::from(two), 1 << (code & 7)),
        69..=74 => ends.cut(number, usize::from(two)),
        75..=78 => ends.join(number, usize::from(two)),
        79..=94 => {
            let bytes = input.bytes(number.min(input.len()))?;
            ends.arrive(end, bytes);
        }
        95..=110 => {
            let body = input.bytes(number.min(input.len()))?;
            ends.arrive(end, &plain_record(20 + code % 8, two, body));
        }
        111..=114 => ends.limit(end, 200 + 8 * number),
        115..=117 => ends.set_waiting(end, one & 1 == 1),
        118 | 119 => ends.close(end),
        _ => {
            for _ in 0..8 {
                ends.deliver(0, false);
            }
        }
    }
    Ok(())
}

/// Returns a record that is not protected (RFC 9147, section 4).
fn plain_record(content: u8, number: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).expect("at most 255 bytes");
    let mut record = vec![content, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, number];
    record.extend(length.to_be_bytes());
    record.extend(body);
    record
}

#[cfg(test)]
mod tests {
    use super::run;
    use crate::seeds;

    /// Each kind of step has its place in a seed.
    #[test]
    fn seeds_are_committed() {
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
        for (_, seed) in &all {
            run(seed);
        }
        seeds::check("tls", &all);
    }
}
