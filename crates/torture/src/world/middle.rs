//! The middlebox between the hosts: a NAT, all faults of the path, and attackers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use fairwire_net::{FlowId, NodeId, Packet};
use fairwire_proto::IcmpError;
use fairwire_units::{Duration, Ecn, Instant};

use super::attack;
use super::places::{address, at_ms, below};
use super::store::{Content, Parcel, Store};
use super::surgery::{covered, flip, flip_data, lie, seal, split};
use crate::dice::Dice;
use crate::plan::Plan;
use crate::plan::fault::{Fault, Harm, Incident, TimedIncident};
use crate::seen::Origin;

/// The number of old packets kept for replays.
const KEPT: usize = 64;

/// The state of a fault.
#[derive(Debug)]
struct AtWork {
    fault: Fault,
    dice: Dice,
    /// The number of packets that the current burst will still drop.
    burst: u32,
    /// The pairs of ports of which it has dropped a packet.
    dropped: BTreeSet<[u8; 4]>,
}

/// The middlebox.
#[derive(Debug)]
pub(super) struct Middle {
    plan: Arc<Plan>,
    node: NodeId,
    nodes: Vec<NodeId>,
    /// The current outside address of each host.
    outside: Vec<SocketAddr>,
    /// Former outside addresses.
    before: Vec<(SocketAddr, usize)>,
    aliases: u16,
    faults: Vec<AtWork>,
    moments: VecDeque<TimedIncident>,
    held: BTreeMap<(Instant, u64), Packet>,
    count: u64,
    ready: VecDeque<Packet>,
    old: Vec<(Parcel, Ecn)>,
    /// The latest head from each host to each other host.
    latest: BTreeMap<(usize, usize), Vec<u8>>,
    /// The latest head with data.
    latest_data: BTreeMap<(usize, usize), Vec<u8>>,
    healed: bool,
}

/// A packet that the middlebox handles.
struct InHand {
    parcel: Parcel,
    ecn: Ecn,
    delay: Duration,
    /// Copies of it, and other packets that are sent with it.
    also: Vec<(Parcel, Ecn, Duration)>,
    gone: bool,
}

impl Middle {
    pub(super) fn new(plan: &Arc<Plan>, node: NodeId, nodes: &[NodeId]) -> Self {
        let faults = plan.faults.iter().map(|fault| AtWork {
            dice: Dice::new(plan.seed, &format!("fault/{}", fault.id)),
            fault: fault.clone(),
            burst: 0,
            dropped: BTreeSet::new(),
        });
        let mut moments: Vec<TimedIncident> = plan
            .moments
            .iter()
            .filter(|m| is_mine(m))
            .cloned()
            .collect();
        moments.sort_by_key(|moment| moment.at_ms);
        Self {
            node,
            nodes: nodes.to_vec(),
            outside: (0..nodes.len())
                .map(|host| address(plan, host, 0))
                .collect(),
            before: Vec::new(),
            aliases: 0,
            faults: faults.collect(),
            moments: moments.into(),
            held: BTreeMap::new(),
            count: 0,
            ready: VecDeque::new(),
            old: Vec::new(),
            latest: BTreeMap::new(),
            latest_data: BTreeMap::new(),
            healed: false,
            plan: Arc::clone(plan),
        }
    }

    /// Ends all faults. The NAT then also accepts its old bindings.
    pub(super) fn heal(&mut self) {
        self.healed = true;
    }

