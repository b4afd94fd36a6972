//! Nothing that arrives makes a session panic, whatever state it is in.

use fairwire_tls::{ClientConfig, Output, ServerConfig, Trust};
use fairwire_units::Duration;
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};

use crate::net::{CLIENT, DELAY, Net, SERVER, identity};

/// What an attacker sends.
#[derive(Clone, Debug)]
enum Attack {
    Bytes(Vec<u8>),
    /// A record with any body that claims to be of this type, not protected.
    Plain(u8, Vec<u8>),
    /// A handshake message with any body that claims to be of this type, not protected.
    Message(u8, u8, Vec<u8>),
    /// A record with any body that claims to be protected.
    Sealed(u8, Vec<u8>),
    /// A genuine datagram, changed at some places.
    Changed(usize, Vec<(usize, u8)>),
    /// A genuine datagram, cut off.
    Cut(usize, usize),
    /// Two genuine datagrams in one.
    Joined(usize, usize),
}

fn attack() -> impl Strategy<Value = Attack> {
    let bytes = || vec(any::<u8>(), 0..200);
    let place = 0..50_usize;
    prop_oneof![
        vec(any::<u8>(), 0..2_000).prop_map(Attack::Bytes),
        (prop_oneof![20..27_u8, any::<u8>()], bytes())
            .prop_map(|(kind, body)| Attack::Plain(kind, body)),
        (prop_oneof![0..30_u8, any::<u8>()], 0..4_u8, bytes())
            .prop_map(|(kind, number, body)| Attack::Message(kind, number, body)),
        (0x20..0x40_u8, bytes()).prop_map(|(flags, body)| Attack::Sealed(flags, body)),
        (place.clone(), vec((0..1_400_usize, any::<u8>()), 1..5))
            .prop_map(|(which, changes)| Attack::Changed(which, changes)),
        (place.clone(), 0..1_400_usize).prop_map(|(which, length)| Attack::Cut(which, length)),
        (place.clone(), place).prop_map(|(one, two)| Attack::Joined(one, two)),
    ]
}

impl Attack {
    fn datagram(&self, net: &Net) -> Vec<u8> {
        let genuine = |which: usize| match net.sent.len() {
            0 => Vec::new(),
            count => net.sent[which % count].1.to_vec(),
        };
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Plain(kind, body) => plain(*kind, body),
            Self::Message(kind, number, body) => {
                let length = u8::try_from(body.len()).expect("short");
                let mut message = vec![*kind, 0, 0, length, 0, *number, 0, 0, 0, 0, 0, length];
                message.extend_from_slice(body);
                plain(22, &message)
            }
            Self::Sealed(flags, body) => {
                let length = u8::try_from(body.len()).expect("short");
                let mut record = vec![*flags, 0, 3, 0, length];
                record.extend_from_slice(body);
                record
            }
            Self::Changed(which, changes) => {
                let mut datagram = genuine(*which);
                for (place, value) in changes {
                    let length = datagram.len().max(1);
                    if let Some(byte) = datagram.get_mut(place % length) {
                        *byte ^= value;
                    }
                }
                datagram
            }
            Self::Cut(which, length) => {
                let mut datagram = genuine(*which);
                datagram.truncate(*length);
                datagram
            }
            Self::Joined(one, two) => [genuine(*one), genuine(*two)].concat(),
        }
    }
}

fn plain(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).expect("short");
    let mut record = vec![kind, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 7];
    record.extend_from_slice(&length.to_be_bytes());
    record.extend_from_slice(body);
    record
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever arrives at either end, after any part of the handshake, neither end panics. A connected session goes
    /// on: only somebody with its keys can end it.
    #[test]
    fn no_datagram_makes_a_session_panic(
        steps in 0..12_u64,
        large in any::<bool>(),
        attacks in vec((prop_oneof![Just(CLIENT), Just(SERVER)], attack()), 1..30),
    ) {
        let identity = identity();
        let client = ClientConfig::pinned([identity.fingerprint()]).identity(identity.clone());
        let trust = Trust::Fingerprints(vec![identity.fingerprint()]);
        let server = ServerConfig::new(identity).clients(trust);
        let mut net = Net::with_datagrams(&client, &server, if large { 1_400 } else { 300 });
        net.run_for(DELAY * steps);
        let connected = net.ends.iter().map(fairwire_tls::Session::is_connected);
        let connected: Vec<bool> = connected.collect();
        for (end, attack) in attacks {
            let datagram = attack.datagram(&net);
            net.arrive(end, &datagram);
            net.run_for(Duration::from_millis(1));
        }
        net.run_for(Duration::from_secs(70));
        for end in [CLIENT, SERVER] {
            assert!(!connected[end] || !connected[1 - end] || net.failed[end].is_none(), "{:?}", net.failed);
            let forged = |out: &Output| matches!(out, Output::Data(_));
            assert!(!net.done[end].iter().any(forged), "no data were sent");
            let _ = net.ends[end].seal(b"still here");
            net.ends[end].close();
        }
        net.run_for(Duration::from_secs(70));
    }
}
