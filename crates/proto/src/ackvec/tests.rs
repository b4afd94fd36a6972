//! Tests of both halves together, against a model.

use std::collections::{BTreeMap, BTreeSet};

use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{Encoder, EntryState, HeadBuf, Kind, Packet, Ports, Seq, SeqNo};
use proptest::prelude::*;

use super::receiver::Receiver;
use super::sender::Sender;
use super::vector::Report;
use crate::config::Ccid2Config;
use crate::event::Fate;
use crate::half::{Arrival, FeedbackOutcome, Rx, Sent, Tx, acknowledge};
use crate::id::DatagramId;
use crate::packet_options::PacketOptions;

pub(super) fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

pub(super) fn seq(number: u64) -> Seq {
    Seq::new(number)
}

/// Returns an Ack with sequence number `ours` for `ackno`, whose options `write` writes.
pub(super) fn ack(ours: Seq, ackno: Seq, write: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
    let mut buf = HeadBuf::new();
    let ports = Ports {
        source: 1,
        destination: 2,
    };
    let kind = Kind::Ack {
        ack: SeqNo::Long(ackno),
    };
    let mut encoder = Encoder::new(&mut buf, ports, SeqNo::Long(ours), &kind, 0, 0);
    write(&mut encoder);
    encoder.finish().as_slice().to_vec()
}

/// Returns an arriving data packet.
pub(super) fn data(number: u64) -> Arrival {
    Arrival {
        seq: seq(number),
        data: Some(1_000),
        ecn: Ecn::Ect0,
        ccval: 0,
        ndp_count: None,
        has_ndp_counts: false,
        rtt_estimate: None,
    }
}

/// Returns what the receiver reports now, packet by packet, newest first.
pub(super) fn told_by(
    receiver: &mut Receiver,
    now: Instant,
    ours: u64,
    ackno: u64,
) -> Vec<(u64, EntryState)> {
    let head = ack(seq(ours), seq(ackno), |encoder| {
        receiver
            .write_options(now, seq(ours), seq(ackno), encoder)
            .unwrap();
    });
    read(&head, ackno)
}

fn read(head: &[u8], ackno: u64) -> Vec<(u64, EntryState)> {
    let packet = Packet::decode(head).unwrap();
    let options = PacketOptions::read(packet.options);
    let Some(report) = Report::of(&options, seq(ackno)) else {
        return Vec::new();
    };
    let mut told = Vec::new();
    for stretch in report.stretches() {
        for number in (stretch.low.get()..=stretch.high.get()).rev() {
            told.push((number, stretch.state));
        }
    }
    told
}

/// What can happen to the next packet, or between two packets.
#[derive(Clone, Copy, Debug)]
enum Step {
    Deliver,
    Mark,
    Lose,
    /// Deliver it after this many further steps.
    Delay(u8),
    /// Deliver it now and again later.
    Duplicate(u8),
    /// Send no data in it.
    NoData,
    /// The receiver sends an Ack; `false` means that it is lost.
    Ack(bool),
    /// The sender acknowledges the newest Ack that it received.
    AckOfAck,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => Just(Step::Deliver),
        1 => Just(Step::Mark),
        2 => Just(Step::Lose),
        2 => (1..12_u8).prop_map(Step::Delay),
        1 => (0..12_u8).prop_map(Step::Duplicate),
        1 => Just(Step::NoData),
        5 => any::<bool>().prop_map(Step::Ack),
        1 => Just(Step::AckOfAck),
    ];
    prop::collection::vec(step, 1..400)
}

/// The two halves with a lossy network between them, and what really happened.
struct Model {
    sender: Sender,
    receiver: Receiver,
    next: u64,
    next_ack: u64,
    newest: Option<u64>,
    /// Packets that arrived, and whether a copy of them was marked.
    arrived: BTreeMap<u64, bool>,
    /// The packets that arrive (again) at each step.
    delayed: BTreeMap<u64, Vec<u64>>,
    /// The newest Ack that reached the sender.
    heard: Option<u64>,
    fates: BTreeMap<u64, Fate>,
    /// The packets that carry an ECN nonce.
    nonces: BTreeSet<u64>,
    data_sent: u64,
}

