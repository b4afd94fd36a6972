//! Measures a handshake with both ends, and sealing and opening a record of 1,200 bytes.

use std::hint::black_box;

use bytes::BytesMut;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use fairwire_tls::{ClientConfig, Date, Identity, Output, ServerConfig, Session, Validity};
use fairwire_units::Instant;

const NOW: Instant = Instant::START;
const TODAY: Date = Date::from_unix_seconds(1_795_000_000);
const MAX_DATAGRAM: usize = 1_400;
const DATA: [u8; 1_200] = [7; 1_200];

fn configs() -> (ClientConfig, ServerConfig) {
    let identity = Identity::generate(&[], Validity::days(TODAY, 1)).expect("an identity");
    let client = ClientConfig::pinned([identity.fingerprint()]);
    (client, ServerConfig::new(identity))
}

/// Makes two sessions and carries out their handshake.
fn connect(client: &ClientConfig, server: &ServerConfig) -> [Session; 2] {
    let mut ends = [
        Session::client(client, MAX_DATAGRAM, NOW, TODAY).expect("a client"),
        Session::server(server, MAX_DATAGRAM, NOW, TODAY).expect("a server"),
    ];
    loop {
        let mut idle = true;
        for from in [0, 1] {
            while let out @ (Output::Send(_) | Output::Connected { .. }) = ends[from].poll() {
                idle = false;
                if let Output::Send(datagram) = out {
                    ends[1 - from]
                        .handle_datagram(NOW, &datagram)
                        .expect("a good peer");
                }
            }
        }
        if idle {
            break;
        }
    }
    assert!(ends.iter().all(Session::is_connected));
    ends
}

fn session(c: &mut Criterion) {
    let (client, server) = configs();
    c.bench_function("handshake/both ends", |b| {
        b.iter(|| connect(&client, &server));
    });
    let server = server.without_cookies();
    c.bench_function("handshake/both ends, no cookie", |b| {
        b.iter(|| connect(&client, &server));
    });

    let mut group = c.benchmark_group("record of 1,200 bytes");
    group.throughput(Throughput::Bytes(1_200));
    let [mut sender, mut receiver] = connect(&client, &server);
    group.bench_function("seal", |b| {
        let mut datagram = BytesMut::new();
        b.iter(|| {
            datagram.clear();
            let data = [black_box(&DATA[..])];
            sender.append(&data, &mut datagram).expect("connected");
        });
    });
    let mut sender = connect(&client, &server);
    std::mem::swap(&mut receiver, &mut sender[1]);
    let [mut sender, _] = sender;
    group.bench_function("open", |b| {
        b.iter_batched(
            || sender.seal(&DATA).expect("connected"),
            |datagram| {
                let mut datagram = BytesMut::from(datagram);
                let opened = receiver.open(NOW, &mut datagram).expect("a good peer");
                assert!(opened.data.is_some());
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group!(benches, session);
criterion_main!(benches);
