//! Hosts that handle only so many packets a second.
//!
//! A slow machine is a single server: every packet that it sends or receives takes its turn and its
//! time, sent and received ones in one line. The line is finite; who finds it full is
//! dropped, at the node and not on a link.

use std::collections::VecDeque;

use fairwire_units::{Duration, Instant, Packets};

use crate::schedule::Key;
use crate::{NodeId, Packet};

/// A host that takes its time for each packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(deny_unknown_fields)
)]
pub struct HostSpec {
    /// What each packet takes that it sends or receives.
    #[cfg_attr(
        feature = "settings",
        schemars(extend(
            "maximum_quantity" = "10 s",
            "advice" = "a host that takes more than ten seconds for a packet is surely not meant"
        ))
    )]
    pub per_packet: Duration,
    /// What each 1000 bytes of it take besides, as IP packet, in proportion.
    #[cfg_attr(
        feature = "settings",
        serde(default),
        schemars(extend(
            "maximum_quantity" = "10 s",
            "advice" = "a host that takes more than ten seconds for a packet is surely not meant"
        ))
    )]
    pub per_kilobyte: Duration,
    /// Packets that wait at most, the one at work not counted.
    #[cfg_attr(feature = "settings", serde(default = "hundred_packets"))]
    pub backlog: Packets,
}

#[cfg(feature = "settings")]
fn hundred_packets() -> Packets {
    Packets(100)
}

impl HostSpec {
    /// What a packet of `bytes` bytes takes.
    pub fn service(&self, bytes: u32) -> Duration {
        let bytes = u128::from(self.per_kilobyte.as_nanos()) * u128::from(bytes) / 1_000;
        self.per_packet + Duration::from_nanos(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

/// A packet at a host, on its way out or in.
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

/// A slow host at work.
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

    /// When the packet at work is done.
    pub(crate) fn done(&self) -> Key {
        self.done
    }

    /// A packet comes. It is given back if there is no room for it.
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

    /// The packet at work is done, and the next one begins.
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

    /// 262 us and 0.185 us a byte: 512 bytes take 356.72 us, that is 2,803 packets a second.
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
