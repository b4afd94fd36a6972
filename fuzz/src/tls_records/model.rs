//! What a session has to do with authentic records, said once more: which it opens, and what it takes from them.

use std::collections::BTreeSet;

use fairwire_units::{Duration, Instant};

use super::{ACK, ALERT, DATA, HANDSHAKE};

const WINDOW: u64 = 4_096;
const LIFETIME: Duration = Duration::from_secs(120);
const KEY_UPDATE: u8 = 24;
const NEW_SESSION_TICKET: u8 = 4;

/// An authentic record: what was sealed, and how.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) epoch: u64,
    pub(super) number: u64,
    /// Bits of the number in its header.
    pub(super) bits: u32,
    pub(super) kind: u8,
    pub(super) content: Vec<u8>,
}

/// What becomes of a record.
#[derive(Debug, Default, Eq, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Effect {
    pub(super) is_opened: bool,
    pub(super) data: Option<Vec<u8>>,
    pub(super) is_acknowledged: bool,
    pub(super) asks: bool,
    pub(super) ends: bool,
    pub(super) fails: bool,
    /// Records that the peer has acknowledged.
    pub(super) names: Vec<(u64, u64)>,
}

/// The numbers of an epoch that were opened.
#[derive(Debug, Default)]
struct Numbers {
    next: u64,
    seen: BTreeSet<u64>,
}

impl Numbers {
    /// RFC 9147, 4.2.2 and 4.5.1.
    fn take(&mut self, number: u64, bits: u32) -> bool {
        let (span, half) = (1 << bits, 1 << (bits - 1));
        let distance = number.abs_diff(self.next);
        // Of two that are as near, it is the one that has its high bits from the next one.
        let is_same_block = number / span == self.next / span;
        let is_nearest = distance < half || distance == half && is_same_block;
        // Below zero is nothing: there the nearest number may be farther away.
        let is_first = self.next < half && number < span;
        let is_in_window = number + WINDOW >= self.next;
        if !(is_nearest || is_first) || !is_in_window || !self.seen.insert(number) {
            return false;
        }
        self.next = self.next.max(number + 1);
        true
    }
}

/// The peer's direction.
#[derive(Debug)]
pub(super) struct Model {
    is_client: bool,
    /// The newest epoch.
    pub(super) newest: u64,
    /// The oldest one with keys.
    oldest: u64,
    numbers: Vec<Numbers>,
    since: Option<Instant>,
    /// The newest key was announced in this datagram, so that its sender cannot use it yet.
    is_unanswered: bool,
    next_message: u16,
    end: Option<(u64, u64)>,
}

impl Model {
    pub(super) fn new(is_client: bool, next_message: u16) -> Self {
        Self {
            is_client,
            newest: 3,
            oldest: if is_client { 3 } else { 2 },
            numbers: Vec::new(),
            since: None,
            is_unanswered: false,
            next_message,
            end: None,
        }
    }

    /// Notes that the session has said what it has to say to a datagram.
    pub(super) fn answered(&mut self) {
        self.is_unanswered = false;
    }

    pub(super) fn next_message(&self) -> u16 {
        self.next_message
    }

    /// Forgets old keys in time.
    pub(super) fn age(&mut self, now: Instant) {
        if self
            .since
            .is_some_and(|since| now.saturating_since(since) > LIFETIME)
        {
            self.oldest = self.newest;
        }
    }

    pub(super) fn take(&mut self, now: Instant, claim: &Claim) -> Effect {
        let mut effect = Effect::default();
        self.age(now);
        let is_known = (self.oldest..=self.newest).contains(&claim.epoch);
        let place = usize::try_from(claim.epoch).expect("few");
        self.numbers
            .resize_with(self.numbers.len().max(place + 1), Numbers::default);
        if !is_known || !self.numbers[place].take(claim.number, claim.bits) {
            return effect;
        }
        effect.is_opened = true;
        if claim.epoch == self.newest && claim.epoch > 3 {
            self.since.get_or_insert(now);
        }
        if self
            .end
            .is_some_and(|end| (claim.epoch, claim.number) > end)
        {
            return effect;
        }
        match (claim.kind, &claim.content[..]) {
            (DATA, data) if claim.epoch > 2 => effect.data = Some(data.to_vec()),
            (ALERT, [_, 0, ..]) => {
                effect.ends = self.end.is_none();
                self.end.get_or_insert((claim.epoch, claim.number));
            }
            (ALERT, [_, 90, ..] | [] | [_]) => {}
            (ALERT, _) => effect.fails = true,
            (ACK, [l0, l1, names @ ..]) => {
                let length = usize::from(u16::from_be_bytes([*l0, *l1]));
                if length == names.len() && length % 16 == 0 {
                    let word = |bytes: &[u8]| {
                        bytes
                            .iter()
                            .fold(0, |word, byte| word << 8 | u64::from(*byte))
                    };
                    let name = |name: &[u8]| (word(&name[..8]), word(&name[8..]));
                    effect.names = names.chunks(16).map(name).collect();
                }
            }
            (HANDSHAKE, messages) => self.hear(claim.epoch, messages, &mut effect),
            _ => {}
        }
        effect
    }

    fn hear(&mut self, epoch: u64, mut rest: &[u8], effect: &mut Effect) {
        let mut next = self.next_message;
        let mut update = None;
        if rest.is_empty() {
            return;
        }
        while !rest.is_empty() {
            let Some((header, after)) = rest.split_at_checked(12) else {
                return;
            };
            let three = |at: usize| {
                let of = |at: usize| usize::from(header[at]);
                of(at) << 16 | of(at + 1) << 8 | of(at + 2)
            };
            let (kind, length, offset, own) = (header[0], three(1), three(6), three(9));
            let number = u16::from_be_bytes([header[4], header[5]]);
            let Some((body, after)) = after.split_at_checked(own) else {
                return;
            };
            if offset + own > length {
                return;
            }
            rest = after;
            if number < next {
                continue;
            }
            if number > next || epoch == 2 {
                return;
            }
            let is_whole = own == length;
            match kind {
                NEW_SESSION_TICKET if self.is_client => {}
                KEY_UPDATE if is_whole && body.len() == 1 && body[0] > 1 => {
                    effect.fails = true;
                    return;
                }
                KEY_UPDATE if is_whole && body.len() == 1 && rest.is_empty() => {
                    if epoch != self.newest || self.is_unanswered {
                        return;
                    }
                    update = Some(body[0] == 1);
                }
                KEY_UPDATE => return,
                _ => {
                    effect.fails = is_whole;
                    return;
                }
            }
            next += 1;
        }
        self.next_message = next;
        effect.is_acknowledged = true;
        if let Some(asks) = update {
            effect.asks = asks;
            self.newest += 1;
            self.is_unanswered = true;
            self.oldest = self.oldest.max(self.newest.saturating_sub(2));
            self.since = None;
        }
    }
}
