//! Adversarial item 34: a manipulated packet of each type in each state (after SNAKE, Jero, Lee and Nita-Rotaru, DSN
//! 2015).
//!
//! A transfer in both directions opens, runs for three seconds and closes. An attacker on the path knows the states of
//! both ends. The attacker drops, copies, delays, reflects or changes packets that one end sends of one type in one
//! state: one of them, or all.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use fairwire_kit::{Dice, Instead, Pair, Wire, config_of, data, ms, reseal};
use fairwire_units::Duration;
use fairwire_wire::{PacketType, Seq};

use fairwire_proto::{CloseReason, ConnectionId, Event};

/// The Sequence Window of the transfer.
const WINDOW: u64 = 1_024;

/// The duration of the transfer after both ends are open.
const TRANSFER: Duration = Duration::from_secs(3);

/// A change of a sequence or acknowledgement number.
#[derive(Clone, Copy, Debug)]
enum Shift {
    Up(u64),
    Down(u64),
    Random,
}

const SHIFTS: [Shift; 5] = [
    Shift::Up(1),
    Shift::Down(1),
    Shift::Up(WINDOW),
    Shift::Down(WINDOW),
    Shift::Random,
];

/// What is done to a packet.
#[derive(Clone, Copy, Debug)]
enum Act {
    Drop,
    Duplicate,
    Delay(Duration),
    /// Sends it back to its sender only.
    Reflect,
    Seq(Shift),
    Ack(Shift),
    /// Inverts bits of one byte of the header and corrects the checksum.
    Byte(usize, u8),
    /// Sets the packet type to this number.
    Type(u8),
}

/// Returns all manipulations.
fn acts() -> Vec<Act> {
    let mut acts = vec![Act::Drop, Act::Duplicate, Act::Reflect];
    acts.extend([ms(30), ms(400)].map(Act::Delay));
    acts.extend(SHIFTS.map(Act::Seq));
    acts.extend(SHIFTS.map(Act::Ack));
    // Ports, Data Offset, CCVal and CsCov, checksum, type and X, reserved bytes, numbers, and what follows them:
    // Service Code, Reset Code and its data, or the first options.
    for at in 0..28 {
        acts.extend([Act::Byte(at, 0x01), Act::Byte(at, 0xF0)]);
    }
    acts.extend((0..16).map(Act::Type));
    acts
}

/// A set of packets: those of this side, in these states of both ends, of this type.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Place {
    from: usize,
    states: [&'static str; 2],
    packet_type: u8,
}

