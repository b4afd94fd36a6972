//! The works: what the two processes of a run do.

pub mod crowd;
pub mod flow;
pub mod game;
pub mod handshake;
pub mod path;

use crate::sim::Network;
use serde::{Deserialize, Serialize};

/// What is measured.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Work {
    /// One flow of 1,200-byte datagrams, as fast as it can be or at a rate.
    Flow { mbit_per_s: Option<u32> },
    /// 50 clients and a server, with 30 datagrams of 200 bytes a second in each direction.
    Game,
    /// Single datagrams on a path that is otherwise idle.
    Path,
    /// Connections that carry one datagram each way.
    Handshake,
    /// Idle connections, alone and beside an active one.
    Crowd,
    /// TCPs in a simulator.
    Simulation(Network),
}

impl Work {
    pub fn name(self) -> String {
        match self {
            Self::Flow { mbit_per_s: None } => "bulk".to_owned(),
            Self::Flow {
                mbit_per_s: Some(rate),
            } => format!("paced-{rate}"),
            Self::Game => "game".to_owned(),
            Self::Path => "path".to_owned(),
            Self::Handshake => "handshake".to_owned(),
            Self::Crowd => "crowd".to_owned(),
            Self::Simulation(network) => format!("sim-{}", network.name()),
        }
    }
}

/// All works, in the order of the table.
pub const WORKS: [Work; 11] = [
    Work::Flow { mbit_per_s: None },
    Work::Flow {
        mbit_per_s: Some(50),
    },
    Work::Flow {
        mbit_per_s: Some(200),
    },
    Work::Game,
    Work::Path,
    Work::Handshake,
    Work::Crowd,
    Work::Simulation(Network::Newreno1),
    Work::Simulation(Network::Cubic10),
    Work::Simulation(Network::Cubic100),
    Work::Simulation(Network::Equal10),
];