impl Model {
    fn new(first: u64) -> Self {
        let config = Ccid2Config {
            initial_window: Some(1e6),
            ..Ccid2Config::default()
        };
        Self {
            sender: Sender::windowed(at(0), &config, 1_000, None).checking_nonces(),
            receiver: Receiver::new(Some(seq(first))),
            next: first,
            next_ack: 5_000,
            newest: None,
            arrived: BTreeMap::new(),
            delayed: BTreeMap::new(),
            heard: None,
            fates: BTreeMap::new(),
            nonces: BTreeSet::new(),
            data_sent: 0,
        }
    }

    fn send(&mut self, now: Instant, with_data: bool) -> u64 {
        let number = self.next;
        self.next += 1;
        let sent = Sent {
            seq: seq(number),
            data: with_data.then_some(1_000),
            id: with_data.then_some(DatagramId(number)),
            // Half of the data, by the bits of a multiple of the golden ratio.
            nonce: with_data && number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63 == 1,
        };
        self.data_sent += u64::from(with_data);
        self.sender.on_sent(now, sent, 1);
        if sent.nonce {
            self.nonces.insert(number);
        }
        number
    }

    fn arrive(&mut self, now: Instant, number: u64, marked: bool) {
        let ecn = match (marked, self.nonces.contains(&number)) {
            (true, _) => Ecn::Ce,
            (false, true) => Ecn::Ect1,
            (false, false) => Ecn::Ect0,
        };
        self.receiver.on_packet(
            now,
            Arrival {
                ecn,
                ..data(number)
            }
            .into(),
        );
        *self.arrived.entry(number).or_default() |= marked;
        self.newest = self.newest.max(Some(number));
    }

    /// Lets the receiver send an Ack. It must report the truth for every packet that it covers.
    fn acknowledge(&mut self, now: Instant, arrives: bool) -> Result<(), TestCaseError> {
        let Some(newest) = self.newest else {
            return Ok(());
        };
        let ours = self.next_ack;
        self.next_ack += 1;
        let receiver = &mut self.receiver;
        let head = ack(seq(ours), seq(newest), |encoder| {
            let foretold = receiver.options_len(now);
            receiver
                .write_options(now, seq(ours), seq(newest), encoder)
                .unwrap();
            assert_eq!(encoder.options_len(), foretold);
        });
        for (number, state) in read(&head, newest) {
            let expected = match self.arrived.get(&number) {
                None => EntryState::NotReceived,
                Some(false) => EntryState::Received,
                Some(true) => EntryState::Marked,
            };
            prop_assert_eq!(state, expected, "packet {}", number);
        }
        if arrives {
            self.heard = Some(ours);
            let packet = Packet::decode(&head).unwrap();
            let told = acknowledge(&mut self.sender, now, &packet, 1);
            prop_assert!(!self.sender.is_suspicious(), "the echo is right");
            self.judge(&told)?;
        }
        Ok(())
    }

    /// Checks that each datagram gets one fate, which does not contradict what happened.
    fn judge(&mut self, told: &FeedbackOutcome) -> Result<(), TestCaseError> {
        prop_assert!(told.fates.is_sorted_by_key(|&(id, _)| id));
        for &(id, fate) in &told.fates {
            let DatagramId(number) = id.expect("only datagrams have fates");
            prop_assert_eq!(
                self.fates.insert(number, fate),
                None,
                "second fate of {}",
                number
            );
            match fate {
                Fate::Acknowledged | Fate::Marked => {
                    prop_assert!(self.arrived.contains_key(&number));
                }
                Fate::Lost => {
                    let later = self.arrived.range(number + 1..).count();
                    prop_assert!(later >= 3, "{number} lost with {later} later arrivals");
                }
                other => prop_assert!(false, "{number}: {other:?}"),
            }
        }
        Ok(())
    }

