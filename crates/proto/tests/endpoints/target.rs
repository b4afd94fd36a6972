//! The target bitrate, which an encoder follows.

use fairwire_kit::{Pair, config_of, data, ms};
use fairwire_units::{Duration, Rate};

use fairwire_proto::{
    Config, ConnectionId, Encapsulation, EncoderConfig, EncoderTarget, Event, LimitedBy, Stats,
    TargetBitrate,
};

/// Application bytes of each datagram.
const SIZE: u32 = 1_000;

/// The time of a datagram on a link that carries 2 Mbit/s of them.
const TWO_MBIT: Duration = Duration::from_millis(4);

/// A connection over a link with a delay of 50 ms that transmits a datagram in `each`, behind a queue of 100 ms.
struct Path {
    pair: Pair,
    client: ConnectionId,
    server: ConnectionId,
}

/// What was seen in an interval.
#[derive(Clone, Copy)]
struct Seen {
    target: TargetBitrate,
    allowed: f64,
    /// Bits per second that the peer's application got.
    goodput: f64,
}

impl Path {
    fn new(ccid: u8, each: Duration) -> Self {
        let mut pair = Pair::along(Encapsulation::Native, ms(50));
        pair.record = false;
        let config = config_of(ccid);
        let (client, server) = pair.open(config.clone(), config);
        let mut path = Self {
            pair,
            client,
            server,
        };
        path.set_link(each);
        path
    }

    fn set_link(&mut self, each: Duration) {
        self.pair.bottleneck = Some((each, ms(100).as_nanos() / each.as_nanos()));
    }

    fn cap(&mut self, bits_per_s: Option<u64>) {
        let rate = bits_per_s.map(Rate::from_bits_per_s);
        self.pair.ends[0].set_max_rate(self.pair.now, self.client, rate);
    }

    fn stats(&self) -> Stats {
        self.pair.ends[0].stats(self.client).unwrap()
    }

    fn received(&self) -> u64 {
        self.pair.ends[1].stats(self.server).unwrap().bytes_received
    }

    /// Runs for `seconds` while `feed` sends for a twentieth of a second at a time.
    fn watch(&mut self, seconds: u64, mut feed: impl FnMut(&mut Self)) -> Vec<Seen> {
        let mut seen = Vec::new();
        for _ in 0..20 * seconds {
            let before = self.received();
            feed(self);
            while self.pair.ends[1].recv(self.server).is_some() {}
            let stats = self.stats();
            seen.push(Seen {
                target: stats.target_bitrate.expect("a round trip is known"),
                allowed: stats
                    .allowed_rate
                    .expect("a round trip is known")
                    .bits_per_s() as f64,
                goodput: (self.received() - before) as f64 * 8.0 * 20.0,
            });
        }
        seen
    }

    /// Sends all that there is room for.
    fn saturate(&mut self) {
        self.pair.saturate(0, self.client, SIZE, ms(50));
    }

    /// Sends a datagram every `every`, if there is room.
    fn send_every(&mut self, every: Duration) {
        for _ in 0..ms(50).as_nanos() / every.as_nanos() {
            if self.pair.ends[0].can_send(self.client, SIZE as usize) {
                self.pair.ends[0]
                    .send(self.pair.now, self.client, data(SIZE))
                    .unwrap();
            }
            self.pair.run_for(every);
        }
    }
}

fn mean(seen: &[Seen], of: impl Fn(&Seen) -> f64) -> f64 {
    seen.iter().map(of).sum::<f64>() / seen.len() as f64
}

fn rate(target: TargetBitrate) -> f64 {
    target.rate.bits_per_s() as f64
}

/// Returns the lowest and the highest value.
fn range(seen: &[Seen], of: impl Fn(&Seen) -> f64) -> (f64, f64) {
    seen.iter()
        .map(of)
        .fold((f64::MAX, 0.0), |(low, high), it| {
            (f64::min(low, it), f64::max(high, it))
        })
}

/// Under both CCIDs a saturated link of 2 Mbit/s shows as a target within 10 % of what arrives, while the window over
/// the round trip jumps by half of it.
///
/// A cut takes a queue's worth of packets out of the network, and the link's queue of one round trip makes up for it
/// but for one packet's time in a cycle. The mean over four round trips then misses less than the tenth that a
/// quarter of one idle round trip would take.
#[test]
fn the_target_is_what_gets_through() {
    for ccid in [2, 3] {
        let mut path = Path::new(ccid, TWO_MBIT);
        path.watch(10, Path::saturate);
        let seen = path.watch(50, Path::saturate);
        let goodput = mean(&seen, |it| it.goodput);
        assert!((1.8e6..=2.0e6).contains(&goodput), "CCID {ccid}: {goodput}");
        let (low, high) = range(&seen, |it| rate(it.target) / goodput);
        assert!(
            low >= 0.9 && high <= 1.1,
            "CCID {ccid}: {low} to {high} of {goodput}"
        );
        assert!(seen.iter().all(|it| it.target.limit == LimitedBy::Network));
        if ccid == 2 {
            let (low, high) = range(&seen, |it| it.allowed / goodput);
            assert!(low < 0.7 && high > 1.1, "{low} to {high}");
        }
    }
}

