//! The statistics of a connection, by the names that `fairwire.Stats` has.

use fairwire::{Ccid, LimitedBy, Rate, Stats, TargetBitrate};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns the statistics as a `dict`.
pub(crate) fn dict<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let counts = [
        ("packets_sent", stats.packets_sent),
        ("data_sent", stats.data_sent),
        ("bytes_sent", stats.bytes_sent),
        ("packets_received", stats.packets_received),
        ("data_received", stats.data_received),
        ("bytes_received", stats.bytes_received),
        ("duplicates", stats.duplicates),
        ("marks_received", stats.marks_received),
        ("receive_drops", stats.receive_drops),
        ("acknowledged", stats.acknowledged),
        ("lost", stats.lost),
        ("marked", stats.marked),
        ("expired", stats.expired),
        ("refused", stats.refused),
        ("group_broken", stats.group_broken),
        ("resent", stats.resent),
        ("recovered", stats.recovered),
        ("discarded", stats.discarded),
        ("checksum_errors", stats.checksum_errors),
        ("queued_packets", stats.queued_packets as u64),
        ("queued_bytes", stats.queued_bytes as u64),
        ("flight_packets", stats.flight_packets.into()),
        ("path_mtu_bytes", stats.path_mtu.into()),
        ("cuts", stats.gauges.cuts),
        ("timeouts", stats.gauges.timeouts),
    ];
    for (name, count) in counts {
        dict.set_item(name, count)?;
    }
    let gauges = [
        ("rtt_s", stats.srtt.map(|time| time.as_secs_f64())),
        ("cwnd_packets", stats.gauges.cwnd_packets),
        ("rate_bytes_per_s", stats.gauges.rate_bytes_per_s),
        ("loss_event_rate", stats.gauges.p),
        ("loss_event_rate_seen", stats.loss_rate_seen),
    ];
    for (name, gauge) in gauges {
        dict.set_item(name, gauge)?;
    }
    dict.set_item(
        "allowed_bits_per_s",
        stats.allowed_rate.map(Rate::bits_per_s),
    )?;
    dict.set_item("send_ccid", stats.send_ccid.map(Ccid::number))?;
    dict.set_item("receive_ccid", stats.receive_ccid.map(Ccid::number))?;
    Ok(dict)
}

/// Returns a target bitrate as its bits per second and the name of what limits it.
pub(crate) fn target(target: TargetBitrate) -> (u64, &'static str) {
    let limit = match target.limit {
        LimitedBy::Network => "network",
        LimitedBy::Peer => "peer",
        _ => "application",
    };
    (target.rate.bits_per_s(), limit)
}
