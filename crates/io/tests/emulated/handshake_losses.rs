//! What DCCP acknowledges is delivered, whichever packet of a connection's beginning is lost.

use std::collections::BTreeSet;
use std::time::Duration;

use fairwire::emulated::Link;
use fairwire::emulated::net::{LinkContext, Loss, LossModel, Verdict, nth};
use fairwire::tls::{ClientConfig, Fingerprint, ServerConfig, SessionError, Trust};
use fairwire::{
    Bytes, Config, ConnectError, ConnectOptions, Connection, Fate, HandshakeError, ListenOptions,
    Rate, Security,
};

use crate::{SERVICE, identity};

/// Datagrams of one client. They leave within 300 ms; of those that leave in the first 50 ms, before a lost end of the
/// handshake is repeated, a server keeps only some.
const SENT: u32 = 300;

/// Loses one packet of a direction; none for number 0.
#[derive(Debug)]
pub(crate) struct LoseOne(pub(crate) u64);

impl LossModel for LoseOne {
    fn build(&self, _: &LinkContext<'_>) -> Option<Box<dyn Loss>> {
        Some(Box::new(nth([self.0], Verdict::Drop)))
    }

    fn is_random(&self) -> bool {
        false
    }
}

/// A link that loses the packet with this number in one direction; none for number 0.
fn link(to_server: u64, to_client: u64) -> Link {
    let one_way = || Link::new(Rate::from_bits_per_s(20_000_000), Duration::from_millis(10));
    let back = one_way().loss_model(LoseOne(to_client));
    one_way().loss_model(LoseOne(to_server)).back(back)
}

/// Both ends' configurations of DTLS; with `shown`, the client has to show a certificate.
fn dtls(shown: bool) -> (Security<ClientConfig>, Security<ServerConfig>) {
    let (ours, theirs) = (identity(&["fairwire.test"]), identity(&["fairwire.test"]));
    let mut client = ClientConfig::pinned([theirs.fingerprint()]);
    let mut server = ServerConfig::new(theirs);
    if shown {
        server = server.clients(Trust::Fingerprints([ours.fingerprint()].into()));
        client = client.identity(ours);
    }
    (Security::dtls(client), Security::dtls(server))
}

/// Connects over `link` and begins to serve. Returns the client's end, and the task with the server's.
async fn connected(
    link: &Link,
    (client, server): (Security<ClientConfig>, Security<ServerConfig>),
) -> (
    Result<Connection, ConnectError>,
    tokio::task::JoinHandle<BTreeSet<u32>>,
) {
    let (a, b) = link.join().expect("a link");
    let port = b.local_addr().port();
    let listener = b
        .listen_with(port, &[SERVICE], server, ListenOptions::new())
        .expect("a free port");
    let reading = tokio::spawn(async move {
        let mut seen = BTreeSet::new();
        let Ok(there) = listener.accept().await else {
            return seen;
        };
        while let Ok(received) = there.recv().await {
            seen.insert(u32::from_be_bytes(
                *received.data.first_chunk().expect("numbered"),
            ));
        }
        seen
    });
    let mut config = Config::default();
    config.report_fates = true;
    config.connect_timeout = Duration::from_secs(60);
    let options = ConnectOptions::new().config(config);
    let here = a.connect_with(b.local_addr(), SERVICE, client, options);
    (here.await, reading)
}

