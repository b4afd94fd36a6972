//! What a connection does: echo, bulk one way, or nothing; and who closes it.

use std::time::Duration;

use fairwire::{Connection, ConnectionClosed, Received, SendError, TrySendError};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, sleep_until, timeout};

use crate::account::{HEADER, message};
use crate::options::{Closer, Options, Role, Task};
use crate::report::Outcome;

/// Figures are taken this often.
const SAMPLE: Duration = Duration::from_millis(100);
/// An echo may take this long, with the request lost on a slow machine included.
const ECHO_PATIENCE: Duration = Duration::from_secs(2);
/// A source that fell behind catches up on no more than this.
const BURST: Duration = Duration::from_millis(50);
/// How often a source looks for room in a full queue.
const RETRY: Duration = Duration::from_millis(1);

/// One connection and its time.
struct Run<'a> {
    connection: &'a Connection,
    options: &'a Options,
    outcome: &'a mut Outcome,
    start: Instant,
}

/// The task, then the close that was asked for.
pub(crate) async fn run(connection: &Connection, options: &Options, outcome: &mut Outcome) {
    let start = Instant::now();
    let mut run = Run {
        connection,
        options,
        outcome,
        start,
    };
    match (options.task, options.role) {
        (Task::Idle, _) => sleep(options.seconds()).await,
        (Task::Echo, Role::Client) => run.ask_for_echoes().await,
        (Task::Echo, Role::Server) => run.echo().await,
        (Task::Send, _) => run.send().await,
        (Task::Recv, _) => run.receive().await,
    }
    run.end().await;
}

impl Run<'_> {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn size(&self) -> usize {
        self.options.size.max(HEADER)
    }

    fn took(&mut self, received: &Received) {
        let now = self.now_ns();
        self.outcome.account.take(now, &received.data);
    }

    fn over(&mut self, closed: ConnectionClosed) {
        if closed.is_orderly() {
            self.outcome.peer_closed = true;
        } else {
            self.outcome.fail("Reset", closed);
        }
    }

    /// Nothing more can be sent: most likely the connection is over, and reading tells how.
    async fn refused(&mut self, error: SendError) {
        if !matches!(error, SendError::Closed(_) | SendError::Closing) {
            return self.outcome.fail("Send", error);
        }
        loop {
            match self.connection.recv().await {
                Ok(received) => self.took(&received),
                Err(closed) => return self.over(closed),
            }
        }
    }

    /// Sends `--count` messages one by one, each when the one before came back.
    async fn ask_for_echoes(&mut self) {
        let wanted = if self.options.count == 0 {
            10
        } else {
            self.options.count
        };
        for number in 0..wanted {
            let out = message(number, self.now_ns(), self.size());
            if let Err(error) = self.connection.send(out.clone()).await {
                return self.refused(error).await;
            }
            self.outcome.sent += 1;
            self.outcome.sent_bytes += out.len() as u64;
            let until = Instant::now() + ECHO_PATIENCE;
            loop {
                let left = until.saturating_duration_since(Instant::now());
                match timeout(left, self.connection.recv()).await {
                    Err(_) => break,
                    Ok(Err(closed)) => return self.over(closed),
                    Ok(Ok(received)) => {
                        self.took(&received);
                        if received.data == out {
                            break;
                        }
                    }
                }
            }
        }
    }

    async fn echo(&mut self) {
        loop {
            let received = match self.connection.recv().await {
                Ok(received) => received,
                Err(closed) => return self.over(closed),
            };
            self.took(&received);
            let len = received.data.len() as u64;
            if let Err(error) = self.connection.send(received.data).await {
                return self.refused(error).await;
            }
            self.outcome.sent += 1;
            self.outcome.sent_bytes += len;
        }
    }

    /// Sends numbered messages until the time or the count is reached.
    async fn send(&mut self) {
        let size = self.size();
        let gap = match self.options.rate {
            0 => Duration::ZERO,
            rate => Duration::from_nanos(size as u64 * 8_000_000_000 / rate),
        };
        let mut due = self.start;
        let mut sampling = self.sampling();
        while self.options.has_more(self.outcome.sent)
            && self.options.has_time(self.start.elapsed())
        {
            tokio::select! {
                biased;
                _ = sampling.tick() => self.outcome.sample(self.connection),
                received = self.connection.recv() => match received {
                    Ok(received) => self.took(&received),
                    Err(closed) => {
                        self.over(closed);
                        break;
                    }
                },
                () = sleep_until(due) => {
                    let out = message(self.outcome.sent, self.now_ns(), size);
                    let now = Instant::now();
                    match self.connection.try_send(out) {
                        Ok(_) => {
                            self.outcome.sent += 1;
                            self.outcome.sent_bytes += size as u64;
                            due = due.max(now.checked_sub(BURST).unwrap_or(now)) + gap;
                        }
                        Err(TrySendError::Full) => {
                            self.outcome.refused += 1;
                            due = now + RETRY;
                        }
                        Err(TrySendError::Send(error)) => {
                            self.refused(error).await;
                            break;
                        }
                        Err(error) => {
                            self.outcome.fail("Send", error);
                            break;
                        }
                    }
                }
            }
        }
        self.outcome.seconds = self.start.elapsed().as_secs_f64();
    }

    /// Counts what comes until the peer closes, or the time or the count is reached.
    async fn receive(&mut self) {
        let mut sampling = self.sampling();
        while self.options.has_more(self.outcome.account.received)
            && self.options.has_time(self.start.elapsed())
        {
            tokio::select! {
                biased;
                // Wakes the loop to look at its time, too.
                _ = sampling.tick() => self.outcome.sample(self.connection),
                received = self.connection.recv() => match received {
                    Ok(received) => self.took(&received),
                    Err(closed) => {
                        self.over(closed);
                        break;
                    }
                },
            }
        }
        self.outcome.seconds = self.outcome.account.seconds();
    }

    fn sampling(&self) -> tokio::time::Interval {
        let mut sampling = interval_at(self.start + self.options.settle() + SAMPLE, SAMPLE);
        sampling.set_missed_tick_behavior(MissedTickBehavior::Skip);
        sampling
    }

    /// Closes, or waits for the peer to.
    async fn end(&mut self) {
        if self.outcome.has_failed() {
            return;
        }
        let waits_for_peer = self.options.task == Task::Recv
            || (self.options.task == Task::Echo && self.options.role == Role::Server);
        match self.options.close {
            Closer::Us if self.outcome.peer_closed && !waits_for_peer => {
                let why = "the peer closed before we were done";
                return self.outcome.fail("Closed", why);
            }
            Closer::Us => {
                if let Err(closed) = self.connection.close().await {
                    return self.outcome.fail("Close", closed);
                }
            }
            Closer::Peer => {
                while !self.outcome.peer_closed && !self.outcome.has_failed() {
                    match self.connection.recv().await {
                        Ok(received) => self.took(&received),
                        Err(closed) => self.over(closed),
                    }
                }
            }
        }
        if !self.outcome.has_failed() {
            self.outcome.stage = "done";
        }
    }
}
