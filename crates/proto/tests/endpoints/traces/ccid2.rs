//! CCID 2 (RFC 4341, section 5).
//!
//! Columns: time in ms; event; datagrams that leave; cwnd; ssthresh; pipe. `offer n` queues n datagrams.
//! `ack 1-2 x3 m4` is an Ack Vector: 1 and 2 arrived, 3 is missing, 4 arrived with a mark. The event `-` means that
//! only time passes. The round trip is 100 ms.

use fairwire_proto::Config;
use fairwire_units::Duration;
use fairwire_wire::{AckEntry, Ccid, EntryState};

use super::sender::Sender;

/// Slow start, three losses in one window, marks, a duplicate, and two timeouts.
///
/// Losses (section 5): a packet is lost when three packets sent after it have arrived. 6, 7 and 9 were sent before the
/// first loss was detected, so they are one congestion event, which halves the window once and rounds down. Packets
/// sent before the detection belong to a window with losses and do not increase the window. From 15 on, a window of 3
/// without losses adds one packet.
///
/// Round trips: each window gives one sample of 100 ms. Together with the handshake's sample, RTTVAR falls from 50 ms
/// to below 12 ms, and the timeout to its minimum of 200 ms. At 704 ms, 200 ms have passed since the last
/// acknowledgement. At 1,304 ms, twice that has passed, plus the 200 ms for which a receiver may delay the
/// acknowledgement of a single packet (RFC 4340, 11.3).
const LOSSES: &str = "
    0 | offer 60                   | 1-4   | 4 | inf | 4
  100 | ack 1-2                    | 5-7   | 5 | inf | 5
  101 | ack 1-4                    | 8-10  | 6 | inf | 6
  201 | ack 5 x6 x7 8              | 11-13 | 7 | inf | 7
  202 | ack 5 x6 x7 8 x9 10        | 14    | 7 | inf | 7
  301 | ack 5 x6 x7 8 x9 10-11     | -     | 3 | 3   | 4
  302 | ack x6 x7 8 x9 10-12       | 15    | 3 | 3   | 3
  303 | ack x9 10-13               | 16    | 3 | 3   | 3
  304 | ack x9 10-14               | 17    | 3 | 3   | 3
  402 | ack 10-15                  | 18    | 3 | 3   | 3
  403 | ack 10-16                  | 19    | 3 | 3   | 3
  404 | ack 10-17                  | 20-21 | 4 | 3   | 4
  502 | ack 10-18                  | 22    | 4 | 3   | 4
  503 | ack 18 m19                 | -     | 2 | 2   | 3
  504 | ack 18 m19 m20             | -     | 2 | 2   | 2
  504 | ack 18 m19 m20 21          | 23    | 2 | 2   | 2
  505 | ack 18 m19 m20 21          | -     | 2 | 2   | 2
  703 | -                          | -     | 2 | 2   | 2
  704 | -                          | 24    | 1 | 2   | 1
 1303 | -                          | -     | 1 | 2   | 1
 1304 | -                          | 25    | 1 | 2   | 1
 1404 | ack x22 x23 x24 25         | 26    | 1 | 2   | 1
 1504 | ack x22 x23 x24 25-26      | 27-28 | 2 | 2   | 2
 1604 | ack 25-28                  | 29-31 | 3 | 2   | 3
";

#[test]
fn three_losses_in_a_window() {
    run(LOSSES);
}

/// Runs a table; each row must hold exactly.
fn run(table: &str) {
    let mut config = Config::default();
    config.send_ccids = vec![Ccid::TCP_LIKE];
    config.receive_ccids = vec![Ccid::TCP_LIKE];
    config.ccid2.initial_window = Some(4.0);
    config.idle_timeout = Duration::from_secs(600).into();
    let mut sender = Sender::open(config, 100);
    for row in table.lines().filter(|line| !line.trim().is_empty()) {
        let columns: Vec<&str> = row.split('|').map(str::trim).collect();
        let &[at, what, left, cwnd, ssthresh, pipe] = columns.as_slice() else {
            panic!("six columns: {row}");
        };
        let at = Duration::from_millis(at.parse().expect("milliseconds"));
        let before = sender.advance(at);
        assert_eq!(before, [], "nothing leaves before {row}");
        match what.split_once(' ') {
            Some(("offer", n)) => sender.offer(n.parse().expect("a number")),
            Some(("ack", vector)) => acknowledge(&mut sender, vector),
            _ => assert_eq!(what, "-", "{row}"),
        }
        let sent = sender.drain();
        assert_eq!(sent, numbers(left), "{row}");
        let stats = sender.stats();
        let window = stats.gauges.cwnd_packets.expect("a window");
        let threshold = stats.gauges.ssthresh_packets.expect("a threshold");
        assert_eq!(
            window,
            cwnd.parse::<f64>().expect("a number"),
            "cwnd: {row}"
        );
        assert_eq!(
            threshold,
            ssthresh.parse::<f64>().expect("a number"),
            "ssthresh: {row}"
        );
        assert_eq!(stats.flight_packets.to_string(), pipe, "pipe: {row}");
    }
}

/// Parses `3-5` or `3`, or `-` for none.
fn numbers(range: &str) -> Vec<u64> {
    let number = |text: &str| text.parse::<u64>().expect("a number");
    match range.split_once('-') {
        Some(("", _)) => Vec::new(),
        Some((first, last)) => (number(first)..=number(last)).collect(),
        None => vec![number(range)],
    }
}

/// Delivers an Ack Vector. Packets without data between the datagrams are reported as received.
fn acknowledge(sender: &mut Sender, vector: &str) {
    let mut states = Vec::new();
    for word in vector.split(' ') {
        let (state, range) = match word.split_at(1) {
            ("x", range) => (EntryState::NotReceived, range),
            ("m", range) => (EntryState::Marked, range),
            _ => (EntryState::Received, word),
        };
        states.extend(numbers(range).into_iter().map(|number| (number, state)));
    }
    let &(first, _) = states.first().expect("a vector names packets");
    let &(last, _) = states.last().expect("a vector names packets");
    let (first, ack) = (sender.seq_of(first), sender.seq_of(last));
    let mut entries = Vec::new();
    let mut seq = ack;
    loop {
        let ordinal = sender.ordinal_of(seq);
        let state = ordinal.map_or(EntryState::Received, |of| {
            let found = states.iter().find(|(number, _)| *number == of);
            found
                .unwrap_or_else(|| panic!("{vector} leaves out {of}"))
                .1
        });
        entries.push(AckEntry::new(state, 1));
        if seq == first {
            break;
        }
        seq = seq.prev();
    }
    sender.receive_ack(ack, |encoder| {
        encoder.ack_vector(entries).expect("there is room");
    });
}
