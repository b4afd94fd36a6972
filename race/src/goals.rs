//! The goals: what a peer may cost, beside another one or by itself.

use crate::peers::Peer::{self, *};
use crate::sim::Network;
use crate::works::Work;

pub struct Goal {
    pub peers: &'static [Peer],
    pub metric: &'static str,
    /// What the value is divided by; `None` if the limit is for the value itself.
    pub beside: Option<Peer>,
    pub limit: f64,
}

const fn beside(peers: &'static [Peer], metric: &'static str, reference: Peer, limit: f64) -> Goal {
    Goal {
        peers,
        metric,
        beside: Some(reference),
        limit,
    }
}

const fn at_most(peers: &'static [Peer], metric: &'static str, limit: f64) -> Goal {
    Goal {
        peers,
        metric,
        beside: None,
        limit,
    }
}

const CLEAR: &[Peer] = &[Ccid2, Ccid3];
const DTLS: &[Peer] = &[Ccid2Dtls, Ccid3Dtls];
const ALL: &[Peer] = &[Ccid2, Ccid3, Ccid2Dtls, Ccid3Dtls];

const BULK: &[Goal] = &[
    beside(DTLS, "sum ns", Quinn, 0.75),
    beside(CLEAR, "sum ns", UdpGso, 4.0),
    beside(CLEAR, "sum ns", Quinn, 0.35),
];
const PACED: &[Goal] = &[beside(DTLS, "sum ns", Quinn, 0.8)];
const GAME: &[Goal] = &[
    beside(DTLS, "server cpu %", Quinn, 0.7),
    beside(DTLS, "clients cpu %", Quinn, 0.7),
    beside(DTLS, "p50 us", Quinn, 0.7),
    beside(DTLS, "p99 us", Quinn, 0.7),
    beside(DTLS, "KiB/connection", Quinn, 0.7),
];
const PATH: &[Goal] = &[
    beside(ALL, "p50 us", UdpTokio, 1.3),
    beside(ALL, "p99 us", UdpTokio, 1.3),
];
const HANDSHAKE: &[Goal] = &[beside(DTLS, "sum cpu us", Quinn, 1.0)];
const CROWD: &[Goal] = &[
    at_most(CLEAR, "client KiB", 2.0),
    at_most(CLEAR, "server KiB", 2.0),
    at_most(DTLS, "client KiB", 6.0),
    at_most(DTLS, "server KiB", 6.0),
    at_most(ALL, "beside/alone", 1.03),
];
const NS2: &[Goal] = &[beside(&[Simulator], "ns/packet", Ns2, 0.2)];
const DAYTONE: &[Goal] = &[beside(&[Simulator], "ns/packet", Daytone, 1.0)];

impl Work {
    pub const fn goals(self) -> &'static [Goal] {
        match self {
            Self::Flow { mbit_per_s: None } => BULK,
            Self::Flow { .. } => PACED,
            Self::Game => GAME,
            Self::Path => PATH,
            Self::Handshake => HANDSHAKE,
            Self::Crowd => CROWD,
            Self::Simulation(Network::Equal10) => DAYTONE,
            Self::Simulation(_) => NS2,
        }
    }
}
