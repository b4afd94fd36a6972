//! Setting up DTLS on an open connection, serving its timer, and announcing its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time;

use fairwire_proto::{CloseReason, ConnectionId, Direction};
use fairwire_tls::{Fingerprint, Output, Session, SessionError};
use fairwire_units::Instant;

use super::{Connection, Inner};
use crate::clock::date;
use crate::error::{ConnectionClosed, DtlsRefusal, HandshakeError};
use crate::received::Received;
use crate::secure::{FRAME, KEPT, OVERHEAD, STILL_QUEUED, Secure, TAG};
use crate::security::Role;
use crate::state::{Control, Farewell, Handle, State, drops_oldest};
use crate::waiting::Place;

/// How long the peer has to say that it takes datagrams that are sent again, after the DTLS handshake.
const ANNOUNCEMENT_TIME: time::Duration = time::Duration::from_secs(2);

/// The length of the datagrams that memory is reserved for at first, in bytes: those of an Ethernet.
const COVERED: usize = 1_500;

/// How long a handshake waits for memory.
const MEMORY_TIME: time::Duration = time::Duration::from_secs(10);

/// How long nobody reads before the session's task does. A peer that waits for an acknowledgement asks for it every few
/// seconds by then, for some minutes.
const UNREAD_TIME: time::Duration = time::Duration::from_secs(1);

/// How often it is looked whether there is memory.
const MEMORY_TURN: time::Duration = time::Duration::from_millis(100);

