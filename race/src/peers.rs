//! The peers, by name.

pub mod dccp;
pub mod enet;
pub mod kernel;
pub mod quic;
pub mod s2n;
pub mod udp;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Who takes part.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize, ValueEnum)]
pub enum Peer {
    /// The kernel's UDP: one datagram a call, sender and receiver on blocking sockets
    UdpSend,
    /// The kernel's UDP: sendmmsg and recvmmsg
    UdpMmsg,
    /// The kernel's UDP: 54 segments a call (GSO), and GRO
    UdpGso,
    /// Plain UDP through tokio
    UdpTokio,
    /// ENet (`rusty_enet`), unreliable packets
    Enet,
    /// Fairwire, CCID 2, clear text
    Ccid2,
    /// Fairwire, CCID 3, clear text
    Ccid3,
    /// Datagrams of quinn (QUIC)
    Quinn,
    /// Datagrams of noq (QUIC)
    Noq,
    /// Datagrams of s2n-quic
    S2nQuic,
    /// Fairwire, CCID 2, DTLS 1.3
    Ccid2Dtls,
    /// Fairwire, CCID 3, DTLS 1.3
    Ccid3Dtls,
    /// Fairwire's simulator
    Simulator,
    /// The simulator ns-2
    Ns2,
    /// The simulator daytone
    Daytone,
}

impl Peer {
    /// Returns the name that the command line and the tables use.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
