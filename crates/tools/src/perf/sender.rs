//! The sending end of a flow: sends data at a rate, then repeats its report until it is answered.

use std::time::Duration;

use bytes::{BufMut, BytesMut};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout, timeout_at};

use super::PerfError;
use super::cpu;
use super::file::Source;
use super::link::{Incoming, Link};
use super::message::{self, DATA_HEADER, FILE_HEADER, Message};
use super::meter::Meter;
use super::pace::Pace;
use super::report::{FlowReport, ReceiverReport, SenderReport};
use super::session::{Answer, Params, REPEAT, Stop, refusal};

/// The bytes that messages share in one allocation.
const CHUNK: usize = 1 << 16;

/// How often a sender checks whether its queue is empty.
const LOOK: Duration = Duration::from_millis(5);

/// How long a sender whose time is up lets its queue empty itself. What then still waits is not sent: a slow path would
/// need minutes for a full queue.
const DRAIN: Duration = Duration::from_millis(500);

/// The sending end of one flow.
pub(crate) struct Sender<'a> {
    link: &'a Link,
    params: &'a Params,
    meter: &'a Meter,
    stop: Stop,
    /// The name of the window law.
    law: &'static str,
}

impl<'a> Sender<'a> {
    pub(crate) fn new(
        link: &'a Link,
        params: &'a Params,
        meter: &'a Meter,
        stop: Stop,
        law: &'static str,
    ) -> Self {
        Self {
            link,
            params,
            meter,
            stop,
            law,
        }
    }

    /// Sends all data, then exchanges the reports.
    pub(crate) async fn run(mut self, mut source: Option<Source>) -> FlowReport {
        let cpu = cpu::used();
        let mut outcome = self.send_for_a_time(&mut source).await;
        if let Err(error) = outcome {
            outcome = Err(abort_reason(self.link, error).await);
        }
        if matches!(outcome, Err(PerfError::Interrupted)) {
            // What still waits would leave after the time that is counted.
            self.link.discard_queue();
        }
        let counts = self.meter.read();
        let mut report = SenderReport::of(&counts, cpu::used_since(cpu)).with_law(self.law);
        let all_left = matches!(outcome, Ok(()) | Err(PerfError::Interrupted));
        if all_left {
            // The receiver gets the same count.
            report.keep_sent(&counts);
        }
        report.whole_file = (source.as_ref()).map(|source| outcome.is_ok() && source.is_sent());
        match source.map(Source::sha256).transpose() {
            Ok(sum) => report.sha256 = sum,
            Err(error) => outcome = outcome.and(Err(error)),
        }
        let mut receiver = None;
        // A peer that is gone needs no report. A peer that we stopped gets it quickly or not at all.
        let patience = match &outcome {
            Ok(()) => Some(self.params.patience),
            Err(PerfError::Interrupted | PerfError::Local(_)) => Some(Duration::from_secs(2)),
            Err(_) => None,
        };
        if let Some(patience) = patience {
            match self.finish(&report, patience).await {
                Ok(theirs) => receiver = Some(theirs),
                Err(error) if outcome.is_ok() => {
                    outcome = Err(abort_reason(self.link, error).await);
                }
                Err(_) => {}
            }
        }
        if !all_left {
            // What waited was told to the receiver as sent, because the final message comes after it.
            report.keep_sent(&self.meter.read());
        }
        // The peer's acknowledgements of the last datagrams are known only now.
        if let (Some(path), Some(stats)) = (&mut report.path, self.link.stats()) {
            path.update_counts(&stats);
        }
        let flow = FlowReport {
            sender: Some(report),
            receiver,
            ..FlowReport::default()
        };
        match outcome {
            Ok(()) => flow,
            Err(error) => flow.failed(&error),
        }
    }

