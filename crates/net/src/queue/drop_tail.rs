//! First in, first out. A packet that finds the queue full is dropped, and one that finds it long may be marked.

use std::collections::VecDeque;
use std::sync::Arc;

use fairwire_units::registry::Kind;
use fairwire_units::{Ecn, Instant, Packets, Size};

use super::discipline::{Admission, Backlog, Next, Queue, Queued};
use super::limit::QueueLimit;
use super::model::QueueModel;
use crate::{DropReason, LinkContext};

/// The settings of a [`DropTail`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(deny_unknown_fields, default)
)]
pub struct DropTailConfig {
    /// The most that waits: packets, or bytes of IP packets.
    #[cfg_attr(
        feature = "settings",
        schemars(extend(
            "minimum_quantity" = "1 packet",
            "maximum_quantity" = "10000000 packets",
            "advice" = "a queue must hold 1 to 10000000 packets"
        ))
    )]
    pub limit: QueueLimit,
    /// What the limit counts.
    pub counts: Counts,
    /// An ECN-capable packet that finds this many packets waiting, or more, is marked. The default marks none. Together
    /// with the packet in transmission the queue is then longer than this value, which is when RFC 8257, section 3.1,
    /// marks.
    #[cfg_attr(feature = "settings", serde(skip_serializing_if = "Option::is_none"))]
    pub mark_threshold: Option<Packets>,
}

/// The packets that a queue's limit counts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum Counts {
    /// The waiting packets.
    #[default]
    Waiting,
    /// The waiting packets and the one in transmission, as `DropTail` of ns-2 effectively does.
    Transmission,
}

/// A thousand packets, which is ample but still a bound.
impl Default for DropTailConfig {
    fn default() -> Self {
        Self {
            limit: QueueLimit::Packets(1_000),
            counts: Counts::Waiting,
            mark_threshold: None,
        }
    }
}

impl QueueModel for DropTailConfig {
    fn build(&self, _link: &LinkContext<'_>) -> Box<dyn Queue> {
        let mut queue = DropTail::new(self.limit);
        if let Some(threshold) = self.mark_threshold {
            queue = queue.mark_threshold(threshold.0);
        }
        Box::new(match self.counts {
            Counts::Waiting => queue,
            Counts::Transmission => queue.counting_transmission(),
        })
    }

    fn limit(&self) -> QueueLimit {
        self.limit
    }

    fn marks(&self) -> bool {
        self.mark_threshold.is_some()
    }

    fn problem(&self) -> Option<(&'static str, String)> {
        let (Some(threshold), QueueLimit::Packets(limit)) = (self.mark_threshold, self.limit)
        else {
            return None;
        };
        let waiting = match self.counts {
            Counts::Waiting => limit,
            Counts::Transmission => limit.saturating_sub(1),
        };
        (threshold.0 >= waiting).then(|| {
            let message = format!(
                "mark_threshold {threshold} is never reached, because at most {} wait: write a lower mark_threshold",
                Packets(waiting)
            );
            ("mark_threshold", message)
        })
    }
}

/// Returns the entry of the registry.
pub(super) fn kind() -> Kind<dyn QueueModel> {
    let kind: Kind<dyn QueueModel> = Kind::new(
        "droptail",
        "First in, first out; a packet that finds the queue full is dropped.",
    );
    #[cfg(feature = "settings")]
    let kind = kind.settings(|config: DropTailConfig| Arc::new(config));
    kind.standard(|| Arc::new(DropTailConfig::default()))
}

/// The state of a FIFO queue with a limit in packets or bytes.
///
/// The limit bounds what *waits*. With `packets(20)` twenty packets wait while a twenty-first is in transmission. A
/// packet that comes to an idle link starts at once, even if the limit is zero. With
/// [`DropTail::counting_transmission`] the packet in transmission counts too, so `packets(20)` holds twenty in all.
///
/// The second form is the effective behaviour of `DropTail` of ns-2. Its queue does not hold the packet in
/// transmission, but it refuses a packet that would make the queue as long as its `limit_`. So nineteen packets wait
/// behind the one on the wire.
#[derive(Debug)]
pub struct DropTail {
    limit: QueueLimit,
    counts_transmission: bool,
    /// The number of waiting packets from which an arriving packet is marked.
    mark_threshold: usize,
    waiting: VecDeque<Queued>,
    bytes: u64,
}

impl DropTail {
    /// Creates a queue in which at most `packets` packets wait.
    pub fn packets(packets: u32) -> Self {
        Self::new(QueueLimit::Packets(packets))
    }

    /// Creates a queue in which at most `size` waits, counted as IP packets without the link's framing.
    pub fn bytes(size: Size) -> Self {
        Self::new(QueueLimit::Bytes(size))
    }

    /// Creates a queue without a limit.
    pub fn unlimited() -> Self {
        Self::new(QueueLimit::Bytes(Size::new(u64::MAX)))
    }

    /// Counts the packet in transmission against the limit.
    pub fn counting_transmission(mut self) -> Self {
        self.counts_transmission = true;
        self
    }

    /// Marks each ECN-capable packet that finds `packets` or more waiting.
    ///
    /// This is the marking that DCTCP requires of a switch (RFC 8257, section 3.1): the queue, with the packet in
    /// transmission, is longer than the threshold. The instantaneous length counts, not an average.
    pub fn mark_threshold(mut self, packets: u32) -> Self {
        self.mark_threshold = packets as usize;
        self
    }

