//! Instruments read while a run goes on: windows, rates, round trips, counters.

use fairwire_net::{Network, NodeId};
use fairwire_units::Duration;

use super::built::{FlowPlace, Watch};
use super::dccp::permitted_rate;
use super::ends::Ends;
use super::host::{Host, Peer};

/// What one side of a flow showed at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) cwnd: Option<f64>,
    pub(crate) ssthresh: Option<f64>,
    pub(crate) rate_bits_per_s: Option<f64>,
    pub(crate) srtt: Option<Duration>,
    pub(crate) p: Option<f64>,
    pub(crate) cuts: Option<u64>,
    pub(crate) timeouts: Option<u64>,
    pub(crate) retransmitted: Option<u64>,
    pub(crate) syncs: Option<u64>,
    /// What it remembers of the other side's data.
    pub(crate) ack_vector_state: Option<u64>,
}

/// The readings of both sides of a flow.
pub(crate) fn read(network: &Network<Host, Watch>, flow: &FlowPlace) -> (Reading, Reading) {
    (side(network, &flow.ends.0), side(network, &flow.ends.1))
}

fn side(network: &Network<Host, Watch>, ends: &Ends) -> Reading {
    peer(network, ends.here, ends)
        .map(reading)
        .unwrap_or_default()
}

fn peer<'a>(network: &'a Network<Host, Watch>, node: NodeId, ends: &Ends) -> Option<&'a Peer> {
    let host = network.agent(node)?;
    host.peers
        .iter()
        .find(|peer| peer.ends().outgoing == ends.outgoing)
}

fn reading(peer: &Peer) -> Reading {
    match peer {
        Peer::UdpSource(_) | Peer::UdpSink(_) | Peer::TcpSink(_) => Reading::default(),
        Peer::TcpSource(tcp) => {
            let stats = tcp.stats();
            Reading {
                cwnd: stats.cwnd_packets,
                ssthresh: stats.ssthresh_packets.filter(|packets| packets.is_finite()),
                srtt: stats.srtt,
                cuts: Some(stats.fast_recoveries + stats.timeouts),
                timeouts: Some(stats.timeouts),
                retransmitted: Some(stats.segments_retransmitted),
                ..Reading::default()
            }
        }
        Peer::Dccp(dccp) => {
            let Some(stats) = dccp.stats() else {
                return Reading::default();
            };
            let gauges = stats.gauges;
            Reading {
                cwnd: gauges.cwnd_packets,
                ssthresh: gauges
                    .ssthresh_packets
                    .filter(|packets| packets.is_finite()),
                rate_bits_per_s: permitted_rate(&stats).map(|rate| rate.bits_per_s() as f64),
                srtt: stats.srtt.map(Into::into),
                p: gauges.p,
                cuts: Some(gauges.cuts),
                timeouts: Some(gauges.timeouts),
                retransmitted: None,
                syncs: Some(stats.syncs_sent),
                ack_vector_state: Some(stats.ack_vector_state as u64),
            }
        }
    }
}
