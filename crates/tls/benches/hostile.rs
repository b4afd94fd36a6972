//! How long a session takes for a hostile datagram, by the state of its handshake: median and 99th percentile, beside an
//! honest record.

#[path = "../tests/session/keyed.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod keyed;

use std::time::Instant as Clock;

use fairwire_tls::{Date, Identity, Output, ServerConfig, Session, Validity};
use fairwire_units::Instant;
use keyed::{Keyed, part, plain};

const NOW: Instant = Instant::START;
const TODAY: Date = Date::from_unix_seconds(1_795_000_000);
const HANDSHAKE: u8 = 22;
/// Sessions in one measurement, and datagrams that each of them gets.
const SESSIONS: usize = 100;
const DATAGRAMS: usize = 20;

#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark measures how long something takes"
)]
fn main() {
    let identity = Identity::generate(&[], Validity::days(TODAY, 1)).expect("an identity");
    let config = ServerConfig::new(identity);
    let begin = || Session::server(&config, 1_400, NOW, TODAY).expect("a server");
    let measure = |what: &str, make: &dyn Fn() -> (Session, Vec<Vec<u8>>)| {
        let mut times = Vec::new();
        for _ in 0..SESSIONS {
            let (mut server, datagrams) = make();
            for datagram in datagrams {
                let began = Clock::now();
                let _ = server.handle_datagram(NOW, &datagram);
                times.push(began.elapsed());
                while server.poll() != Output::Idle {}
            }
        }
        times.sort_unstable();
        let at = |percent: usize| times[(times.len() - 1) * percent / 100];
        println!("{what:48} p50 {:>10.1?}  p99 {:>10.1?}", at(50), at(99));
    };
    let keys = || {
        let (mut server, mut client) = (begin(), Keyed::client());
        let cut = [part(20, 2, 32, 0, &[0]), vec![HANDSHAKE]].concat();
        client.connect(&mut server, vec![cut]);
        server
    };
    let connected = || {
        let mut server = begin();
        let client = Keyed::connected(&mut server).expect("a good client");
        (server, client)
    };
    let repeat = |datagram: Vec<u8>| vec![datagram; DATAGRAMS];
    let hello = part(1, 0, 200, 100, &[0]);
    let forged = [&[0x2e, 0, 1, 0, 17][..], &[9; 17]].concat();
    measure("before keys: 32 short parts of a hello", &|| {
        (begin(), repeat(plain(HANDSHAKE, &hello).repeat(32)))
    });
    measure("with keys: 32 empty records", &|| {
        (keys(), repeat([0x26, 0, 0, 0].repeat(32)))
    });
    measure("with keys: 32 forged records", &|| {
        (keys(), repeat(forged.repeat(32)))
    });
    measure("connected: 32 forged records", &|| {
        (
            connected().0,
            repeat([&[0x2f], &forged[1..]].concat().repeat(32)),
        )
    });
    measure("connected: 20 records of no use", &|| {
        let (server, mut client) = connected();
        let datagrams = (0..DATAGRAMS).map(|_| {
            let records = (0..20).map(|_| client.seal(HANDSHAKE, &part(24, 9, 1, 0, &[0])));
            records.collect::<Vec<_>>().concat()
        });
        let datagrams = datagrams.collect();
        (server, datagrams)
    });
    measure("connected: an honest record of 1,200 bytes", &|| {
        let (server, mut client) = connected();
        let datagrams = (0..DATAGRAMS).map(|_| client.seal(23, &[7; 1_200]));
        let datagrams = datagrams.collect();
        (server, datagrams)
    });
}
