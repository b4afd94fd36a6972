//! Messages that are too long for the library panic no end.

use fairwire_tls::{
    ClientConfig, Identity, Output, ServerConfig, Session, SessionError, Trust, Validity,
};
use fairwire_units::Instant;

use crate::keyed::plain;
use crate::net::{CLIENT, Net, SERVER, TODAY, identity, pinned};

const NOW: Instant = Instant::START;
const HANDSHAKE: u8 = 22;

/// A client whose certificate is longer than a datagram, and whose datagrams begin with what looks like early data,
/// does not panic the server that asks for it.
#[test]
fn a_long_certificate_behind_early_data_panics_nobody() {
    let names: Vec<String> = (0..90)
        .map(|n| format!("host-{n}.a.long.example.org"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let long = Identity::generate(&names, Validity::days(TODAY, 1)).expect("an identity");
    assert!(
        long.certificate().len() > 2_000,
        "{}",
        long.certificate().len()
    );
    let identity = identity();
    let client = ClientConfig::pinned([identity.fingerprint()]).identity(long.clone());
    let config = ServerConfig::new(identity).clients(Trust::Fingerprints(vec![long.fingerprint()]));
    let mut net = Net::new(&client, &config);
    let looks_early = [&[0x2f, 0, 1, 0, 17][..], &[9; 17]].concat();
    loop {
        let mut is_any = false;
        for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
            while let out @ (Output::Send(_) | Output::Connected { .. }) = net.ends[from].poll() {
                is_any = true;
                if let Output::Send(datagram) = out {
                    let prefix = if net.sent.is_empty() {
                        &[][..]
                    } else {
                        &looks_early
                    };
                    net.sent.push((from, datagram.clone()));
                    // A server looks at nothing behind a record that is not authentic, so the datagram comes again.
                    for datagram in [[prefix, &datagram].concat(), datagram.to_vec()] {
                        let taken = net.ends[to].handle_datagram(NOW, &datagram);
                        taken.expect("it drops what it cannot read");
                    }
                }
            }
        }
        if !is_any {
            break;
        }
    }
    assert_eq!(net.ends[SERVER].peer(), Some(long.fingerprint()));
}

/// A request to try again with a cookie of any length panics no client: it is answered, or refused by its length.
#[test]
fn a_long_cookie_panics_nobody() {
    for length in [10_u16, 300, 1_900, 6_000, 16_000] {
        let (config, _) = pinned();
        for datagram in [256, 1_400] {
            let mut client = Session::client(&config, datagram, NOW, TODAY).expect("a client");
            while client.poll() != Output::Idle {}
            let mut result = Ok(());
            for record in retry(length) {
                result = result.and(client.handle_datagram(NOW, &record));
            }
            let too_large = matches!(result, Err(SessionError::MessageTooLarge { .. }));
            assert_eq!(too_large, length > 1_900, "{length}: {result:?}");
            let answered = matches!(client.poll(), Output::Send(_));
            assert_eq!(answered, length <= 1_900, "{length}");
        }
    }
}

/// Returns the records of a request to try again (RFC 8446, section 4.1.4) with a cookie.
fn retry(cookie: u16) -> Vec<Vec<u8>> {
    let random: [u8; 32] = [
        0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8,
        0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8,
        0x33, 0x9c,
    ];
    let versions = [0, 43, 0, 2, 0xfe, 0xfc];
    let mut body = [&[0xfe, 0xfd][..], &random, &[0, 0x13, 0x01, 0]].concat();
    let extensions = 12 + cookie;
    body.extend(extensions.to_be_bytes());
    body.extend(versions);
    body.extend([0, 44]);
    body.extend((2 + cookie).to_be_bytes());
    body.extend(cookie.to_be_bytes());
    body.resize(body.len() + usize::from(cookie), 7);
    let three = |number: usize| u32::try_from(number).expect("short").to_be_bytes();
    let parts = body.chunks(1_200).enumerate().map(|(index, chunk)| {
        let [length, offset, own] = [body.len(), index * 1_200, chunk.len()].map(three);
        let header = [&[2], &length[1..], &[0, 0], &offset[1..], &own[1..]].concat();
        plain(HANDSHAKE, &[&header, chunk].concat())
    });
    parts.collect()
}
