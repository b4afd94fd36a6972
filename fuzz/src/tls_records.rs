//! The target `tls_records`: the records of a connected DTLS session, whose peer has the right keys, or wrong ones.
//!
//! The first byte of an input selects the end and the cipher suite. Then come steps, each of an opcode and what it needs.
//! Records are sealed by another implementation ([`keys`]), with any content, number, epoch and form, and pile up until
//! a step sends them in one datagram. Another one ([`model`]) says which of them the session has to open, and what it
//! has to do; nothing else may happen.

mod keys;
mod model;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use arbitrary::{Result, Unstructured};
use bytes::Bytes;
use fairwire_held::thread::bytes;
use fairwire_tls::{Date, FIRST_MESSAGES, Identity, Output, ServerConfig, Session, Validity};
use fairwire_units::{Duration, Instant};

use keys::{Epoch, HAS_LENGTH, LONG_NUMBER, secret_length};
use model::{Claim, Model};
use wire::{acknowledgement, names, part, records};

const TODAY: Date = Date::from_unix_seconds(1_795_000_000);
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
const ACK: u8 = 26;
const KEY_UPDATE: u8 = 24;

/// The most steps of one input, and the longest datagram.
const MAX_STEPS: usize = 256;
const MAX_PILE: usize = 65_000;
/// The most records that are remembered to be sent again.
const REMEMBERED: usize = 64;
/// The records of a datagram that are looked at, and those that cannot be read (see `session/arrivals.rs`).
const MAX_RECORDS: usize = 32;
const MAX_UNREAD: usize = 4;

/// Sessions replace their keys after so many records.
const RECORDS_PER_KEY: u64 = 3;

fn config() -> &'static ServerConfig {
    static CONFIG: OnceLock<ServerConfig> = OnceLock::new();
    CONFIG.get_or_init(|| {
        let identity = Identity::generate(&[], Validity::days(TODAY, 1)).expect("an identity");
        let config = ServerConfig::new(identity).records_per_key(RECORDS_PER_KEY);
        // The first sessions set up what the libraries keep for good.
        for suite in 0..3 {
            let secret = vec![1; secret_length(suite)];
            let mut session = Session::keyed(&config, false, suite, [&secret, &secret, &secret]);
            session.seal(b"first").expect("it is connected");
        }
        config
    })
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
    let mut attack = Attack::new(first & 1 == 1, (first >> 1) % 3, hash(data));
    // An input that ends early does what it says up to there.
    let _ = attack.run(&mut input);
    attack.send(0);
}

struct Attack {
    session: Session,
    now: Instant,
    held: i64,
    has_failed: bool,
    is_closed: bool,
    /// The peer has announced its end.
    is_over: bool,
    model: Model,
    /// The peer's epochs, and the first ones of somebody with other keys.
    peer: Vec<Epoch>,
    stranger: Vec<Epoch>,
    /// The session's epoch, and the records that announced its next one.
    own: Epoch,
    own_epoch: u64,
    announced: BTreeSet<u64>,
    own_message: u16,
    /// What the authentic records are, by their bytes.
    claims: BTreeMap<Vec<u8>, Claim>,
    pile: Vec<Vec<u8>>,
    past: Vec<Vec<u8>>,
}

impl Attack {
    fn new(is_client: bool, suite: u8, hash: u64) -> Self {
        let config = config();
        let secret = |fill: u8| {
            let mut secret = vec![fill; secret_length(suite)];
            secret[..8].copy_from_slice(&hash.to_be_bytes());
            secret
        };
        let secrets = [1, 2, 3].map(secret);
        let [of_handshake, of_client, of_server] = &secrets;
        let (own, of_peer, place) = if is_client {
            (of_client, of_server, 1)
        } else {
            (of_server, of_client, 0)
        };
        let wrong = secret(9);
        let epochs = |handshake: &[u8], data: &[u8]| {
            [(handshake, 2), (data, 3)]
                .map(|(secret, epoch)| Epoch::new(suite, secret.to_vec(), epoch))
                .into()
        };
        let (peer, stranger) = (epochs(of_handshake, of_peer), epochs(&wrong, &wrong));
        let own = Epoch::new(suite, own.clone(), 3);
        let before = bytes();
        let session = Session::keyed(
            config,
            is_client,
            suite,
            [of_handshake, of_client, of_server],
        );
        let held = bytes() - before;
        Self {
            session,
            now: Instant::START,
            held,
            has_failed: false,
            is_closed: false,
            is_over: false,
            model: Model::new(is_client, FIRST_MESSAGES[place]),
            peer,
            stranger,
            own,
            own_epoch: 3,
            announced: BTreeSet::new(),
            own_message: FIRST_MESSAGES[1 - place],
            claims: BTreeMap::new(),
            pile: Vec::new(),
            past: Vec::new(),
        }
    }

