//! The target `options`: arbitrary bytes as an options area, and arbitrary values through the encoder.
//!
//! The first byte of an input selects what the rest is: an options area (read by [`crate::codec`]), calls to an
//! [`Encoder`](fairwire_wire::Encoder) with values from the input ([`calls`]), or the text of a Service Code.

mod calls;
mod values;

use arbitrary::Unstructured;
use fairwire_wire::{Options, ServiceCode};

use crate::codec::contents;
use fairwire_held::thread::{measure, without_allocation};

/// Runs one input.
///
/// # Panics
/// Panics if a promise is broken.
pub fn run(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else {
        return;
    };
    match mode % 4 {
        0 => without_allocation("an options area", || contents::options(Options::new(rest))),
        3 => service_code(rest),
        _ => {
            let ((), taken) = measure(|| calls::run(&mut Unstructured::new(rest)));
            // The list of written options, with one entry of at most 64 bytes per call, doubles as it grows.
            let bound = 4_096 + 256 * rest.len() as u64;
            assert!(taken.bytes <= bound, "{taken:?} for {} bytes", rest.len());
        }
    }
}

/// Checks that a text which is read as a Service Code is printed as one that reads the same, and so is every code.
fn service_code(bytes: &[u8]) {
    let ((), taken) = measure(|| {
        let text = String::from_utf8_lossy(bytes);
        match text.parse::<ServiceCode>() {
            Ok(code) => {
                assert!(code.is_valid(), "RFC 4340, 8.1.2");
                assert_eq!(code.to_string().parse(), Ok(code));
            }
            Err(error) => assert!(error.to_string().len() < 200 + text.len()),
        }
        if let Some(&first) = bytes.first_chunk() {
            let code = ServiceCode(u32::from_be_bytes(first));
            // RFC 5595, 2.7: a dynamic port.
            assert!((0xC000..0xFFFF).contains(&code.default_port()));
            let read = code.to_string().parse::<ServiceCode>();
            assert_eq!(read.is_ok_and(|read| read == code), code.is_valid());
        }
    });
    let bound = 4_096 + 16 * bytes.len() as u64;
    assert!(taken.bytes <= bound, "{taken:?} for {} bytes", bytes.len());
}
