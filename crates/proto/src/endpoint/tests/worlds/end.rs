//! The two ways in which every state must end: with a network that delivers everything, and with a silent peer.

use fairwire_units::{Duration, Instant};

use super::state::State;
use crate::CloseReason;
use crate::connection::{Connection, State as Phase};

/// The time within which all timers have expired.
///
/// RESPOND and PARTOPEN wait for 4 MSL (RFC 4340, 8.1.3 and 8.1.5), which is eight minutes. All other waits take less
/// than two minutes.
const LONGEST: Duration = Duration::from_secs(600);

/// The time after which two open ends that agree will agree for ever.
///
/// By then keep-alive has sent one Sync, and every pending Change and Ack has been sent.
const STABLE: Duration = Duration::from_secs(20);

/// The largest number of steps until the end.
///
/// The longest path is a PARTOPEN that never gets an answer: its Ack is repeated with back-off of up to 64 s.
const STEPS: usize = 600;

impl State {
    /// Delivers all packets in order from now on, and lets the timers expire.
    ///
    /// # Errors
    /// The two ends do not reach an agreed end.
    pub(super) fn settle(self) -> Result<(), String> {
        self.settle_watched(|_| ())
    }

    /// Does the same as [`Self::settle`], and calls `watch` with each state.
    pub(super) fn settle_watched(mut self, mut watch: impl FnMut(&Self)) -> Result<(), String> {
        let until = self.now + LONGEST;
        let mut agreed_since: Option<Instant> = None;
        for _ in 0..STEPS {
            watch(&self);
            let agrees = self.flight.is_empty() && self.is_agreed();
            agreed_since = agrees.then(|| agreed_since.unwrap_or(self.now));
            if agreed_since.is_some_and(|since| self.now.saturating_since(since) > STABLE) {
                return self.judge();
            }
            if !self.flight.is_empty() {
                self.arrive(0, false)?;
            } else if let Some((side, at)) = self.next_timer().filter(|&(_, at)| at <= until) {
                self.fire(side, at)?;
            } else {
                return self.judge();
            }
        }
        Err(format!(
            "no end after {STEPS} steps of a network that delivers everything, in {:?}",
            self.phases()
        ))
    }

    /// Runs one side alone; it receives nothing any more.
    ///
    /// # Errors
    /// One of its connections stays for ever (RFC 4340, 8.1.1, 8.1.3, 8.1.5 and 8.3: each state gives up).
    pub(super) fn fall_silent(mut self, side: usize) -> Result<(), String> {
        let until = self.now + LONGEST;
        for _ in 0..STEPS {
            self.flight.clear();
            if self.live(side).is_empty() {
                return self.judge_apps(side);
            }
            let at = self.sides[side].end.next_timeout();
            let Some(at) = at.filter(|&at| at <= until) else {
                break;
            };
            self.fire(side, at)?;
        }
        let phases = self.phases();
        Err(format!(
            "side {side} waits for ever for a silent peer, in {phases:?}"
        ))
    }

    /// Returns the connections of a side that are not closed.
    fn live(&self, side: usize) -> Vec<&Connection> {
        let all = self.sides[side].end.connections.iter();
        all.map(|(_, connection)| &**connection)
            .filter(|connection| !connection.is_closed())
            .collect()
    }

    /// Returns the states of all connections.
    pub(super) fn phases(&self) -> [Vec<Phase>; 2] {
        [0, 1].map(|side| self.live(side).iter().map(|c| c.state()).collect())
    }

    /// Returns whether both ends of one connection are open, with equal features, and neither is about to close.
    fn is_agreed(&self) -> bool {
        let (one, other) = (self.live(0), self.live(1));
        let ([one], [other]) = (one.as_slice(), other.as_slice()) else {
            return false;
        };
        let both_open = [one, other]
            .iter()
            .all(|end| end.state() == Phase::Open && !end.is_to_close());
        let [[local, remote], [there, back]] = [one.features_in_force(), other.features_in_force()];
        // RFC 4340, 6: each feature has one value, which both ends know.
        both_open && local == back && remote == there
    }

