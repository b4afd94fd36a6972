use crate::ackvec::sender::Sender;
use crate::ackvec::tests::{ack, at, seq};
use crate::config::Ccid2Config;
use crate::half::{FeedbackOutcome, Sent, Tx, acknowledge};
use crate::suspicion::MAX_STRIKES;
use fairwire_units::Duration;
use fairwire_wire::{AckEntry, EntryState, Packet, option_type};

const RECEIVED: EntryState = EntryState::Received;
const MISSING: EntryState = EntryState::NotReceived;
const MARKED: EntryState = EntryState::Marked;

/// Returns whether the test's packet `number` carries a nonce. The fractional part of multiples of the golden ratio
/// selects about half of them without a simple pattern.
fn nonce(number: u64) -> bool {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63 == 1
}

fn checking(window: f64) -> Sender {
    let config = Ccid2Config {
        initial_window: Some(window),
        initial_ssthresh: Some(2.0),
        ..Ccid2Config::default()
    };
    let mut sender = Sender::windowed(at(0), &config, 1_000, None).checking_nonces();
    sender.on_rtt_sample(at(0), Duration::from_millis(100));
    sender
}

fn send(sender: &mut Sender, ms: u64, numbers: std::ops::RangeInclusive<u64>) {
    for number in numbers {
        let sent = Sent {
            seq: seq(number),
            data: Some(1_000),
            id: None,
            nonce: nonce(number),
        };
        sender.on_sent(at(ms), sent, 10);
    }
}

/// Delivers a vector with this echo.
fn hear(
    sender: &mut Sender,
    ms: u64,
    ackno: u64,
    entries: &[(EntryState, u8)],
    echo: bool,
) -> FeedbackOutcome {
    let bytes: Vec<u8> = entries
        .iter()
        .map(|&(state, run)| AckEntry::new(state, run).byte())
        .collect();
    let vector = if echo {
        option_type::ACK_VECTOR_1
    } else {
        option_type::ACK_VECTOR_0
    };
    let head = ack(seq(900_000), seq(ackno), |encoder| {
        encoder.raw_option(vector, &bytes).unwrap();
    });
    let packet = Packet::decode(&head).unwrap();
    acknowledge(sender, at(ms), &packet, 10)
}

/// Returns the sum of the nonces of these packets.
fn sum(numbers: impl IntoIterator<Item = u64>) -> bool {
    numbers.into_iter().filter(|&n| nonce(n)).count() % 2 == 1
}

fn cwnd(sender: &Sender) -> f64 {
    sender.cwnd().unwrap()
}

/// RFC 4340, 12.2: for each vector, the echo is the sum over the packets reported received and not marked. The right
/// echo changes nothing; a wrong one cuts the window.
#[test]
fn an_echo_is_held_against_the_nonces_sent() {
    let entries = [(RECEIVED, 4), (MISSING, 2), (MARKED, 1), (RECEIVED, 9)];
    let echo = sum((1..=9).chain(13..=16));
    for (told, window) in [(echo, 16.0), (!echo, 8.0)] {
        let mut sender = checking(16.0);
        send(&mut sender, 0, 1..=16);
        // Before anything is lost or marked, the first four packets.
        let quiet = hear(
            &mut sender,
            100,
            4,
            &[(RECEIVED, 4)],
            sum(1..=4) ^ (told != echo),
        );
        assert!(!quiet.aggression);
        assert_eq!(cwnd(&sender), window, "right: {}", told == echo);
    }
    let mut sender = checking(16.0);
    send(&mut sender, 0, 1..=16);
    hear(&mut sender, 100, 16, &entries, echo);
    assert_eq!(cwnd(&sender), 8.0, "the losses and the mark");
    assert!(sender.skips_of_65536() == 0);
}

/// Adversarial item 26: an optimistic receiver that reports lost packets as received cannot know their nonces. Each
/// round trip with a lie halves the window once (RFC 4340, 12.3), and after eight of them, not earlier, the connection
/// is to end.
#[test]
fn item_26_hidden_losses_are_congestion_and_then_the_end() {
    let mut sender = checking(64.0);
    let mut next = 1;
    let mut told_off = 0;
    for round in 1..=MAX_STRIKES + 2 {
        let now = u64::from(round) * 1_000;
        let window = sender.packets_per_rtt();
        let last = next + window.max(4) - 1;
        send(&mut sender, now, next..=last);
        // A packet with a nonce was lost.
        let lost = (next..=last)
            .find(|&n| nonce(n))
            .expect("half of them have one");
        let run = u8::try_from(last - next + 1).unwrap();
        let echo = sum((next..=last).filter(|&n| n != lost));
        let told = hear(&mut sender, now + 100, last, &[(RECEIVED, run)], echo);
        assert_eq!(
            sender.packets_per_rtt(),
            (window / 2).max(1),
            "round {round}"
        );
        assert_eq!(told.aggression, round >= MAX_STRIKES, "round {round}");
        told_off += u32::from(told.aggression);
        next = last + 1;
    }
    assert_eq!(told_off, 3);
}

