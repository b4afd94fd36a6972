//! What the peer's host reports about itself, as CCID 2 uses it (RFC 4341, section 5.2).

use fairwire_cc::{Controller, Feedback, Flight, HostLimits};
use fairwire_units::Instant;
use fairwire_wire::DropCode;

use super::pipe::Pipe;
use crate::half::HostReport;

/// Marks dropped packets in the pipe, and adds to the limits that the controller will receive.
pub(super) fn on_report(report: &HostReport, pipe: &mut Pipe, limits: &mut HostLimits) {
    limits.slow |= report.slow;
    for run in &report.drops {
        let packets = pipe.note_dropped(run);
        match run.code {
            // RFC 4340, 11.7.2: not congestion; treated as if the data had been received.
            DropCode::ProtocolConstraints => {}
            DropCode::ReceiveBuffer => {
                limits.buffer_drops = limits.buffer_drops.saturating_add(packets);
                limits.ends_slow_start = true;
            }
            // Counts as marked; the pipe does so when it settles the packet.
            _ => limits.ends_slow_start = true,
        }
    }
}

/// Passes the limits to the controller that no acknowledgement has passed to it.
pub(super) fn apply(
    now: Instant,
    flight: Flight,
    limits: &mut HostLimits,
    controller: &mut dyn Controller,
) {
    let host = std::mem::take(limits);
    if !host.is_none() {
        let feedback = Feedback {
            host,
            ..Feedback::default()
        };
        controller.on_feedback(now, flight, &feedback);
    }
}
