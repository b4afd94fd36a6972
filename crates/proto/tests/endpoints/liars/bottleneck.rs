//! Real endpoints that share one bottleneck; the receiver of the first flow may lie.

use std::collections::BTreeMap;

use fairwire_proto::{
    CloseReason, Config, ConnectionId, Encapsulation, Endpoint, EndpointConfig, Event, Meta, Path,
    Payload, Transmit,
};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{HeadBuf, ResetCode, ServiceCode};

use super::lie::{Liar, Lie};

const SERVICE: ServiceCode = ServiceCode(42);
const PORT: u16 = 5_001;
/// The size of each datagram, bytes.
const SIZE: u32 = 1_000;
/// The one-way delay without queueing.
const DELAY: Duration = Duration::from_millis(30);

/// The impairments of the path besides queueing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Impairments {
    /// Lost packets per thousand, in each direction.
    pub lost: u64,
    /// Packets per thousand that arrive twice.
    pub copied: u64,
    /// Packets per thousand that arrive some milliseconds late, after others.
    pub delayed: u64,
    /// Whether each packet's delay varies by up to four milliseconds.
    pub jitter: bool,
}

/// A path with a bottleneck.
pub(crate) struct Bottleneck {
    now: Instant,
    senders: Vec<Endpoint>,
    receivers: Vec<Endpoint>,
    flows: Vec<Flow>,
    liar: Liar,
    flying: BTreeMap<(Instant, u64), Flying>,
    count: u64,
    /// The time of a packet at the bottleneck, and how many packets may wait for it.
    each: Duration,
    queue: u64,
    free_at: Instant,
    dice: u64,
    pub(crate) impairments: Impairments,
}

struct Flow {
    sender: ConnectionId,
    receiver: Option<ConnectionId>,
    received: u64,
    lost_before: u64,
    closed: Option<CloseReason>,
}

struct Flying {
    flow: usize,
    to_receiver: bool,
    head: Vec<u8>,
    transmit: Transmit,
}

fn path(flow: usize, back: bool) -> Path {
    let host = u8::try_from(flow + 1).expect("few flows");
    let ends = ([10, 0, 1, host], [10, 0, 2, host]);
    let (local, remote) = if back { (ends.1, ends.0) } else { ends };
    Path {
        encapsulation: Encapsulation::Udp,
        local: (local, 6_511).into(),
        remote: (remote, 6_511).into(),
    }
}

impl Bottleneck {
    /// Creates `flows` flows with `config` over a link that takes `each` per packet and queues up to `queue` packets.
    pub(crate) fn new(
        flows: usize,
        config: &Config,
        (each, queue): (Duration, u64),
        lie: Option<Lie>,
    ) -> Self {
        let end = |side: u8, flow: usize| {
            let secret = [side + 2 * u8::try_from(flow).expect("few flows"); 32];
            Endpoint::new(EndpointConfig::default(), secret)
        };
        let now = Instant::START + Duration::from_secs(1);
        let mut bottleneck = Self {
            now,
            senders: (0..flows).map(|flow| end(0, flow)).collect(),
            receivers: (0..flows).map(|flow| end(1, flow)).collect(),
            flows: Vec::new(),
            liar: Liar::new(lie),
            flying: BTreeMap::new(),
            count: 0,
            each,
            queue,
            free_at: now,
            dice: 0x9E37_79B9_7F4A_7C15,
            impairments: Impairments::default(),
        };
        for flow in 0..flows {
            let listening = bottleneck.receivers[flow].listen(PORT, &[SERVICE], config.clone());
            assert_eq!(listening, Ok(()));
            let from = &mut bottleneck.senders[flow];
            let id = from.connect(now, path(flow, false), None, PORT, SERVICE, config.clone());
            bottleneck.flows.push(Flow {
                sender: id.expect("there is room"),
                receiver: None,
                received: 0,
                lost_before: 0,
                closed: None,
            });
        }
        bottleneck
    }

