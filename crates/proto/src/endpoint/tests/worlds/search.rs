//! A breadth-first search of a world, so that the first failure found is one of the shortest.
//!
//! An endpoint cannot be copied. A state is reached again from the beginning for each step that is possible in it,
//! which takes some ten microseconds. States that were already reached, with at least as much of the budget left, are
//! skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::fingerprint::Hash;
use super::state::State;
use super::world::{Action, Budget, FLIGHT, World};
use crate::connection::State as Phase;

/// The largest number of states. More would take more memory than a test should.
const MANY: usize = 5_000_000;

/// A state, and how it was reached.
struct Node {
    parent: u32,
    action: Action,
    /// The packets of this step that are lost, one bit each.
    lost: u8,
    sides: [Hash; 2],
}

/// The statistics of a search.
#[derive(Debug, Default)]
pub(super) struct Met {
    /// Different states. The same state with another budget counts again if that may lead further.
    pub(super) states: usize,
    pub(super) transitions: usize,
    /// States with too many packets in flight, which were checked but not followed.
    pub(super) crowded: usize,
    /// Different states of one side.
    pub(super) sides: usize,
    /// States from which the network delivered everything.
    pub(super) settled: usize,
    /// Steps of the longest path.
    pub(super) depth: usize,
    /// The largest number of packets in flight.
    pub(super) flight: usize,
    /// The largest number of packets that one step caused.
    pub(super) answers: usize,
    /// Pairs of connection states of the two sides.
    pub(super) phases: BTreeSet<[Option<Phase>; 2]>,
}

impl fmt::Display for Met {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            states,
            transitions,
            crowded,
            sides,
            settled,
            depth,
            flight,
            answers,
            phases,
        } = self;
        write!(
            f,
            "{states} states, {transitions} transitions, {depth} steps at most, {flight} packets in \
             flight and {answers} answers to one at most, {crowded} states crowded, {settled} settled, {sides} sides run with a silent peer, {} pairs of states of RFC 4340, 8.4",
            phases.len()
        )
    }
}

/// A failure, and the path to it.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) actions: Vec<Action>,
    pub(super) what: String,
    /// Whether it failed only while the network delivered everything.
    pub(super) settles: bool,
}

/// A search in progress.
struct Search<'a> {
    world: &'a World,
    budget: Budget,
    nodes: Vec<Node>,
    /// The remaining budgets with which each state was reached.
    seen: BTreeMap<Hash, Vec<Budget>>,
    /// Sides that were run alone, by side and hash.
    alone: BTreeSet<(usize, Hash)>,
    /// The next state of a side, by its hash and that of its input.
    ///
    /// Computing the hash of a side costs more than reaching the state, and many states share few sides.
    steps: BTreeMap<(Hash, Hash), Hash>,
    met: Met,
}

