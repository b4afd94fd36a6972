//! The view of a connection for tests (feature `inspect`).

use super::{Connection, State};
use crate::feature::Role;
use crate::inspect::Inspection;

impl State {
    /// Returns its name in RFC 4340, section 8.4, or in RFC 5596.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Closed => "CLOSED",
            Self::Invited => "INVITED",
            Self::Listen1 => "LISTEN1",
            Self::Request => "REQUEST",
            Self::Respond => "RESPOND",
            Self::PartOpen => "PARTOPEN",
            Self::Open => "OPEN",
            Self::CloseReq => "CLOSEREQ",
            Self::Closing => "CLOSING",
        }
    }
}

impl Connection {
    /// Returns the inner state. The endpoint fills in `wakes_at`.
    pub(crate) fn inspection(&self) -> Inspection {
        let Self {
            subflow, channel, ..
        } = self;
        let sequence = &subflow.sequence;
        let flight = subflow
            .tx
            .as_ref()
            .map(|tx| tx.flight())
            .unwrap_or_default();
        Inspection {
            state: subflow.state.name(),
            is_server: subflow.role == Role::Server,
            is_announced: self.is_announced(),
            iss: sequence.iss,
            isr: sequence.isr,
            gss: sequence.gss,
            gsr: sequence.gsr,
            gar: sequence.gar,
            acknowledgeable: sequence.acknowledgeable,
            swl: sequence.swl(),
            swh: sequence.swh(),
            awl: sequence.awl(),
            awh: sequence.gss,
            local_window: sequence.local_window,
            remote_window: sequence.remote_window,
            short_sent: subflow.agreed.short,
            short_taken: subflow.agreed.short_received,
            ndp_sent: subflow.agreed.ndp,
            may_send: subflow.agreed.may_send,
            negotiation_due: subflow.agreed.due,
            heard_at: sequence.heard_at,
            rtt: subflow.rtt(),
            flight_packets: flight.packets,
            flight_bytes: flight.bytes,
            cwnd: subflow.tx.as_ref().and_then(|tx| tx.cwnd()),
            feedback_timer: subflow.tx.as_ref().and_then(|tx| tx.next_timeout()),
            deadline: subflow.deadline,
            gives_up_at: subflow.liveness.gives_up_at(),
            is_draining: channel.drain_until.is_some(),
            wakes_at: None,
            send_queue: (channel.queue.len(), channel.queue.bytes()),
            receive_queue: (channel.received.len(), channel.received.bytes()),
            counted: self.counted(),
            held: self.held(),
        }
    }
}