/// Sends numbered datagrams, one each millisecond, and returns those that were acknowledged.
async fn acknowledged(here: Connection) -> BTreeSet<u32> {
    let mut numbers = Vec::new();
    for number in 0..SENT {
        let sent = here.try_send(Bytes::copy_from_slice(&number.to_be_bytes()));
        if let Ok(id) = sent {
            numbers.push((id, number));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let _ = here.close().await;
    let mut all = BTreeSet::new();
    while let Ok((id, fate)) = here.fate().await {
        if fate == Fate::Acknowledged {
            all.extend(
                numbers
                    .iter()
                    .filter(|(own, _)| *own == id)
                    .map(|(_, number)| *number),
            );
        }
    }
    all
}

/// Loses one packet after the other of the first 16 of each direction, with and without certificates of clients. Each
/// datagram that was acknowledged is read.
#[tokio::test(start_paused = true)]
async fn no_lost_packet_of_a_handshake_loses_acknowledged_data() {
    for shown in [false, true] {
        let security = dtls(shown);
        for lost in 0..=16 {
            for (to_server, to_client) in [(lost, 0), (0, lost)] {
                let case = format!("shown {shown}, lost {to_server} and {to_client}");
                let (here, reading) =
                    connected(&link(to_server, to_client), security.clone()).await;
                let acknowledged = acknowledged(here.expect(&case)).await;
                assert!(acknowledged.len() > 100, "{case}: {}", acknowledged.len());
                let read = reading.await.expect("no panic");
                let missing: Vec<_> = acknowledged.difference(&read).collect();
                assert!(
                    missing.is_empty(),
                    "{case}: acknowledged, never read: {missing:?}"
                );
            }
        }
    }
}

/// A lost packet of the DTLS handshake costs a few round trips, not a second: the timer follows the round-trip time that
/// DCCP's handshake has measured.
///
/// RFC 9147, section 5.8.2.
#[tokio::test(start_paused = true)]
async fn a_lost_packet_of_dtls_costs_a_few_round_trips() {
    let security = dtls(true);
    let time_of = async |to_server, to_client| {
        let began = tokio::time::Instant::now();
        let link = link(to_server, to_client);
        let (here, reading) = connected(&link, security.clone()).await;
        let took = began.elapsed();
        drop(here.expect("connected"));
        let _ = reading.await;
        took
    };
    let clean = time_of(0, 0).await;
    // The first packets of each direction are DCCP's.
    for lost in 3..=10 {
        for (to_server, to_client) in [(lost, 0), (0, lost)] {
            let more = time_of(to_server, to_client).await.saturating_sub(clean);
            let case = format!("{more:?} for {to_server} and {to_client}");
            assert!(more < Duration::from_millis(500), "{case}");
        }
    }
}

/// The same for a client that sends at once what it has, and closes: the first datagrams leave before the client knows that
/// the server has all keys. They are read in order, and the end is announced, so the server knows that it was all.
#[tokio::test(start_paused = true)]
async fn a_client_that_only_sends_loses_nothing() {
    let security = dtls(false);
    for lost in 0..=12 {
        for (to_server, to_client) in [(lost, 0), (0, lost)] {
            let case = format!("lost {to_server} and {to_client}");
            let (a, b) = link(to_server, to_client).join().expect("a link");
            let port = b.local_addr().port();
            let listener = b
                .listen_with(port, &[SERVICE], security.1.clone(), ListenOptions::new())
                .expect("a free port");
            let reading = tokio::spawn(async move {
                let there = listener.accept().await.expect("a client");
                let mut seen = Vec::new();
                loop {
                    match there.recv().await {
                        Ok(received) => seen.push(received.data[0]),
                        Err(closed) => return (seen, closed),
                    }
                }
            });
            let (to, options) = (b.local_addr(), ConnectOptions::new());
            let here = a.connect_with(to, SERVICE, security.0.clone(), options);
            let here = here.await.expect(&case);
            for number in 0..30 {
                here.try_send(Bytes::copy_from_slice(&[number; 200]))
                    .expect(&case);
            }
            here.close().await.expect(&case);
            let (seen, closed) = reading.await.expect("no panic");
            assert!(seen.is_sorted(), "{case}: {seen:?}");
            assert!(seen.len() >= 29, "{case}: {seen:?}");
            assert!(
                closed.is_orderly() && closed.is_authenticated,
                "{case}: {closed:?}"
            );
        }
    }
}

/// An encrypted `connect` takes two round trips, and the first datagram leaves then. A client that the server has asked for
/// a certificate waits for a third, because it may be refused.
#[tokio::test(start_paused = true)]
async fn an_encrypted_connect_takes_two_round_trips() {
    const ONE_WAY: Duration = Duration::from_millis(100);
    for (shown, round_trips) in [(false, 2), (true, 3)] {
        let quick = Link::new(Rate::from_bits_per_s(10_000_000_000), ONE_WAY);
        let (client, server) = dtls(shown);
        let (a, b) = quick.join().expect("a link");
        let port = b.local_addr().port();
        let listener = b
            .listen_with(port, &[SERVICE], server, ListenOptions::new())
            .expect("a free port");
        let reading = tokio::spawn(async move {
            let there = listener.accept().await.expect("a client");
            there.recv().await.expect("a datagram");
            tokio::time::Instant::now()
        });
        let began = tokio::time::Instant::now();
        let here = a.connect_with(b.local_addr(), SERVICE, client, ConnectOptions::new());
        let here = here.await.expect("connected");
        let connected = began.elapsed();
        here.try_send(Bytes::from_static(b"first")).expect("room");
        let read = reading.await.expect("no panic").duration_since(began);
        // Each wait of the driver may take a tick of tokio's timer.
        for (took, ways) in [(connected, 2 * round_trips), (read, 2 * round_trips + 1)] {
            let expected = ONE_WAY * ways;
            assert!(
                (expected..expected + ONE_WAY / 10).contains(&took),
                "{shown}: {took:?}, not {expected:?}"
            );
        }
    }
}

/// A client whose certificate the server does not accept learns this from `connect`, not from a connection that ends.
#[tokio::test(start_paused = true)]
async fn a_refused_client_does_not_connect() {
    let (stranger, theirs) = (identity(&["fairwire.test"]), identity(&["fairwire.test"]));
    let client = ClientConfig::pinned([theirs.fingerprint()]).identity(stranger);
    let nobody = Fingerprint::from_bytes([7; 32]);
    let server = ServerConfig::new(theirs).clients(Trust::Fingerprints([nobody].into()));
    let security = (Security::dtls(client), Security::dtls(server));
    let (here, reading) = connected(&link(0, 0), security).await;
    let error = here.expect_err("refused");
    let ConnectError::Handshake { error, .. } = error else {
        panic!("{error}");
    };
    let is_told = matches!(
        error,
        HandshakeError::Dtls(SessionError::Alert(_)) | HandshakeError::Closed(_)
    );
    assert!(is_told, "{error:?}");
    reading.abort();
}
