//! Throughput and goodput.
//!
//! Throughput counts every byte on the wire that arrived, headers included; goodput counts the
//! payload bytes that were new to the receiver. A kbit/s is 1000 bit/s. Windows and periods are
//! half-open: what happens at the end belongs to the next.

use fairwire_units::{Duration, Instant};

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Their bytes as IP packets, headers included.
    pub wire_bytes: u64,
    /// The payload among them that was new to its receiver.
    pub payload_bytes: u64,
}

impl Traffic {
    /// Adds one packet.
    pub fn add(&mut self, wire_bytes: u64, payload_bytes: u64) {
        self.packets += 1;
        self.wire_bytes += wire_bytes;
        self.payload_bytes += payload_bytes;
    }

    /// Throughput in bits per second over `span`; 0 over no time at all.
    pub fn throughput(&self, span: Duration) -> f64 {
        bits_per_s(self.wire_bytes, span)
    }

    /// Goodput in bits per second over `span`; 0 over no time at all.
    pub fn goodput(&self, span: Duration) -> f64 {
        bits_per_s(self.payload_bytes, span)
    }
}

fn bits_per_s(bytes: u64, span: Duration) -> f64 {
    if span.is_zero() {
        return 0.0;
    }
    bytes as f64 * 8.0 / span.as_secs_f64()
}

/// What happens from one moment until just before another.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Window {
    from: Instant,
    until: Instant,
    traffic: Traffic,
}

impl Window {
    /// Counts what happens at `from` or later and before `until`.
    pub fn new(from: Instant, until: Instant) -> Self {
        Self {
            from,
            until,
            traffic: Traffic::default(),
        }
    }

    /// Counts a packet if it came within the window.
    pub fn add(&mut self, at: Instant, wire_bytes: u64, payload_bytes: u64) {
        if self.from <= at && at < self.until {
            self.traffic.add(wire_bytes, payload_bytes);
        }
    }

    /// What was counted.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// How long the window is.
    pub fn span(&self) -> Duration {
        self.until.saturating_since(self.from)
    }

    /// Throughput over the window, bits per second.
    pub fn throughput(&self) -> f64 {
        self.traffic.throughput(self.span())
    }

    /// Goodput over the window, bits per second.
    pub fn goodput(&self) -> f64 {
        self.traffic.goodput(self.span())
    }
}

/// What happens period by period. Memory: 24 bytes a period, up to the last one with a packet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Series {
    from: Instant,
    period: Duration,
    limit: usize,
    bins: Vec<Traffic>,
    outside: Traffic,
}

impl Series {
    /// Periods of this length from `from` on, at most `limit` of them.
    ///
    /// # Panics
    /// If the period is zero.
    pub fn new(from: Instant, period: Duration, limit: usize) -> Self {
        assert!(!period.is_zero(), "a period takes time");
        Self {
            from,
            period,
            limit,
            bins: Vec::new(),
            outside: Traffic::default(),
        }
    }

    /// Counts a packet in its period; before the first and after the last it counts as outside.
    pub fn add(&mut self, at: Instant, wire_bytes: u64, payload_bytes: u64) {
        let bin = match self.bin(at) {
            Some(bin) => {
                if bin >= self.bins.len() {
                    self.bins.resize(bin + 1, Traffic::default());
                }
                &mut self.bins[bin]
            }
            None => &mut self.outside,
        };
        bin.add(wire_bytes, payload_bytes);
    }

    /// The periods up to the last one with a packet.
    pub fn periods(&self) -> &[Traffic] {
        &self.bins
    }

    /// What came before the first period or after the last.
    pub fn outside(&self) -> Traffic {
        self.outside
    }

    /// How long a period is.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// When period number `index` begins.
    pub fn start_of(&self, index: usize) -> Instant {
        self.from + self.period * index as u64
    }

    /// What happened in the whole periods from `from` until just before `until`. Both are
    /// rounded up to the beginning of a period.
    pub fn between(&self, from: Instant, until: Instant) -> Traffic {
        let index = |at: Instant| {
            let periods = at
                .saturating_since(self.from)
                .as_nanos()
                .div_ceil(self.period.as_nanos());
            usize::try_from(periods).map_or(self.bins.len(), |i| i.min(self.bins.len()))
        };
        let mut sum = Traffic::default();
        for bin in self.bins.get(index(from)..index(until)).unwrap_or_default() {
            sum.packets += bin.packets;
            sum.wire_bytes += bin.wire_bytes;
            sum.payload_bytes += bin.payload_bytes;
        }
        sum
    }

    fn bin(&self, at: Instant) -> Option<usize> {
        if at < self.from {
            return None;
        }
        let index = at.saturating_since(self.from).as_nanos() / self.period.as_nanos();
        usize::try_from(index).ok().filter(|i| *i < self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::{Series, Window};
    use fairwire_units::{Duration, Instant};

    fn ms(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    /// 125 packets of 1000 bytes in one second are 1 Mbit/s on the wire, and 0.96 Mbit/s of
    /// payload if 40 of the 1000 bytes are headers.
    #[test]
    fn throughput_counts_headers_and_goodput_does_not() {
        let mut window = Window::new(ms(0), ms(1_000));
        for i in 0..125 {
            window.add(ms(i * 8), 1_000, 960);
        }
        assert_eq!(window.throughput(), 1e6);
        assert_eq!(window.goodput(), 0.96e6);
    }

    /// A window holds its first moment and not its last; an empty one has rate zero.
    #[test]
    fn windows_are_half_open() {
        let mut window = Window::new(ms(10), ms(20));
        for at in [9, 10, 19, 20] {
            window.add(ms(at), 1, 1);
        }
        assert_eq!(window.traffic().packets, 2);
        assert_eq!(Window::new(ms(5), ms(5)).throughput(), 0.0);
    }

    /// Packets fall into their periods, gaps are empty periods, and what lies outside is kept
    /// apart instead of being lost.
    #[test]
    fn a_series_has_every_period() {
        let mut series = Series::new(ms(100), Duration::from_millis(10), 5);
        for at in [99, 100, 109, 110, 139, 150] {
            series.add(ms(at), 100, 80);
        }
        let packets: Vec<u64> = series.periods().iter().map(|t| t.packets).collect();
        assert_eq!(packets, [2, 1, 0, 1]);
        assert_eq!(series.outside().packets, 2);
        assert_eq!(series.start_of(3), ms(130));
        assert_eq!(series.between(ms(110), ms(140)).packets, 2);
        assert_eq!(series.between(ms(105), ms(110)).packets, 0, "rounded up");
        assert_eq!(series.between(ms(140), ms(110)).packets, 0, "backwards");
        assert_eq!(series.between(ms(0), Instant::MAX).wire_bytes, 400);
    }
}
