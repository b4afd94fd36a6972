//! Benchmarks of decoding and encoding a head, and of summing a payload.
//!
//! The head is a `DataAck` with an Ack Vector. Decoding and encoding it together should take less than 100 ns.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use fairwire_wire::checksum::{PseudoHeader, Sum};
use fairwire_wire::{
    AckEntry, DccpOption, Encoder, EntryState, HeadBuf, Kind, Packet, Ports, Seq, SeqNo,
};

const ENTRIES: [AckEntry; 5] = [
    AckEntry::new(EntryState::Received, 3),
    AckEntry::new(EntryState::NotReceived, 1),
    AckEntry::new(EntryState::Received, 64),
    AckEntry::new(EntryState::Marked, 1),
    AckEntry::new(EntryState::Received, 20),
];

/// Encodes a head. It is not inlined, so the compiler knows none of the values in advance.
#[inline(never)]
fn encode(buf: &mut HeadBuf, seq: Seq, entries: &[AckEntry]) -> usize {
    let ports = Ports {
        source: 5001,
        destination: 5002,
    };
    let kind = Kind::DataAck {
        ack: SeqNo::Long(seq),
    };
    let mut encoder = Encoder::new(buf, ports, SeqNo::Long(seq), &kind, 0, 0);
    let fits = encoder.ack_vector(entries.iter().copied()).is_ok()
        && encoder
            .option(&DccpOption::ElapsedTime(seq.short()))
            .is_ok();
    assert!(fits);
    encoder.finish().len()
}

/// Decodes everything: the header, each option, each Ack Vector entry.
#[inline(never)]
fn decode(head: &[u8]) -> u64 {
    let packet = Packet::decode(head).expect("it was encoded here");
    let mut told = packet.ack().map_or(0, |ack| u64::from(ack.short()));
    for option in packet.options {
        match option.decode() {
            Ok(DccpOption::AckVector { entries, .. }) => told += entries.packets(),
            Ok(DccpOption::ElapsedTime(elapsed)) => told += u64::from(elapsed),
            _ => {}
        }
    }
    told
}

fn heads(c: &mut Criterion) {
    let mut group = c.benchmark_group("DataAck with Ack Vector");
    let mut buf = HeadBuf::new();
    let mut seq = Seq::new(1 << 47);
    group.bench_function("encode", |b| {
        b.iter(|| {
            seq = seq.next();
            encode(black_box(&mut buf), black_box(seq), black_box(&ENTRIES))
        });
    });
    encode(&mut buf, seq, &ENTRIES);
    group.bench_function("decode", |b| b.iter(|| decode(black_box(buf.as_slice()))));
    group.bench_function("encode and decode", |b| {
        b.iter(|| {
            seq = seq.next();
            encode(black_box(&mut buf), black_box(seq), black_box(&ENTRIES));
            decode(black_box(buf.as_slice()))
        });
    });
    let pseudo = PseudoHeader::v4([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    group.bench_function("verify checksum", |b| {
        let packet = Packet::decode(buf.as_slice()).expect("it was encoded here");
        b.iter(|| packet.verify_checksum(pseudo, black_box(buf.as_slice()), Sum::EMPTY, 0));
    });
    group.finish();
}

fn payload(c: &mut Criterion) {
    let mut group = c.benchmark_group("payload");
    for len in [160, 1200, 9000] {
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(format!("sum of {len} bytes"), |b| {
            b.iter_batched_ref(
                || vec![0xA5; len],
                |payload| Sum::of(black_box(payload)),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, heads, payload);
criterion_main!(benches);
