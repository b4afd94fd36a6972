//! A connection over a bottleneck with a rate, a delay, a buffer and a rule for drops.

use std::collections::VecDeque;

use fairwire_tcp::{Receiver, Sender, TcpSegment};
use fairwire_units::{Duration, Ecn, Instant, Rate, Size};

/// A path with a bottleneck in one direction and a delay in each.
pub(crate) struct Path<'a> {
    /// The rate of the bottleneck; `None` means that sending takes no time.
    pub(crate) rate: Option<Rate>,
    /// The propagation delay in each direction.
    pub(crate) delay: Duration,
    /// The buffer of the bottleneck, packets, including the one being sent.
    pub(crate) buffer: usize,
    /// Returns whether a segment, data or acknowledgement, is lost.
    pub(crate) drop: Box<dyn FnMut(&TcpSegment) -> bool + 'a>,
}

/// A sender and a receiver at the ends of a path.
pub(crate) struct Run<'a> {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Every data segment that the sender sent, with its time.
    pub(crate) log: Option<Vec<(Instant, TcpSegment)>>,
    /// The number of packets in the buffer above which ECN-capable segments are marked.
    pub(crate) mark_above: Option<f64>,
    path: Path<'a>,
    now: Instant,
    /// The times at which the packets in the buffer will have left it.
    departures: VecDeque<Instant>,
    forward: VecDeque<(Instant, TcpSegment)>,
    backward: VecDeque<(Instant, TcpSegment)>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(sender: Sender, receiver: Receiver, path: Path<'a>) -> Self {
        Self {
            sender,
            receiver,
            log: None,
            mark_above: None,
            path,
            now: Instant::START,
            departures: VecDeque::new(),
            forward: VecDeque::new(),
            backward: VecDeque::new(),
        }
    }

    /// Returns the present time.
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// Handles everything that is due at or before `end`.
    pub(crate) fn until(&mut self, end: Instant) {
        while let Some(at) = self.next_event().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.step();
        }
        self.now = end;
    }

    /// Returns the number of packets in the buffer, including the one being sent.
    pub(crate) fn waiting(&self) -> f64 {
        let left = self.departures.iter().filter(|at| **at > self.now);
        left.count() as f64
    }

    /// Returns the sender's congestion window, packets.
    pub(crate) fn window(&self) -> f64 {
        self.sender.stats().cwnd_packets.unwrap_or(0.0)
    }

    fn next_event(&self) -> Option<Instant> {
        let arrivals = [self.forward.front(), self.backward.front()];
        let arrivals = arrivals.into_iter().flatten().map(|(at, _)| *at);
        let timers = [self.sender.next_timeout(), self.receiver.next_timeout()];
        arrivals.chain(timers.into_iter().flatten()).min()
    }

    /// Handles one arrival, or the timers that are due.
    fn step(&mut self) {
        let now = self.now;
        if let Some(segment) = due(&mut self.backward, now) {
            self.sender.handle_segment(now, &segment);
        } else if let Some(segment) = due(&mut self.forward, now) {
            self.receiver.handle_segment(now, &segment);
        } else {
            self.sender.handle_timeout(now);
            self.receiver.handle_timeout(now);
        }
        while let Some(segment) = self.sender.poll_transmit(now) {
            self.transmit(segment);
        }
        while let Some(ack) = self.receiver.poll_transmit(now) {
            if !(self.path.drop)(&ack) {
                self.backward.push_back((now + self.path.delay, ack));
            }
        }
    }

    fn transmit(&mut self, mut segment: TcpSegment) {
        let now = self.now;
        if let Some(log) = self.log.as_mut().filter(|_| segment.len > 0) {
            log.push((now, segment));
        }
        if (self.path.drop)(&segment) {
            return;
        }
        while self.departures.front().is_some_and(|at| *at <= now) {
            self.departures.pop_front();
        }
        if self.departures.len() >= self.path.buffer {
            return;
        }
        let queue = self.departures.len() as f64;
        if segment.ecn.is_capable() && self.mark_above.is_some_and(|most| queue > most) {
            segment.ecn = Ecn::Ce;
        }
        let size = Size::new(u64::from(segment.wire_len()));
        let time = self
            .path
            .rate
            .map_or(Duration::ZERO, |rate| rate.time_for(size));
        let departure = self.departures.back().map_or(now, |last| now.max(*last)) + time;
        if time > Duration::ZERO {
            self.departures.push_back(departure);
        }
        self.forward
            .push_back((departure + self.path.delay, segment));
    }
}

/// Removes and returns the first segment if it arrives at or before `now`.
fn due(queue: &mut VecDeque<(Instant, TcpSegment)>, now: Instant) -> Option<TcpSegment> {
    queue.front().filter(|(at, _)| *at <= now)?;
    queue.pop_front().map(|(_, segment)| segment)
}