/// Runs `act`. A panic of the code under test becomes an ordinary failure.
fn guarded<T>(act: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// Returns the state that `actions` lead to.
pub(super) fn replay(world: &World, budget: Budget, actions: &[Action]) -> Result<State, String> {
    let mut state = State::begin(world, budget)?;
    for &action in actions {
        state.act(action)?;
    }
    Ok(state)
}

/// Searches all of `world` within `budget`.
pub(super) fn search(world: &World, budget: Budget) -> Result<Met, Failure> {
    let mut search = Search {
        world,
        budget,
        nodes: Vec::new(),
        seen: BTreeMap::new(),
        alone: BTreeSet::new(),
        steps: BTreeMap::new(),
        met: Met::default(),
    };
    search.run()?;
    search.met.states = search.nodes.len();
    search.met.sides = search.alone.len();
    Ok(search.met)
}

impl Search<'_> {
    fn run(&mut self) -> Result<(), Failure> {
        let first = State::begin(self.world, self.budget).map_err(|what| Failure {
            actions: Vec::new(),
            what,
            settles: false,
        })?;
        let sides = [first.hash_side(0), first.hash_side(1)];
        self.nodes.push(Node {
            parent: 0,
            action: Action::Pause,
            lost: 0,
            sides,
        });
        self.check(sides, &first, &[])?;
        let mut at = 0;
        while at < self.nodes.len() {
            assert!(at < MANY, "the world `{}` is too large", self.world.name);
            let mut path = self.path(at);
            let state = self.again(&path)?;
            let mut state = Some(state);
            for action in state.as_ref().map(State::actions).unwrap_or_default() {
                let here = match state.take() {
                    Some(here) => here,
                    None => self.again(&path)?,
                };
                path.push((action, 0));
                self.follow(at, here, &mut path)?;
                path.pop();
            }
            at += 1;
        }
        Ok(())
    }

    fn again(&self, path: &[(Action, u8)]) -> Result<State, Failure> {
        let mut state =
            State::begin(self.world, self.budget).map_err(|what| self.failure(path, what))?;
        for &(action, lost) in path {
            state
                .act(action)
                .map_err(|what| self.failure(path, format!("not the same again: {what}")))?;
            state.lose(lost);
        }
        Ok(state)
    }

    /// Returns the steps that lead to a node.
    fn path(&self, mut at: usize) -> Vec<(Action, u8)> {
        let mut path = Vec::new();
        while at > 0 {
            let node = &self.nodes[at];
            path.push((node.action, node.lost));
            at = node.parent as usize;
        }
        path.reverse();
        path
    }

    /// Takes the step `action` from node `from` in state `state`.
    ///
    /// It tries every choice of losses among the packets that the step causes.
    fn follow(
        &mut self,
        from: usize,
        mut state: State,
        path: &mut [(Action, u8)],
    ) -> Result<(), Failure> {
        let action = path[path.len() - 1].0;
        let input = state.input(action);
        self.met.transitions += 1;
        guarded(|| state.act(action)).map_err(|what| self.failure(path, what))?;
        self.met.answers = self.met.answers.max(state.answers);
        let mut sides = self.nodes[from].sides;
        if let Some((side, input)) = input {
            let hash = || state.hash_side(side);
            sides[side] = *self.steps.entry((sides[side], input)).or_insert_with(hash);
        }
        let most = u32::from(state.left.losses);
        let choices = 1_u8 << state.answers;
        // Losses change only the packets in flight and the remaining budget. Both are restored for the next choice.
        let (flight, left) = (state.flight.clone(), state.left);
        for lost in (0..choices).filter(|lost| lost.count_ones() <= most) {
            if let Some(last) = path.last_mut() {
                last.1 = lost;
            }
            if lost > 0 {
                self.met.transitions += 1;
                state.flight.clone_from(&flight);
                state.left = left;
                state.lose(lost);
            }
            self.arrive_at(from, (action, lost), &state, sides, path)?;
        }
        Ok(())
    }

    /// Adds a state that was reached, if it is new.
    fn arrive_at(
        &mut self,
        from: usize,
        (action, lost): (Action, u8),
        state: &State,
        sides: [Hash; 2],
        path: &[(Action, u8)],
    ) -> Result<(), Failure> {
        let left = state.left;
        let before = self.seen.entry(state.hash(sides)).or_default();
        if before.iter().any(|earlier| earlier.covers(left)) {
            return Ok(());
        }
        before.retain(|earlier| !left.covers(*earlier));
        before.push(left);
        self.met.depth = self.met.depth.max(path.len());
        self.met.flight = self.met.flight.max(state.flight.len());
        let crowded = state.flight.len() > FLIGHT;
        self.met.crowded += usize::from(crowded);
        if !crowded {
            self.nodes.push(Node {
                parent: u32::try_from(from).expect("a small world"),
                action,
                lost,
                sides,
            });
        }
        self.check(sides, state, path)
    }

    fn failure(&self, path: &[(Action, u8)], what: String) -> Failure {
        // The losses become separate steps.
        let mut actions = Vec::new();
        let mut state = State::begin(self.world, self.budget).ok();
        for &(action, lost) in path {
            actions.push(action);
            let Some(here) = &mut state else { continue };
            let done = guarded(|| here.act(action));
            if done.is_err() {
                state = None;
                continue;
            }
            for place in here.places(lost) {
                actions.push(Action::Lose(place));
            }
            here.lose(lost);
        }
        Failure {
            actions,
            what,
            settles: false,
        }
    }

    /// Checks what must hold in every state.
    fn check(
        &mut self,
        sides: [Hash; 2],
        state: &State,
        path: &[(Action, u8)],
    ) -> Result<(), Failure> {
        self.met
            .phases
            .insert(state.phases().map(|all| all.first().copied()));
        for (side, hash) in sides.into_iter().enumerate() {
            if self.alone.insert((side, hash)) {
                let here = self.again(path)?;
                guarded(|| here.fall_silent(side)).map_err(|what| self.failure(path, what))?;
            }
        }
        // From every other state the search itself continues to one of these without a loss.
        if state.is_last() {
            self.met.settled += 1;
            let here = self.again(path)?;
            guarded(|| here.settle()).map_err(|what| Failure {
                settles: true,
                ..self.failure(path, what)
            })?;
        }
        Ok(())
    }
}
