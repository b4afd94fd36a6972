//! The parts of this crate that fuzz targets use, for development only: the code that reads a peer's bytes, without
//! socket and clock.

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

/// Decodes a message and encodes it again.
pub fn message(bytes: &Bytes) -> Option<Bytes> {
    Message::decode(bytes).map(|message| message.encode())
}

/// Takes the next message from a TCP stream, if it is complete.
///
/// # Errors
/// The error text for the user, if the stream is invalid.
pub fn frame(stream: &mut BytesMut) -> Result<Option<Bytes>, String> {
    next_frame(stream).map_err(|broken| broken.0)
}

/// Decodes parameters as a server does. Returns them as JSON again, with the longest silence that they allow.
///
/// # Errors
/// The error text for the client.
pub fn params(json: &Bytes) -> Result<(Vec<u8>, std::time::Duration), String> {
    let params = Params::decode(json)?;
    let again = serde_json::to_vec(&params).map_err(|error| error.to_string())?;
    Ok((again, params.max_silence()))
}

/// A flow that is received: the state that outlives a message.
#[derive(Debug)]
pub struct Receiving {
    counts: Counts,
    sink: Sink,
}

impl Receiving {
    /// Makes the state for a file of that size, which is not saved; `None` if it cannot be made.
    pub fn new(file_size: u64) -> Option<Self> {
        let (counts, sink) = (Counts::default(), Sink::new(file_size, None).ok()?);
        Some(Self { counts, sink })
    }

    /// Processes a message that arrives at `now`, in nanoseconds.
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

    /// Returns the report, in a message of at most `max` bytes if possible.
    pub fn report(&self, sent: Option<u64>, max: usize) -> Vec<u8> {
        let mut report = ReceiverReport::of(&self.counts, sent, None);
        report.missing = Some(self.sink.missing(20));
        fitting(&report, max)
    }
}

/// Returns the summary of a measurement of two flows whose two ends both sent `report`.
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
        encrypted: false,
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

/// The byte ranges that have arrived.
#[derive(Debug, Default)]
pub struct Arrived(Ranges);

impl Arrived {
    /// Records that the bytes from `start` to `end` arrived, `end` excluded.
    pub fn insert(&mut self, start: u64, end: u64) -> bool {
        self.0.insert(start, end)
    }

    /// Returns what is missing of `size` bytes.
    pub fn missing(&self, size: u64, limit: usize) -> Missing {
        self.0.missing(size, limit)
    }
}
