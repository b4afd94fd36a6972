//! The target `tls_keyed`: a DTLS session whose peer has real keys and sends what it likes.
//!
//! The first byte of an input selects who the peer is, and how many records of its flight are forged. Then come these
//! records, and steps. Each is an opcode and what it needs. Sealed records pile up until a step sends them in one
//! datagram. Keys are drawn by the cryptographic library, so the bytes on the wire differ from run to run; what must
//! hold does not depend on them.

#[path = "../../crates/tls/tests/session/keyed.rs"]
#[expect(dead_code, reason = "the tests of the session use the rest")]
mod keyed;
#[path = "../../crates/tls/tests/session/watched.rs"]
#[expect(dead_code, reason = "the tests of the session use the rest")]
mod watched;

use std::sync::OnceLock;

use arbitrary::{Result, Unstructured};
use dimpl::DtlsCertificate;
use fairwire_tls::{
    ClientConfig, Date, Fingerprint, Identity, ServerConfig, Session, Trust, Validity,
};
use fairwire_units::Instant;

use keyed::{Keyed, certificate, plain};
use watched::Watched;

const TODAY: Date = Date::from_unix_seconds(1_795_000_000);
const MAX_DATAGRAM: usize = 1_400;

/// The most steps of one input.
const MAX_STEPS: usize = 256;
/// The longest datagram: one of UDP.
const MAX_PILE: usize = 65_000;
/// The most datagrams that are remembered to be sent again.
const REMEMBERED: usize = 32;

const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;

/// Types of messages that a peer sends (RFC 8446, section 4).
const MESSAGES: [u8; 8] = [1, 2, 4, 8, 11, 15, 20, 24];

/// What sessions and their peers are made of, once.
struct Configs {
    clients: [ClientConfig; 2],
    /// The second one asks for a certificate, and its keys protect one record.
    servers: [ServerConfig; 2],
    /// That of the peer as a server, which the clients accept.
    certificate: DtlsCertificate,
}

impl Configs {
    fn all() -> &'static Self {
        static ALL: OnceLock<Configs> = OnceLock::new();
        ALL.get_or_init(|| {
            let certificate = certificate();
            let identity = Identity::generate(&[], Validity::days(TODAY, 1)).expect("an identity");
            let client = ClientConfig::pinned([Fingerprint::of(&certificate.certificate)]);
            let server = ServerConfig::new(identity.clone());
            let asks = server.clone().clients(Trust::Fingerprints(Vec::new()));
            let all = Self {
                clients: [client.clone(), client.identity(identity).records_per_key(1)],
                servers: [server, asks],
                certificate,
            };
            // The first sessions set up what the libraries keep for good.
            for number in 0..4 {
                let (mut victim, mut peer) = all.pair(number);
                victim.meet(&mut peer, Vec::new());
                // The second server accepts no certificate.
                assert!(number == 2 || victim.session().is_connected(), "{number}");
            }
            all
        })
    }

    /// Returns a session and its peer. Bits of the number: the peer is a server; the second configuration.
    fn pair(&self, number: u8) -> (Watched, Keyed) {
        let which = usize::from(number >> 1 & 1);
        if number & 1 == 0 {
            let config = &self.servers[which];
            let begin = || Session::server(config, MAX_DATAGRAM, Instant::START, TODAY);
            let victim = Watched::new(|| begin().expect("a server"));
            (victim, Keyed::client())
        } else {
            let config = &self.clients[which];
            let begin = || Session::client(config, MAX_DATAGRAM, Instant::START, TODAY);
            let victim = Watched::new(|| begin().expect("a client"));
            (victim, Keyed::server(self.certificate.clone()))
        }
    }
}

/// Runs one input.
///
/// # Panics
/// Panics if a promise is broken.
pub fn run(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let Ok(first) = input.arbitrary::<u8>() else {
        return;
    };
    let (victim, peer) = Configs::all().pair(first);
    let mut attack = Attack {
        victim,
        peer,
        pile: Vec::new(),
        past: Vec::new(),
    };
    // An input that ends early does what it says up to there.
    let _ = attack.run(usize::from(first >> 2 & 7), &mut input);
}

/// A session, its peer, and what that one has made ready.
struct Attack {
    victim: Watched,
    peer: Keyed,
    /// Records for the next datagram.
    pile: Vec<Vec<u8>>,
    /// Datagrams that were sent.
    past: Vec<Vec<u8>>,
}