/// DTLS on this connection.
impl Connection {
    /// Returns whether datagrams of this connection are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.inner.secure.get().is_some()
    }

    /// Returns the fingerprint of the peer's certificate, if the connection uses DTLS and the peer showed one.
    pub fn peer_fingerprint(&self) -> Option<Fingerprint> {
        self.inner.secure.get().and_then(|secure| secure.peer())
    }

    /// Returns the bytes that encryption adds to each datagram, and what lets it be sent again within DTLS.
    pub(super) fn overhead(&self) -> usize {
        match self.inner.secure.get() {
            None => 0,
            Some(secure) if secure.can_resend() => OVERHEAD + FRAME,
            Some(_) => OVERHEAD,
        }
    }

    /// Completes the reason of an end by what DTLS knows about it.
    pub(super) fn closed_for(&self, reason: CloseReason) -> ConnectionClosed {
        let mut closed = ConnectionClosed::of(reason);
        if let Some(secure) = self.inner.secure.get() {
            // Who does not read has not seen the announcement of the end yet.
            secure.keep_rest(&self.inner.handle, self.inner.id);
            closed.dtls = secure.failure();
            closed.is_authenticated = secure.is_end_announced();
        }
        closed
    }

    /// Sets up DTLS in `role`, if there is one, within `limit`. If that fails, the connection is reset.
    ///
    /// RFC 5238, 3.2: the DTLS handshake follows the one of DCCP, so its timer starts after it.
    pub(crate) async fn secure(
        &self,
        role: Option<Role>,
        limit: time::Duration,
        is_silent: &AtomicBool,
    ) -> Result<(), HandshakeError> {
        let Some(role) = role else { return Ok(()) };
        let shaking = async {
            // A client that says nothing costs no session.
            let first = match &role {
                Role::Client(_) => None,
                Role::Server(_) => Some(self.hear(is_silent).await?),
            };
            self.reserve_handshake(&role).await?;
            // A session is large, and every future that connects would be as large.
            let shaken = Box::pin(self.shake_hands(&role, first, is_silent)).await?;
            let secure = self.begin_session(shaken);
            self.confirmed(&secure).await?;
            Ok(secure)
        };
        let secured = tokio::time::timeout(limit, shaking).await;
        let secured = secured.unwrap_or_else(|_| {
            let is_silent = is_silent.load(Ordering::Relaxed);
            Err(HandshakeError::Timeout {
                after: limit,
                is_silent,
            })
        });
        let secure = secured.inspect_err(|error| {
            let Inner { handle, id, .. } = &*self.inner;
            handle.abort_with(*id, &for_peer(error));
        })?;
        let announced = async {
            while !secure.knows_about_resends() {
                secure.learnt.notified().await;
            }
        };
        let known = async {
            tokio::select! {
                biased; // A random order would make equal runs differ.
                () = announced => {}
                _ = self.closed() => {}
            }
        };
        // Without an answer nothing is sent again.
        let _ = tokio::time::timeout(ANNOUNCEMENT_TIME, Box::pin(known)).await;
        Ok(())
    }

    /// Counts the memory of a session at its worst, before there is one. It waits until there is memory: other
    /// handshakes give theirs back.
    async fn reserve_handshake(&self, role: &Role) -> Result<(), HandshakeError> {
        let Inner { handle, id, .. } = &*self.inner;
        let needed = role.handshake_memory();
        let reserved = async {
            while !handle.reserve_memory(*id, needed) {
                tokio::time::sleep(MEMORY_TURN).await;
            }
        };
        tokio::select! {
            biased; // A random order would make equal runs differ.
            () = reserved => Ok(()),
            () = tokio::time::sleep(MEMORY_TIME) => Err(HandshakeError::NoMemory { needed }),
            reason = self.closed() => Err(HandshakeError::Closed(self.closed_for(reason))),
        }
    }

    /// Begins to use a session whose handshake is complete at this end.
    fn begin_session(
        &self,
        (session, peer, last): (Session, Option<Fingerprint>, Option<Received>),
    ) -> Arc<Secure> {
        let Inner { handle, id, secure } = &*self.inner;
        let seals_late = drops_oldest(&handle.lock().proto, *id);
        // From here on it needs less, so there is room.
        let memory = session.memory(COVERED);
        handle.reserve_memory(*id, memory);
        let reserved = (COVERED, memory);
        let own = Secure::new(session, peer, self.tag(), seals_late, reserved);
        let own = Arc::new(own);
        own.begin(handle, *id, last.as_ref());
        handle.set_farewell(*id, Arc::clone(&own) as _);
        if secure.set(Arc::clone(&own)).is_ok() {
            tokio::spawn(serve(handle.clone(), *id, Arc::clone(&own)));
        }
        own
    }

    /// Waits until the peer is known to have all keys.
    ///
    /// A client that sends earlier may lose data that DCCP has acknowledged: while the end of the handshake is missing,
    /// the server cannot read it, and keeps little of it (RFC 9147, section 4.2.1, lets it keep nothing).
    async fn confirmed(&self, secure: &Secure) -> Result<(), HandshakeError> {
        let Inner { handle, id, .. } = &*self.inner;
        let confirmed = async {
            while !secure.is_confirmed() {
                secure.learnt.notified().await;
            }
        };
        let reason = tokio::select! {
            biased; // A random order would make equal runs differ.
            () = confirmed => return Ok(()),
            reason = self.closed() => reason,
        };
        let closed = self.closed_for(reason);
        // Another task may be decrypting what says so.
        let decrypted = |_: &mut State| (!secure.awaits_pushed()).then_some(());
        handle.wait(Place::Readable(*id), decrypted).await;
        // The data of a peer that has said all it had to say is for the application.
        if secure.is_confirmed() {
            return Ok(());
        }
        Err(match closed.dtls {
            Some(error) => HandshakeError::Dtls(error),
            None => HandshakeError::Closed(closed),
        })
    }

    /// Draws the tag for the peer's datagrams that are sent again, if both directions have agreed on that.
    fn tag(&self) -> Option<(Instant, [u8; TAG])> {
        let Inner { handle, id, .. } = &*self.inner;
        let state = handle.lock();
        let mut directions = [Direction::Send, Direction::Receive].into_iter();
        let agreed = directions.all(|direction| state.proto.allows_copies(*id, direction));
        drop(state);
        let mut tag = [0; TAG];
        (agreed && getrandom::fill(&mut tag).is_ok()).then(|| (handle.clock.now(), tag))
    }

    /// Waits for a datagram of the handshake.
    async fn hear(&self, is_silent: &AtomicBool) -> Result<Received, HandshakeError> {
        let received = self.receive_raw().await.map_err(HandshakeError::Closed)?;
        is_silent.store(false, Ordering::Relaxed);
        Ok(Received::of(received))
    }

    /// Does the handshake. `first` is a datagram that has arrived before.
    async fn shake_hands(
        &self,
        role: &Role,
        first: Option<Received>,
        is_silent: &AtomicBool,
    ) -> Result<(Session, Option<Fingerprint>, Option<Received>), HandshakeError> {
        let Inner { handle, id, .. } = &*self.inner;
        let began = handle.clock.now();
        // RFC 5238, 3.5: no record is larger than DCCP's maximum packet size.
        let max = self.max_datagram_size();
        let stats = handle.lock().proto.stats(*id);
        let rtt = stats.and_then(|stats| stats.srtt);
        let role = rtt.map_or_else(|| role.clone(), |rtt| role.on_path(rtt.into()));
        let session = match &role {
            Role::Client(config) => Session::client(config, max, began, date()),
            Role::Server(config) => Session::server(config, max, began, date()),
        };
        let mut session = session.map_err(HandshakeError::Start)?;
        let mut last = None;
        if let Some(first) = first {
            let handled = session.handle_datagram(began, &last.insert(first).data);
            self.last_words(&mut session, handled)?;
        }
        loop {
            loop {
                match session.poll() {
                    Output::Send(datagram) => self.send_raw(Control::Ready(datagram)).await?,
                    Output::Connected { peer } => return Ok((session, peer, last)),
                    Output::Closed => {
                        let closed = ConnectionClosed::of(CloseReason::Closed);
                        return Err(HandshakeError::Closed(closed));
                    }
                    Output::Data(_) => {}
                    Output::Idle => break,
                }
            }
            let now = handle.clock.now();
            // RFC 5238, 3.5: what DCCP learns of the path meanwhile counts, too.
            session.set_max_datagram(self.max_datagram_size());
            let waits = handle.has_control_queued(*id);
            session.set_waiting(now, waits);
            let wants = if waits {
                Some(now + STILL_QUEUED)
            } else {
                session.next_timeout()
            };
            tokio::select! {
                biased; // The timer comes first: a stream of datagrams must not keep it waiting.
                () = until(now, wants) => {
                    let handled = session.handle_timeout(handle.clock.now());
                    self.last_words(&mut session, handled)?;
                }
                received = self.hear(is_silent) => {
                    let received = last.insert(received?);
                    let now = handle.clock.now();
                    let handled = session.handle_datagram(now, &received.data);
                    self.last_words(&mut session, handled)?;
                }
            }
        }
    }

    /// Sends what a session that failed has still to say: an alert.
    fn last_words(
        &self,
        session: &mut Session,
        handled: Result<(), SessionError>,
    ) -> Result<(), HandshakeError> {
        let Err(error) = handled else { return Ok(()) };
        while let Output::Send(datagram) = session.poll() {
            let (handle, id) = (&self.inner.handle, self.inner.id);
            handle.send_control(id, Control::Ready(datagram));
        }
        Err(HandshakeError::Dtls(error))
    }

    /// Queues a datagram of the handshake, when there is room. RFC 5238, 3.3: congestion control applies to it too.
    async fn send_raw(&self, datagram: Control) -> Result<(), HandshakeError> {
        let Inner { handle, id, .. } = &*self.inner;
        let room = |state: &mut State| match state.connections.get(id) {
            Some(connection) => match connection.end() {
                Some(closed) => Some(Err(closed)),
                None if datagram.has_room(&state.proto, *id) => Some(Ok(())),
                None => {
                    state.proto.ask_for_room(*id);
                    None
                }
            },
            None => Some(Err(ConnectionClosed::of(CloseReason::Aborted))),
        };
        let room = handle.wait(Place::Writable(*id), room).await;
        room.map_err(HandshakeError::Closed)?;
        // What does not fit after all is lost, and DTLS repeats it.
        handle.send_control(*id, datagram);
        Ok(())
    }

    /// Announces the end inside the session (`close_notify`), when there is room in the send queue. What is queued leaves
    /// before it.
    ///
    /// RFC 5238, 3.4: the DTLS connection ends within the life of the DCCP connection, so this comes before the Close.
    pub(super) async fn announce_end(&self) {
        let Some(secure) = self.inner.secure.get() else {
            return;
        };
        // If the caller gives up waiting for room, the connection still closes.
        let closing = CloseOnDrop(self);
        let Inner { handle, id, .. } = &*self.inner;
        // Nobody waits longer for room than for the queue to drain.
        let limit = handle.drain_timeout(*id).unwrap_or_default();
        for datagram in Arc::clone(secure).announce_end() {
            let _ = tokio::time::timeout(limit, self.send_raw(datagram)).await;
        }
        drop(closing);
    }
}

