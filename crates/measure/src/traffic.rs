//! Throughput and goodput.
//!
//! Throughput counts every byte on the wire that arrived, headers included. Goodput counts the payload bytes that were
//! new to the receiver. A kbit/s is 1000 bit/s. Windows and periods are half-open: a packet at the end of one belongs
//! to the next.

use fairwire_units::{Duration, Instant};

/// A count of packets and bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Traffic {
    /// The number of packets.
    pub packets: u64,
    /// Their bytes as IP packets, headers included.
    pub wire_bytes: u64,
    /// The payload bytes among them that were new to the receiver.
    pub payload_bytes: u64,
}

impl Traffic {
    /// Adds one packet.
    pub fn add(&mut self, wire_bytes: u64, payload_bytes: u64) {
        self.packets += 1;
        self.wire_bytes += wire_bytes;
        self.payload_bytes += payload_bytes;
    }

    /// Returns the throughput over `span` in bits per second; 0 if `span` is zero.
    pub fn throughput(&self, span: Duration) -> f64 {
        bits_per_s(self.wire_bytes, span)
    }

    /// Returns the goodput over `span` in bits per second; 0 if `span` is zero.
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

/// The traffic of one window of time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Window {
    from: Instant,
    until: Instant,
    traffic: Traffic,
}

impl Window {
    /// Creates a window that counts packets at `from` or later and before `until`.
    pub fn new(from: Instant, until: Instant) -> Self {
        Self {
            from,
            until,
            traffic: Traffic::default(),
        }
    }

    /// Counts a packet if `at` is within the window.
    pub fn add(&mut self, at: Instant, wire_bytes: u64, payload_bytes: u64) {
        if self.from <= at && at < self.until {
            self.traffic.add(wire_bytes, payload_bytes);
        }
    }

    /// Returns the traffic counted so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Returns the length of the window.
    pub fn span(&self) -> Duration {
        self.until.saturating_since(self.from)
    }

    /// Returns the throughput over the window in bits per second.
    pub fn throughput(&self) -> f64 {
        self.traffic.throughput(self.span())
    }

    /// Returns the goodput over the window in bits per second.
    pub fn goodput(&self) -> f64 {
        self.traffic.goodput(self.span())
    }
}

/// The traffic of successive periods. Memory: 24 bytes a period, up to the last period with a packet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Series {
    from: Instant,
    period: Duration,
    limit: usize,
    bins: Vec<Traffic>,
    outside: Traffic,
}

impl Series {
    /// Creates a series of at most `limit` periods of length `period`, the first beginning at `from`.
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

    /// Counts a packet in its period; a packet before the first or after the last period counts as outside.
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

    /// Returns the periods up to the last one with a packet.
    pub fn periods(&self) -> &[Traffic] {
        &self.bins
    }

    /// Returns the traffic before the first period and after the last possible one.
    pub fn outside(&self) -> Traffic {
        self.outside
    }

    /// Returns the length of a period.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Returns when period number `index` begins.
    pub fn start_of(&self, index: usize) -> Instant {
        self.from + self.period * index as u64
    }

    /// Returns the traffic of the whole periods from `from` until just before `until`.
    ///
    /// Both times are rounded up to the beginning of a period.
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

    /// With 125 packets of 1000 bytes in one second, throughput is 1 Mbit/s; goodput is 0.96 Mbit/s if 40 of the 1000
    /// bytes are headers.
    #[test]
    fn throughput_counts_headers_and_goodput_does_not() {
        let mut window = Window::new(ms(0), ms(1_000));
        for i in 0..125 {
            window.add(ms(i * 8), 1_000, 960);
        }
        assert_eq!(window.throughput(), 1e6);
        assert_eq!(window.goodput(), 0.96e6);
    }

    /// A window includes its first moment and excludes its last; an empty window has rate zero.
    #[test]
    fn windows_are_half_open() {
        let mut window = Window::new(ms(10), ms(20));
        for at in [9, 10, 19, 20] {
            window.add(ms(at), 1, 1);
        }
        assert_eq!(window.traffic().packets, 2);
        assert_eq!(Window::new(ms(5), ms(5)).throughput(), 0.0);
    }

    /// Packets count in their periods, gaps are empty periods, and packets outside are counted separately.
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
