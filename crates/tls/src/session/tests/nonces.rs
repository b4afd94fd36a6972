//! No key protects two records with one number, whatever happens: the ciphers of these tests remember each nonce, those of
//! the library, too.

use bytes::Bytes;
use fairwire_units::{Duration, Instant};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof, proptest};

use super::super::{Output, Session};
use super::TODAY;
use crate::record::sealed;
use crate::{ClientConfig, Identity, ServerConfig, SessionError, Trust, Validity};

/// What happens next: to a datagram on its way, to an end, or to time.
#[derive(Clone, Debug)]
enum Step {
    Deliver(usize),
    Copy(usize),
    Lose(usize),
    Change(usize, u16),
    Replay(usize, bool),
    Seal(usize, usize),
    Wait(u16),
    Timer,
    Narrow(usize, u16),
    Close(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let place = 0..20_usize;
    prop_oneof![
        8 => place.clone().prop_map(Step::Deliver),
        2 => place.clone().prop_map(Step::Copy),
        2 => place.clone().prop_map(Step::Lose),
        1 => (place, any::<u16>()).prop_map(|(place, bit)| Step::Change(place, bit)),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(which, back)| Step::Replay(which, back)),
        8 => (0..2_usize, 1..5_usize).prop_map(|(end, count)| Step::Seal(end, count)),
        1 => (0..3_000_u16).prop_map(Step::Wait),
        3 => (0..1_u8).prop_map(|_| Step::Timer),
        1 => (0..2_usize, 20..1_400_u16).prop_map(|(end, limit)| Step::Narrow(end, limit)),
    ]
}

struct World {
    ends: [Session; 2],
    now: Instant,
    /// Receiver and datagram.
    on_the_way: Vec<(usize, Bytes)>,
    past: Vec<(usize, Bytes)>,
    sealed: u32,
    received: Vec<Bytes>,
    failed: Vec<SessionError>,
}

impl World {
    fn new(records_per_key: [u64; 2], asks: bool) -> Self {
        let identity = Identity::generate(&[], Validity::days(TODAY, 1)).expect("an identity");
        let pin = identity.fingerprint();
        let rtt = Duration::from_millis(20);
        let client = ClientConfig::pinned([pin]).identity(identity.clone());
        let client = client.records_per_key(records_per_key[0]).round_trip(rtt);
        let mut server = ServerConfig::new(identity).records_per_key(records_per_key[1]);
        if asks {
            server = server.clients(Trust::Fingerprints(vec![pin]));
        }
        let now = Instant::START;
        Self {
            ends: [
                Session::client(&client, 1_400, now, TODAY).expect("a client"),
                Session::server(&server, 1_400, now, TODAY).expect("a server"),
            ],
            now,
            on_the_way: Vec::new(),
            past: Vec::new(),
            sealed: 0,
            received: Vec::new(),
            failed: Vec::new(),
        }
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Deliver(place) => {
                if let Some(place) = self.place(place) {
                    let (to, datagram) = self.on_the_way.remove(place);
                    self.arrive(to, &datagram);
                }
            }
            Step::Copy(place) => {
                if let Some(place) = self.place(place) {
                    let (to, datagram) = self.on_the_way[place].clone();
                    self.arrive(to, &datagram);
                }
            }
            Step::Lose(place) => {
                if let Some(place) = self.place(place) {
                    self.on_the_way.remove(place);
                }
            }
            Step::Change(place, bit) => {
                if let Some(place) = self.place(place) {
                    let mut bytes = self.on_the_way[place].1.to_vec();
                    let at = usize::from(bit >> 3) % bytes.len();
                    bytes[at] ^= 1 << (bit & 7);
                    self.on_the_way[place].1 = bytes.into();
                }
            }
            Step::Replay(which, back) => {
                if !self.past.is_empty() {
                    let (to, datagram) = self.past[which % self.past.len()].clone();
                    self.arrive(if back { 1 - to } else { to }, &datagram);
                }
            }
            Step::Seal(end, count) => {
                for _ in 0..count {
                    let data = self.sealed.to_be_bytes();
                    if let Ok(datagram) = self.ends[end].seal(&data) {
                        self.sealed += 1;
                        self.depart(end, datagram);
                    }
                    self.take(end);
                }
            }
            Step::Wait(ms) => self.pass(self.now + Duration::from_millis(ms.into())),
            Step::Timer => {
                let timers = self.ends.iter().filter_map(Session::next_timeout);
                if let Some(at) = timers.min() {
                    self.pass(at);
                }
            }
            Step::Narrow(end, limit) => self.ends[end].set_max_datagram(limit.into()),
            Step::Close(end) => {
                self.ends[end].close();
                self.take(end);
            }
        }
    }

    /// Returns a place among the datagrams on their way.
    fn place(&self, place: usize) -> Option<usize> {
        place.checked_rem(self.on_the_way.len())
    }

    fn pass(&mut self, until: Instant) {
        self.now = self.now.max(until);
        for end in [0, 1] {
            let result = self.ends[end].handle_timeout(self.now);
            self.failed.extend(result.err());
            self.take(end);
        }
    }

    fn arrive(&mut self, to: usize, datagram: &[u8]) {
        let result = self.ends[to].handle_datagram(self.now, datagram);
        self.failed.extend(result.err());
        self.take(to);
    }

    fn take(&mut self, end: usize) {
        loop {
            match self.ends[end].poll() {
                Output::Idle => return,
                Output::Send(datagram) => self.depart(end, datagram),
                Output::Data(data) => self.received.push(data),
                Output::Connected { .. } | Output::Closed | Output::Check(_) => {}
            }
        }
    }

    fn depart(&mut self, from: usize, datagram: Bytes) {
        self.past.push((1 - from, datagram.clone()));
        self.on_the_way.push((1 - from, datagram));
    }

    /// Delivers what is on its way, in order.
    fn settle(&mut self) {
        for _ in 0..200 {
            self.run(&Step::Deliver(0));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Over any path, with new keys of both ends, records that are sent again, and acknowledgements of the library: no
    /// nonce twice, no data twice, and no end fails except because nothing is answered.
    #[test]
    fn no_nonce_is_used_twice(
        records_per_key in [1..6_u64, 1..6_u64],
        asks in any::<bool>(),
        bad_handshake in any::<bool>(),
        steps in vec(step(), 20..150),
        closes in any::<Option<bool>>(),
    ) {
        let before = sealed::count();
        let mut world = World::new(records_per_key, asks);
        world.take(0);
        if !bad_handshake {
            world.settle();
            assert!(world.ends.iter().all(Session::is_connected));
        }
        for step in &steps {
            world.run(step);
        }
        if let Some(which) = closes {
            world.run(&Step::Close(which.into()));
        }
        world.settle();
        // Somebody on the path can end a handshake in many ways, but no session that is connected.
        let is_allowed = |error: &SessionError| match error {
            SessionError::Library { .. } | SessionError::KeyUsedUp { .. } => false,
            SessionError::Unacknowledged => true,
            _ => bad_handshake,
        };
        assert!(world.failed.iter().all(is_allowed), "{:?}", world.failed);
        let count = world.received.len();
        world.received.sort_unstable();
        world.received.dedup();
        assert_eq!(world.received.len(), count, "data twice");
        // All data, and a handshake before it.
        let least = usize::try_from(world.sealed).expect("few") + usize::from(!bad_handshake);
        assert!(sealed::count() >= before + least);
    }
}