    fn step(&mut self, index: u64, step: Step) -> Result<(), TestCaseError> {
        let now = at(index);
        match step {
            Step::Deliver => {
                let number = self.send(now, true);
                self.arrive(now, number, false);
            }
            Step::Mark => {
                let number = self.send(now, true);
                self.arrive(now, number, true);
            }
            Step::Lose => {
                self.send(now, true);
            }
            Step::Delay(steps) => {
                let number = self.send(now, true);
                self.delayed
                    .entry(index + u64::from(steps))
                    .or_default()
                    .push(number);
            }
            Step::Duplicate(steps) => {
                let number = self.send(now, true);
                self.arrive(now, number, false);
                self.delayed
                    .entry(index + u64::from(steps))
                    .or_default()
                    .push(number);
            }
            Step::NoData => {
                let number = self.send(now, false);
                self.arrive(now, number, false);
            }
            Step::Ack(arrives) => self.acknowledge(now, arrives)?,
            Step::AckOfAck => {
                if let Some(heard) = self.heard {
                    self.receiver.acknowledge(heard);
                }
            }
        }
        for number in self.delayed.remove(&index).unwrap_or_default() {
            self.arrive(now, number, false);
        }
        let settled = self.fates.len() as u64;
        prop_assert_eq!(
            u64::from(self.sender.flight().packets),
            self.data_sent - settled
        );
        prop_assert_eq!(
            self.sender.flight().bytes,
            1_000 * (self.data_sent - settled)
        );
        Ok(())
    }
}

proptest! {
    /// Whatever the network does, vectors report the truth, nonce echoes are right, and each datagram gets one fate
    /// that agrees with what happened. The pipe holds exactly the datagrams without a fate. At the end, when nothing
    /// more is lost, the pipe is empty. The sequence numbers may wrap.
    #[test]
    fn vectors_agree_with_what_happened(steps in steps(), wraps in any::<bool>()) {
        // The model's keys do not wrap, so the numbers begin just before the low 32 bits, which the log keeps, do.
        let first = if wraps { (1 << 32) - 100 } else { 1_000 };
        let mut model = Model::new(first);
        for (index, &step) in steps.iter().enumerate() {
            model.step(index as u64, step)?;
        }
        let end = steps.len() as u64 + 100;
        for index in 0..8 {
            model.step(end + index, Step::Deliver)?;
        }
        model.step(end + 10, Step::Ack(true))?;
        prop_assert_eq!(model.sender.flight().packets, 0);
        let lost_for_good = model.fates.iter().filter(|&(number, &fate)| {
            fate != Fate::Lost && !model.arrived.contains_key(number)
        });
        prop_assert_eq!(lost_for_good.count(), 0);
    }

    /// Vectors with arbitrary contents never panic and never settle packets that were not sent.
    #[test]
    fn items_10_and_25_hostile_vectors_are_harmless(
        entries in prop::collection::vec(any::<u8>(), 0..600),
        ackno in 900..1_200_u64,
        elapsed in any::<u32>(),
    ) {
        let mut model = Model::new(1_000);
        for _ in 0..100 {
            model.send(at(0), true);
        }
        let head = ack(seq(1), seq(ackno), |encoder| {
            let entries = entries.iter().map(|&byte| fairwire_wire::AckEntry::from_byte(byte));
            encoder.ack_vector(entries).unwrap();
            encoder.option(&fairwire_wire::DccpOption::ElapsedTime(elapsed)).unwrap();
        });
        let packet = Packet::decode(&head).unwrap();
        let told = acknowledge(&mut model.sender, at(50), &packet, 0);
        let left = u64::from(model.sender.flight().packets);
        prop_assert_eq!(left + told.fates.len() as u64, 100);
        if ackno > 1_099 {
            prop_assert!(told.fates.is_empty(), "it speaks of packets never sent");
        }
    }
}