    fn draw(&mut self) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice >> 20
    }

    fn drain(&mut self) {
        let mut head = HeadBuf::new();
        for flow in 0..self.flows.len() {
            self.feed(flow);
            while let Some(transmit) = self.senders[flow].poll_transmit(self.now, &mut head) {
                self.launch(flow, true, head.as_slice(), &transmit);
                self.feed(flow);
            }
            while let Some(transmit) = self.receivers[flow].poll_transmit(self.now, &mut head) {
                let told = if flow == 0 {
                    let len = transmit.payload.len();
                    self.liar.tell(self.now, head.as_slice(), len)
                } else {
                    head.as_slice().to_vec()
                };
                self.launch(flow, false, &told, &transmit);
            }
            while let Some((_, event)) = self.senders[flow].poll_event() {
                if let Event::Closed { reason } = event {
                    self.flows[flow].closed = Some(reason);
                }
            }
            while let Some((id, event)) = self.receivers[flow].poll_event() {
                if matches!(event, Event::Accepted { .. }) {
                    self.flows[flow].receiver = Some(id);
                }
            }
            if let Some(id) = self.flows[flow].receiver {
                while let Some(received) = self.receivers[flow].recv(id) {
                    self.flows[flow].received += 1;
                    self.flows[flow].lost_before += received.lost_before;
                }
            }
        }
    }

    /// Keeps a few datagrams in the send queue.
    fn feed(&mut self, flow: usize) {
        let id = self.flows[flow].sender;
        while self.senders[flow].can_send(id, SIZE as usize) {
            let data = Payload::synthetic(SIZE, 0);
            let sent = self.senders[flow].send(self.now, id, data);
            assert!(sent.is_ok(), "{sent:?}");
        }
    }

    fn launch(&mut self, flow: usize, to_receiver: bool, head: &[u8], transmit: &Transmit) {
        let mut arrival = self.now + DELAY;
        if to_receiver {
            let starts = self.now.max(self.free_at);
            // As in RED, so that no flow is locked out: once the queue is half full, more and more packets are dropped.
            let waiting = (starts - self.now).as_nanos() / self.each.as_nanos().max(1);
            let half = self.queue / 2;
            let early = waiting > half && self.draw() % (half * 10) < waiting - half;
            if waiting >= self.queue || early {
                return;
            }
            self.free_at = starts + self.each;
            arrival = self.free_at + DELAY;
        }
        let impairments = self.impairments;
        if self.draw() % 1_000 < impairments.lost {
            return;
        }
        if impairments.jitter {
            arrival += Duration::from_micros(self.draw() % 4_000);
        }
        if self.draw() % 1_000 < impairments.delayed {
            arrival += Duration::from_millis(5 + self.draw() % 20);
        }
        let copied = self.draw() % 1_000 < impairments.copied;
        for copy in 0..=u64::from(copied) {
            self.count += 1;
            let flying = Flying {
                flow,
                to_receiver,
                head: head.to_vec(),
                transmit: transmit.clone(),
            };
            let at = arrival + Duration::from_millis(3) * copy;
            self.flying.insert((at, self.count), flying);
        }
    }

    /// Runs for `time`.
    pub(crate) fn run(&mut self, time: Duration) {
        let until = self.now + time;
        self.drain();
        loop {
            let arrival = self.flying.keys().next().map(|&(at, _)| at);
            let ends = self.senders.iter().chain(&self.receivers);
            let timers = ends.filter_map(Endpoint::next_timeout);
            let Some(next) = timers.chain(arrival).min().filter(|&next| next <= until) else {
                break;
            };
            self.now = self.now.max(next);
            while let Some(entry) = self.flying.first_entry() {
                if entry.key().0 > self.now {
                    break;
                }
                let Flying {
                    flow,
                    to_receiver,
                    head,
                    transmit,
                } = entry.remove();
                let meta = Meta {
                    path: path(flow, to_receiver),
                    ecn: transmit.ecn,
                };
                let end = if to_receiver {
                    &mut self.receivers[flow]
                } else {
                    &mut self.senders[flow]
                };
                end.handle_datagram(self.now, meta, &head, transmit.payload);
            }
            for end in self.senders.iter_mut().chain(&mut self.receivers) {
                end.handle_timeout(self.now);
            }
            self.drain();
        }
        self.now = until;
    }

    /// Returns how many datagrams each flow's receiver got.
    pub(crate) fn received(&self) -> Vec<u64> {
        self.flows.iter().map(|flow| flow.received).collect()
    }

    /// Returns the number of lost datagrams of which the first flow's application was told.
    pub(crate) fn reported_lost(&self) -> u64 {
        self.flows[0].lost_before
    }

    /// Returns whether the first flow was reset for aggression.
    pub(crate) fn is_penalised(&self) -> bool {
        matches!(
            self.flows[0].closed,
            Some(CloseReason::PeerError {
                code: ResetCode::AggressionPenalty,
                ..
            })
        )
    }

    /// Returns whether any flow has ended.
    pub(crate) fn any_closed(&self) -> bool {
        self.flows.iter().any(|flow| flow.closed.is_some())
    }
}