    /// Returns an error unless this is a good end.
    fn judge(&self) -> Result<(), String> {
        self.judge_apps(0)?;
        self.judge_apps(1)?;
        let nobody = self.live(0).is_empty() && self.live(1).is_empty();
        let apps = self.sides.iter().map(|side| &side.app);
        if self.is_agreed() {
            let told = |app: &super::app::App| app.live().is_some_and(|(_, known)| known.is_open);
            let asked = |app: &super::app::App| app.live().is_some_and(|(_, known)| known.asked);
            let secured =
                |app: &super::app::App| app.live().is_some_and(|(_, known)| known.is_secured);
            if self.world().is_encrypted && !apps.clone().all(secured) {
                return Err("open, and the sessions have not come about".into());
            }
            if !apps.clone().all(told) {
                return Err("an open connection that an application was not told of".into());
            }
            if apps.clone().any(asked) {
                return Err("open although an application has closed it".into());
            }
            return Ok(());
        }
        if !nobody {
            let what = self.describe_ends();
            return Err(format!("no agreed end: {what}"));
        }
        let reasons =
            apps.flat_map(|app| app.known.values().filter_map(|known| known.closed.as_ref()));
        reasons
            .into_iter()
            .try_for_each(|reason| self.judge_reason(reason))
    }

    /// Returns an error unless a connection may end for this reason when no more packets are lost.
    fn judge_reason(&self, reason: &CloseReason) -> Result<(), String> {
        let disturbed = self.world().is_disturbed();
        let (left, budget) = (self.left, self.budget);
        // After a server has answered the Close it forgets the connection (RFC 4340, 8.3: it is not in TIMEWAIT). An
        // old Request, copied or repeated, can then begin a connection that its client does not know, and that may end
        // by a timeout. If the Reset that answered the Close was lost too, this connection prevents an answer to the
        // client in CLOSING: Closes with the old numbers get Syncs (7.5.4), which are valid only when the client has
        // received nothing for a while. Its timeout may expire before.
        //
        // RFC 4340, 8.1.1, 8.1.5 and 8.3: a packet without an answer is repeated long before either end gives up.
        if left.late == budget.late && !self.ghosts {
            let repeats = match reason {
                CloseReason::CloseTimeout => !self.world().forgets(),
                CloseReason::ConnectTimeout | CloseReason::IdleTimeout => !disturbed,
                _ => false,
            };
            if repeats {
                return Err(format!("ended by {reason:?}: nothing was repeated in time"));
            }
        }
        // Nobody asked for an end. If an old Request comes late, RFC 4340 allows an end by a Reset.
        let nothing_late = left.timers == budget.timers && left.copies == budget.copies;
        if nothing_late && !disturbed && !is_a_timeout(reason) {
            return Err(format!("ended by {reason:?}, and nobody had asked for it"));
        }
        Ok(())
    }

    /// Returns an error unless each connection that an application knows is live or was reported as closed.
    fn judge_apps(&self, side: usize) -> Result<(), String> {
        let Some((id, _)) = self.sides[side].app.known.iter().find(|&(&id, known)| {
            known.closed.is_none() && self.sides[side].phase(id) == Phase::Closed
        }) else {
            return Ok(());
        };
        Err(format!("side {side} was not told that {id:?} is over"))
    }

    fn describe_ends(&self) -> String {
        let ends = [0, 1].map(|side| {
            let all = self.live(side).into_iter();
            all.map(|c| (c.state(), c.features_in_force()))
                .collect::<Vec<_>>()
        });
        format!("{ends:?}")
    }
}

/// Returns whether the reason is that an expected packet did not arrive.
fn is_a_timeout(reason: &CloseReason) -> bool {
    matches!(
        reason,
        CloseReason::ConnectTimeout | CloseReason::IdleTimeout
    )
}
