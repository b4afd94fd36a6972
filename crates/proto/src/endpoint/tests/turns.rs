//! Fairness between the connections of an endpoint.

use fairwire_cc::{Flight, Gauges, Permit, RoundTrip};
use fairwire_units::{Duration, Instant, Rate};
use fairwire_wire::HeadBuf;

use super::kit::{PORT, Pair, SERVICE, data, ms};
use crate::Config;
use crate::half::{FeedbackOutcome, Incoming, Sent, Tx};

/// A worst-case sending half.
///
/// Its timer is always overdue, it always wants an acknowledgement sent, and it permits everything.
#[derive(Debug)]
struct Restless;

impl Tx for Restless {
    fn flight(&self) -> Flight {
        Flight::default()
    }
    fn permit(&self, _: Instant, _: u32, _: u32) -> Permit {
        Permit::Now
    }
    fn ccval(&mut self, _: Instant) -> u8 {
        0
    }
    fn on_sent(&mut self, _: Instant, _: Sent, _: u32) {}
    fn on_packet(&mut self, _: Instant, _: Incoming<'_>, _: u32, _: &mut FeedbackOutcome) {}
    fn on_rtt_sample(&mut self, _: Instant, _: Duration) {}
    fn next_timeout(&self) -> Option<Instant> {
        Some(Instant::START)
    }
    fn handle_timeout(&mut self, _: Instant, _: u32, _: &mut FeedbackOutcome) {}
    fn wants_ack_of_ack(&self) -> bool {
        true
    }
    fn on_feedback_acknowledged(&mut self, _: Instant) {}
    fn wanted_ack_ratio(&self) -> Option<u16> {
        None
    }
    fn packets_per_rtt(&self) -> u64 {
        1
    }
    fn srtt(&self) -> Option<Duration> {
        None
    }
    fn round_trip(&self) -> RoundTrip {
        RoundTrip::default()
    }
    fn allowed_rate(&self) -> Option<Rate> {
        None
    }
    fn gauges(&self) -> Gauges {
        Gauges::default()
    }
    fn footprint(&self) -> usize {
        0
    }
    fn finish(&mut self, _: &mut FeedbackOutcome) {}
}

/// Two ends that always want an acknowledgement sent send one per round trip each.
///
/// The Ack of one end does not cause another (RFC 4340, section 11.1).
#[test]
fn two_restless_ends_do_not_drive_each_other() {
    let (mut pair, [client, server]) = Pair::opened();
    for (side, id) in [(0, client), (1, server)] {
        pair.ends[side].connections[id.slot()]
            .subflow_mut()
            .set_tx(Box::new(Restless));
        pair.ends[side].send(pair.now, id, data(1)).unwrap();
    }
    let before = pair.log.len();
    pair.run_for(ms(2_000));
    let sent = pair.log.len() - before;
    // Fifty round trips of 40 ms.
    assert!(sent <= 2 * 50 + 10, "{sent} packets");
}

/// A connection whose timer is always overdue gets one turn at a time, and at most about a thousand a second.
///
/// It always has something to send. Still, at any one moment the endpoint finishes, and other connections send as
/// usual.
#[test]
fn a_restless_connection_gets_its_turn_and_no_more() {
    let mut pair = Pair::new();
    pair.record = false;
    pair.ends[1]
        .listen(PORT, &[SERVICE], Config::default())
        .unwrap();
    let ids: Vec<_> = (0..3)
        .map(|_| {
            let id = pair.connect_only(Config::default());
            pair.run_for(ms(200));
            id
        })
        .collect();
    let restless = ids[0].slot();
    pair.ends[0].connections[restless]
        .subflow_mut()
        .set_tx(Box::new(Restless));
    for _ in 0..100 {
        pair.ends[0].send(pair.now, ids[0], data(100)).unwrap();
        pair.ends[0].send(pair.now, ids[1], data(100)).unwrap();
    }
    let mut head = HeadBuf::new();
    let end = &mut pair.ends[0];
    let (mut turns, mut packets) = (0u32, [0u32; 3]);
    let until = pair.now + Duration::from_secs(1);
    let mut now = pair.now;
    while now <= until {
        end.handle_timeout(now);
        let mut here = 0;
        while let Some(transmit) = end.poll_transmit(now, &mut head) {
            let which = ids.iter().position(|id| Some(*id) == transmit.connection);
            packets[which.expect("one of ours")] += 1;
            here += 1;
            assert!(here < 500, "no rest at {now}");
        }
        let next = end.next_timeout().expect("it never rests");
        // Only at first: its timer was found overdue before it ever expired.
        assert!(next > now || turns == 0, "due again at {now}");
        now = now.max(next);
        turns += 1;
    }
    assert!(turns < 1_200, "{turns} turns in a second");
    assert!(packets[0] < 1_300, "{packets:?}");
    assert!(packets[1] >= 3, "{packets:?}");
}