impl Place {
    fn of(wire: &Wire, states: [&'static str; 2]) -> Self {
        Self {
            from: wire.from,
            states,
            packet_type: wire.packet_type().number(),
        }
    }
}

/// Changes a big-endian number of six bytes.
fn shift(bytes: &mut [u8], shift: Shift, dice: &mut Dice) {
    let number = bytes.iter().fold(0, |n, &byte| n << 8 | u64::from(byte));
    let number = match shift {
        Shift::Up(by) => Seq::new(number).add(by),
        Shift::Down(by) => Seq::new(number).sub(by),
        Shift::Random => Seq::new(dice.next()),
    };
    bytes.copy_from_slice(&number.get().to_be_bytes()[2..]);
}

/// Returns the packets that replace `wire`; `None` if the manipulation does not apply to it.
fn manipulate(act: Act, wire: &Wire, dice: &mut Dice) -> Option<Vec<Instead>> {
    let to = 1 - wire.from;
    let mut wire = wire.clone();
    let untouched = wire.head.clone();
    let now = Duration::ZERO;
    match act {
        Act::Drop => return Some(Vec::new()),
        Act::Duplicate => return Some(vec![(to, now, wire.clone()), (to, now, wire)]),
        Act::Delay(later) => return Some(vec![(to, later, wire)]),
        Act::Reflect => {
            wire.head.copy_within(0..2, 4);
            let ports = [untouched[2], untouched[3], untouched[0], untouched[1]];
            wire.head[..6].copy_from_slice(&[&ports[..], &untouched[4..6]].concat());
            return Some(vec![(wire.from, now, wire)]);
        }
        Act::Seq(by) => shift(&mut wire.head[10..16], by, dice),
        Act::Ack(by) => {
            let has_ack = wire.packet_type().has_ack();
            let ack = wire.head.get_mut(18..24).filter(|_| has_ack)?;
            shift(ack, by, dice);
        }
        Act::Byte(at, bits) => *wire.head.get_mut(at)? ^= bits,
        Act::Type(number) => wire.head[8] = wire.head[8] & !0x1E | number << 1,
    }
    if wire.head == untouched {
        return None;
    }
    if !matches!(act, Act::Byte(6 | 7, _)) {
        let path = wire.transmit.path;
        reseal(&mut wire, &path);
    }
    Some(vec![(to, now, wire)])
}

/// The side that closes.
#[derive(Clone, Copy, Debug)]
enum Closer {
    Client,
    Server,
}

/// A manipulation and its place.
#[derive(Clone, Copy, Debug)]
struct Attack {
    place: Place,
    act: Act,
    /// The index of the only packet to attack there, or `None` for all of them.
    only: Option<u64>,
}

/// The result of a transfer.
#[derive(Debug, Default)]
struct Outcome {
    /// Datagrams received by both ends during the transfer.
    got: u64,
    /// Whether it ran for its whole time.
    survived: bool,
    reasons: Vec<CloseReason>,
    /// Whether there was a packet to attack.
    hit: bool,
    /// A description of state that should not be left.
    left: Option<String>,
    places: BTreeSet<Place>,
}

/// Runs a transfer under attack until both ends are gone, and reports what is left.
fn transfer(ccid: u8, closer: Closer, attack: Option<Attack>) -> Outcome {
    let mut config = config_of(ccid);
    config.send_queue.packets = 16;
    config.sequence_window = WINDOW;
    config.drain_timeout = ms(500).into();
    config.close_timeout = ms(500).into();
    let mut pair = Pair::new();
    pair.record = false;
    pair.bottleneck = Some((ms(5), 20));
    let (met, hits) = (
        Rc::new(RefCell::new(BTreeSet::new())),
        Rc::new(RefCell::new(0)),
    );
    let (places, count) = (Rc::clone(&met), Rc::clone(&hits));
    let mut dice = Dice::new(34);
    pair.tamper(move |wire, states| {
        let place = Place::of(wire, states);
        places.borrow_mut().insert(place);
        let attack = attack.filter(|attack| attack.place == place)?;
        *count.borrow_mut() += 1;
        let chosen = attack.only.is_none_or(|only| only == *count.borrow());
        chosen.then(|| manipulate(attack.act, wire, &mut dice))?
    });
    let client = pair.connect(config.clone(), config);
    let begun = pair.now;
    let mut outcome = Outcome::default();
    while pair.server.is_none() && pair.step(begun + Duration::from_secs(15)) {}
    if let Some(server) = pair.server {
        pump(&mut pair, [client, server], &mut outcome);
    }
    let gone = |pair: &Pair, side: usize| {
        let closed = |event: &Event| matches!(event, Event::Closed { .. });
        pair.told(side).iter().any(closed)
    };
    outcome.survived = pair.server.is_some() && !gone(&pair, 0) && !gone(&pair, 1);
    let ids = [Some(client), pair.server];
    let first = match closer {
        Closer::Client => 0,
        Closer::Server => 1,
    };
    for side in [first, 1 - first] {
        if let Some(id) = ids[side] {
            pair.ends[side].close(pair.now, id);
        }
        pair.run_for(Duration::from_secs(60));
    }
    // RFC 4340, 8.1.3: RESPOND lasts 4 MSL at most.
    pair.run_for(Duration::from_secs(400));
    outcome.left = let_go(&mut pair, &mut outcome.reasons);
    outcome.hit = *hits.borrow() > 0;
    outcome.places = met.take();
    outcome
}

/// Lets both ends send and read while the transfer runs.
fn pump(pair: &mut Pair, ids: [ConnectionId; 2], outcome: &mut Outcome) {
    let until = pair.now + TRANSFER;
    loop {
        for (side, id) in ids.into_iter().enumerate() {
            while pair.ends[side].can_send(id, 300) {
                let sent = pair.ends[side].send(pair.now, id, data(300));
                assert!(sent.is_ok(), "{sent:?}");
            }
            outcome.got += std::iter::from_fn(|| pair.ends[side].recv(id)).count() as u64;
        }
        pair.drain();
        if !pair.step(until) {
            break;
        }
    }
    pair.now = until;
}

/// Releases everything that has ended, and describes what is left after that.
fn let_go(pair: &mut Pair, reasons: &mut Vec<CloseReason>) -> Option<String> {
    for side in 0..2 {
        for (_, id, event) in std::mem::take(&mut pair.events[side]) {
            if let Event::Closed { reason } = event {
                reasons.push(reason);
                pair.ends[side].release(id);
            }
        }
        let end = &pair.ends[side];
        if end.ids().next().is_some() || end.endpoint_stats().connections > 0 {
            return Some(format!("side {side} is left in {:?}", pair.states()[side]));
        }
    }
    let next = pair.next();
    next.map(|at| format!("something would happen at {at}"))
}

/// Returns whether it is an orderly end, or a Reset that gives a reason.
fn is_clean(reason: &CloseReason) -> bool {
    matches!(
        reason,
        CloseReason::Closed | CloseReason::Reset { .. } | CloseReason::PeerError { .. }
    )
}

/// Returns what is wrong with an outcome, if anything.
fn complaint(attack: &Attack, outcome: &Outcome, usual: u64) -> Option<String> {
    if let Some(left) = &outcome.left {
        return Some(left.clone());
    }
    let share = outcome.got as f64 / usual as f64;
    if outcome.survived && share > 1.5 {
        return Some(format!("{share:.2} of the usual throughput"));
    }
    // An attacker who changes every packet of a kind can stop a transfer, or make it end by a timer.
    attack.only?;
    if outcome.survived && share < 0.5 {
        return Some(format!("{share:.2} of the usual throughput"));
    }
    // RFC 4340, 8.5, steps 4 and 10: only the Response tells the client the server's initial number. A client with a
    // wrong one gets no valid packet, and a timer ends it with Reset 2.
    let in_number = matches!(attack.act, Act::Seq(_) | Act::Byte(10..16, _));
    let misled = attack.place.packet_type == PacketType::Response.number() && in_number;
    let timed = |reason: &CloseReason| {
        misled && matches!(reason, CloseReason::IdleTimeout | CloseReason::CloseTimeout)
    };
    let unclean = outcome
        .reasons
        .iter()
        .find(|reason| !is_clean(reason) && !timed(reason));
    unclean.map(|reason| format!("ended as {reason:?}"))
}

/// Attacks every place of a transfer with every manipulation. Returns the number of runs and a line for each failure.
fn sweep(ccid: u8, closer: Closer) -> (u64, Vec<String>) {
    let plain = transfer(ccid, closer, None);
    assert!(plain.survived && plain.left.is_none(), "{plain:?}");
    assert!(plain.got > 400, "{plain:?}");
    let mut wrong = Vec::new();
    let mut runs = 0;
    for &place in &plain.places {
        let open = place.states == ["OPEN"; 2];
        let one = if open { 20 } else { 1 };
        for act in acts() {
            for only in [Some(one), None] {
                let attack = Attack { place, act, only };
                let outcome = transfer(ccid, closer, Some(attack));
                runs += 1;
                assert!(outcome.hit, "CCID {ccid} {closer:?} {attack:?}");
                if let Some(what) = complaint(&attack, &outcome, plain.got) {
                    let packet_type = PacketType::ALL
                        .into_iter()
                        .find(|t| t.number() == place.packet_type);
                    let packet_type = packet_type.map(|t| t.to_string()).unwrap_or_default();
                    wrong.push(format!(
                        "CCID {ccid} {closer:?} closes, {packet_type} {attack:?}: {what} {:?}",
                        outcome.reasons
                    ));
                }
            }
        }
    }
    (runs, wrong)
}

fn check(ccid: u8, closer: Closer) {
    let (runs, wrong) = sweep(ccid, closer);
    assert!(runs > 1_000, "{runs}");
    assert!(
        wrong.is_empty(),
        "{} of {runs}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Item 34, CCID 2: a manipulated packet neither stops nor speeds up the transfer, or a Reset gives the reason.
///
/// The throughput stays between half and one and a half times the usual. Even if all packets of a kind are manipulated,
/// nothing is left of the transfer in the end. The client closes.
#[test]
fn item_34_manipulated_packets_under_ccid_2() {
    check(2, Closer::Client);
}

/// Item 34: the same under CCID 3, where the server closes.
#[test]
fn item_34_manipulated_packets_under_ccid_3() {
    check(3, Closer::Server);
}
