//! What a small world is made of: two endpoints, packets in flight, two applications, and what can
//! happen next.

use std::fmt;

use crate::{Config, Direction, EndpointConfig};

/// Packets in flight at most.
pub(super) const FLIGHT: usize = 4;

/// What an application does, in the order of its script, whenever it likes.
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
    /// The host crashes and comes back with nothing but its listener.
    Restart,
    /// The accept queue of the listener has so many places.
    SetRoom(usize),
    FreePlace,
}

impl Call {
    /// Is it about the connection that there is?
    pub(super) fn needs_connection(self) -> bool {
        matches!(
            self,
            Self::Send | Self::Close | Self::Abort | Self::ChangeCcid(..)
        )
    }

    /// Does it end connections, or keep them from beginning?
    pub(super) fn disturbs(self) -> bool {
        matches!(
            self,
            Self::Close | Self::Abort | Self::Restart | Self::SetRoom(0)
        )
    }
}

/// What happens next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Action {
    /// This packet of those in flight arrives.
    Deliver(u8),
    /// A copy of it arrives, and it stays in flight.
    Copy(u8),
    Lose(u8),
    /// The next timer of this side goes off; time jumps there.
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
    /// Reads what `Display` prints.
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

/// How often something may happen on one way through a world.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Budget {
    pub(super) losses: u8,
    pub(super) copies: u8,
    pub(super) timers: u8,
    /// Timers that go off although the other side's was due before: its host is slow.
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

    /// Is at least as much left of everything?
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

/// From where the search sets out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Start {
    /// Nothing has happened; the scripts connect.
    Nothing,
    /// A connection is open at both sides, and quiet.
    Open,
}

/// One world.
#[derive(Clone, Copy)]
pub(super) struct World {
    pub(super) name: &'static str,
    pub(super) start: Start,
    /// Side b listens for anybody.
    pub(super) listens: bool,
    pub(super) scripts: [&'static [Call]; 2],
    /// Who crossed the other's Request with one of its own is reset (RFC 4340, 8.5, step 4).
    pub(super) collides: bool,
    pub(super) host: fn() -> EndpointConfig,
    pub(super) config: fn() -> Config,
    /// Each is a search of its own.
    pub(super) budgets: &'static [Budget],
    /// Those of a long run.
    pub(super) deep: &'static [Budget],
}

impl World {
    /// Does a host forget its connections?
    pub(super) fn forgets(&self) -> bool {
        let mut calls = self.scripts.iter().copied().flatten();
        calls.any(|&call| matches!(call, Call::Restart | Call::Abort))
    }

    /// Does an application end the connection, or a host forget it, so that it may end by a Reset?
    pub(super) fn is_disturbed(&self) -> bool {
        self.collides
            || self
                .scripts
                .iter()
                .any(|script| script.iter().any(|call| call.disturbs()))
    }
}
