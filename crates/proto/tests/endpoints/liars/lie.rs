//! Receivers that lie: rewriting of an honest receiver's reports.

use std::collections::VecDeque;

use fairwire_units::{Duration, Instant};
use fairwire_wire::{
    AckEntry, DccpOption, Encoder, EntryState, HeadBuf, Kind, LossInterval, NO_LOSS, Packet, Seq,
    option_type,
};

/// The subject of a receiver's lies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Lie {
    /// It reports no losses.
    NoLoss,
    /// It hides about half of the loss events.
    HalfTheLosses,
    /// After a loss it reports only one interval of one packet, without losses.
    ShortMemory,
    /// After each loss it reports only what came after that loss.
    Amnesia,
    /// It reports the largest possible receive rate.
    Rate,
    /// It claims to have held the packet for nearly the whole round trip.
    Elapsed,
    /// It reports each loss interval with the largest possible length.
    LongIntervals,
    /// It acknowledges packets that are still on their way.
    Early,
    /// It reports no losses, the highest rate and the longest holding time.
    Everything,
}

/// The state of a lying receiver.
pub(crate) struct Liar {
    lie: Option<Lie>,
    first: Option<Seq>,
    newest: Option<Seq>,
    /// The recent acknowledgements, and when they were sent.
    lately: VecDeque<(Instant, Seq)>,
    forgot: Option<Seq>,
}

/// The largest value of the Lossless Length field.
const LONGEST: u32 = (1 << 24) - 1;
/// The one-way delay.
const WAY: Duration = Duration::from_millis(30);
/// The claimed holding time, in units of 10 microseconds: a little less than the round trip of 60 ms.
const HELD: u32 = 5_900;

impl Liar {
    pub(crate) fn new(lie: Option<Lie>) -> Self {
        Self {
            lie,
            first: None,
            newest: None,
            lately: VecDeque::new(),
            forgot: None,
        }
    }

    /// Returns what it sends instead of `head`.
    pub(crate) fn tell(&mut self, now: Instant, head: &[u8], payload: usize) -> Vec<u8> {
        let honest = head.to_vec();
        let Some(lie) = self.lie else {
            return honest;
        };
        let packet = Packet::decode_head(head, payload).expect("we send what we can read");
        let Kind::Ack { ack } = packet.kind else {
            return honest;
        };
        let ackno = ack.extend(Seq::ZERO);
        self.first.get_or_insert(ackno);
        let ahead = self.ahead(lie, now, ackno);
        let mut buf = HeadBuf::new();
        let kind = Kind::Ack {
            ack: ackno.add(ahead).into(),
        };
        let mut encoder = Encoder::new(&mut buf, packet.ports, packet.seq, &kind, 0, 0);
        if matches!(lie, Lie::Elapsed | Lie::Everything) {
            let has_vector = packet.options.iter().any(|raw| {
                matches!(
                    raw.option_type,
                    option_type::ACK_VECTOR_0 | option_type::ACK_VECTOR_1
                )
            });
            if has_vector {
                encoder
                    .option(&DccpOption::ElapsedTime(HELD))
                    .expect("room");
            }
        }
        for raw in packet.options {
            let option = raw.decode().expect("we send what we can read");
            self.rewrite(lie, ackno, ahead, &option, &mut encoder);
        }
        encoder.finish().as_slice().to_vec()
    }

    /// Returns how many packets it acknowledges before they arrive: as many as arrived in the last 30 ms, which is the
    /// one-way delay.
    fn ahead(&mut self, lie: Lie, now: Instant, ackno: Seq) -> u64 {
        if lie != Lie::Early {
            return 0;
        }
        self.lately.push_back((now, ackno));
        while self.lately.front().is_some_and(|&(at, _)| now - at > WAY) {
            self.lately.pop_front();
        }
        let oldest = self.lately.front().map_or(ackno, |&(_, seq)| seq);
        let told = self.newest.unwrap_or(ackno);
        let newest = Seq::max(ackno.add(oldest.distance(ackno)), told);
        self.newest = Some(newest);
        ackno.distance(newest)
    }