    pub(super) fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store) {
        let mut parcel = store.take(packet.handle);
        let Some(from) = self.nodes.iter().position(|&node| node == packet.source) else {
            return;
        };
        let Some(to) = self.host_of(parcel.to) else {
            store.watch.fault("unknown destination");
            return;
        };
        if let Content::Dccp { head, .. } = &parcel.content {
            self.latest.insert((from, to), head.clone());
            if attack::is_data(head) {
                self.latest_data.insert((from, to), head.clone());
            }
        }
        // Outside the NAT the packet has these addresses.
        let inside = parcel.from;
        parcel.from = self.outside[from];
        parcel.to = address(&self.plan, to, 0);
        if parcel.from != inside && !self.plan.udp {
            seal(&mut parcel, false);
            damaged(&mut parcel);
        }
        let mut hand = InHand {
            parcel,
            ecn: packet.ecn,
            delay: Duration::ZERO,
            also: Vec::new(),
            gone: false,
        };
        self.harm(now, (from, to), &mut hand, store);
        for (parcel, ecn, delay) in hand.also {
            self.pass(now, parcel, ecn, delay, store);
        }
        if !hand.gone {
            if self.old.len() < KEPT {
                self.old.push((hand.parcel.clone(), hand.ecn));
            }
            self.pass(now, hand.parcel, hand.ecn, hand.delay, store);
        }
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Packet> {
        self.ready.pop_front()
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let held = self.held.first_key_value().map(|(&(at, _), _)| at);
        let moment = self.moments.front().map(|moment| at_ms(moment.at_ms));
        Instant::earliest([held, moment])
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, store: &mut Store) {
        while let Some(entry) = self.held.first_entry() {
            if entry.key().0 > now {
                break;
            }
            self.ready.push_back(entry.remove());
        }
        while let Some(moment) = self.moments.front().filter(|m| at_ms(m.at_ms) <= now) {
            let moment = moment.clone();
            self.moments.pop_front();
            self.happen(now, &moment, store);
        }
    }

    /// Returns the host with this outside address.
    fn host_of(&self, address: SocketAddr) -> Option<usize> {
        let known = self.outside.iter().position(|&outside| outside == address);
        let before = || self.before.iter().find(|(old, _)| *old == address);
        known.or_else(|| before().filter(|_| self.healed).map(|&(_, host)| host))
    }

    /// Forwards a parcel, possibly after a delay.
    fn pass(&mut self, now: Instant, parcel: Parcel, ecn: Ecn, delay: Duration, store: &mut Store) {
        let inside = |host: &usize| address(&self.plan, *host, 0) == parcel.to;
        let Some(host) = (0..self.nodes.len()).find(inside) else {
            return;
        };
        let len = match &parcel.content {
            Content::Dccp { head, payload } => head.len() + payload.len(),
            Content::Icmp { quote, .. } => 28 + quote.len(),
        };
        let packet = Packet {
            source: self.node,
            destination: self.nodes[host],
            flow: FlowId(0),
            wire_len: u32::try_from(len + below(&self.plan)).unwrap_or(u32::MAX),
            ecn,
            handle: store.put(parcel),
        };
        if delay.is_zero() {
            self.ready.push_back(packet);
        } else {
            self.count += 1;
            self.held.insert((now + delay, self.count), packet);
        }
    }

    /// Applies the faults on the packet's path to it.
    fn harm(
        &mut self,
        now: Instant,
        (from, to): (usize, usize),
        hand: &mut InHand,
        store: &mut Store,
    ) {
        for at_work in &mut self.faults {
            let fault = &at_work.fault;
            let here = if fault.outgoing { from } else { to };
            let active = at_ms(fault.from_ms) <= now && now < at_ms(fault.until_ms);
            if hand.gone || !active || fault.host != here {
                continue;
            }
            let hit = at_work.burst > 0 || at_work.dice.per_mille(u64::from(fault.per_mille));
            let env = Env {
                plan: &self.plan,
                old: &self.old,
                sender: address(&self.plan, from, 0),
                // The address by which the sender knows the receiver.
                receiver: self.outside[to],
            };
            if hit && happens(at_work, hand, &env) {
                store.watch.fault(at_work.fault.harm.name());
                let name = at_work.fault.harm.name();
                store
                    .watch
                    .note(now, from, format_args!("{name}: {:?}", hand.parcel.origin));
            }
        }
    }

    fn happen(&mut self, now: Instant, moment: &TimedIncident, store: &mut Store) {
        let host = moment.host;
        let mut dice = Dice::new(self.plan.seed, &format!("moment/{}", moment.id));
        let plan = Arc::clone(&self.plan);
        let to = address(&plan, host, 0);
        let peer = (host + 1 + dice.index(self.nodes.len() - 1)) % self.nodes.len();
        let mut parcels = Vec::new();
        match moment.what {
            Incident::Rebind => {
                self.aliases += 1;
                let outside = address(&plan, host, self.aliases);
                let old = std::mem::replace(&mut self.outside[host], outside);
                self.before.push((old, host));
            }
            Incident::IcmpLie { says, quote, count } => {
                let seen = self.latest.get(&(host, peer)).map(Vec::as_slice);
                let addresses = (to, self.outside[peer]);
                for _ in 0..count {
                    let what = (says, quote);
                    parcels.push(attack::false_icmp(&mut dice, addresses, what, seen));
                }
            }
            Incident::Inject {
                kind,
                count,
                on_path,
            } => {
                let like = self.latest.get(&(peer, host)).filter(|_| on_path);
                for _ in 0..count {
                    let addresses = (self.outside[peer], to);
                    let like = (kind, like.map(Vec::as_slice));
                    parcels.push(attack::forge(&mut dice, &plan, addresses, like));
                }
            }
            Incident::Row {
                hole,
                count,
                stated_us,
            } => {
                let addresses = (self.outside[peer], to);
                let like = self.latest_data.get(&(peer, host));
                let row = like.map(|like| {
                    let numbers = u64::from(hole) + 1..=u64::from(hole) + u64::from(count);
                    attack::row(&plan, addresses, like, numbers, stated_us)
                });
                parcels.extend(row.into_iter().flatten());
            }
            Incident::Flood { count, connection } => {
                let Some(of) = plan.connection(connection) else {
                    return;
                };
                for _ in 0..count {
                    parcels.extend(attack::forge_request(&mut dice, &plan, to, of));
                }
            }
            Incident::Restart { .. } | Incident::ClockStep { .. } | Incident::ClockRate { .. } => {}
        }
        let touched = parcels.len().max(1);
        for parcel in parcels {
            let delay = Duration::from_micros(dice.below(20_000));
            self.pass(now, parcel, Ecn::NotEct, delay, store);
        }
        for _ in 0..touched {
            store.watch.fault(moment.what.name());
        }
        store
            .watch
            .note(now, host, format_args!("{:?}", moment.what));
    }
}

