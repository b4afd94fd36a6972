//! The DTLS session of a connection: between the application's calls and DCCP's queues.
//!
//! A connection has a session of its own behind a lock of its own. So encrypting and decrypting do not hold the lock of
//! the endpoint, and connections do not wait for each other. The exception is a datagram that others may overtake in
//! the send queue: it is encrypted when it leaves, by the endpoint's driver ([`Later`]). So where both locks are
//! needed, the endpoint's comes first, and a session that wants something from its connection says so as [`Wishes`].
//!
//! Received datagrams are decrypted in the order of their arrival, whichever threads read: a session refuses a record
//! that more than 63 later ones have overtaken (RFC 9147, section 4.5.1). So whoever takes datagrams out of DCCP's queue
//! hands them to the session under the endpoint's lock ([`Secure::push`]), and whoever then gets the session's lock
//! decrypts the oldest of them.

mod leaving;
mod resends;
mod sealed;

use std::collections::VecDeque;
use std::fmt;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use fairwire_proto::resend::Missing;
use fairwire_proto::{ConnectionId, Endpoint, Payload, SendOptions};
use fairwire_tls::{Fingerprint, Output, Session, SessionError};
use fairwire_units::{Duration, Instant};

use crate::received::Received;
use crate::state::{Control, Handle};
use crate::sync::{Mutex, MutexGuard, Notify};
use resends::{Frame, Opened, Resends, Taken, is_announcement, unescaped};
use sealed::Sealed;

pub(crate) use leaving::Later;
pub(crate) use resends::{FRAME, TAG, escape_len, unmistakable};

/// The bytes that DTLS adds to each datagram.
pub(crate) const OVERHEAD: usize = fairwire_tls::OVERHEAD;

/// How long the session's timer waits while datagrams are still in the send queue.
pub(crate) const STILL_QUEUED: Duration = Duration::from_millis(50);

/// The datagrams that are decrypted for an application that does not read. The others stay in DCCP's receive queue.
pub(crate) const KEPT: usize = 64;

/// The session of one connection, after the handshake.
pub(crate) struct Secure {
    inside: Mutex<Inside>,
    sealed: Sealed,
    /// The longest datagram that the reserved memory is for, and that memory, in bytes. They change under the endpoint's
    /// lock.
    covered: AtomicUsize,
    memory: AtomicUsize,
    /// Whether decrypted datagrams wait to be read. Tells it without the session's lock.
    has_opened: AtomicBool,
    /// Whether the last handle was dropped.
    is_over: AtomicBool,
    /// Whether datagrams may overtake others in the send queue, so that they are encrypted when they leave.
    seals_late: AtomicBool,
    /// Wakes the task that serves the session's timer.
    pub changed: Notify,
    /// Wakes the task that sets up the session, when it is confirmed or it is known whether datagrams can be sent again.
    pub learnt: Notify,
    peer: Option<Fingerprint>,
}

impl fmt::Debug for Secure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Secure");
        shown.field("peer", &self.peer).finish_non_exhaustive()
    }
}

struct Inside {
    session: Session,
    /// Decrypted datagrams that were not read yet.
    opened: VecDeque<Received>,
    /// DCCP sees no copies within DTLS, so each lost packet counts there although its datagram may arrive later.
    missing: Missing,
    /// Why the session ended, if it failed.
    failure: Option<SessionError>,
    /// Whether the peer announced its end (`close_notify`), so that nobody on the path can have cut the data short.
    is_end_announced: bool,
    /// Whether this side announced its end.
    is_closing: bool,
    /// Whether the peer is known to have all keys: it has said so, or has sent data.
    is_confirmed: bool,
    /// What the session wanted when a datagram was encrypted on leaving.
    unsaid: Wishes,
    /// What lets datagrams be sent again, if both ends are willing.
    resends: Option<Box<Resends>>,
}

/// What a session wants from its connection once the session's lock is released.
#[derive(Default)]
#[must_use]
struct Wishes {
    send: Vec<Bytes>,
    failure: Option<SessionError>,
}