    /// Creates a queue with this limit.
    pub fn new(limit: QueueLimit) -> Self {
        Self {
            limit,
            counts_transmission: false,
            mark_threshold: usize::MAX,
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    fn has_room(&self, arriving: u32, transmitting: Option<u32>) -> bool {
        let on_wire = transmitting.filter(|_| self.counts_transmission);
        match self.limit {
            QueueLimit::Packets(limit) => {
                let held = self.waiting.len() as u64 + u64::from(on_wire.is_some());
                held < u64::from(limit) || transmitting.is_none()
            }
            QueueLimit::Bytes(limit) => {
                let held = self.bytes + u64::from(on_wire.unwrap_or(0));
                held.saturating_add(u64::from(arriving)) <= limit.bytes() || transmitting.is_none()
            }
        }
    }
}

impl Queue for DropTail {
    fn enqueue(
        &mut self,
        _now: Instant,
        mut arriving: Queued,
        transmitting: Option<u32>,
    ) -> Admission {
        if !self.has_room(arriving.packet.wire_len, transmitting) {
            return Admission::Dropped(arriving, DropReason::QueueFull);
        }
        if self.waiting.len() >= self.mark_threshold && arriving.packet.ecn.is_capable() {
            arriving.packet.ecn = Ecn::Ce;
        }
        self.bytes += u64::from(arriving.packet.wire_len);
        self.waiting.push_back(arriving);
        Admission::Accepted
    }

    fn dequeue(&mut self, _now: Instant) -> Next {
        match self.waiting.pop_front() {
            Some(next) => {
                self.bytes -= u64::from(next.packet.wire_len);
                Next::Send(next)
            }
            None => Next::Empty,
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: u32::try_from(self.waiting.len()).unwrap_or(u32::MAX),
            bytes: self.bytes,
        }
    }

    fn may_bypass(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Admission, Backlog, DropTail, Next, Queue, Queued};
    use crate::{FlowId, Handle, NodeId, Packet};
    use fairwire_units::{Ecn, Instant, Size};

    fn arriving(wire_len: u32) -> Queued {
        Queued {
            packet: Packet {
                source: NodeId(0),
                destination: NodeId(1),
                flow: FlowId(0),
                wire_len,
                ecn: Ecn::NotEct,
                handle: Handle(0),
            },
            entered: Instant::START,
            ticket: 0,
        }
    }

    /// Returns how many of ten packets of 100 bytes are accepted while one of 100 bytes is in transmission.
    fn admitted(mut queue: DropTail) -> usize {
        (0..10)
            .map(|_| queue.enqueue(Instant::START, arriving(100), Some(100)))
            .filter(|admission| matches!(admission, Admission::Accepted))
            .count()
    }

    /// The limit counts what waits, or what waits and is in transmission; the two differ by one packet.
    #[test]
    fn packets_just_inside_and_outside() {
        assert_eq!(admitted(DropTail::packets(4)), 4);
        assert_eq!(admitted(DropTail::packets(4).counting_transmission()), 3);
        assert_eq!(admitted(DropTail::packets(0)), 0);
        assert_eq!(admitted(DropTail::unlimited()), 10);
    }

    /// With a limit in bytes, a packet is accepted if all of it fits: 400 bytes hold four packets, 399 hold three.
    #[test]
    fn bytes_just_inside_and_outside() {
        assert_eq!(admitted(DropTail::bytes(Size::new(400))), 4);
        assert_eq!(admitted(DropTail::bytes(Size::new(399))), 3);
        let counting = DropTail::bytes(Size::new(400)).counting_transmission();
        assert_eq!(admitted(counting), 3);
    }

    /// A smaller packet may still fit where a larger one was refused, and a departure frees its room.
    #[test]
    fn room_comes_back() {
        let mut queue = DropTail::bytes(Size::new(250));
        for (len, fits) in [(100, true), (100, true), (100, false), (50, true)] {
            let admission = queue.enqueue(Instant::START, arriving(len), Some(100));
            assert_eq!(matches!(admission, Admission::Accepted), fits, "{len}");
        }
        let backlog = Backlog {
            packets: 3,
            bytes: 250,
        };
        assert_eq!(queue.backlog(), backlog);
        queue.dequeue(Instant::START);
        assert_eq!(queue.backlog().bytes, 150);
        let admission = queue.enqueue(Instant::START, arriving(100), Some(100));
        assert!(matches!(admission, Admission::Accepted));
    }

    /// A packet that comes to an idle link is never refused, because it does not wait.
    #[test]
    fn an_idle_link_takes_anything() {
        for mut queue in [DropTail::packets(0), DropTail::bytes(Size::new(10))] {
            let admission = queue.enqueue(Instant::START, arriving(100), None);
            assert!(matches!(admission, Admission::Accepted));
        }
    }

    /// RFC 8257, section 3.1: from the threshold on, ECN-capable packets are marked and wait like the others.
    ///
    /// Below the threshold, and without ECN, packets are unchanged.
    #[test]
    fn marks_begin_at_the_threshold() {
        let mut queue = DropTail::packets(6).mark_threshold(3);
        let capable = |ecn| {
            let mut queued = arriving(100);
            queued.packet.ecn = ecn;
            queued
        };
        let coming = [
            Ecn::Ect0,
            Ecn::Ect1,
            Ecn::Ect0,
            Ecn::Ect0,
            Ecn::Ect1,
            Ecn::NotEct,
        ];
        for ecn in coming {
            let admission = queue.enqueue(Instant::START, capable(ecn), Some(100));
            assert!(matches!(admission, Admission::Accepted));
        }
        let left: Vec<Ecn> = std::iter::from_fn(|| match queue.dequeue(Instant::START) {
            Next::Send(sent) => Some(sent.packet.ecn),
            Next::Drop(..) | Next::Empty => None,
        })
        .collect();
        let marked = [
            Ecn::Ect0,
            Ecn::Ect1,
            Ecn::Ect0,
            Ecn::Ce,
            Ecn::Ce,
            Ecn::NotEct,
        ];
        assert_eq!(left, marked);
    }
}