/// When a link's rate halves, the target has followed after eight round trips of 0.2 s: the longer queue takes one or
/// two to drain at the new rate, one may have begun before, and four are averaged.
#[test]
fn the_target_follows_a_slower_link() {
    for ccid in [2, 3] {
        let mut path = Path::new(ccid, TWO_MBIT);
        path.watch(20, Path::saturate);
        path.set_link(TWO_MBIT * 2);
        let seen = path.watch(2, Path::saturate);
        let after = rate(seen[32].target);
        assert!((0.9e6..=1.1e6).contains(&after), "CCID {ccid}: {after}");
    }
}

/// RFC 5348, 4.3: an application of 1 Mbit/s on a link of 5 is its own limit, and gets at most twice what arrived in
/// the last ten seconds, whatever the window allows.
#[test]
fn an_application_that_sends_little_is_the_limit() {
    for ccid in [2, 3] {
        let mut path = Path::new(ccid, Duration::from_micros(1_600));
        path.watch(12, |path| path.send_every(ms(8)));
        let seen = path.watch(10, |path| path.send_every(ms(8)));
        for it in seen {
            assert_eq!(it.target.limit, LimitedBy::Application, "CCID {ccid}");
            // Six or seven datagrams arrive in a measured round of 50 ms.
            let cap = 2.0 * 7.0 / 6.25 * 1e6;
            assert!(rate(it.target) <= cap, "CCID {ccid}: {:?}", it.target);
            assert!(it.allowed > 2.9e6, "CCID {ccid}: {}", it.allowed);
        }
    }
}

/// RFC 4340, 11.6: the target of a peer that can hardly keep up says so, and does not rise.
#[test]
fn a_slow_peer_is_the_limit() {
    let mut path = Path::new(2, TWO_MBIT);
    path.watch(5, |path| path.send_every(ms(8)));
    let (now, server) = (path.pair.now, path.server);
    path.pair.ends[1].set_slow(now, server, true);
    path.watch(1, |path| path.send_every(ms(8)));
    let before = rate(path.stats().target_bitrate.unwrap());
    let after = path.watch(2, |path| path.send_every(ms(8)));
    for it in after {
        assert_eq!(it.target.limit, LimitedBy::Peer);
        assert!(rate(it.target) <= before, "{:?}", it.target);
    }
}

/// The application is told of a change once, and again only after it has taken it. What it takes has left the band
/// around what it took before, and comes at most once in 50 ms and in a round trip of 100 ms.
#[test]
fn changes_are_told_once() {
    let mut path = Path::new(2, TWO_MBIT);
    let first = path.pair.ends[0].take_target_change(path.client).unwrap();
    assert_eq!(path.pair.ends[0].take_target_change(path.client), None);
    path.watch(2, Path::saturate);
    assert_eq!(told(&path.pair), 1, "not taken yet");
    let mut last = path.pair.ends[0].take_target_change(path.client).unwrap();
    assert!(last.has_left(&first), "{first:?}, {last:?}");
    for seconds in 0..10 {
        path.set_link(TWO_MBIT * (1 + seconds % 2));
        let before = told(&path.pair);
        path.watch(1, |path| {
            path.saturate();
            if let Some(taken) = path.pair.ends[0].take_target_change(path.client) {
                assert!(taken.has_left(&last), "{last:?}, {taken:?}");
                last = taken;
            }
        });
        let times = told(&path.pair) - before;
        assert!(times <= 10, "{times} in a second");
    }
    assert!(told(&path.pair) >= 10, "each change of the link shows");
}

/// Returns how often the client's application was told.
fn told(pair: &Pair) -> usize {
    let events = pair.events[0].iter();
    events
        .filter(|(_, _, event)| *event == Event::TargetBitrate)
        .count()
}

/// Before anything has arrived, the target is an initial window in a round trip, and without a connection there is
/// none. On a path of a millisecond it is an initial window in 50 ms.
#[test]
fn the_first_target_is_an_initial_window() {
    let path = Path::new(2, TWO_MBIT);
    let first = path.stats().target_bitrate.unwrap();
    assert_eq!(first.limit, LimitedBy::Application);
    // RFC 3390: at most 4,380 bytes, in the 100 ms that were measured.
    assert!((250e3..=351e3).contains(&rate(first)), "{first:?}");
    let mut pair = Pair::along(Encapsulation::Native, Duration::from_micros(500));
    let (client, _) = pair.open(Config::default(), Config::default());
    let first = pair.ends[0].target_bitrate(client).unwrap();
    assert!((500e3..=701e3).contains(&rate(first)), "{first:?}");
    let gone = Pair::new().ends[0].target_bitrate(client);
    assert_eq!(gone, None);
}