/// RFC 4340, 12.3: honest round trips compensate for lies in others, such as a forged packet causes.
#[test]
fn a_few_wrong_echoes_are_forgiven() {
    let mut sender = checking(64.0);
    for round in 1..=100 {
        send(&mut sender, round * 1_000, round * 2..=round * 2 + 1);
        let echo = sum(round * 2..=round * 2 + 1) ^ (round % 2 == 0);
        let told = hear(
            &mut sender,
            round * 1_000 + 100,
            round * 2 + 1,
            &[(RECEIVED, 2)],
            echo,
        );
        assert!(!told.aggression, "round {round}");
    }
}

/// Adversarial item 26: acknowledging a skipped number is a lie, whatever the echo; reporting it as missing is not.
/// Under suspicion a number is skipped once per round trip.
#[test]
fn item_26_a_skipped_number_acknowledged_is_a_lie() {
    for (state, window) in [(RECEIVED, 8.0), (MARKED, 8.0), (MISSING, 16.0)] {
        let mut sender = checking(16.0);
        assert!(sender.skips_of_65536() == 0, "no suspicion");
        send(&mut sender, 0, 1..=2);
        sender.on_skipped(at(0), seq(3));
        send(&mut sender, 0, 4..=4);
        let entries = [(RECEIVED, 1), (state, 1), (RECEIVED, 2)];
        hear(&mut sender, 100, 4, &entries, sum([1, 2, 4]));
        assert_eq!(cwnd(&sender), window, "{state:?}");
    }
    let mut sender = checking(16.0);
    send(&mut sender, 0, 1..=2);
    hear(&mut sender, 100, 2, &[(RECEIVED, 2)], !sum(1..=2));
    assert!(sender.skips_of_65536() == 65_536, "a lie");
    sender.on_skipped(at(0), seq(3));
    assert!(sender.skips_of_65536() == 0, "once");
    assert_eq!(sender.flight().packets, 0, "it is no part of the pipe");
}

/// Echoes over packets so old that their nonces are forgotten are not checked.
#[test]
fn what_is_forgotten_is_not_judged() {
    for (packets, window) in [(32_768, 8.0), (32_769, 16.0)] {
        let mut sender = checking(16.0);
        for number in 1..=40_000 {
            let sent = Sent {
                seq: seq(number),
                data: None,
                id: None,
                nonce: false,
            };
            sender.on_sent(at(0), sent, 10);
        }
        send(&mut sender, 0, 40_001..=40_001);
        let mut entries = vec![(RECEIVED, 64); 512 - 256];
        entries.extend(vec![(RECEIVED, 64); 256 - 1]);
        entries.push((RECEIVED, 63));
        if packets == 32_769 {
            entries.push((RECEIVED, 2));
        } else {
            entries.push((RECEIVED, 1));
        }
        // One option holds 253 entries. The first two options are right; the last, with a few entries, is wrong.
        let head = ack(seq(900_000), seq(40_001), |encoder| {
            for (option, chunk) in entries.chunks(253).enumerate() {
                let bytes: Vec<u8> = chunk
                    .iter()
                    .map(|&(state, run)| AckEntry::new(state, run).byte())
                    .collect();
                let echo = (option == 0 && nonce(40_001)) ^ (option == 2);
                let vector = if echo {
                    option_type::ACK_VECTOR_1
                } else {
                    option_type::ACK_VECTOR_0
                };
                encoder.raw_option(vector, &bytes).unwrap();
            }
        });
        let packet = Packet::decode(&head).unwrap();
        acknowledge(&mut sender, at(100), &packet, 10);
        assert_eq!(cwnd(&sender), window, "{packets}");
    }
}

/// No number is skipped before 256 packets have left, and a packet with a nonce counts as one.
#[test]
fn a_packet_with_a_nonce_counts_once() {
    let mut sender = checking(1_000.0).checking_reports();
    send(&mut sender, 0, 1..=255);
    assert_eq!(sender.skips_of_65536(), 0);
    send(&mut sender, 0, 256..=256);
    assert!(sender.skips_of_65536() > 0);
}