    fn run(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        for _ in 0..MAX_STEPS {
            if input.is_empty() || self.has_failed {
                break;
            }
            self.step(input)?;
        }
        Ok(())
    }

    fn step(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        let [code, number] = input.arbitrary::<[u8; 2]>()?;
        match code {
            0..=109 => {
                let (kind, content) = self.content(input)?;
                self.seal(code, number, kind, &content);
            }
            110..=129 => self.send(number),
            130..=144 => {
                let places = self.past.len().max(1);
                let past = self.past.get(usize::from(number) % places).cloned();
                if let Some(past) = past {
                    self.pile(past);
                }
            }
            145..=159 => {
                if let Some(record) = self.pile.last_mut() {
                    let place = usize::from(number) % record.len();
                    record[place] ^= 1 << (code % 8);
                }
            }
            160..=164 => {
                if let Some(record) = self.pile.last_mut() {
                    record.truncate(usize::from(number).max(1));
                }
            }
            165..=174 => {
                let (kind, content) = self.content(input)?;
                let inner = [content, vec![kind]].concat();
                let form = LONG_NUMBER | HAS_LENGTH;
                let place = usize::from(number & 1);
                let bytes = self.stranger[place].seal(u64::from(number), form, &inner);
                self.pile(bytes);
            }
            175..=179 => {
                let bytes = input.bytes(usize::from(number).min(input.len()))?.to_vec();
                if !bytes.is_empty() {
                    self.pile(bytes);
                }
            }
            180..=194 => self.time(number),
            195..=252 => self.say(usize::from(number)),
            _ => self.close(),
        }
        Ok(())
    }

    /// Seals a record: in an epoch near the newest, with the next number or another, of any form.
    fn seal(&mut self, code: u8, number: u8, kind: u8, content: &[u8]) {
        let back = [0, 0, 0, 0, 0, 1, 1, 2][usize::from(code % 8)];
        let newest = if code % 16 == 15 {
            self.model.newest + 1
        } else {
            self.model.newest
        };
        let place = usize::try_from(newest - 2)
            .expect("few")
            .saturating_sub(back);
        while self.peer.len() <= place {
            let next = self.peer.last().expect("some").following();
            self.peer.push(next);
        }
        let epoch = &mut self.peer[place];
        let own = match number >> 2 {
            0..=39 => epoch.next,
            40..=47 => epoch.next + u64::from(number % 11),
            48..=55 => epoch.next.saturating_sub(u64::from(number % 19)),
            56..=58 => epoch.next + 100 + 20 * u64::from(number % 13),
            59 | 60 => epoch.next.saturating_sub(4_090 + u64::from(number % 11)),
            61 => epoch.next + 4_000 + u64::from(number % 9) * 40,
            _ => epoch.next + 32_760 + u64::from(number % 8) * 3,
        };
        epoch.next = epoch.next.max(own + 1);
        let form = [0b1100, 0b1100, 0b1000, 0b0100, 0, 0b1100][usize::from(code) % 6];
        let padding = if code >= 100 {
            usize::from(number) * 7
        } else {
            0
        };
        let mut inner = [content, &[kind]].concat();
        inner.resize(inner.len() + padding, 0);
        let bytes = epoch.seal(own, form, &inner);
        // The content, its type, zeros.
        let is_short = inner.len() <= (1 << 14) + 1;
        let end = inner.iter().rposition(|byte| *byte != 0).unwrap_or(0);
        inner.truncate(end + 1);
        let kind = inner.pop().unwrap_or(0);
        let claim = Claim {
            epoch: u64::try_from(place).expect("few") + 2,
            number: own,
            bits: if form & LONG_NUMBER == 0 { 8 } else { 16 },
            kind,
            content: inner,
        };
        if is_short {
            self.claims.insert(bytes.clone(), claim);
        }
        self.pile(bytes);
    }

    fn pile(&mut self, bytes: Vec<u8>) {
        let length: usize = self.pile.iter().map(Vec::len).sum();
        if length + bytes.len() > MAX_PILE {
            return;
        }
        if self.past.len() < REMEMBERED {
            self.past.push(bytes.clone());
        }
        self.pile.push(bytes);
    }