    /// Sends until the limit, and until everything that was queued by then has left; after a limit of time, for at most
    /// [`DRAIN`]. Ends earlier when the user stops it, on a message from the receiver, or if nothing moves for too long.
    async fn send_for_a_time(&mut self, source: &mut Option<Source>) -> Result<(), PerfError> {
        if self.params.seconds == Some(0.0) {
            return Ok(()); // Even the shortest sleep would let hundreds of datagrams through.
        }
        let end = self.params.seconds.map(|seconds| {
            let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
            Instant::now().checked_add(time)
        });
        let time_is_up = async {
            match end.flatten() {
                Some(end) => sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        let Self {
            link,
            params,
            meter,
            stop,
            ..
        } = self;
        let sending = async {
            let is_time_up = tokio::select! {
                sent = send_all(link, params, meter, source) => sent.map(|()| false)?,
                () = time_is_up => true,
            };
            let limit = if is_time_up { DRAIN } else { Duration::MAX };
            all_left(link, meter, limit).await;
            if is_time_up {
                link.discard_queue();
                // At a low rate the last message may have left long before.
                let now = meter.now();
                meter.lock().moved(now);
            }
            Ok(())
        };
        tokio::select! {
            sent = sending => sent,
            () = stop.requested() => {
                let now = meter.now();
                meter.lock().moved(now);
                Err(PerfError::Interrupted)
            }
            said = listen(link, meter, params.max_silence()) => Err(said),
            () = stalled(link, meter, params.max_silence()) => Err(PerfError::Peer(format!(
                "nothing could be sent for {} s: the receiver is gone",
                params.max_silence().as_secs()
            ))),
        }
    }

    /// Tells the receiver that everything was sent, until the receiver reports.
    async fn finish(
        &self,
        report: &SenderReport,
        patience: Duration,
    ) -> Result<ReceiverReport, PerfError> {
        let json = serde_json::to_vec(report).unwrap_or_default();
        let all_sent = Message::Finish(json.into()).encode();
        let mut until = Instant::now() + patience;
        let mut queued = self.link.queued();
        let mut told = false;
        while Instant::now() < until {
            // Messages in the queue before it may take long at a low rate. We wait as long as the queue shrinks.
            match timeout(REPEAT, async {
                if !told || self.link.queued() == 0 {
                    self.link.send(all_sent.clone()).await?;
                }
                Ok::<_, PerfError>(())
            })
            .await
            {
                Ok(sent) => {
                    sent?;
                    told = true;
                }
                Err(_) => continue,
            }
            let now_queued = self.link.queued();
            if now_queued < queued {
                until = until.max(Instant::now() + patience);
            }
            queued = now_queued;
            let Ok(incoming) = timeout(REPEAT, self.link.recv()).await else {
                continue;
            };
            match Message::decode(&incoming?.bytes) {
                Some(Message::Report(json)) => {
                    let _ = self.link.send(Message::Done.encode()).await;
                    return serde_json::from_slice(&json).map_err(|error| {
                        PerfError::Peer(format!("the receiver's report is invalid: {error}"))
                    });
                }
                Some(Message::Wait) => until = until.max(Instant::now() + self.params.patience),
                Some(Message::Abort(why)) => return Err(refusal(&why)),
                _ => {}
            }
        }
        Err(PerfError::Peer(
            "the receiver sent no report: it is gone".to_owned(),
        ))
    }
}

/// Sends one message after another until there are no more.
async fn send_all(
    link: &Link,
    params: &Params,
    meter: &Meter,
    source: &mut Option<Source>,
) -> Result<(), PerfError> {
    let start = cpu::now();
    let mut pace = Pace::new(start, params.rate);
    let mut buffer = BytesMut::new();
    let mut number = 0;
    let mut left = params.bytes.unwrap_or(u64::MAX);
    while left > 0 {
        let now = cpu::now();
        if let Some(until) = pace.wait_until(now) {
            sleep_until(until.into()).await;
            continue;
        }
        // The largest message may change meanwhile.
        let length = (params.length as usize).min(link.max_message());
        if buffer.capacity() < length {
            buffer.reserve(CHUNK.max(length));
        }
        let moment = meter.now();
        let offset = source.as_ref().map(|source| source.offset);
        message::data_header(&mut buffer, number, moment.as_nanos(), offset);
        if let Some(source) = source {
            let room = length.saturating_sub(FILE_HEADER as usize).max(1);
            if source.read(room, &mut (&mut buffer).writer())? == 0 {
                return Ok(());
            }
        } else {
            let wanted = usize::try_from(left).unwrap_or(length).min(length);
            buffer.resize(wanted.max(DATA_HEADER as usize), 0);
        }
        let bytes = buffer.split().freeze();
        let sent = bytes.len();
        link.send(bytes).await?;
        if let Some(source) = source {
            source.sent = source.offset;
        }
        meter.lock().sent(moment, sent);
        pace.sent(sent);
        number += 1;
        left = left.saturating_sub(sent as u64);
    }
    Ok(())
}

/// Returns the reason that a receiver gave before it went away, or `error` if it gave none. A send may find the flow
/// closed before the receiver's message was read.
async fn abort_reason(link: &Link, error: PerfError) -> PerfError {
    if !matches!(error, PerfError::Peer(_)) {
        return error;
    }
    let until = Instant::now() + REPEAT;
    while let Ok(Ok(incoming)) = timeout_at(until, link.recv()).await {
        if let Some(Message::Abort(why)) = Message::decode(&incoming.bytes) {
            return refusal(&why);
        }
    }
    error
}

/// Answers the receiver's messages while we send. Returns when the receiver wants us to stop, or is silent for
/// `patience` over a protocol that does not report a peer that is gone.
async fn listen(link: &Link, meter: &Meter, patience: Duration) -> PerfError {
    loop {
        let heard = if link.is_forgeable() {
            timeout(patience, link.recv()).await
        } else {
            Ok(link.recv().await)
        };
        let Incoming { bytes, .. } = match heard {
            Ok(Ok(incoming)) => incoming,
            Ok(Err(broken)) => return broken.into(),
            Err(_) => {
                let s = patience.as_secs();
                let text = format!("the receiver said nothing for {s} s: it is gone");
                return PerfError::Peer(text);
            }
        };
        match Message::decode(&bytes) {
            // Our answer was lost.
            Some(Message::Params(_)) => {
                let ready = Answer::default().encode();
                meter.lock().sent_control(ready.len());
                if let Err(broken) = link.send(ready).await {
                    return broken.into();
                }
            }
            Some(Message::Abort(why)) => return refusal(&why),
            _ => {}
        }
    }
}

/// Waits until the send queue is empty, because only then has the last message left; for at most `limit`.
async fn all_left(link: &Link, meter: &Meter, limit: Duration) {
    let emptied = async {
        let mut waited = false;
        while link.queued() > 0 {
            waited = true;
            tokio::time::sleep(LOOK).await;
        }
        waited
    };
    // A timeout has waited, too.
    if timeout(limit, emptied).await.unwrap_or(true) {
        let now = meter.now();
        meter.lock().moved(now);
    }
}

/// Returns when nothing was sent for `patience`.
async fn stalled(link: &Link, meter: &Meter, patience: Duration) {
    let mut tick = interval(Duration::from_millis(500));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = ((0, 0), Instant::now());
    loop {
        let now = tick.tick().await;
        let sent = (meter.lock().datagrams, link.queued());
        if sent != seen.0 {
            seen = (sent, now);
        } else if now.saturating_duration_since(seen.1) > patience {
            return;
        }
    }
}
