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
