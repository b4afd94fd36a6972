//! The description of a small world: endpoints, scripts, budgets, and the possible steps.

use std::fmt;

use crate::{Config, Direction, EndpointConfig};

/// The largest number of packets in flight.
pub(super) const FLIGHT: usize = 4;

/// A call of an application. It makes the calls of its script in order, at any time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Call {
    Connect,
    /// Invites its client (RFC 5596).
    ListenTowards,
    /// Sends one datagram.
    Send,
    Close,
    Abort,
    ChangeCcid(Direction, u8),
    /// The host crashes and restarts with only its listener.
    Restart,
    /// Sets the number of places in the accept queue of the listener.
    SetRoom(usize),
    FreePlace,
}

impl Call {
    /// Returns whether it refers to the existing connection.
    pub(super) fn needs_connection(self) -> bool {
        matches!(
            self,
            Self::Send | Self::Close | Self::Abort | Self::ChangeCcid(..)
        )
    }

    /// Returns whether it ends connections or prevents new ones.
    pub(super) fn disturbs(self) -> bool {
        matches!(
            self,
            Self::Close | Self::Abort | Self::Restart | Self::SetRoom(0)
        )
    }
}

/// A step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Action {
    /// The packet in flight with this index arrives.
    Deliver(u8),
    /// A copy of it arrives, and it stays in flight.
    Copy(u8),
    Lose(u8),
    /// The next timer of this side expires; time advances to it.
    Timer(u8),
    /// The next call of this side's script.
    Call(u8),
    /// Time passes, [`super::state::PAUSE`].
    Pause,
}

const SIDES: [char; 2] = ['a', 'b'];

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Deliver(packet) => write!(f, "d{packet}"),
            Self::Copy(packet) => write!(f, "k{packet}"),
            Self::Lose(packet) => write!(f, "l{packet}"),
            Self::Timer(side) => write!(f, "t{}", SIDES[usize::from(side)]),
            Self::Call(side) => write!(f, "c{}", SIDES[usize::from(side)]),
            Self::Pause => f.write_str("p"),
        }
    }
}

impl Action {
    /// Parses the text that `Display` prints.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_at_checked(1)?;
        let side = || match rest {
            "a" => Some(0),
            "b" => Some(1),
            _ => None,
        };
        Some(match kind {
            "d" => Self::Deliver(rest.parse().ok()?),
            "k" => Self::Copy(rest.parse().ok()?),
            "l" => Self::Lose(rest.parse().ok()?),
            "t" => Self::Timer(side()?),
            "c" => Self::Call(side()?),
            "p" if rest.is_empty() => Self::Pause,
            _ => return None,
        })
    }
}

/// How often each kind of event may happen on one path through a world.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Budget {
    pub(super) losses: u8,
    pub(super) copies: u8,
    pub(super) timers: u8,
    /// Timers that expire although the other side's timer was due earlier, as on a slow host.
    pub(super) late: u8,
    pub(super) pauses: u8,
}

impl Budget {
    pub(super) const fn new(losses: u8, copies: u8, timers: u8, late: u8, pauses: u8) -> Self {
        Self {
            losses,
            copies,
            timers,
            late,
            pauses,
        }
    }

    /// Returns whether at least as much is left of everything.
    pub(super) fn covers(self, other: Self) -> bool {
        self.losses >= other.losses
            && self.copies >= other.copies
            && self.timers >= other.timers
            && self.late >= other.late
            && self.pauses >= other.pauses
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            losses,
            copies,
            timers,
            late,
            pauses,
        } = self;
        write!(
            f,
            "{losses} lost, {copies} copied, {timers} timers, {late} late, {pauses} pauses:"
        )
    }
}

/// The state in which the search begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Start {
    /// Nothing has happened; the scripts connect.
    Nothing,
    /// A connection is open at both sides, and idle.
    Open,
}

/// One world.
#[derive(Clone, Copy)]
pub(super) struct World {
    pub(super) name: &'static str,
    pub(super) start: Start,
    /// Whether side b listens for any client.
    pub(super) listens: bool,
    pub(super) scripts: [&'static [Call]; 2],
    /// Whether a connection may end by a Reset without a call that causes it.
    ///
    /// An example are Requests of both sides that cross (RFC 4340, 8.5, step 4).
    pub(super) collides: bool,
    /// Whether the applications encrypt their connections.
    pub(super) is_encrypted: bool,
    pub(super) host: fn() -> EndpointConfig,
    pub(super) config: fn() -> Config,
    /// The budgets, each for a separate search.
    pub(super) budgets: &'static [Budget],
    /// The budgets of a long run.
    pub(super) deep: &'static [Budget],
}

impl World {
    /// Returns whether a host forgets its connections.
    pub(super) fn forgets(&self) -> bool {
        let mut calls = self.scripts.iter().copied().flatten();
        calls.any(|&call| matches!(call, Call::Restart | Call::Abort))
    }

    /// Returns whether a connection may end by a Reset: an application ends it, a host forgets it, or Requests cross.
    pub(super) fn is_disturbed(&self) -> bool {
        self.collides
            || self
                .scripts
                .iter()
                .any(|script| script.iter().any(|call| call.disturbs()))
    }
}
