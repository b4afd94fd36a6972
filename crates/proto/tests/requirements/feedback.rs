//! What acknowledges, and what must not.

use super::*;

/// RFC 4340, 7.1, and RFC 5348, 3.2.1 and 5.1: every packet has the number after the last one's,
/// also when all that was sent before is lost.
#[test]
fn numbers_rise_by_one() {
    for ccid in [2, 3] {
        let mut pair = Pair::open(ccid);
        pair.lose = |sent| sent.from == CLIENT && sent.packet_type() == PacketType::Data;
        for _ in 0..20 {
            pair.send(CLIENT);
            pair.send(SERVER);
            pair.run_for(DELAY);
        }
        pair.run_for(Duration::from_secs(5));
        for side in [CLIENT, SERVER] {
            let sent = pair.log.iter().filter(|sent| sent.from == side);
            let numbers: Vec<_> = sent.filter_map(|sent| sent.packet().seq.long()).collect();
            assert!(numbers.len() > 20, "{} packets", numbers.len());
            for two in numbers.windows(2) {
                assert_eq!(two[1], two[0].next());
            }
        }
    }
}

/// RFC 4342, 8.3 to 8.6.1, and RFC 4340, 11.4: Data has no Acknowledgement Number, so no option that
/// tells of arrivals is on it, though feedback is due in both directions.
#[test]
fn feedback_does_not_ride_on_data() {
    for ccid in [2, 3] {
        let mut pair = Pair::open(ccid);
        for _ in 0..50 {
            pair.send(CLIENT);
            pair.send(SERVER);
            pair.run_for(DELAY);
        }
        let mut counts = [0, 0];
        for sent in pair.log.iter().filter(|sent| sent.is_data()) {
            let packet = sent.packet();
            let feedback = packet
                .options
                .into_iter()
                .any(|option| matches!(option.option_type, 37..=39 | 43 | 192..=195));
            let is_plain = sent.packet_type() == PacketType::Data;
            assert!(!(is_plain && feedback), "CCID {ccid}");
            counts[usize::from(feedback)] += 1;
        }
        assert!(counts[1] > 0, "some data carried feedback: {counts:?}");
    }
}