/// An encoder of 25 frames a second that follows the target, with the age of the queue before each frame.
struct Video {
    encoder: EncoderTarget,
    ages: Vec<std::time::Duration>,
    /// Bytes that were encoded and are less than a datagram.
    rest: f64,
}

impl Video {
    fn new() -> Self {
        Self {
            encoder: EncoderTarget::new(EncoderConfig::default()),
            ages: Vec::new(),
            rest: 0.0,
        }
    }

    /// Encodes frames for `seconds`; returns the bits per second that arrived.
    fn run(&mut self, path: &mut Path, seconds: u64) -> f64 {
        self.ages.clear();
        let before = path.received();
        for _ in 0..25 * seconds {
            let now = path.pair.now;
            let input = path.pair.ends[0].encoder_input(now, path.client).unwrap();
            self.ages.push(input.queue_age);
            let since = Duration::from_nanos(now.as_nanos()).into();
            let bitrate = self.encoder.update(since, input);
            self.rest += bitrate.bits_per_s() as f64 / 8.0 / 25.0;
            while self.rest >= f64::from(SIZE)
                && path.pair.ends[0].can_send(path.client, SIZE as usize)
            {
                self.rest -= f64::from(SIZE);
                path.pair.ends[0]
                    .send(now, path.client, data(SIZE))
                    .unwrap();
            }
            path.pair.run_for(ms(40));
            while path.pair.ends[1].recv(path.server).is_some() {}
        }
        (path.received() - before) as f64 * 8.0 / seconds as f64
    }

    /// Returns the age of the queue that one frame in a hundred exceeds.
    fn long_wait(&mut self) -> std::time::Duration {
        self.ages.sort();
        self.ages[self.ages.len() * 99 / 100]
    }
}

/// An encoder that follows the target uses most of a link, and its frames leave soon.
///
/// The target rises until data waits, so some frames do wait: the queue has 30 ms for nothing and is then drained
/// within half a second. What is left free is at most the tenth of headroom and half a rise of a fifth between cuts.
#[test]
fn an_encoder_keeps_the_queue_short() {
    for ccid in [2, 3] {
        let mut path = Path::new(ccid, TWO_MBIT);
        let mut video = Video::new();
        video.run(&mut path, 20);
        let got = video.run(&mut path, 20);
        assert!((1.6e6..=2.0e6).contains(&got), "CCID {ccid}: {got}");
        let wait = video.long_wait();
        let five_frames = std::time::Duration::from_millis(200);
        assert!(wait <= five_frames, "CCID {ccid}: {wait:?}");
    }
}

/// An application that caps its rate gets no more and no less on a faster path, under both CCIDs; the target and the
/// allowed rate say so, and a window that the cap leaves empty does not grow. A cap that is changed counts at once.
#[test]
fn a_cap_limits_the_rate_and_the_window() {
    for ccid in [2, 3] {
        let mut path = Path::new(ccid, Duration::from_micros(400));
        path.cap(Some(1_000_000));
        path.watch(5, Path::saturate);
        let window = path.stats().gauges.cwnd_packets;
        let seen = path.watch(20, Path::saturate);
        let goodput = mean(&seen, |it| it.goodput);
        // A burst of 5 ms, and one datagram at each end of the interval.
        assert!(
            (0.999e6..=1.001e6).contains(&goodput),
            "CCID {ccid}: {goodput}"
        );
        for it in &seen {
            assert!(it.allowed <= 1e6, "CCID {ccid}: {}", it.allowed);
            assert!(rate(it.target) <= 1e6, "CCID {ccid}: {:?}", it.target);
            assert_eq!(it.target.limit, LimitedBy::Application, "CCID {ccid}");
        }
        assert_eq!(path.stats().gauges.cwnd_packets, window, "CCID {ccid}");
        path.cap(Some(2_000_000));
        let goodput = mean(&path.watch(10, Path::saturate)[2..], |it| it.goodput);
        assert!(
            (1.97e6..=2.01e6).contains(&goodput),
            "CCID {ccid}: {goodput}"
        );
        path.cap(None);
        let goodput = mean(&path.watch(10, Path::saturate), |it| it.goodput);
        assert!(goodput > 4e6, "CCID {ccid}: {goodput}");
    }
}

/// The cap of the settings holds from the first datagram on.
#[test]
fn a_cap_holds_from_the_start() {
    let mut pair = Pair::along(Encapsulation::Native, ms(50));
    let mut config = config_of(2);
    config.max_rate = Some(Rate::from_bits_per_s(80_000));
    let (client, server) = pair.open(config, config_of(2));
    pair.saturate(0, client, SIZE, ms(1_000));
    let received = pair.ends[1].stats(server).unwrap().data_received;
    // Ten datagrams a second, of which half a round trip is on the way.
    assert!((9..=11).contains(&received), "{received}");
}
