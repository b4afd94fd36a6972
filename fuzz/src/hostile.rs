//! The target `hostile`: one endpoint, and a malicious peer that knows the handshake.
//!
//! The input configures the endpoint and says, step by step, what the peer, the network and the application do. The
//! peer reads what the endpoint sends, so its packets have valid sequence numbers, echoes and answers, or values that
//! are wrong by as much as the input selects. Short inputs therefore reach deep states.
//!
//! An input is a [`Setup`] followed by steps. Each step is one byte, and some steps take more bytes.

mod craft;
mod flow;
mod number;
mod options;
mod outside;
mod peer;

use arbitrary::{Arbitrary, Unstructured};
use fairwire_proto::{IcmpError, IcmpQuote, Unreachable};
use fairwire_units::{Duration, Ecn};

use crate::application::{Application, PORT};
use crate::setup::{Setup, byte, pick};
use crate::watched::Watched;
use peer::World;

/// The most steps of one input.
const STEPS: usize = 256;

/// Runs one input.
pub fn run(data: &[u8]) {
    run_seen(data, |_| ());
}

/// Runs one input, and shows the endpoint after each step.
pub fn run_seen(data: &[u8], mut see: impl FnMut(&Watched)) {
    let mut u = Unstructured::new(data);
    let Ok(setup) = Setup::arbitrary(&mut u) else {
        return;
    };
    let mut world = World::new(setup);
    for _ in 0..STEPS {
        if u.is_empty() || world.is_exhausted() {
            break;
        }
        world.step(&mut u);
        see(&world.end);
    }
    world.finish();
}

impl World {
    /// Performs one step of the input.
    fn step(&mut self, u: &mut Unstructured<'_>) {
        let step = byte(u);
        let which = step >> 4;
        match step & 15 {
            0 => self.open(usize::from(which), u),
            1..=4 => self.craft(usize::from(which), u),
            5 => self.raw(u),
            6 => self.again(u),
            7 => self.reflect(u),
            8 => self.icmp(u),
            9 | 10 => self.pass(which, u),
            11 | 12 => self.apply(u),
            13 => self.acknowledge(usize::from(which)),
            14 => self.begin(usize::from(which), u),
            _ => self.skip_timers(which),
        }
        self.settle();
    }

    /// Lets the application act.
    fn apply(&mut self, u: &mut Unstructured<'_>) {
        let now = self.now;
        let mut application = std::mem::take(&mut self.application);
        application.act(&mut self.end, now, u, &mut self.ledger);
        self.application = application;
        self.listen();
    }

    /// Sends bytes of the input unchanged, after ports that may be right.
    fn raw(&mut self, u: &mut Unstructured<'_>) {
        let how = byte(u);
        let len = usize::from(how & 63).min(u.len());
        let raw = u.bytes(len).unwrap_or_default();
        let flow = &self.flows[usize::from(how >> 6)];
        let mut bytes = Vec::with_capacity(4 + len);
        if how & 32 == 0 {
            bytes.extend_from_slice(&flow.local_port.to_be_bytes());
            bytes.extend_from_slice(&flow.remote_port.to_be_bytes());
        }
        bytes.extend_from_slice(raw);
        let path = flow.path;
        fairwire_kit::reseal_bytes(&mut bytes, &path);
        self.launch(path, Ecn::NotEct, bytes);
    }

    /// Sends an earlier packet of the peer again, with at most one byte changed.
    fn again(&mut self, u: &mut Unstructured<'_>) {
        let (back, how) = (byte(u), byte(u));
        let Some((path, mut bytes)) = self.sent_back(usize::from(back)) else {
            return;
        };
        if how & 1 == 1 {
            let (place, value) = (usize::from(byte(u)), byte(u));
            let at = place + usize::from(how >> 6) * 256;
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
            if how & 2 != 0 {
                bytes.truncate(at);
            }
        }
        if how & 4 == 0 {
            fairwire_kit::reseal_bytes(&mut bytes, &path);
        }
        self.launch(path, Ecn::from_bits(how >> 3), bytes);
    }

    /// Sends a packet of the endpoint back to it, with its ports unchanged or swapped.
    fn reflect(&mut self, u: &mut Unstructured<'_>) {
        let (back, how) = (byte(u), byte(u));
        let Some(heard) = self.heard_back(usize::from(back)) else {
            return;
        };
        let (path, mut bytes) = (heard.path, heard.bytes.clone());
        if how & 1 == 0 && bytes.len() >= 4 {
            bytes.swap(0, 2);
            bytes.swap(1, 3);
        }
        fairwire_kit::reseal_bytes(&mut bytes, &path);
        self.launch(path, Ecn::from_bits(how >> 1), bytes);
    }

    /// Delivers an ICMP error that quotes a packet of the endpoint.
    fn icmp(&mut self, u: &mut Unstructured<'_>) {
        let (back, how, len) = (byte(u), byte(u), byte(u));
        let Some(heard) = self.heard_back(usize::from(back)) else {
            return;
        };
        let whys = [
            Unreachable::Port,
            Unreachable::Network,
            Unreachable::Host,
            Unreachable::HopLimit,
            Unreachable::NotPermitted,
            Unreachable::Prohibited,
            Unreachable::Protocol,
        ];
        let error = match how & 1 {
            0 => IcmpError::TooBig {
                mtu: pick(&[1_400, 1_280, 576, 575, 68, 0, u32::MAX, 1_499], how >> 1),
            },
            _ => IcmpError::Unreachable {
                why: pick(&whys, how >> 1),
            },
        };
        let mut head = heard.bytes.clone();
        head.truncate(usize::from(len & 127));
        if len & 128 != 0
            && let Some(byte) = head.get_mut(usize::from(how >> 4))
        {
            *byte ^= 1;
        }
        let (now, path) = (self.now, heard.path);
        let quote = IcmpQuote { error, head: &head };
        self.end.call(now, |end| end.handle_icmp(now, path, quote));
        self.listen();
    }

    /// Lets time pass, with timers handled when they are due.
    fn pass(&mut self, which: u8, u: &mut Unstructured<'_>) {
        match which {
            0..4 => {
                for _ in 0..=which {
                    let next = self.end.next_timeout().unwrap_or(self.now);
                    self.run_until(next);
                }
            }
            4 => self.run_for(Duration::from_millis(u64::from(byte(u)))),
            5 => self.run_for(Duration::from_micros(u64::from(byte(u)))),
            6 => self.run_for(Duration::from_secs(u64::from(byte(u)))),
            7 => self.run_for(Duration::from_secs(10 * 24 * 3_600)),
            8 => self.run_for(Duration::from_secs(240)),
            9 => self.run_for(Duration::from_secs(30)),
            _ => self.run_for(Duration::from_millis(u64::from(which) * 10)),
        }
    }

    /// Lets time pass without calling the endpoint.
    fn skip_timers(&mut self, which: u8) {
        let times = [
            Duration::from_nanos(1),
            Duration::from_millis(1),
            Duration::from_millis(250),
            Duration::from_secs(2),
            Duration::from_secs(60),
            Duration::from_secs(300),
            Duration::from_secs(86_400),
            Duration::from_secs(40_000_000),
        ];
        self.now += pick(&times, which);
        self.late = true;
    }

    fn finish(mut self) {
        let now = self.now;
        let mut application = Application::default();
        for id in self.end.ids() {
            application.read_all(&mut self.end, id, &mut self.ledger);
        }
        self.end.call(now, |end| end.unlisten(PORT));
        Watched::finish(self.end);
    }
}