    /// Returns type and content of a record.
    fn content(&self, input: &mut Unstructured<'_>) -> Result<(u8, Vec<u8>)> {
        let [code, number] = input.arbitrary::<[u8; 2]>()?;
        let next = self.model.next_message();
        Ok(match code {
            0..=79 => (DATA, vec![number; usize::from(code)]),
            80..=84 => (DATA, vec![number; usize::from(number) * 66]),
            85..=129 => (HANDSHAKE, part(KEY_UPDATE, next, 1, &[number & 1])),
            130..=159 => {
                let mut parts = Vec::new();
                for _ in 0..code % 4 {
                    let [kind, step, length] = input.arbitrary::<[u8; 3]>()?;
                    let kind = [KEY_UPDATE, 4, 20, 13, 25, kind][usize::from(kind % 6)];
                    let step = u16::from(step % 4) + u16::from(code % 3);
                    let whole = if kind == KEY_UPDATE {
                        1
                    } else {
                        usize::from(length)
                    };
                    let own = whole.saturating_sub(usize::from(step == 3));
                    let number = next.saturating_add(step).saturating_sub(1);
                    parts.extend(part(kind, number, whole, &vec![length & 3; own]));
                }
                (HANDSHAKE, parts)
            }
            160..=199 => {
                let names = self
                    .announced
                    .iter()
                    .map(|number| (self.own_epoch, *number));
                let mut names: Vec<_> = names.collect();
                if code % 4 == 3 {
                    names.push((u64::from(number % 5), u64::from(number)));
                    names.retain(|_| number % 3 == 0);
                }
                (ACK, acknowledgement(&names))
            }
            200..=204 => (
                ALERT,
                vec![1, [0, 0, 90, 40, number][usize::from(number % 5)]],
            ),
            _ => {
                let kind = [ACK, HANDSHAKE, ALERT, 20, 24, 25, 27, number][usize::from(code % 8)];
                let length = usize::from(number).min(input.len());
                (kind, input.bytes(length)?.to_vec())
            }
        })
    }

    /// Runs a step of the session, and notes what it holds then.
    fn watched<T>(&mut self, run: impl FnOnce(&mut Session) -> T) -> T {
        let before = bytes();
        let result = run(&mut self.session);
        self.held += bytes() - before;
        result
    }

    /// Drops what the session made, and returns a copy.
    fn copied(&mut self, made: Bytes) -> Vec<u8> {
        let copy = made.to_vec();
        let before = bytes();
        drop(made);
        self.held += bytes() - before;
        copy
    }

    /// Sends the pile in one datagram.
    fn send(&mut self, turn: u8) {
        if self.pile.is_empty() || self.has_failed {
            return;
        }
        let mut pile = std::mem::take(&mut self.pile);
        let turn = usize::from(turn) % pile.len();
        pile.rotate_left(turn);
        let datagram = pile.concat();
        let before = self.session.stats();
        let now = self.now;
        let result = self.watched(|session| session.handle_datagram(now, &datagram));
        let after = self.session.stats();
        let wanted = self.wanted(&datagram);
        self.has_failed = wanted.fails;
        assert_eq!(result.is_err(), wanted.fails, "{result:?}");
        assert_eq!(after.opened - before.opened, wanted.opened);
        assert_eq!(after.calls, before.calls, "the library is gone");
        let outputs = self.outputs();
        assert_eq!(outputs.ends, wanted.ends);
        assert_eq!(outputs.data, wanted.data);
        if self.has_failed {
            return;
        }
        let said = self.read(&outputs.sent);
        let mut acknowledged = wanted.acknowledged;
        acknowledged.sort_unstable();
        if self.is_closed {
            acknowledged.clear();
        } else {
            self.model.answered();
        }
        let asked = wanted.asks && !acknowledged.is_empty();
        assert_eq!(said.acknowledged, acknowledged);
        assert!(
            said.announced <= usize::from(asked),
            "a new key for nothing"
        );
        assert!(said.rest.is_empty(), "nobody asked for {:?}", said.rest);
    }

    /// Returns what a datagram has to cause.
    fn wanted(&mut self, datagram: &[u8]) -> Wanted {
        let mut wanted = Wanted::default();
        let mut unread = 0;
        for record in records(datagram).into_iter().take(MAX_RECORDS) {
            let claim = self.claims.get(record);
            let effect = claim.map(|claim| self.model.take(self.now, claim));
            let effect = effect.unwrap_or_default();
            unread += usize::from(!effect.is_opened);
            wanted.opened += u64::from(effect.is_opened);
            wanted.data.extend(effect.data);
            wanted.asks |= effect.asks;
            wanted.ends |= effect.ends;
            wanted.fails = effect.fails;
            if let Some(claim) = claim.filter(|_| effect.is_acknowledged) {
                wanted.acknowledged.push((claim.epoch, claim.number));
            }
            if effect.ends {
                self.announced.clear();
            }
            for (epoch, number) in effect.names {
                if epoch == self.own_epoch && self.announced.contains(&number) {
                    self.announced.clear();
                    self.own_epoch += 1;
                    self.own = self.own.following();
                }
            }
            if wanted.fails || unread == MAX_UNREAD {
                break;
            }
        }
        self.is_over |= wanted.ends;
        wanted
    }

