//! TCP peers: the simulated sender and receiver.

use fairwire_net::{Packet, Release};
use fairwire_proto::Payload;
use fairwire_tcp::{Receiver, Sender, TcpSegment};
use fairwire_units::Instant;

use super::super::application::Application;
use super::super::ends::Ends;
use super::super::peer::{Peer, Reading};
use super::super::store::Store;
use super::super::ticks::Ticks;
use super::packet::TcpPacket;
use super::report::Report;

/// The side that sends data.
#[derive(Debug)]
pub(super) struct TcpSource {
    ends: Ends,
    sender: Sender,
    /// The application that writes data. A greedy application writes nothing, because its sender has unlimited data.
    application: Application,
    /// The time from which a greedy application has stopped, and its TCP sends nothing.
    silent_from: Instant,
    /// The time at which it opens its connection; ticks do not delay it.
    start: Instant,
    ticks: Option<Ticks>,
    /// What an application that adapts learns.
    report: Option<Report>,
}

impl TcpSource {
    pub(super) fn new(
        ends: Ends,
        sender: Sender,
        application: Application,
        start: Instant,
    ) -> Self {
        let stop = application.stop().filter(|_| application.is_greedy());
        let report = application.adapts().then(Report::default);
        Self {
            ends,
            sender,
            application,
            silent_from: stop.unwrap_or(Instant::MAX),
            start,
            ticks: None,
            report,
        }
    }

    /// Sets the ticks at which its timers fire.
    pub(super) fn ticking(self, ticks: Option<Ticks>) -> Self {
        Self { ticks, ..self }
    }

    /// Returns when the sender needs to be called; with ticks, that is at the next tick.
    fn sender_timeout(&self) -> Option<Instant> {
        let at = self.sender.next_timeout()?;
        let ticks = self.ticks.filter(|_| at > self.start);
        Some(ticks.map_or(at, |ticks| ticks.not_before(at)))
    }
}

impl Peer for TcpSource {
    fn ends(&self) -> Ends {
        self.ends
    }

    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        let segment = arrive(now, self.ends, packet, store);
        if let Some(segment) = segment.filter(|_| now < self.silent_from) {
            self.sender.handle_segment(now, &segment);
            if let Some(report) = &mut self.report {
                report.follow(now, &self.sender);
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet> {
        if now >= self.silent_from {
            return None;
        }
        let segment = self.sender.poll_transmit(now);
        if let (Some(report), None) = (&mut self.report, &segment) {
            report.note_spare(&self.sender);
        }
        Some(send(now, self.ends, segment?, store))
    }

    fn next_timeout(&self) -> Option<Instant> {
        Instant::earliest([self.application.next(), self.sender_timeout()])
            .filter(|at| *at < self.silent_from)
    }

    fn handle_timeout(&mut self, now: Instant, store: &mut Store) {
        if let Some(report) = &mut self.report {
            self.application
                .adapt(now, || report.input(now, &self.sender));
        }
        while let Some(bytes) = self.application.take(now) {
            self.sender.write(u64::from(bytes));
            if let Some(report) = &mut self.report {
                report.write(now, bytes);
            }
            store
                .meter(self.ends.outgoing)
                .written(now, u64::from(bytes));
        }
        if self.sender_timeout().is_some_and(|at| at <= now) {
            self.sender.handle_timeout(now);
            if let Some(report) = &mut self.report {
                report.follow(now, &self.sender);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.sender.is_done()
    }

    fn reading(&self) -> Reading {
        let stats = self.sender.stats();
        Reading {
            cwnd: stats.cwnd_packets,
            ssthresh: stats.ssthresh_packets.filter(|packets| packets.is_finite()),
            srtt: stats.srtt,
            cuts: Some(stats.fast_recoveries + stats.timeouts),
            timeouts: Some(stats.timeouts),
            retransmitted: Some(stats.segments_retransmitted),
            ..Reading::default()
        }
    }
}

/// The side that acknowledges.
#[derive(Debug)]
pub(super) struct TcpSink {
    ends: Ends,
    receiver: Receiver,
    /// The bytes that it expects in total, if there is an end.
    total: Option<u64>,
    ticks: Option<Ticks>,
}

impl TcpSink {
    pub(super) fn new(ends: Ends, receiver: Receiver, total: Option<u64>) -> Self {
        Self {
            ends,
            receiver,
            total,
            ticks: None,
        }
    }

    /// Sets the ticks at which its timer fires.
    pub(super) fn ticking(self, ticks: Option<Ticks>) -> Self {
        Self { ticks, ..self }
    }
}

impl Peer for TcpSink {
    fn ends(&self) -> Ends {
        self.ends
    }

    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        let Some(segment) = arrive(now, self.ends, packet, store) else {
            return;
        };
        let before = self.receiver.stats().bytes_delivered;
        self.receiver.handle_segment(now, &segment);
        let new = self.receiver.stats().bytes_delivered.saturating_sub(before);
        if new > 0 {
            store.meter(self.ends.incoming).received(now, new, None);
        }
    }

    fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet> {
        let segment = self.receiver.poll_transmit(now)?;
        Some(send(now, self.ends, segment, store))
    }

    fn next_timeout(&self) -> Option<Instant> {
        let at = self.receiver.next_timeout()?;
        Some(self.ticks.map_or(at, |ticks| ticks.not_before(at)))
    }

    fn handle_timeout(&mut self, now: Instant, _store: &mut Store) {
        self.receiver.handle_timeout(now);
    }

    fn is_complete(&self) -> bool {
        let delivered = self.receiver.stats().bytes_delivered;
        self.total.is_some_and(|total| delivered >= total)
    }
}

fn arrive(now: Instant, ends: Ends, packet: Packet, store: &mut Store) -> Option<TcpSegment> {
    let slot = store.slot(packet.handle);
    let mut segment = slot.content_of::<TcpPacket>().map(|packet| packet.0);
    let (sent_at, is_data) = (slot.sent_at, slot.is_data);
    store.release(packet.handle);
    store
        .meter(ends.incoming)
        .arrived(now, sent_at, packet.wire_len, is_data);
    if let Some(segment) = &mut segment {
        segment.ecn = packet.ecn;
    }
    segment
}

fn send(now: Instant, ends: Ends, segment: TcpSegment, store: &mut Store) -> Packet {
    let is_data = segment.len > 0;
    let payload = Payload::synthetic(segment.len, 0);
    let handle = store.put(TcpPacket(segment), payload, now, is_data);
    if is_data {
        store.meter(ends.outgoing).sent(now);
    }
    ends.packet(segment.wire_len(), segment.ecn, handle)
}
