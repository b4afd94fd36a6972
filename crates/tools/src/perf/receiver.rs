//! The receiving end of a flow: counts and saves the data, then repeats its report until it is acknowledged.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, timeout, timeout_at};

use super::PerfError;
use super::cpu;
use super::file::Sink;
use super::link::{Incoming, Link};
use super::message::Message;
use super::meter::Meter;
use super::report::{FlowReport, ReceiverReport, SenderReport};
use super::session::{Answer, Params, Stop, abort, refusal};
use fairwire_units::Instant as Moment;

/// The largest number of missing ranges in a report; fewer if they do not fit into a datagram.
const LISTED: usize = 20;

/// How often the receiver tells a sender over plain UDP that its data arrives.
const SIGN_OF_LIFE: fairwire_units::Duration = fairwire_units::Duration::from_secs(1);

/// How long the receiver waits for the acknowledgement of its report.
const LINGER: Duration = Duration::from_secs(2);

/// Why a file is not saved of which only a part was sent: what stands at its path may be a whole one.
const PART_OF_A_FILE: &str = "the client did not send the whole file";

/// The receiving end of one flow.
pub(crate) struct Receiver<'a> {
    link: &'a Link,
    params: &'a Params,
    meter: &'a Meter,
    stop: Stop,
    sink: Option<Sink>,
    sender: Option<SenderReport>,
    /// When to send the next sign of life.
    sign_at: Moment,
}

/// What to do after a message.
enum Next {
    More,
    End,
}

impl<'a> Receiver<'a> {
    pub(crate) fn new(
        link: &'a Link,
        params: &'a Params,
        meter: &'a Meter,
        stop: Stop,
        sink: Option<Sink>,
    ) -> Self {
        Self {
            link,
            params,
            meter,
            stop,
            sink,
            sender: None,
            sign_at: Moment::START,
        }
    }

    /// Receives all data, then exchanges the reports.
    pub(crate) async fn run(mut self, early: Option<Incoming>) -> FlowReport {
        let cpu = cpu::used();
        let mut outcome = self.receive_all(early).await;
        let cpu = cpu::used_since(cpu);
        let sent = self.sender.as_ref().map(|sender| sender.datagrams);
        if let Some(sender) = &self.sender {
            let now = self.meter.now();
            self.meter.lock().lasted(sender.seconds, now);
        }
        let mut report = ReceiverReport::of(&self.meter.read(), sent, cpu);
        let mut part = Ok(());
        if outcome.is_err() {
            let why = match &outcome {
                Err(PerfError::Local(why)) => why,
                _ => "the transfer did not end",
            };
            self.give_up(&mut report, why);
            if matches!(outcome, Err(PerfError::Local(_))) {
                // The disk does not hold what arrived, so nothing is said about missing parts.
                report.missing = None;
            }
        } else if self.saves_a_part() {
            self.give_up(&mut report, PART_OF_A_FILE);
            part = Err(PerfError::Peer(PART_OF_A_FILE.to_owned()));
        }
        if let Err(error) = self.sum(&mut report).await {
            // The disk does not hold what arrived, so nothing is said about missing parts.
            report.missing = None;
            report.not_saved = Some(error.to_string());
            outcome = outcome.and(Err(error));
        }
        match &outcome {
            Ok(()) => self.tell(&report).await,
            Err(error @ (PerfError::Local(_) | PerfError::Interrupted)) => {
                abort(self.link, &error.to_string()).await;
            }
            Err(_) => {}
        }
        let flow = FlowReport {
            sender: self.sender,
            receiver: Some(report),
            ..FlowReport::default()
        };
        match outcome.and(part) {
            Ok(()) => flow,
            Err(error) => flow.failed(&error),
        }
    }

    /// Receives until the sender reports that everything was sent, or until an error.
    async fn receive_all(&mut self, early: Option<Incoming>) -> Result<(), PerfError> {
        if let Some(incoming) = early
            && matches!(self.take(&incoming).await?, Next::End)
        {
            return Ok(());
        }
        let silence = self.params.max_silence();
        let mut tick = interval(Duration::from_millis(500));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = (0, Instant::now());
        loop {
            tokio::select! {
                biased;
                incoming = self.link.recv() => {
                    if matches!(self.take(&incoming?).await?, Next::End) {
                        return Ok(());
                    }
                }
                () = self.stop.requested() => return Err(PerfError::Interrupted),
                now = tick.tick() => {
                    let count = self.meter.lock().datagrams;
                    if count != heard.0 {
                        heard = (count, now);
                    } else if now.saturating_duration_since(heard.1) > silence {
                        let s = silence.as_secs();
                        let text = format!("nothing arrived for {s} s: the sender is gone");
                        return Err(PerfError::Peer(text));
                    }
                }
            }
        }
    }

