//! The encryption of a connection: its session, and what waits around it.

mod checks;
mod close_code;
mod copies;
mod early;
mod framing;

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use fairwire_units::{Duration, Instant};
use fairwire_wire::Seq;

use crate::id::DatagramId;
use crate::marks::Agreement;
use crate::part::Part;
use crate::payload::Payload;
use crate::records::Records;
use crate::security::{
    self, PathCheck, PathFacts, Rest, Security, SecurityError, Session, SessionOutput, SessionStage,
};
use copies::Copies;
use early::{Allowance, Early};

pub(crate) use copies::{Opened, TAG};
pub(crate) use early::{Arrived, Keeping, Kept};

/// The datagrams of the session that wait at most. It repeats what it loses.
const OUTBOX: usize = 64;

/// How often a session that waits for memory looks for some, and how long it waits: other handshakes give theirs back.
const MEMORY_TURN: Duration = Duration::from_millis(100);
const MEMORY_TIME: Duration = Duration::from_secs(10);

/// How long the peer has to say that it takes copies, after the handshake.
const ANNOUNCEMENT_TIME: Duration = Duration::from_secs(2);

/// The encryption of a connection.
#[derive(Debug)]
pub(crate) struct Secure {
    with: Arc<dyn Security>,
    stage: Stage,
    /// Datagrams of the session, which leave before those of the application.
    outbox: VecDeque<Payload>,
    outbox_bytes: usize,
    /// Whether the session was told that some wait.
    is_waiting: bool,
    /// The datagram that leaves next, if it was sealed already.
    made: Option<Made>,
    /// What this end calls the peer's datagrams that may be sent again.
    tag: [u8; TAG],
    copies: Option<Box<Copies>>,
    /// What came before the end of the handshake.
    early: Early,
    progress: Progress,
    /// Whether this end announced its end, and whether the peer did.
    is_closing: bool,
    is_end_announced: bool,
    failure: Option<SecurityError>,
    /// The last message about a path that arrived, until it is taken.
    check: Option<PathCheck>,
}

#[derive(Debug)]
enum Stage {
    /// There is no session yet.
    Awaited {
        /// If there was no memory for one: when to look again, and when to give up.
        memory: Option<(Instant, Instant)>,
    },
    Begun(Box<dyn Session>),
}

/// How far the peer is known to be.
#[derive(Clone, Copy, Debug)]
enum Progress {
    /// It has sent nothing.
    Silent,
    Heard,
    /// It has accepted this end and may lack the end of the handshake. So many of the application's datagrams may leave.
    Accepted(Allowance),
    /// It has all keys: it has said so, or has sent data. The application's datagrams wait until it says whether it takes
    /// copies, or until this time.
    Confirmed(Instant),
    /// The application's datagrams may leave.
    Ready,
}

/// A datagram that was sealed before its packet could leave.
#[derive(Debug)]
struct Made {
    id: DatagramId,
    payload: Payload,
    /// The number that it has within the session, if it may be sent again.
    first: Seq,
}

/// How a datagram is to be sealed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealing {
    pub(crate) id: DatagramId,
    /// The packet in which it leaves first.
    pub(crate) first: Seq,
    /// Whether it may be sent again or is a part, and whether it is a copy.
    pub(crate) is_framed: bool,
    pub(crate) is_copy: bool,
    pub(crate) part: Option<Part>,
}

/// What came of the wish to begin a session.
#[derive(Debug)]
pub(crate) enum Beginning {
    Begun,
    /// There is a session already, or none can begin yet.
    Not,
    /// There has been no memory for too long: this many bytes.
    NoMemory(usize),
    Failed(SecurityError),
}

impl Secure {
    pub(crate) fn new(with: Arc<dyn Security>, tag: [u8; TAG]) -> Self {
        Self {
            with,
            stage: Stage::Awaited { memory: None },
            outbox: VecDeque::new(),
            outbox_bytes: 0,
            is_waiting: false,
            made: None,
            tag,
            copies: None,
            early: Early::default(),
            progress: Progress::Silent,
            is_closing: false,
            is_end_announced: false,
            failure: None,
            check: None,
        }
    }

    pub(crate) fn security(&self) -> &dyn Security {
        self.with.as_ref()
    }

    pub(crate) fn session(&self) -> Option<&dyn Session> {
        match &self.stage {
            Stage::Begun(session) => Some(session.as_ref()),
            Stage::Awaited { .. } => None,
        }
    }