/// Returns whether the middlebox, and not the host, performs this.
fn is_mine(moment: &TimedIncident) -> bool {
    !matches!(
        moment.what,
        Incident::Restart { .. } | Incident::ClockStep { .. } | Incident::ClockRate { .. }
    )
}

/// The environment of a fault.
struct Env<'a> {
    plan: &'a Plan,
    old: &'a [(Parcel, Ecn)],
    sender: SocketAddr,
    receiver: SocketAddr,
}

/// Records that the bytes of the parcel have changed.
fn damaged(parcel: &mut Parcel) {
    if let Origin::Genuine(packet) = parcel.origin {
        parcel.origin = Origin::Damaged(packet);
    }
}

/// Applies a fault to a packet. Returns false if it does not affect the packet.
fn happens(at_work: &mut AtWork, hand: &mut InHand, env: &Env<'_>) -> bool {
    let dice = &mut at_work.dice;
    let ms = Duration::from_millis;
    let random =
        |dice: &mut Dice, within| Duration::from_nanos(1 + dice.below(ms(within).as_nanos()));
    match at_work.fault.harm {
        Harm::Drop => hand.gone = true,
        Harm::DropFirst { kind } => {
            let Content::Dccp { head, .. } = &hand.parcel.content else {
                return false;
            };
            let ports = head.first_chunk().copied().unwrap_or_default();
            hand.gone = attack::packet_type(head) == Some(kind) && at_work.dropped.insert(ports);
            return hand.gone;
        }
        Harm::Burst { packets } => {
            at_work.burst = at_work.burst.checked_sub(1).unwrap_or(packets - 1);
            hand.gone = true;
        }
        Harm::Echo => {
            hand.gone = true;
            let parcel = echo(&hand.parcel, env);
            hand.also.push((parcel, hand.ecn, Duration::ZERO));
        }
        Harm::Refuse { why } => {
            hand.gone = true;
            tell(hand, env, attack::unreachable(why));
        }
        Harm::Narrow { mtu, told } => {
            if !is_too_large(&hand.parcel, mtu, env) {
                return false;
            }
            hand.gone = true;
            if told {
                tell(hand, env, IcmpError::TooBig { mtu: mtu.into() });
            }
        }
        Harm::Duplicate { copies, within_ms } => {
            for _ in 0..copies {
                let later = random(dice, within_ms);
                hand.also.push((hand.parcel.clone(), hand.ecn, later));
            }
        }
        Harm::Reorder { by_ms } => hand.delay += random(dice, by_ms),
        Harm::Delay { by_ms } => hand.delay += ms(by_ms),
        Harm::Mark if hand.ecn.is_capable() && hand.ecn != Ecn::Ce => hand.ecn = Ecn::Ce,
        Harm::Bleach if hand.ecn != Ecn::NotEct => hand.ecn = Ecn::NotEct,
        Harm::Unmark if hand.ecn == Ecn::Ce => hand.ecn = Ecn::Ect0,
        Harm::Mark | Harm::Bleach | Harm::Unmark => return false,
        Harm::SecondResponse { within_ms } => {
            let mut parcel = hand.parcel.clone();
            if !attack::next_response(&mut parcel, env.plan.udp) {
                return false;
            }
            let later = hand.delay + random(dice, within_ms);
            hand.also
                .push((parcel, hand.ecn, later.min(ms(crate::plan::MAX_DELAY_MS))));
        }
        Harm::Replay => {
            if env.old.is_empty() {
                return false;
            }
            let (parcel, ecn) = dice.pick(env.old);
            hand.also.push((parcel, ecn, random(dice, 10)));
        }
        harm => return change(harm, dice, hand, env),
    }
    // A delayed packet still arrives before the network is healed.
    hand.delay = hand.delay.min(ms(crate::plan::MAX_DELAY_MS));
    true
}