impl Wishes {
    /// Adds what is wanted later; returns whether it was anything.
    fn add(&mut self, later: Self) -> bool {
        let is_any = !later.send.is_empty() || later.failure.is_some();
        self.send.extend(later.send);
        self.failure = self.failure.take().or(later.failure);
        is_any
    }

    fn carry_out(self, handle: &Handle, id: ConnectionId) {
        for datagram in self.send {
            // DTLS repeats what is lost, so a full queue may lose it.
            handle.send_control(id, Control::Ready(datagram));
        }
        if let Some(error) = self.failure {
            handle.abort_with(id, &format!("DTLS: {error}"));
        }
    }
}

/// Why a datagram could not be encrypted.
pub(crate) enum SealError {
    /// This side has announced its end, or the session failed.
    Closing,
    /// The datagram is larger than a record may be.
    TooLarge { max: usize },
}

impl Secure {
    /// `resends` is set if both ends are willing to send datagrams again: the time, and a tag that the peer cannot
    /// guess. `seals_late`: datagrams are encrypted when they leave, because others may overtake or replace them.
    /// `reserved` has the length of the datagrams that memory is reserved for, and that memory.
    pub(crate) fn new(
        session: Session,
        peer: Option<Fingerprint>,
        resends: Option<(Instant, [u8; TAG])>,
        seals_late: bool,
        reserved: (usize, usize),
    ) -> Self {
        let inside = Inside {
            session,
            opened: VecDeque::new(),
            missing: Missing::default(),
            failure: None,
            is_end_announced: false,
            is_closing: false,
            is_confirmed: false,
            unsaid: Wishes::default(),
            resends: resends.map(|(now, tag)| Box::new(Resends::new(now, tag))),
        };
        Self {
            inside: Mutex::new(inside),
            sealed: Sealed::default(),
            covered: AtomicUsize::new(reserved.0),
            memory: AtomicUsize::new(reserved.1),
            has_opened: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            seals_late: AtomicBool::new(seals_late),
            changed: Notify::new(),
            learnt: Notify::new(),
            peer,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what the session has to say after its handshake, and keeps data that came with the end of it.
    ///
    /// `last` is the datagram that completed the handshake.
    pub(crate) fn begin(&self, handle: &Handle, id: ConnectionId, last: Option<&Received>) {
        let mut inside = self.lock();
        let mut wishes = inside.poll(last);
        inside.announce(handle.clock.now(), &mut wishes);
        self.has_opened
            .store(!inside.opened.is_empty(), Ordering::Release);
        drop(inside);
        wishes.carry_out(handle, id);
    }

    /// Notes how a datagram is sent. Returns whether it has to be encrypted when it leaves, because others may overtake
    /// it.
    ///
    /// That is so from the first datagram with options on. Those that were queued before it keep their numbers.
    pub(crate) fn is_overtaken(&self, options: SendOptions) -> bool {
        if options != SendOptions::default() {
            self.seals_late.store(true, Ordering::Relaxed);
        }
        self.seals_late.load(Ordering::Relaxed)
    }

    /// Returns whether the peer is known to have all keys.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.lock().is_confirmed
    }

    /// Returns whether datagrams may be sent again.
    pub(crate) fn can_resend(&self) -> bool {
        let inside = self.lock();
        inside.resends.as_ref().is_some_and(|of| of.is_ready())
    }

    /// Returns whether it is known whether datagrams may be sent again.
    pub(crate) fn knows_about_resends(&self) -> bool {
        self.lock().knows_about_resends()
    }

    /// Returns the frame of a datagram that may be sent again; `None` if the peer does not take copies.
    pub(crate) fn frame(&self) -> Option<Frame> {
        self.lock().resends.as_mut()?.frame()
    }

    /// Returns the fingerprint of the peer's certificate, if it showed one.
    pub(crate) fn peer(&self) -> Option<Fingerprint> {
        self.peer
    }

    /// Returns whether decrypted datagrams wait to be read.
    pub(crate) fn has_opened(&self) -> bool {
        self.has_opened.load(Ordering::Acquire)
    }

    /// Returns why the session failed, if it did.
    pub(crate) fn failure(&self) -> Option<SessionError> {
        self.lock().failure.clone()
    }

    /// Returns whether the peer announced its end within the session.
    pub(crate) fn is_end_announced(&self) -> bool {
        self.lock().is_end_announced
    }

    /// Returns an error if a datagram of `size` bytes cannot be encrypted into one of at most `max_datagram` bytes, or
    /// not be sent again if it may have to be.
    pub(crate) fn check(&self, size: usize, max_datagram: usize) -> Result<(), SealError> {
        let mut inside = self.lock();
        inside.check(size, max_datagram)?;
        // It is encrypted later, and must fit then.
        inside.session.set_max_datagram(max_datagram);
        Ok(())
    }

    /// Encrypts one datagram, and sends what the session has to say meanwhile: a new key.
    pub(crate) fn seal(
        &self,
        handle: &Handle,
        id: ConnectionId,
        data: &[u8],
        max_datagram: usize,
    ) -> Result<Bytes, SealError> {
        let mut inside = self.lock();
        inside.check(data.len(), max_datagram)?;
        inside.session.set_max_datagram(max_datagram);
        let before = inside.next_timeout();
        let (sealed, wishes) = inside.seal(data);
        if inside.next_timeout() != before {
            self.changed.notify_one();
        }
        drop(inside);
        wishes.carry_out(handle, id);
        sealed.ok_or(SealError::Closing)
    }

    /// Sends what the session had to say when a datagram was encrypted on leaving.
    pub(crate) fn say_rest(&self, handle: &Handle, id: ConnectionId) {
        let rest = std::mem::take(&mut self.lock().unsaid);
        rest.carry_out(handle, id);
    }

    /// Hands over a datagram that was taken out of DCCP's queue. The endpoint's lock is held, and the caller decrypts
    /// one datagram for each that it pushes.
    ///
    /// A datagram that is longer than any before makes the session use more memory. If the endpoint has none left, its
    /// data is lost.
    pub(crate) fn push(
        &self,
        proto: &mut Endpoint,
        id: ConnectionId,
        mut raw: fairwire_proto::Received,
    ) {
        let (covered, memory) = (&self.covered, &self.memory);
        let (before, length) = (covered.load(Ordering::Relaxed), raw.payload.len());
        if length > before {
            let more = Session::memory_growth(before, length);
            let needed = memory.load(Ordering::Relaxed).saturating_add(more);
            if proto.reserve_memory(id, needed) {
                covered.store(length, Ordering::Relaxed);
                memory.store(needed, Ordering::Relaxed);
            } else {
                raw.payload = Payload::EMPTY;
            }
        }
        self.sealed.push(raw);
    }

    /// Returns how many datagrams were handed over; it wraps around.
    pub(crate) fn pushed(&self) -> usize {
        self.sealed.pushed()
    }

    /// Returns whether a datagram is about to be readable, so that the end of the connection is not the next to read.
    /// Then readers are woken when it is.
    pub(crate) fn awaits_pushed(&self) -> bool {
        self.sealed.wait_for_pending()
    }

    /// Returns the next datagram for the application, if there is one: decrypts the oldest that was pushed, unless
    /// another thread was faster.
    pub(crate) fn open(&self, handle: &Handle, id: ConnectionId) -> Option<Received> {
        self.decrypt(handle, id, VecDeque::pop_front)
    }

    /// Decrypts the oldest datagram that was pushed, while the application does not read, and keeps its data.
    pub(crate) fn keep(&self, handle: &Handle, id: ConnectionId) {
        self.decrypt(handle, id, |_| ());
    }

    /// Decrypts the oldest datagram that was pushed, answers it as DTLS requires, and returns what `read` takes of what
    /// the application can read now.
    fn decrypt<T>(
        &self,
        handle: &Handle,
        id: ConnectionId,
        read: impl FnOnce(&mut VecDeque<Received>) -> T,
    ) -> T {
        let mut inside = self.lock();
        let raw = self.sealed.pop();
        let is_any = raw.is_some();
        let wishes = raw.map(|raw| self.take(&mut inside, handle, &Received::of(raw)));
        let taken = read(&mut inside.opened);
        let has_opened = !inside.opened.is_empty();
        self.has_opened.store(has_opened, Ordering::Release);
        drop(inside);
        if is_any {
            let is_awaited = self.sealed.note_readable();
            if is_awaited || has_opened {
                handle.wake_readers(id);
            }
        }
        if let Some(wishes) = wishes {
            wishes.carry_out(handle, id);
        }
        taken
    }

    /// Decrypts what a connection that is over has left unread, and keeps its data. The announcement of the end may be
    /// among it.
    ///
    /// It stops once [`KEPT`] datagrams are kept: a peer may make each of many records, which take more memory decrypted.
    pub(crate) fn keep_rest(&self, handle: &Handle, id: ConnectionId) {
        let push_next = || {
            let mut state = handle.lock();
            let next = state.proto.recv(id);
            let is_any = next.is_some();
            if let Some(raw) = next {
                self.push(&mut state.proto, id, raw);
            }
            is_any
        };
        while self.kept() < KEPT && push_next() {
            self.keep(handle, id);
        }
    }

    /// Returns how many decrypted datagrams wait to be read.
    pub(crate) fn kept(&self) -> usize {
        self.lock().opened.len()
    }

    fn take(&self, inside: &mut Inside, handle: &Handle, raw: &Received) -> Wishes {
        inside.missing.add(raw.lost_before);
        if inside.failure.is_some() {
            return Wishes::default();
        }
        let (before, knew) = (inside.next_timeout(), inside.knows());
        let (opened, bad) = (inside.opened.len(), unreadable(&inside.session));
        let now = handle.clock.now();
        let taken = inside.session.handle_datagram(now, &raw.data);
        let mut wishes = inside.poll_after(taken, Some(raw));
        if inside.opened.len() == opened && unreadable(&inside.session) != bad {
            // Somebody on the path has changed it, or has put it there under a number of the peer's.
            inside.missing.miss(1);
        }
        inside.announce(now, &mut wishes);
        if inside.next_timeout() != before {
            self.changed.notify_one();
        }
        if inside.knows() != knew {
            self.learnt.notify_one();
        }
        wishes
    }

    /// Returns when the session wants to be served.
    ///
    /// RFC 5238, 3.3: while its own datagrams wait in the send queue, its timer stands still, so that it repeats
    /// nothing that has not left yet.
    pub(crate) fn next_timeout(&self, handle: &Handle, id: ConnectionId) -> Option<Instant> {
        let has_queued = handle.has_control_queued(id);
        let mut inside = self.lock();
        let now = handle.clock.now();
        inside.session.set_waiting(now, false);
        let wants = inside.next_timeout();
        if wants.is_some() && has_queued {
            inside.session.set_waiting(now, true);
            return Some(now + STILL_QUEUED);
        }
        let is_over = inside.failure.is_some() || inside.is_closing;
        wants.filter(|_| !is_over)
    }

    /// Serves the session's timer.
    pub(crate) fn handle_timeout(&self, handle: &Handle, id: ConnectionId) {
        let has_queued = handle.has_control_queued(id);
        let mut inside = self.lock();
        let now = handle.clock.now();
        let is_due = inside.session.next_timeout().is_some_and(|at| at <= now);
        let served = if is_due {
            inside.session.handle_timeout(now)
        } else {
            Ok(())
        };
        let mut wishes = inside.poll_after(served, None);
        if !has_queued {
            inside.announce(now, &mut wishes);
        }
        drop(inside);
        wishes.carry_out(handle, id);
    }

    /// Marks the session as over: no handle is left.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    /// Returns whether no handle is left.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// Returns how many datagrams had nothing new or genuine so far.
fn unreadable(session: &Session) -> u64 {
    let stats = session.stats();
    stats.forged.saturating_add(stats.dropped)
}

impl Inside {
    /// Ends the session. Returns the datagrams that tell the peer, the announcement itself last.
    fn say_end(&mut self) -> Vec<Bytes> {
        self.session.close();
        let mut said = Vec::new();
        loop {
            match self.session.poll() {
                Output::Send(datagram) => said.push(datagram),
                Output::Idle => return said,
                _ => {}
            }
        }
    }

    /// Returns the bytes that are added to each datagram: by DTLS, and by what lets it be sent again.
    fn overhead(&self) -> usize {
        let frames = self.resends.as_ref().is_some_and(|of| of.is_ready());
        if frames { OVERHEAD + FRAME } else { OVERHEAD }
    }

    fn knows_about_resends(&self) -> bool {
        let waits = |of: &Resends| !of.is_ready();
        self.failure.is_some() || !self.resends.as_deref().is_some_and(waits)
    }

    /// Returns what the task that sets up the session waits for.
    fn knows(&self) -> (bool, bool) {
        (self.is_confirmed, self.knows_about_resends())
    }

    fn next_timeout(&self) -> Option<Instant> {
        let announces = self.resends.as_ref().and_then(|of| of.next_timeout());
        let times = [self.session.next_timeout(), announces];
        times.into_iter().flatten().min()
    }

    /// Announces to the peer that its datagrams may be sent again, if that is due.
    fn announce(&mut self, now: Instant, wishes: &mut Wishes) {
        if self.failure.is_some() || self.is_closing {
            return;
        }
        let announcement = self.resends.as_mut().and_then(|of| of.announce(now));
        if let Some(said) = announcement {
            let (sealed, more) = self.seal(&said);
            wishes.send.extend(sealed);
            wishes.add(more);
        }
    }

    /// Returns what the application gets of decrypted data, if anything.
    fn taken(&mut self, data: Bytes) -> Option<Opened> {
        match &mut self.resends {
            Some(resends) => match resends.take(data) {
                Taken::Data(opened) => {
                    if opened.resent {
                        self.missing.recover();
                    }
                    Some(opened)
                }
                Taken::Late => {
                    self.missing.unrecover();
                    None
                }
                Taken::Nothing => None,
            },
            // Somebody on the path may have spoilt the negotiation of one side only.
            None if is_announcement(&data) => None,
            None => Some(Opened {
                data: unescaped(data),
                resent: false,
            }),
        }
    }

    fn check(&self, size: usize, max_datagram: usize) -> Result<(), SealError> {
        if self.is_closing || self.failure.is_some() {
            return Err(SealError::Closing);
        }
        // RFC 5238, 3: a record is whole in one packet. RFC 5238, 3.5: it is not larger than DCCP's maximum packet size
        // of now.
        let max = max_datagram.saturating_sub(self.overhead());
        if size > max {
            return Err(SealError::TooLarge { max });
        }
        Ok(())
    }

    /// Encrypts data. Returns what the session wants besides: a new key, or the end if it failed.
    fn seal(&mut self, data: &[u8]) -> (Option<Bytes>, Wishes) {
        let sealed = self.session.seal(data);
        let mut wishes = self.poll(None);
        if let Err(fairwire_tls::SealError::Failed(error)) = &sealed {
            wishes.failure = Some(error.clone());
            self.failure.get_or_insert_with(|| error.clone());
        }
        (sealed.ok(), wishes)
    }

    /// Takes what the session has to send, and keeps what it has decrypted.
    fn poll(&mut self, raw: Option<&Received>) -> Wishes {
        let mut wishes = Wishes::default();
        loop {
            match self.session.poll() {
                Output::Send(datagram) => wishes.send.push(datagram),
                Output::Data(data) => {
                    self.is_confirmed = true;
                    let Some(raw) = raw else { continue };
                    let Some(opened) = self.taken(data) else {
                        continue;
                    };
                    let lost_before = self.missing.take();
                    self.opened.push_back(Received {
                        data: opened.data,
                        resent: opened.resent,
                        lost_before,
                        ..raw.clone()
                    });
                }
                Output::Connected { .. } => {}
                Output::Closed => self.is_end_announced = true,
                Output::Idle => break,
            }
        }
        self.is_confirmed |= self.session.is_confirmed();
        wishes
    }

    /// Like [`poll`](Self::poll), after a call of the session, which may have failed. A failure ends the connection.
    fn poll_after(&mut self, call: Result<(), SessionError>, raw: Option<&Received>) -> Wishes {
        let mut wishes = self.poll(raw);
        if let Err(error) = call {
            wishes.failure = Some(error.clone());
            self.failure.get_or_insert(error);
        }
        wishes
    }
}