    /// Takes all that the session has for its application and its peer, and looks at what it holds then.
    fn outputs(&mut self) -> Outputs {
        let mut outputs = Outputs::default();
        loop {
            match self.watched(Session::poll) {
                Output::Send(datagram) => {
                    let datagram = self.copied(datagram);
                    outputs.sent.push(datagram);
                }
                Output::Data(data) => {
                    let data = self.copied(data);
                    outputs.data.push(data);
                }
                Output::Closed => outputs.ends = true,
                Output::Check(_) => {}
                Output::Idle => break,
                Output::Connected { .. } => panic!("it was connected before"),
            }
        }
        let (held, most) = (self.held, self.session.memory());
        assert!(
            usize::try_from(held).unwrap_or(0) <= most,
            "it holds {held} of {most} bytes"
        );
        outputs
    }

    /// Opens what the session says.
    fn read(&mut self, datagrams: &[Vec<u8>]) -> Said {
        let mut said = Said::default();
        for record in datagrams.iter().flat_map(|datagram| records(datagram)) {
            let number = self.own.next;
            let (kind, content) = self.own.open(record);
            match kind {
                ACK => {
                    assert!(said.acknowledged.is_empty(), "one is enough");
                    said.acknowledged = names(&content);
                }
                HANDSHAKE => {
                    let is_new = self.announced.is_empty();
                    self.own_message += u16::from(is_new);
                    said.announced += usize::from(is_new);
                    let asks = content.last().copied().unwrap_or(0);
                    let expected = part(KEY_UPDATE, self.own_message - 1, 1, &[asks]);
                    assert_eq!(content, expected);
                    self.announced.insert(number);
                }
                _ => said.rest.push((kind, content)),
            }
        }
        said
    }

    /// Lets time pass: to the next timer, or by some time.
    fn time(&mut self, number: u8) {
        let until = match number {
            0..=127 => self.session.next_timeout(),
            _ => Some(self.now + Duration::from_secs(1) * (u64::from(number) - 127)),
        };
        self.now = self.now.max(until.unwrap_or(self.now));
        let now = self.now;
        self.has_failed = self.watched(|session| session.handle_timeout(now)).is_err();
        let outputs = self.outputs();
        let said = self.read(&outputs.sent);
        assert_eq!((said.announced, said.rest.len()), (0, 0));
    }

    fn say(&mut self, number: usize) {
        let data = vec![7; number];
        let sealed = self.watched(|session| session.seal(&data));
        assert_eq!(
            sealed.is_err(),
            self.is_closed || self.is_over,
            "{sealed:?}"
        );
        let Ok(sealed) = sealed else {
            return;
        };
        let mut sent = vec![self.copied(sealed)];
        sent.extend(self.outputs().sent);
        let said = self.read(&sent);
        assert_eq!(said.rest, [(DATA, data)]);
    }

    fn close(&mut self) {
        self.watched(Session::close);
        let outputs = self.outputs();
        let said = self.read(&outputs.sent);
        let expected = (!self.is_closed).then(|| (ALERT, vec![1, 0]));
        assert_eq!(said.rest, Vec::from_iter(expected));
        self.is_closed = true;
        self.announced.clear();
    }
}

/// Returns a number for an input, from which its keys follow: what one input makes is not authentic in another.
fn hash(data: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    data.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// What a datagram has to cause.
#[derive(Debug, Default)]
struct Wanted {
    /// How many records are opened.
    opened: u64,
    data: Vec<Vec<u8>>,
    acknowledged: Vec<(u64, u64)>,
    asks: bool,
    ends: bool,
    fails: bool,
}

/// What a session has for its application and its peer.
#[derive(Debug, Default)]
struct Outputs {
    sent: Vec<Vec<u8>>,
    data: Vec<Vec<u8>>,
    ends: bool,
}

/// What it says.
#[derive(Debug, Default)]
struct Said {
    acknowledged: Vec<(u64, u64)>,
    /// How many new keys it announces.
    announced: usize,
    rest: Vec<(u8, Vec<u8>)>,
}