/// Returns the packet as an echo service sends it back.
fn echo(parcel: &Parcel, env: &Env<'_>) -> Parcel {
    let mut parcel = parcel.clone();
    (parcel.from, parcel.to) = (env.receiver, env.sender);
    // Its sender is not the endpoint that made it.
    parcel.origin = Origin::Forged;
    seal(&mut parcel, env.plan.udp);
    parcel
}

/// Returns whether a link with this MTU drops the packet.
fn is_too_large(parcel: &Parcel, mtu: u16, env: &Env<'_>) -> bool {
    let Content::Dccp { head, payload } = &parcel.content else {
        return false;
    };
    let size = below(env.plan) + head.len() + payload.len();
    size > usize::from(mtu) && parcel.dont_fragment
}

/// Sends the packet's sender an ICMP error.
fn tell(hand: &mut InHand, env: &Env<'_>, error: IcmpError) {
    let Content::Dccp { head, .. } = &hand.parcel.content else {
        return;
    };
    let parcel = Parcel {
        from: env.receiver,
        to: env.sender,
        origin: Origin::Forged,
        intact: true,
        dont_fragment: false,
        content: Content::Icmp {
            error,
            quote: head.clone(),
            genuine: true,
            about: env.receiver,
        },
    };
    hand.also.push((parcel, Ecn::NotEct, Duration::ZERO));
}

/// Applies a fault that changes bytes.
fn change(harm: Harm, dice: &mut Dice, hand: &mut InHand, env: &Env<'_>) -> bool {
    let Content::Dccp { head, payload } = &mut hand.parcel.content else {
        return false;
    };
    let covered = covered(head, payload.len());
    let mut repaired = true;
    match harm {
        Harm::Truncate => {
            let all = head.len() + payload.len();
            let keep = dice.index(all);
            payload.truncate(keep.saturating_sub(head.len()));
            head.truncate(keep);
            repaired = false;
        }
        Harm::FlipCovered => {
            if dice.index(head.len() + covered) < head.len() {
                flip(head, dice);
            } else {
                flip_data(payload, 0..covered, dice);
            }
            repaired = false;
        }
        Harm::FlipUncovered => {
            // The UDP checksum covers everything.
            if covered == payload.len() || env.plan.udp {
                return false;
            }
            let end = payload.len();
            flip_data(payload, covered..end, dice);
        }
        Harm::FlipHead => flip(head, dice),
        Harm::FlipData => {
            if payload.is_empty() {
                return false;
            }
            let end = payload.len();
            flip_data(payload, 0..end, dice);
        }
        Harm::Lie(what) => {
            if !lie(head, what, dice) {
                return false;
            }
        }
        _ => return false,
    }
    let payload: &Bytes = payload;
    let (new_head, new_payload) = split(head, payload);
    hand.parcel.content = Content::Dccp {
        head: new_head,
        payload: new_payload,
    };
    if repaired {
        seal(&mut hand.parcel, env.plan.udp);
    } else {
        hand.parcel.intact = false;
    }
    damaged(&mut hand.parcel);
    true
}
