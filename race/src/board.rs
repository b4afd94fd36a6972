//! What one process counts, and how it is read: the parent asks over standard input, the answer is a line on standard
//! output.

use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::transport::Result;

/// The counters of a process.
#[derive(Debug, Default)]
pub struct Board {
    sent: AtomicU64,
    received: AtomicU64,
    times_ns: Mutex<Vec<u64>>,
}

/// The counters at one moment. The times are those since the mark before.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Mark {
    /// Time of the system's monotonic clock, which all processes share.
    pub at_ns: u64,
    /// Processor time of the process, user and system.
    pub cpu_ns: u64,
    pub sent: u64,
    pub received: u64,
    /// Resident memory without that of files, bytes.
    pub rss: u64,
    /// One-way latencies of datagrams, or lengths of handshakes.
    pub times_ns: Vec<u64>,
}

/// What the parent asks for, besides marks.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub enum Order {
    Mark,
    /// Stop sending.
    Pause,
    /// Send again.
    Resume,
    /// Open this many more connections, which stay idle.
    Open(usize),
}

impl Board {
    pub fn sent(&self, datagrams: u64) {
        self.sent.fetch_add(datagrams, Ordering::Relaxed);
    }

    pub fn received(&self, datagrams: u64) {
        self.received.fetch_add(datagrams, Ordering::Relaxed);
    }

    pub fn took(&self, ns: u64) {
        let mut times = self.times_ns.lock().unwrap_or_else(PoisonError::into_inner);
        times.push(ns);
    }

    /// Counts a datagram that begins with the time at which it was sent ([`stamped`]).
    pub fn arrived(&self, datagram: &[u8]) {
        self.received(1);
        if let Some(sent) = datagram.first_chunk() {
            self.took(now_ns().saturating_sub(u64::from_be_bytes(*sent)));
        }
    }

    fn mark(&self) -> Result<Mark> {
        let mut times = self.times_ns.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Mark {
            at_ns: now_ns(),
            cpu_ns: cpu_ns(&getrusage(UsageWho::RUSAGE_SELF)?),
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            rss: rss()?,
            times_ns: std::mem::take(&mut times),
        })
    }
}

/// Returns the processor time, user and system.
pub fn cpu_ns(usage: &Usage) -> u64 {
    let cpu = usage.user_time() + usage.system_time();
    u64::try_from(cpu.num_microseconds()).unwrap_or(0) * 1_000
}

/// Returns the time of the system's monotonic clock.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
    now.map_or(0, |now| now.as_nanos() as u64)
}

/// Returns a datagram of `size` bytes that begins with the present time.
pub fn stamped(size: usize) -> bytes::Bytes {
    let mut datagram = vec![0; size.max(8)];
    datagram[..8].copy_from_slice(&now_ns().to_be_bytes());
    datagram.into()
}

/// Returns the resident memory of this process that is no file's, bytes.
fn rss() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    Ok(kilobytes.ok_or("no RssAnon")?.parse::<u64>()? * 1024)
}

/// Prints a line for the parent.
pub fn tell(message: &impl Serialize) -> Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, message)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

/// Answers the parent on a thread of its own, and ends the process when the parent is gone. Orders other than marks are
/// passed on; who carries them out answers with `tell(&())`.
pub fn answer_parent(board: Arc<Board>) -> mpsc::UnboundedReceiver<Order> {
    let (sender, orders) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let obeyed = obey(&board, &sender);
        if let Err(error) = obeyed {
            eprintln!("race: {error}");
        }
        std::process::exit(0);
    });
    orders
}

fn obey(board: &Board, orders: &mpsc::UnboundedSender<Order>) -> Result<()> {
    for line in std::io::stdin().lock().lines() {
        match serde_json::from_str(&line?)? {
            Order::Mark => tell(&board.mark()?)?,
            order => orders.send(order)?,
        }
    }
    Ok(())
}
