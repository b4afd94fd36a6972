//! Queue disciplines defined outside the crate.

use std::collections::VecDeque;

use fairwire_net::{
    Admission, Backlog, DropReason, LinkId, Network, Next, Observation, Observer, Place, Queue,
    Queued, Topology,
};
use fairwire_units::{Duration, Instant};

use crate::support::{Host, Ledger, link, ms, packet, steady};

/// A discipline that drops packets at the head after a maximum time, and the oldest packet when full.
#[derive(Debug, Default)]
struct Fresh {
    oldest_allowed: Duration,
    limit: usize,
    waiting: VecDeque<Queued>,
}

impl Queue for Fresh {
    fn enqueue(
        &mut self,
        _now: Instant,
        arriving: Queued,
        _transmitting: Option<u32>,
    ) -> Admission {
        self.waiting.push_back(arriving);
        if self.waiting.len() > self.limit
            && let Some(oldest) = self.waiting.pop_front()
        {
            return Admission::Dropped(oldest, DropReason::QueueFull);
        }
        Admission::Accepted
    }

    fn dequeue(&mut self, now: Instant) -> Next {
        let Some(next) = self.waiting.pop_front() else {
            return Next::Empty;
        };
        if now - next.entered > self.oldest_allowed {
            Next::Drop(next, DropReason::Signal)
        } else {
            Next::Send(next)
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: u32::try_from(self.waiting.len()).expect("few"),
            bytes: self
                .waiting
                .iter()
                .map(|q| u64::from(q.packet.wire_len))
                .sum(),
        }
    }
}

/// An observer that records when and which packets were dropped.
#[derive(Default)]
struct Drops(Vec<(u64, u32, DropReason)>);

impl Observer<Ledger> for Drops {
    fn dropped(&mut self, seen: &Observation<'_, Ledger>, reason: DropReason) {
        assert_eq!(seen.place, Place::Link(LinkId(0)));
        let at = seen.at.as_nanos() / 1_000_000;
        self.0.push((at, seen.packet.handle.0, reason));
    }
}

fn run(
    queue: Fresh,
    host: impl FnOnce(fairwire_net::NodeId, fairwire_net::NodeId) -> Host,
) -> (Vec<(u32, u64)>, Drops) {
    let mut topology = Topology::new();
    let (a, b) = (topology.node(), topology.node());
    topology.link(a, b, link(1_000_000, ms(200)).queue(queue));
    let mut net = Network::new(topology, Ledger::default(), Drops::default());
    net.place(b, Host::default());
    net.place(a, host(a, b));
    net.run_until(Instant::MAX);
    assert!(net.store().alive.is_empty(), "nothing leaks");
    let (agents, _, drops) = net.into_parts();
    let host = agents[b.0 as usize].as_ref().expect("placed");
    let came = host.arrivals().into_iter();
    (
        came.map(|(handle, at)| (handle, at / 1_000_000)).collect(),
        drops,
    )
}

/// Of ten packets of 10 ms at once, with a maximum wait of 25 ms, three are sent and the others dropped at the head.
///
/// They are dropped when the transmitter would have taken them. There is no separate event for that, and the link is
/// idle until much later.
#[test]
fn a_queue_may_drop_at_the_head() {
    let queue = Fresh {
        oldest_allowed: ms(25),
        limit: 100,
        ..Fresh::default()
    };
    let (came, drops) = run(queue, |a, b| steady((a, b), 0, 10, 1_250, ms(0)));
    assert_eq!(came, [(0, 210), (1, 220), (2, 230)]);
    let expected: Vec<_> = (3..10).map(|n| (30, n, DropReason::Signal)).collect();
    assert_eq!(drops.0, expected);
}

/// A full queue may drop the packet that waited longest instead of the arriving one.
#[test]
fn a_queue_may_drop_another() {
    let queue = Fresh {
        oldest_allowed: ms(1_000),
        limit: 2,
        ..Fresh::default()
    };
    let (came, drops) = run(queue, |a, b| {
        Host::new((0..5).map(|n| (Instant::START + ms(u64::from(n)), packet(a, b, n, 1_250))))
    });
    assert_eq!(came, [(0, 210), (3, 220), (4, 230)]);
    let full = DropReason::QueueFull;
    assert_eq!(drops.0, [(3, 1, full), (4, 2, full)]);
}
