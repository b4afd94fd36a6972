//! The target `pair`: two endpoints over a hostile network.
//!
//! The input configures both endpoints, and then says, step by step, what the network does to packets in flight, what
//! the applications do, and how time passes. At the end the network delivers everything, and both sides agree: a
//! connection is open at both ends or at neither.
//!
//! What holds for data depends on what the network did ([`Harm`]):
//! - Each datagram is one that the other application sent. The exception is a packet whose bytes were changed and whose
//!   checksum was made to fit or did not cover them.
//! - It arrives once for each connection of the receiver. The exception is a header that was changed in that way: a
//!   copy with a number of its own is a different packet to every receiver.

mod account;
mod heal;
mod network;

use std::net::IpAddr;

use arbitrary::{Arbitrary, Unstructured};
use fairwire_kit::paths;
use fairwire_proto::Path;
use fairwire_units::{Duration, Instant};
use fairwire_wire::ServiceCode;

use crate::application::{Application, PORT};
use crate::setup::{Setup, byte, pick};
use crate::watched::Watched;
use account::Account;
use network::Network;

const SERVICE: ServiceCode = ServiceCode(42);

/// The most steps of one input.
const STEPS: usize = 256;

/// The most packets of one input.
const PACKETS: u64 = 4_000;

/// The most wake-ups and arrivals in one period of time.
const MAX_EVENTS: u64 = 10_000;

/// What the network has done that endpoints cannot detect.
#[derive(Clone, Copy, Debug, Default)]
struct Harm {
    /// Packets that were changed with a checksum that fits, or where no checksum covers the change.
    forged: usize,
    /// Whether an end was lost with all its state.
    restarted: bool,
}

/// The state of a run.
#[derive(Debug)]
struct World {
    now: Instant,
    setups: [Setup; 2],
    paths: [Path; 2],
    ends: [Watched; 2],
    applications: [Application; 2],
    accounts: [Account; 2],
    network: Network,
    harm: Harm,
    /// The number of endpoints created so far, used for their secrets.
    lives: u8,
}

/// Runs one input.
pub fn run(data: &[u8]) {
    run_seen(data, |_| ());
}

/// Runs one input, and shows both ends after each step.
pub fn run_seen(data: &[u8], mut see: impl FnMut(&[Watched; 2])) {
    let mut u = Unstructured::new(data);
    let (Ok(one), Ok(other)) = (Setup::arbitrary(&mut u), Setup::arbitrary(&mut u)) else {
        return;
    };
    let mut world = World::new([one, other]);
    for _ in 0..STEPS {
        if u.is_empty() || world.is_exhausted() {
            break;
        }
        world.step(&mut u);
        see(&world.ends);
    }
    world.heal();
    world.finish();
}

/// Returns the addresses of both ends.
fn hosts(setup: &Setup) -> [IpAddr; 2] {
    [1, 2].map(|host: u8| {
        if setup.v6 {
            [0x2001, 0xDB8, 0, 0, 0, 0, 0, u16::from(host)].into()
        } else {
            [192, 0, 2, host].into()
        }
    })
}

impl World {
    fn new(setups: [Setup; 2]) -> Self {
        let now = Instant::START + Duration::from_secs(1);
        let ends = [0, 1].map(|side: u8| new_end(&setups[usize::from(side)], side, now));
        let mut world = Self {
            now,
            paths: paths(hosts(&setups[0]), setups[0].encapsulation),
            setups,
            ends,
            applications: [Application::default(), Application::default()],
            accounts: [Account::default(), Account::default()],
            network: Network::default(),
            harm: Harm::default(),
            lives: 2,
        };
        world.connect(0);
        world
    }

    fn is_exhausted(&self) -> bool {
        self.ends.iter().map(|end| end.packets).sum::<u64>() > PACKETS
    }

    /// Performs one step of the input.
    fn step(&mut self, u: &mut Unstructured<'_>) {
        let step = byte(u);
        let which = step >> 4;
        match step & 15 {
            0 | 1 => self.pass(which, u),
            2 => self.arrive(usize::from(which)),
            3 => {
                for _ in 0..=which {
                    self.arrive(0);
                }
            }
            4 => {
                self.network.drop(usize::from(which));
            }
            5 => self.network.copy(usize::from(which)),
            6 => self.network.replay(byte(u), which),
            7 | 8 => self.change(usize::from(which), u),
            9 => self.network.mark(usize::from(which)),
            10 => self.icmp(usize::from(which), u),
            11 | 12 => self.apply(usize::from(which & 1), u),
            13 => self.connect(usize::from(which & 1)),
            14 if which == 15 => self.restart(0),
            14 if which == 14 => self.restart(1),
            14 => self.network.drop_all(),
            _ => self.skip_timers(which),
        }
        self.settle();
    }