/// Returns what a peer is told about a handshake that failed, from its point of view. Nobody protects these words.
fn for_peer(error: &HandshakeError) -> String {
    if let Some(refusal) = DtlsRefusal::of(error) {
        return refusal.text().to_owned();
    }
    match error {
        HandshakeError::Timeout { .. } => "DTLS: the handshake took too long".to_owned(),
        HandshakeError::Start(error) => format!("DTLS cannot begin at the other end: {error}"),
        HandshakeError::NoMemory { .. } => {
            "DTLS: the other end has no memory for another handshake; try again later".to_owned()
        }
        error => format!("DTLS: {error}"),
    }
}

/// Begins the close when it is dropped.
struct CloseOnDrop<'a>(&'a Connection);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.begin_close();
    }
}

/// Serves the timer of a session until the connection is over or has no handle.
///
/// While the session waits for an answer, this task reads for it, in case the application does not. It also reads if
/// nobody else does: the peer may have a new key, which has to be acknowledged. What it decrypts is kept for the
/// application.
async fn serve(handle: Handle, id: ConnectionId, secure: Arc<Secure>) {
    while !secure.is_over() {
        secure.say_rest(&handle, id);
        let wants = secure.next_timeout(&handle, id);
        tokio::select! {
            biased; // A random order would make equal runs differ.
            () = secure.changed.notified() => {}
            () = until(handle.clock.now(), wants), if wants.is_some() => {
                if wants.is_some_and(|at| at <= handle.clock.now()) {
                    secure.handle_timeout(&handle, id);
                }
            }
            is_pushed = push_next(&handle, id, &secure), if wants.is_some() && secure.kept() < KEPT => {
                if !is_pushed {
                    return;
                }
                secure.keep(&handle, id);
            }
            is_pushed = push_unread(&handle, id, &secure), if wants.is_none() => {
                if !is_pushed {
                    return;
                }
                secure.keep(&handle, id);
            }
        }
    }
}