impl Attack {
    fn run(&mut self, forged: usize, input: &mut Unstructured<'_>) -> Result<()> {
        let flight: Result<Vec<Vec<u8>>> = (0..forged)
            .map(|_| content(input).map(|(kind, content)| [content, vec![kind]].concat()))
            .collect();
        self.victim.meet(&mut self.peer, flight?);
        for _ in 0..MAX_STEPS {
            if input.is_empty() {
                break;
            }
            self.step(input)?;
        }
        self.send(0);
        Ok(())
    }

    fn step(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        let [code, number] = input.arbitrary::<[u8; 2]>()?;
        match code {
            0..=119 => {
                let (kind, content) = content(input)?;
                for _ in 0..=usize::from(code >> 5 & 3) * usize::from(number % 12) {
                    let record = self.peer.try_seal(kind, &content);
                    self.pile.extend(record);
                }
            }
            120..=159 => self.send(number),
            160..=184 => {
                let (kind, content) = content(input)?;
                let flight = self.peer.repeat([content, vec![kind]].concat());
                self.pile.extend(flight);
            }
            185..=199 => {
                let bytes = input.bytes(usize::from(number).min(input.len()))?;
                self.pile.push(plain(20 + code % 8, bytes));
            }
            200..=209 => {
                let places = self.past.len().max(1);
                let past = self.past.get(usize::from(number) % places).cloned();
                self.pile.extend(past);
            }
            210..=219 => {
                let end = self.pile.last_mut();
                let bytes = end.filter(|record| !record.is_empty());
                if let Some(record) = bytes {
                    let place = usize::from(number) % record.len();
                    record[place] ^= 1 << (code % 8);
                }
            }
            220..=224 => {
                if let Some(record) = self.pile.last_mut() {
                    record.truncate(usize::from(number));
                }
            }
            225..=234 => self.victim.wait(&mut self.peer),
            235..=249 => self.victim.step(&mut self.peer, 0, |session| {
                // Its peer hears of a new key; the record itself is lost.
                let _ = session.seal(&[7; 100]);
            }),
            _ => self.victim.step(&mut self.peer, 0, Session::close),
        }
        Ok(())
    }

    /// Sends the pile in one datagram: as it is, or in another order.
    fn send(&mut self, order: u8) {
        if self.pile.is_empty() {
            return;
        }
        let turn = usize::from(order >> 2) % self.pile.len();
        self.pile.rotate_left(turn);
        if order & 1 == 1 {
            self.pile.reverse();
        }
        let mut datagram = std::mem::take(&mut self.pile).concat();
        datagram.truncate(MAX_PILE);
        self.victim.give(&mut self.peer, &datagram);
        if self.past.len() < REMEMBERED {
            self.past.push(datagram);
        }
    }
}

/// Returns type and content of a record: parts of messages, data, or anything.
fn content(input: &mut Unstructured<'_>) -> Result<(u8, Vec<u8>)> {
    let code = input.arbitrary::<u8>()?;
    match code {
        0..=159 => {
            let mut parts = Vec::new();
            for _ in 0..code % 4 {
                parts.extend(part(input)?);
            }
            Ok((HANDSHAKE, parts))
        }
        160..=199 => {
            let length = usize::from(input.arbitrary::<u8>()?).min(input.len());
            Ok((20 + code % 8, input.bytes(length)?.to_vec()))
        }
        _ => {
            let length = usize::from(input.arbitrary::<u16>()?) % 17_000;
            Ok((DATA, vec![7; length]))
        }
    }
}

/// Returns a part of a message, with all its bytes or some.
fn part(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let [kind, number, own, fill] = input.arbitrary::<[u8; 4]>()?;
    let [length, offset] = input.arbitrary::<[u16; 2]>()?;
    let length = usize::from(length) % if kind & 0x10 == 0 { 600 } else { 17_000 };
    let offset = usize::from(offset) % if kind & 0x20 == 0 { 1 } else { length + 2 };
    let own = if own < 40 {
        usize::from(own)
    } else {
        length.saturating_sub(offset)
    };
    let kind = if kind & 0x40 == 0 {
        MESSAGES[usize::from(kind % 8)]
    } else {
        kind
    };
    let [length, offset, written] =
        [length, offset, own].map(|number| u32::try_from(number).expect("short").to_be_bytes());
    let mut part = vec![kind];
    for field in [&length[1..], &[0, number % 8], &offset[1..], &written[1..]] {
        part.extend_from_slice(field);
    }
    part.resize(part.len() + own, fill);
    Ok(part)
}