    /// Lets an application act.
    fn apply(&mut self, side: usize, u: &mut Unstructured<'_>) {
        let now = self.now;
        let application = &mut self.applications[side];
        application.act(&mut self.ends[side], now, u, &mut self.accounts[side]);
        self.collect(side);
    }

    /// Lets one side connect to the other.
    fn connect(&mut self, side: usize) {
        let (now, path, config) = (self.now, self.paths[side], &self.setups[side].config);
        self.ends[side].begin(now, |end| {
            end.connect(now, path, None, PORT, SERVICE, config.clone())
        });
        self.collect(side);
    }

    /// Replaces one side by a new endpoint without any state.
    fn restart(&mut self, side: usize) {
        self.lives = self.lives.wrapping_add(1);
        self.harm.restarted = true;
        self.accounts[side].restart();
        let end = new_end(&self.setups[side], self.lives, self.now);
        drop(std::mem::replace(&mut self.ends[side], end));
    }

    /// Puts the packets that an end has sent in flight.
    fn collect(&mut self, side: usize) {
        for sent in std::mem::take(&mut self.ends[side].out) {
            self.network.launch(self.now, side, sent);
        }
    }

    fn settle(&mut self) {
        for side in 0..2 {
            self.ends[side].wake(self.now);
            self.collect(side);
        }
    }

    /// Lets time pass with timers. Packets arrive only in some kinds of periods.
    fn pass(&mut self, which: u8, u: &mut Unstructured<'_>) {
        let ms = Duration::from_millis;
        match which {
            0..2 => self.run_until(self.next_timer().unwrap_or(self.now), false),
            2 => self.run_until(self.now + ms(u64::from(byte(u))), false),
            3 => self.run_until(self.now + Duration::from_secs(u64::from(byte(u))), false),
            4..10 => self.run_until(self.now + ms(u64::from(which - 3) * 50), true),
            10 => self.run_until(self.now + ms(u64::from(byte(u))), true),
            11 => self.run_until(self.now + Duration::from_secs(20), true),
            12 => self.run_until(self.now + Duration::from_secs(300), true),
            _ => self.run_until(self.now + ms(1), true),
        }
    }

    /// Lets time pass without handling timers until its end.
    fn skip_timers(&mut self, which: u8) {
        let times = [
            Duration::from_millis(1),
            Duration::from_millis(100),
            Duration::from_secs(1),
            Duration::from_secs(20),
            Duration::from_secs(90),
            Duration::from_secs(86_400),
        ];
        self.now += pick(&times, which);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.ends.iter().filter_map(Watched::next_timeout).min()
    }

    /// Runs until `until`; packets arrive only if `arriving`.
    fn run_until(&mut self, until: Instant, arriving: bool) {
        let mut moments = 0;
        loop {
            let arrival = self.network.next_arrival().filter(|_| arriving);
            let next = self.next_timer().into_iter().chain(arrival).min();
            let Some(next) = next.filter(|&next| next <= until) else {
                break;
            };
            self.now = self.now.max(next);
            if arriving {
                while self.network.next_arrival().is_some_and(|at| at <= self.now) {
                    self.arrive(0);
                }
            }
            self.settle();
            moments += 1;
            assert!(moments <= MAX_EVENTS, "{moments} moments until {until}");
        }
        self.now = self.now.max(until);
    }

    fn finish(self) {
        for end in self.ends {
            end.finish();
        }
    }
}

/// Creates an endpoint that listens.
fn new_end(setup: &Setup, secret: u8, now: Instant) -> Watched {
    let app = (setup.config.keep_alive.is_some(), setup.config.report_fates);
    let mut end = Watched::new(setup.endpoint.clone(), secret, now, app);
    end.call(now, |end| {
        let listening = end.listen(PORT, &[SERVICE], setup.config.clone());
        assert_eq!(listening, Ok(()), "the input chooses sound settings only");
    });
    end
}