    fn rewrite(
        &mut self,
        lie: Lie,
        ackno: Seq,
        ahead: u64,
        option: &DccpOption<'_>,
        encoder: &mut Encoder<'_>,
    ) {
        let hides = matches!(lie, Lie::NoLoss | Lie::Everything);
        match option {
            DccpOption::ReceiveRate(rate) if *rate > 0 => {
                let most = matches!(lie, Lie::Rate | Lie::Everything);
                let rate = if most { u32::MAX } else { *rate };
                encoder
                    .option(&DccpOption::ReceiveRate(rate))
                    .expect("room");
            }
            DccpOption::ElapsedTime(_) if matches!(lie, Lie::Elapsed | Lie::Everything) => {
                encoder
                    .option(&DccpOption::ElapsedTime(HELD))
                    .expect("room");
            }
            DccpOption::LossEventRate(_) if hides => {
                encoder
                    .option(&DccpOption::LossEventRate(NO_LOSS))
                    .expect("room");
            }
            DccpOption::LossIntervals { skip, intervals } => {
                let told: Vec<_> = intervals.iter().collect();
                let told = self.intervals(lie, ackno, ahead, told);
                encoder.loss_intervals(*skip, told).expect("room");
            }
            DccpOption::AckVector { nonce: _, entries } => {
                let mut told = Vec::new();
                if ahead > 0 {
                    let early = AckEntry::new(EntryState::Received, 1);
                    told.extend((0..ahead).map(|_| early));
                }
                let mut seq = ackno;
                for entry in entries.iter() {
                    for _ in 0..entry.run() {
                        let lost = entry.state() != EntryState::Received;
                        let hidden = hides || (lie == Lie::HalfTheLosses && is_hidden(seq));
                        let state = if lost && hidden {
                            EntryState::Received
                        } else {
                            entry.state()
                        };
                        told.push(AckEntry::new(state, 1));
                        seq = seq.prev();
                    }
                }
                encoder.ack_vector(join(&told)).expect("room");
            }
            other => encoder.option(other).expect("room"),
        }
    }

    fn intervals(
        &mut self,
        lie: Lie,
        ackno: Seq,
        ahead: u64,
        told: Vec<LossInterval>,
    ) -> Vec<LossInterval> {
        let first = self.first.expect("set before");
        let lossless = |packets: u64| LossInterval {
            lossless_length: u32::try_from(packets).expect("few"),
            ..LossInterval::default()
        };
        let losses = told.iter().any(|interval| interval.loss_length > 0);
        match lie {
            Lie::NoLoss | Lie::Everything => vec![lossless(first.distance(ackno) + 1)],
            Lie::ShortMemory if losses => vec![lossless(1)],
            Lie::Amnesia if losses => {
                let since = ackno.next().sub(u64::from(told[0].lossless_length));
                let forgot = Seq::max(self.forgot.unwrap_or(since), since);
                self.forgot = Some(forgot);
                vec![lossless(forgot.distance(ackno.next()))]
            }
            Lie::LongIntervals if losses => {
                let long = |interval: &LossInterval| LossInterval {
                    lossless_length: LONGEST,
                    data_length: LONGEST,
                    ..*interval
                };
                told.iter().map(long).collect()
            }
            Lie::HalfTheLosses => half(ackno, &told),
            Lie::Early => {
                let mut told = told;
                told[0].lossless_length += u32::try_from(ahead).expect("few");
                told[0].data_length += u32::try_from(ahead).expect("few");
                told
            }
            _ => told,
        }
    }
}

/// Returns whether a loss of this packet is hidden. Half of the packets are chosen, always the same ones.
fn is_hidden(seq: Seq) -> bool {
    seq.get().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63 == 1
}

/// Joins each interval that begins with a hidden loss to the one before it.
fn half(ackno: Seq, told: &[LossInterval]) -> Vec<LossInterval> {
    let mut kept: Vec<LossInterval> = Vec::new();
    let mut end = ackno.next();
    let mut hidden: Option<LossInterval> = None;
    for interval in told {
        let mut interval = *interval;
        let start = end
            .sub(u64::from(interval.lossless_length))
            .sub(u64::from(interval.loss_length));
        if let Some(newer) = hidden.take() {
            interval.lossless_length += newer.lossless_length + newer.loss_length;
            interval.data_length += newer.data_length;
        }
        if interval.loss_length > 0 && is_hidden(start) {
            hidden = Some(interval);
        } else {
            kept.push(interval);
        }
        end = start;
    }
    // The oldest interval stays as it is, because the one before it is unknown.
    kept.extend(hidden);
    kept
}

/// Returns the same entries with longer runs.
fn join(entries: &[AckEntry]) -> Vec<AckEntry> {
    let mut joined: Vec<AckEntry> = Vec::new();
    for entry in entries {
        match joined.last_mut() {
            Some(last)
                if last.state() == entry.state()
                    && u16::from(last.run()) + u16::from(entry.run()) <= 64 =>
            {
                *last = AckEntry::new(last.state(), last.run() + entry.run());
            }
            _ => joined.push(*entry),
        }
    }
    joined
}