    fn begun(&mut self) -> Option<&mut Box<dyn Session>> {
        match &mut self.stage {
            Stage::Begun(session) => Some(session),
            Stage::Awaited { .. } => None,
        }
    }

    /// Begins the session, if it has not begun and `budget` has the memory for its handshake.
    pub(crate) fn begin(&mut self, now: Instant, facts: PathFacts, budget: usize) -> Beginning {
        let Stage::Awaited { memory } = &mut self.stage else {
            return Beginning::Not;
        };
        let needed = self.with.handshake_memory();
        if needed > budget {
            let until = memory.map_or(now + MEMORY_TIME, |(_, until)| until);
            *memory = Some((now + MEMORY_TURN, until));
            if now >= until {
                return Beginning::NoMemory(needed);
            }
            return Beginning::Not;
        }
        match self.with.begin(now, facts) {
            Ok(session) => {
                self.stage = Stage::Begun(session);
                Beginning::Begun
            }
            Err(error) => Beginning::Failed(error),
        }
    }

    /// Returns the most memory that the session holds, and what waits around it, in bytes.
    pub(crate) fn footprint(&self) -> usize {
        let session = self.session().map_or(0, Session::memory);
        let made = self.made.as_ref().map_or(0, |made| made.payload.len());
        let waiting = self.outbox_bytes + self.early.footprint() + made;
        session + waiting + size_of::<Self>() + size_of::<Copies>()
    }

    /// Notes that something arrived. Returns true the first time.
    pub(crate) fn note_arrival(&mut self) -> bool {
        let is_first = matches!(self.progress, Progress::Silent);
        if is_first {
            self.progress = Progress::Heard;
        }
        is_first
    }

    /// Notes that the peer has all keys.
    fn confirm(&mut self, now: Instant) {
        match self.progress {
            Progress::Silent | Progress::Heard => {
                self.progress = Progress::Confirmed(now + ANNOUNCEMENT_TIME);
            }
            Progress::Accepted(_) => self.progress = Progress::Ready,
            Progress::Confirmed(_) | Progress::Ready => {}
        }
    }

    pub(crate) fn set_max_datagram(&mut self, now: Instant, max_datagram: usize) {
        if let Some(session) = self.begun() {
            session.set_max_datagram(max_datagram);
        }
        let before = self.outbox.len();
        self.outbox.retain(|own| own.len() <= max_datagram);
        if self.outbox.len() != before {
            self.outbox_bytes = self.outbox.iter().map(Payload::len).sum();
            self.tell_waiting(now);
        }
    }