    async fn take(&mut self, incoming: &Incoming) -> Result<Next, PerfError> {
        match Message::decode(&incoming.bytes) {
            Some(Message::Data(piece)) => {
                let now = self.meter.now();
                let sent = Moment::from_nanos(piece.sent_ns);
                let size = incoming.bytes.len();
                let first =
                    self.meter
                        .lock()
                        .received(now, piece.number, sent, size, incoming.marked);
                if let (true, Some(sink), Some(offset)) = (first, &mut self.sink, piece.offset) {
                    sink.write(offset, &piece.data)?;
                }
                if now >= self.sign_at && self.link.is_forgeable() {
                    self.sign_at = now + SIGN_OF_LIFE;
                    self.link.send(Message::Wait.encode()).await?;
                }
            }
            Some(Message::Finish(json)) => {
                self.sender = serde_json::from_slice(&json).ok();
                return Ok(Next::End);
            }
            // Our answer was lost.
            Some(Message::Params(_)) => {
                let answer = Answer::of(self.sink.as_ref());
                self.link.send(answer.encode()).await?;
            }
            Some(Message::Abort(why)) => return Err(refusal(&why)),
            _ => {}
        }
        Ok(Next::More)
    }

    /// Returns whether a file is to be saved of which the sender sent only a part. What was lost on the way does not
    /// make it one. An older sender does not say; then its file is a part if anything is missing.
    fn saves_a_part(&self) -> bool {
        let whole = (self.sender.as_ref()).is_some_and(|sender| sender.whole_file == Some(true));
        let sink = self.sink.as_ref().filter(|sink| sink.saves());
        sink.is_some_and(|sink| !whole && sink.missing(0).bytes > 0)
    }

    /// Drops what was written of the file; one that stood in its place stays.
    fn give_up(&mut self, report: &mut ReceiverReport, why: &str) {
        let Some(sink) = self.sink.take() else {
            return;
        };
        report.missing = Some(sink.missing(LISTED));
        report.not_saved = sink.saves().then(|| why.to_owned());
    }

    /// Finishes and hashes the file. Meanwhile it answers a sender that asks with "wait".
    async fn sum(&mut self, report: &mut ReceiverReport) -> Result<(), PerfError> {
        let Some(mut sink) = self.sink.take() else {
            return Ok(());
        };
        report.missing = Some(sink.missing(LISTED));
        let mut summing = tokio::task::spawn_blocking(move || sink.finish());
        let mut heard = self.sender.is_some();
        let saved = loop {
            tokio::select! {
                done = &mut summing => match done {
                    Ok(saved) => break saved?,
                    Err(_) => return Ok(()), // The runtime shuts down.
                },
                incoming = self.link.recv(), if heard => match incoming {
                    Ok(_) => drop(self.link.send(Message::Wait.encode()).await),
                    Err(_) => heard = false, // The sender is gone; what was saved is still hashed.
                },
            }
        };
        if let Some(saved) = saved {
            report.saved = Some(saved.path);
            report.sha256 = saved.sha256;
        }
        Ok(())
    }

    /// Sends the report until the sender has acknowledged it or is gone.
    async fn tell(&self, report: &ReceiverReport) {
        let message = Message::Report(fitting(report, self.link.max_message()).into()).encode();
        let mut until = Instant::now() + LINGER;
        let mut answer = true;
        loop {
            if answer {
                let sending = timeout(LINGER, self.link.send(message.clone())).await;
                if !matches!(sending, Ok(Ok(()))) {
                    return;
                }
            }
            let Ok(Ok(incoming)) = timeout_at(until, self.link.recv()).await else {
                return;
            };
            answer = match Message::decode(&incoming.bytes) {
                Some(Message::Done) => return,
                Some(Message::Finish(_)) => {
                    until = Instant::now() + LINGER;
                    true
                }
                _ => false,
            };
        }
    }
}

/// Returns the report as JSON, with as many missing ranges as fit into `max` bytes.
pub(super) fn fitting(report: &ReceiverReport, max: usize) -> Vec<u8> {
    let mut report = report.clone();
    loop {
        let json = serde_json::to_vec(&report).unwrap_or_default();
        let ranges = report.missing.as_mut().map(|missing| &mut missing.first);
        match ranges {
            // Four bytes of the message header come before it.
            Some(ranges) if json.len() + 4 > max && !ranges.is_empty() => {
                ranges.pop();
            }
            _ => return json,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fitting;
    use crate::perf::{Missing, ReceiverReport};

    /// A report with a long list is shortened until it fits; counts and hashes stay.
    #[test]
    fn a_long_list_is_cut() {
        let first: Vec<_> = (0..20).map(|i| (i << 40, (i << 40) + 1_172)).collect();
        let report = ReceiverReport {
            missing: Some(Missing {
                bytes: 1,
                count: 500,
                first,
            }),
            sha256: Some("0".repeat(64)),
            ..ReceiverReport::default()
        };
        let json = fitting(&report, 600);
        assert!(json.len() + 4 <= 600, "{}", json.len());
        let read: ReceiverReport = serde_json::from_slice(&json).expect("JSON");
        let missing = read.missing.expect("listed");
        assert_eq!(missing.count, 500);
        assert!((1..20).contains(&missing.first.len()));
        assert_eq!(
            fitting(&report, 9_000),
            serde_json::to_vec(&report).expect("JSON")
        );
    }
}
