//! One flow of datagrams, as fast as the peer takes them or at a rate.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{MissedTickBehavior, interval};

use crate::board::{Board, now_ns};
use crate::transport::{BATCH, Connection, Result};

/// The size of a datagram, bytes.
pub const SIZE: usize = 1_200;

/// How often a sender with a rate hands over what is due.
pub const TICK: Duration = Duration::from_millis(1);

/// The most that a sender with a rate hands over at once, when it was held up.
const MOST_DUE: u64 = 1_000;

/// Counts what arrives.
pub async fn receive(connection: impl Connection, board: Arc<Board>) -> Result<()> {
    let mut inbox = Default::default();
    loop {
        let mut count = 0;
        connection.receive(&mut inbox, &mut |_| count += 1).await?;
        board.received(count);
    }
}

/// Sends as much as the connection takes.
pub async fn send(connection: &impl Connection, board: &Board) -> Result<()> {
    let datagram = Bytes::from(vec![0; SIZE]);
    let mut queue = VecDeque::with_capacity(BATCH);
    loop {
        queue.resize(BATCH, datagram.clone());
        connection.send(&mut queue).await?;
        board.sent((BATCH - queue.len()) as u64);
    }
}

/// Sends at a rate: once a millisecond, what is due.
pub async fn send_at(connection: &impl Connection, board: &Board, mbit_per_s: u32) -> Result<()> {
    let datagram = Bytes::from(vec![0; SIZE]);
    let mut queue = VecDeque::new();
    let mut due = Due::at(mbit_per_s);
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        let count = due.now();
        queue.resize(count, datagram.clone());
        while !queue.is_empty() {
            connection.send(&mut queue).await?;
        }
        board.sent(count as u64);
    }
}

/// How many datagrams are due at a rate.
pub struct Due {
    ns_per_datagram: u64,
    /// When the next datagram is due.
    next_ns: u64,
}

impl Due {
    pub fn at(mbit_per_s: u32) -> Self {
        Self {
            ns_per_datagram: SIZE as u64 * 8 * 1_000 / u64::from(mbit_per_s.max(1)),
            next_ns: now_ns(),
        }
    }

    /// Takes what is due now.
    pub fn now(&mut self) -> usize {
        let late = now_ns().saturating_sub(self.next_ns);
        let due = late / self.ns_per_datagram;
        self.next_ns += due * self.ns_per_datagram;
        due.min(MOST_DUE) as usize
    }
}