    /// Gives the session a datagram that arrived. Returns its data, unless that is to be polled, and what became of other
    /// data in it.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        datagram: &[u8],
        records: &mut Records,
    ) -> (Option<Bytes>, Rest) {
        let Some(session) = self.begun() else {
            return (None, Rest::Nothing);
        };
        let record = records.room(datagram.len());
        record.extend_from_slice(datagram);
        match session.open(now, record) {
            Ok(security::Opened { data, rest }) => {
                if data.is_some() {
                    self.confirm(now);
                }
                (data.map(|data| records.take(data)), rest)
            }
            Err(error) => {
                self.note(Err(error));
                (None, Rest::Nothing)
            }
        }
    }

    fn note(&mut self, result: Result<(), SecurityError>) {
        if let Err(error) = result {
            self.failure.get_or_insert(error);
            // Nothing leaves any more: an acknowledgement of its handshake would tell a peer that it is accepted.
            self.outbox.clear();
            self.outbox_bytes = 0;
            self.early = Early::default();
        }
    }

    /// Returns the next data of the peer, after everything that the session does besides.
    pub(crate) fn poll(&mut self, takes: Agreement, now: Instant) -> Option<Bytes> {
        while let Some(output) = self.begun()?.poll() {
            match output {
                SessionOutput::Send(_) if self.failure.is_some() => {}
                SessionOutput::Send(datagram) => self.queue(datagram),
                SessionOutput::Ready => {
                    let copies = || Box::new(Copies::new(now, self.tag, takes));
                    self.copies = takes.is_any().then(copies);
                }
                SessionOutput::Data(data) => {
                    self.confirm(now);
                    return Some(data);
                }
                SessionOutput::Closed => {
                    // What ends the session before its handshake is complete is not authentic.
                    if self.stage().is_complete() {
                        self.confirm(now);
                    }
                    self.is_end_announced = true;
                }
                SessionOutput::Check(check) => self.check = Some(check),
            }
        }
        None
    }

    fn queue(&mut self, datagram: Bytes) {
        if self.outbox.len() == OUTBOX {
            self.take_own();
        }
        self.outbox_bytes += datagram.len();
        self.outbox.push_back(datagram.into());
    }

    /// Reads data that the session has opened.
    pub(crate) fn read(&mut self, data: Bytes) -> Opened {
        match &mut self.copies {
            Some(copies) => copies.read(data),
            // Somebody on the path may have spoilt the negotiation of one side only.
            None => copies::read_without(data),
        }
    }

    /// Brings everything up to date after the session was polled. Returns true once: when datagrams of the application
    /// may leave.
    pub(crate) fn settle(&mut self, now: Instant, records: &mut Records) -> bool {
        if self.failure.is_some() {
            return false;
        }
        let stage = self.stage();
        if stage == SessionStage::Confirmed {
            self.confirm(now);
        }
        let due = match &mut self.copies {
            Some(copies) if !self.is_closing => copies.announce(now),
            _ => None,
        };
        if let Some(announcement) = due {
            match self.seal(now, &[&announcement], records) {
                Ok(record) => self.queue(record),
                Err(error) => self.note(Err(error)),
            }
        }
        self.tell_waiting(now);
        let knows = self.copies.as_ref().is_none_or(|copies| copies.is_ready());
        let next = match self.progress {
            Progress::Confirmed(at) if knows || at <= now => Progress::Ready,
            // Where datagrams may be sent again, all of them wait for what the peer says about that.
            Progress::Heard if stage == SessionStage::Accepted && self.copies.is_none() => {
                Progress::Accepted(Allowance::default())
            }
            _ => return false,
        };
        self.progress = next;
        true
    }

    fn stage(&self) -> SessionStage {
        self.session()
            .map_or(SessionStage::Handshake, Session::stage)
    }

    fn seal(
        &mut self,
        now: Instant,
        data: &[&[u8]],
        records: &mut Records,
    ) -> Result<Bytes, SecurityError> {
        let len: usize = data.iter().map(|part| part.len()).sum();
        let record = records.room(len + self.with.overhead());
        if let Some(session) = self.begun() {
            session.seal(now, data, record)?;
        }
        let len = record.len();
        Ok(records.take(0..len))
    }

    /// RFC 5238, 3.3: while the session's own datagrams wait, its timers stand still.
    fn tell_waiting(&mut self, now: Instant) {
        let waits = !self.outbox.is_empty();
        if self.is_waiting != waits
            && let Some(session) = self.begun()
        {
            session.set_waiting(now, waits);
            self.is_waiting = waits;
        }
    }

    /// Returns when the session is to be served.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        if self.failure.is_some() {
            return None;
        }
        let session = match &self.stage {
            Stage::Awaited { memory } => memory.map(|(again, _)| again),
            Stage::Begun(session) => session.next_timeout(),
        };
        let copies = self.copies.as_ref().filter(|_| !self.is_closing);
        let announces = copies.and_then(|copies| copies.next_timeout());
        let ready = match self.progress {
            Progress::Confirmed(at) => Some(at),
            _ => None,
        };
        Instant::earliest([session, announces, ready])
    }

    /// Serves the session's timer.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.failure.is_some() {
            return;
        }
        if let Some(session) = self.begun()
            && session.next_timeout().is_some_and(|at| at <= now)
        {
            let handled = session.handle_timeout(now);
            self.note(handled);
        }
    }

    /// Announces this side's end, once. Returns whether there is a session that can.
    pub(crate) fn announce_end(&mut self, now: Instant) -> bool {
        if !self.can_speak() {
            return false;
        }
        self.is_closing = true;
        self.made = None;
        let Some(session) = self.begun() else {
            return false;
        };
        session.close(now);
        true
    }

    /// Returns whether a datagram of the application that has `sealed` bytes may leave.
    #[inline]
    pub(crate) fn may_leave(&self, sealed: usize) -> bool {
        let has_room = match self.progress {
            Progress::Ready => true,
            Progress::Accepted(allowance) => allowance.has_room(sealed),
            _ => false,
        };
        // A peer that has announced its end reads nothing more.
        has_room && self.is_live() && !self.is_end_announced
    }

    /// Returns whether this end can still say something that the peer reads.
    pub(crate) fn can_speak(&self) -> bool {
        matches!(self.progress, Progress::Ready) && self.is_live()
    }

    fn is_live(&self) -> bool {
        !self.is_closing && self.failure.is_none()
    }

    /// Returns whether datagrams of the application have left, or may, while the peer may lack the end of the handshake.
    pub(crate) fn awaits_confirmation(&self) -> bool {
        self.allowance().is_some()
    }

    /// Returns whether some have left.
    pub(crate) fn has_unconfirmed(&self) -> bool {
        self.allowance().is_some_and(Allowance::is_used)
    }

    /// Returns what may still leave while the peer may lack the end of the handshake.
    fn allowance(&self) -> Option<Allowance> {
        match self.progress {
            Progress::Accepted(allowance) if self.is_live() && !self.is_end_announced => {
                Some(allowance)
            }
            _ => None,
        }
    }

    /// Returns the records that came before the end of the handshake.
    pub(crate) fn early(&mut self) -> &mut Early {
        &mut self.early
    }

    /// Tells the session that what it left last is not among them.
    pub(crate) fn forget_early(&mut self) {
        if let Some(session) = self.begun() {
            session.forget_early();
        }
    }

    /// Drops them.
    pub(crate) fn discard_early(&mut self) {
        self.early = Early::default();
    }

    /// Returns whether there are some, and they can be read.
    pub(crate) fn has_early(&self) -> bool {
        !self.early.is_empty() && self.stage().is_complete()
    }

    /// Removes and returns the first of them.
    pub(crate) fn take_early(&mut self) -> Option<Kept> {
        self.early.take()
    }

    /// Returns whether the peer announced its end.
    pub(crate) fn is_end_announced(&self) -> bool {
        self.is_end_announced
    }

    pub(crate) fn failure(&self) -> Option<&SecurityError> {
        self.failure.as_ref()
    }

    /// Notes that the session cannot go on.
    pub(crate) fn fail(&mut self, error: SecurityError) {
        self.note(Err(error));
    }

    /// Returns the datagram of the session that leaves next.
    #[inline]
    pub(crate) fn own(&self) -> Option<&Payload> {
        self.outbox.front()
    }

    pub(crate) fn own_len(&self) -> usize {
        self.outbox.len()
    }

    /// Removes the datagram of the session that leaves next.
    pub(crate) fn take_own(&mut self) -> Option<Payload> {
        let own = self.outbox.pop_front()?;
        self.outbox_bytes -= own.len();
        Some(own)
    }

    /// Removes the datagram of the session that leaves now.
    pub(crate) fn send_own(&mut self, now: Instant) -> Option<Payload> {
        let own = self.take_own();
        self.tell_waiting(now);
        own
    }

    /// Seals a datagram of the application, which leaves next, unless it is sealed. If that fails, so does the session.
    pub(crate) fn make(
        &mut self,
        now: Instant,
        data: &Payload,
        how: Sealing,
        records: &mut Records,
    ) {
        let is_made = self.made.as_ref().is_some_and(|made| made.id == how.id);
        if is_made || self.failure.is_some() {
            return;
        }
        let frame = match &self.copies {
            Some(copies) if how.is_framed => {
                copies.frame(how.first, how.is_copy, how.part.is_some())
            }
            _ => None,
        };
        let frame = frame.as_ref().map_or(&[][..], |frame| frame);
        let place = how.part.map(Part::bytes);
        let place = place.as_ref().map_or(&[][..], |place| place);
        match self.seal(now, &[frame, place, &data.carried()], records) {
            Ok(record) => {
                let payload = match *data {
                    Payload::Bytes(_) => Payload::Bytes(record),
                    Payload::Synthetic { len, tag, .. } => Payload::Synthetic {
                        len,
                        tag,
                        record: Some(Box::new(record)),
                    },
                };
                self.made = Some(Made {
                    id: how.id,
                    payload,
                    first: how.first,
                });
            }
            Err(error) => self.note(Err(error)),
        }
    }

    /// Returns the sealed form of the datagram that leaves next.
    pub(crate) fn made(&self, id: DatagramId) -> Option<&Payload> {
        let made = self.made.as_ref().filter(|made| made.id == id)?;
        Some(&made.payload)
    }

    /// Removes it; with the number that it has within the session.
    pub(crate) fn take_made(&mut self, id: DatagramId) -> Option<(Payload, Seq)> {
        let made = self.made.take().filter(|made| made.id == id)?;
        if let Progress::Accepted(allowance) = &mut self.progress {
            allowance.spend(made.payload.len());
        }
        Some((made.payload, made.first))
    }
}

pub(crate) use copies::unmistakable;
