//! Sessions of a simulation: the same seed gives the same bytes.

use bytes::Bytes;
use fairwire_tls::{ClientConfig, Identity, Output, ServerConfig, SimulationSeed, Validity};
use fairwire_units::Duration;

use crate::net::{CLIENT, Net, SERVER, TODAY};

fn identity(seed: u8) -> Identity {
    let seed = SimulationSeed::new([seed; 32]);
    Identity::simulated(&["example.org"], Validity::days(TODAY, 30), &seed).expect("an identity")
}

/// Makes a session, loses every third datagram of it, sends data and closes; returns everything that was sent.
fn sent(client: u8, server: u8) -> Vec<(usize, Bytes)> {
    let own = identity(3);
    let client =
        ClientConfig::pinned([own.fingerprint()]).simulated(SimulationSeed::new([client; 32]));
    let server = ServerConfig::new(own).simulated(SimulationSeed::new([server; 32]));
    let mut net = Net::new(&client, &server);
    let mut number = 0;
    net.path = Box::new(move |_, _| {
        number += 1;
        if number % 3 == 0 {
            Vec::new()
        } else {
            vec![Duration::from_millis(20)]
        }
    });
    net.run_for(Duration::from_secs(30));
    for end in [CLIENT, SERVER] {
        let connected = |output: &Output| matches!(output, Output::Connected { .. });
        assert!(net.done[end].iter().any(connected), "{end}");
        net.send(end, b"data");
    }
    net.ends[CLIENT].close();
    net.run_for(Duration::from_secs(1));
    net.sent
}

/// Hellos, key shares, the certificate, signatures, records and the jitter of timers follow from the seeds.
#[test]
fn the_same_seed_gives_the_same_bytes() {
    let first = sent(1, 2);
    assert_eq!(first, sent(1, 2));
    let differ = |other: Vec<(usize, Bytes)>| {
        let of = |sent: &[(usize, Bytes)], end| {
            let first = sent.iter().find(|(by, _)| *by == end).cloned();
            first.expect("each end sends")
        };
        [CLIENT, SERVER].map(|end| of(&first, end) != of(&other, end))
    };
    assert_eq!(
        differ(sent(9, 2)),
        [true, true],
        "the answer depends on the client's hello"
    );
    assert_eq!(differ(sent(1, 9)), [false, true]);
}

/// The certificate and its key follow from the seed alone.
#[test]
fn the_same_seed_gives_the_same_identity() {
    let (first, again) = (identity(1), identity(1));
    assert_eq!(first.certificate(), again.certificate());
    assert_eq!(*first.key_to_pem(), *again.key_to_pem());
    assert_ne!(first.certificate(), identity(2).certificate());
}

/// An end without a seed draws from the operating system, although the feature is there.
#[test]
fn an_end_without_a_seed_is_random() {
    let hello = || {
        let client = ClientConfig::pinned([identity(1).fingerprint()]);
        let server = ServerConfig::new(identity(1));
        let mut net = Net::new(&client, &server);
        net.run_for(Duration::from_secs(1));
        net.sent
    };
    assert_ne!(hello(), hello());
}
