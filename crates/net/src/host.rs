//! Hosts that handle a limited number of packets per second.
//!
//! A slow machine is a single server with one queue for the packets that it sends and receives. Each packet takes its
//! time. The queue is finite. A packet that finds it full is dropped, at the node and not on a link.

use std::collections::VecDeque;

use fairwire_units::{Duration, Instant, Packets};

use crate::schedule::Key;
use crate::{NodeId, Packet};

/// A host that needs time for each packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(deny_unknown_fields)
)]
pub struct HostSpec {
    /// Time for each packet that the host sends or receives.
    #[cfg_attr(
        feature = "settings",
        schemars(extend(
            "maximum_quantity" = "10 s",
            "advice" = "the time per packet or per kilobyte must be at most 10 s"
        ))
    )]
    pub per_packet: Duration,
    /// Additional time for each 1000 bytes of an IP packet, in proportion.
    #[cfg_attr(
        feature = "settings",
        serde(default),
        schemars(extend(
            "maximum_quantity" = "10 s",
            "advice" = "the time per packet or per kilobyte must be at most 10 s"
        ))
    )]
    pub per_kilobyte: Duration,
    /// The most packets that wait, not counting the one in service.
    #[cfg_attr(feature = "settings", serde(default = "hundred_packets"))]
    pub backlog: Packets,
}

#[cfg(feature = "settings")]
fn hundred_packets() -> Packets {
    Packets(100)
}

impl HostSpec {
    /// Returns the time for a packet of `bytes` bytes.
    pub fn service(&self, bytes: u32) -> Duration {
        let bytes = u128::from(self.per_kilobyte.as_nanos()) * u128::from(bytes) / 1_000;
        self.per_packet + Duration::from_nanos(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

/// A packet at a host, to be sent or received.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Job {
    Send(Packet),
    Receive(Packet),
}

impl Job {
    fn bytes(&self) -> u32 {
        match self {
            Self::Send(packet) | Self::Receive(packet) => packet.wire_len,
        }
    }

    pub(crate) fn packet(&self) -> &Packet {
        match self {
            Self::Send(packet) | Self::Receive(packet) => packet,
        }
    }
}

/// The state of a slow host.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) node: NodeId,
    spec: HostSpec,
    current: Option<Job>,
    waiting: VecDeque<Job>,
    done: Key,
}

impl Server {
    pub(crate) fn new(node: NodeId, spec: HostSpec) -> Self {
        Self {
            node,
            spec,
            current: None,
            waiting: VecDeque::new(),
            done: Key::NEVER,
        }
    }

    /// Returns when the packet in service is done.
    pub(crate) fn done(&self) -> Key {
        self.done
    }

    /// Handles a packet that arrives. Returns it if there is no room for it.
    pub(crate) fn offer(&mut self, now: Instant, ticket: u64, job: Job) -> Option<Job> {
        if self.current.is_none() {
            self.begin(now, ticket, job);
            return None;
        }
        if self.waiting.len() >= self.spec.backlog.0 as usize {
            return Some(job);
        }
        self.waiting.push_back(job);
        None
    }

    /// Returns the packet in service, which is done, and begins the next one.
    pub(crate) fn finish(&mut self, now: Instant, ticket: u64) -> Option<Job> {
        let done = self.current.take();
        self.done = Key::NEVER;
        if let Some(next) = self.waiting.pop_front() {
            self.begin(now, ticket, next);
        }
        done
    }

    fn begin(&mut self, now: Instant, ticket: u64, job: Job) {
        self.done = Key {
            at: now + self.spec.service(job.bytes()),
            ticket,
        };
        self.current = Some(job);
    }
}

#[cfg(test)]
mod tests {
    use super::HostSpec;
    use fairwire_units::{Duration, Packets};

    /// 262 us and 0.185 us per byte: 512 bytes take 356.72 us, so the host handles 2,803 packets per second.
    #[test]
    fn service_by_hand() {
        let spec = HostSpec {
            per_packet: Duration::from_micros(262),
            per_kilobyte: Duration::from_micros(185),
            backlog: Packets(10),
        };
        assert_eq!(spec.service(512), Duration::from_nanos(356_720));
        assert_eq!(spec.service(0), Duration::from_micros(262));
    }
}
