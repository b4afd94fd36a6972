//! Observations as lines of the log.

use std::fmt::{self, Write};

use fairwire_proto::SendOptions;

use crate::seen::{Call, Seen};

/// Writes `seen` to `line`. Returns false if the observation gets no line.
pub(crate) fn describe(line: &mut String, seen: &Seen<'_>) -> bool {
    write(line, seen).unwrap_or(false)
}

fn write(line: &mut String, seen: &Seen<'_>) -> Result<bool, fmt::Error> {
    match seen {
        Seen::Started { .. } => write!(line, "started")?,
        Seen::Clock { shows, gains_ppm } => {
            write!(line, "clock shows {shows}, gains {gains_ppm} ppm")?;
        }
        Seen::Call(call) => self::call(line, call)?,
        Seen::Sent {
            packet,
            head,
            transmit,
        } => {
            write!(line, "sent #{} ", packet.0)?;
            packet_text(line, head, transmit.payload.len())?;
            write!(line, " {} to {}", transmit.ecn, transmit.path.remote)?;
            if let Some(id) = transmit.id {
                write!(line, " datagram {}", id.0)?;
            }
        }
        Seen::Arrived {
            origin,
            meta,
            head,
            payload,
        } => {
            write!(line, "arrived {origin:?} ")?;
            packet_text(line, head, payload.len())?;
            write!(line, " {} from {}", meta.ecn, meta.path.remote)?;
        }
        Seen::Icmp { error, genuine } => write!(line, "icmp {error:?} genuine={genuine}")?,
        Seen::Event { id, event } => write!(line, "event {:x} {event:?}", id.0)?,
        Seen::Received {
            id,
            payload,
            ecn,
            received,
        } => {
            write!(line, "read {:x} {} bytes {ecn} ", id.0, payload.len())?;
            write!(line, "{} missing before ", received.lost_before)?;
            hex(line, &payload[..payload.len().min(8)])?;
        }
        Seen::State { .. } | Seen::Endpoint { .. } | Seen::Inside { .. } => return Ok(false),
        Seen::Gone { id } => write!(line, "gone {:x}", id.0)?,
        Seen::Healed => write!(line, "healed")?,
        Seen::Ended => write!(line, "ended")?,
    }
    Ok(true)
}

fn call(line: &mut String, call: &Call<'_>) -> fmt::Result {
    match call {
        Call::Listen { port, .. } => write!(line, "listen {port}"),
        Call::Connect { remote, result, .. } => write!(line, "connect {remote}: {result:?}"),
        Call::Invite { remote, result, .. } => write!(line, "invite {remote}: {result:?}"),
        Call::Send {
            id,
            payload,
            options,
            result,
        } => {
            write!(line, "send {:x} {} bytes ", id.0, payload.len())?;
            hex(line, &payload[..payload.len().min(8)])?;
            if *options != SendOptions::default() {
                write!(line, " {options:?}")?;
            }
            write!(line, ": {result:?}")
        }
        call => write!(line, "{call:?}"),
    }
}

/// Writes the packet: all bytes of the head, and the length of the payload.
fn packet_text(line: &mut String, head: &[u8], payload: usize) -> fmt::Result {
    const NAMES: [&str; 11] = [
        "Request", "Response", "Data", "Ack", "DataAck", "CloseReq", "Close", "Reset", "Sync",
        "SyncAck", "Listen",
    ];
    let kind = head.get(8).map_or(15, |byte| byte >> 1 & 15);
    let name = NAMES.get(usize::from(kind)).copied().unwrap_or("?");
    write!(line, "{name} ")?;
    hex(line, head)?;
    write!(line, "+{payload}")
}

fn hex(line: &mut String, bytes: &[u8]) -> fmt::Result {
    for byte in bytes {
        write!(line, "{byte:02x}")?;
    }
    Ok(())
}
