//! Conversion of DCCP's settings to the configuration of an endpoint.

use fairwire_proto::{Config, PathMtuDiscovery};
use fairwire_units::Duration;
use fairwire_wire::Ccid;

use super::settings::Dccp;

/// The most bytes that options add to a plain data packet, such as feedback on data in a flow with data in both
/// directions.
pub(super) const OPTION_ROOM: u32 = 512;

/// Returns the configuration of a side that sends with `send_ccid` and receives with `receive_ccid`. Its plain data
/// packets have `wire_bytes` bytes.
pub(super) fn config(dccp: &Dccp, wire_bytes: u32, send_ccid: u8, receive_ccid: u8) -> Config {
    let mut config = dccp.config.clone();
    config.send_ccids = vec![Ccid::new(send_ccid)];
    config.receive_ccids = vec![Ccid::new(receive_ccid)];
    // The stacks that papers measured sent no keep-alives, and a run has an end of its own.
    config.keep_alive = None;
    // Simulated receivers are honest, and published results do not skip sequence numbers.
    config.check_feedback = false;
    if !dccp.ccid_changes.is_empty() {
        config.ccid_change_interval = Duration::ZERO.into();
    }
    if dccp.data_checksum {
        config.data_checksum = fairwire_proto::DataChecksum::On;
    }
    config.receive_queue_packets = dccp.receive.limit.0 as usize;
    config.receive_queue_bytes = usize::MAX;
    config.receive_queue_policy = dccp.receive.policy;
    config.send_queue.packets = dccp.queue.limit.0 as usize;
    config.send_queue.bytes = usize::MAX;
    config.send_queue.age = dccp.queue.age.map(Into::into);
    config.send_queue.policy = dccp.queue.policy;
    let room = wire_bytes.saturating_add(OPTION_ROOM);
    config.path_mtu = u16::try_from(room).unwrap_or(u16::MAX).max(config.path_mtu);
    config.path_mtu_discovery = PathMtuDiscovery::Off;
    if dccp.probe_path_mtu {
        // As on sockets, probes need not be larger than the packets.
        let packet = u16::try_from(wire_bytes).unwrap_or(u16::MAX);
        config.path_mtu = packet.max(Config::default().path_mtu);
        config.path_mtu_discovery = PathMtuDiscovery::Probe;
    }
    config.resend = dccp.send.resend.is_some();
    config
}
