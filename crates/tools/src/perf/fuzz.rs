//! What the fuzz targets reach of this crate, for development only: everything that reads bytes
//! of a peer, without its socket and its clock.

use bytes::{Bytes, BytesMut};
use fairwire_units::Instant;

use super::link::next_frame;
use super::message::Message;
use super::meter::Counts;
use super::ranges::Ranges;
use super::receiver::fitting;
use super::report::{FlowReport, Outcome, ReceiverReport};
use super::session::{Params, refusal};
use super::{Missing, file::Sink, text};

/// Reads a message and writes it again.
pub fn message(bytes: &Bytes) -> Option<Bytes> {
    Message::decode(bytes).map(|message| message.encode())
}

/// Takes the next message off a TCP stream, if it is there; `Err` if the stream makes no sense.
///
/// # Errors
/// What the user is told.
pub fn frame(stream: &mut BytesMut) -> Result<Option<Bytes>, String> {
    next_frame(stream).map_err(|broken| broken.0)
}

/// Reads parameters as a server does. Returns them as JSON again, and how long their sender may be
/// silent.
///
/// # Errors
/// What the client is told.
pub fn params(json: &Bytes) -> Result<(Vec<u8>, std::time::Duration), String> {
    let params = Params::decode(json)?;
    let again = serde_json::to_vec(&params).map_err(|error| error.to_string())?;
    Ok((again, params.silence()))
}

/// A flow that is received: what of it outlives a message.
#[derive(Debug)]
pub struct Receiving {
    counts: Counts,
    sink: Sink,
}

impl Receiving {
    /// For a file of that size, which is not saved; `None` if that cannot be.
    pub fn new(file_size: u64) -> Option<Self> {
        let (counts, sink) = (Counts::default(), Sink::new(file_size, None).ok()?);
        Some(Self { counts, sink })
    }

    /// A message arrives at `now`, nanoseconds.
    pub fn take(&mut self, now: u64, bytes: &Bytes) {
        if let Some(Message::Data(piece)) = Message::decode(bytes) {
            let (now, sent) = (Instant::from_nanos(now), Instant::from_nanos(piece.sent_ns));
            let (number, size) = (piece.number, bytes.len());
            if self.counts.received(now, number, sent, size, false)
                && let Some(offset) = piece.offset
            {
                let _ = self.sink.write(offset, &piece.data);
            }
        }
    }

    /// The report, in a message of at most `max` bytes if that is possible at all.
    pub fn report(&self, sent: Option<u64>, max: usize) -> Vec<u8> {
        let mut report = ReceiverReport::of(&self.counts, sent, None);
        report.missing = Some(self.sink.missing(20));
        fitting(&report, max)
    }
}

/// What is printed at the end of a measurement of two flows whose ends both report this.
pub fn printed(report: &[u8], file_size: u64) -> String {
    let flow = FlowReport {
        flow: 1,
        sender: serde_json::from_slice(report).ok(),
        receiver: serde_json::from_slice(report).ok(),
        error: Some(refusal(report).to_string()),
        error_kind: None,
    };
    text::summary(&Outcome {
        version: String::new(),
        side: String::new(),
        protocol: String::new(),
        native: false,
        peer: String::new(),
        length: 0,
        rate_limit: 0,
        reverse: false,
        file_size: Some(file_size),
        intervals: Vec::new(),
        flows: vec![flow.clone(), flow],
        error: None,
    })
}

/// Byte ranges that arrived.
#[derive(Debug, Default)]
pub struct Arrived(Ranges);

impl Arrived {
    /// These bytes arrived, the last one excluded.
    pub fn insert(&mut self, start: u64, end: u64) -> bool {
        self.0.insert(start, end)
    }

    /// What is missing of so many bytes.
    pub fn missing(&self, size: u64, limit: usize) -> Missing {
        self.0.missing(size, limit)
    }
}