/// Waits until a timer of DTLS expires; forever without one.
///
/// They are tens of milliseconds away at least, so the runtime's timer is exact enough. The driver's has a file
/// descriptor, which would be one for each connection: strangers could use up those of the process.
async fn until(now: Instant, at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep(at.saturating_since(now).into()).await,
        None => std::future::pending().await,
    }
}

/// Waits until nobody has read for a while and there is room for what is kept. Then does what [`push_next`] does.
async fn push_unread(handle: &Handle, id: ConnectionId, secure: &Secure) -> bool {
    loop {
        let before = secure.pushed();
        tokio::time::sleep(UNREAD_TIME).await;
        if secure.pushed() == before && secure.kept() < KEPT {
            return push_next(handle, id, secure).await;
        }
    }
}

/// Waits for a datagram and hands it to the session, to be kept; false at the end of the connection.
async fn push_next(handle: &Handle, id: ConnectionId, secure: &Secure) -> bool {
    let next = |state: &mut State| match state.proto.recv(id) {
        Some(received) => {
            secure.push(&mut state.proto, id, received);
            Some(true)
        }
        None => match state.connections.get(&id) {
            Some(connection) if connection.closed.is_none() => None,
            _ => Some(false),
        },
    };
    handle.wait(Place::Readable(id), next).await
}
