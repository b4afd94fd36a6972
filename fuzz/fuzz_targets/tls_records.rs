//! libFuzzer's entry point for the target of this name.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fairwire_fuzz::tls_records::run(data));
