//! The acts of the applications at a host: the script, and reactions to events.

use fairwire_proto::{
    Config, ConnectionId, Direction, Encapsulation, Event, Path, Payload, Resend, SendError,
    SendOptions,
};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{DropCode, Seq, ServiceCode};

use super::app::{Burst, Live, Reading, Stream};
use super::host::{Chore, Host};
use super::places::address;
use super::store::Store;
use crate::plan::ConnectionPlan;
use crate::plan::script::{Act, Entry, Side};
use crate::plan::settings::{ccids_of, config};
use crate::seen::{Call, Seen};

/// The service of all connections.
pub(super) const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"fair");

impl Host {
    /// Performs an entry of the script.
    pub(super) fn act(&mut self, now: Instant, entry: &Entry, store: &mut Store) {
        let Some(of) = self.plan.connection(entry.connection).cloned() else {
            return;
        };
        match (&entry.act, entry.side) {
            (Act::Open, side) => return self.open(now, &of, side, store),
            (Act::Unlisten, Side::Server) => {
                self.endpoint.unlisten(of.port());
                store
                    .watch
                    .note(now, self.number, format_args!("unlisten {}", of.port()));
                return;
            }
            _ => {}
        }
        let Some(&id) = self.newest.get(&(entry.connection, entry.side)) else {
            return;
        };
        *store.watch.tally.acts.entry(entry.act.name()).or_default() += 1;
        self.act_on(now, id, &entry.act, store);
    }

    fn act_on(&mut self, now: Instant, id: ConnectionId, act: &Act, store: &mut Store) {
        if self.live.contains_key(&id) && !self.act_in_application(now, id, act, store) {
            self.act_on_endpoint(now, id, act, store);
        }
    }

    /// Does the application's own part of an act. Returns whether that is all of it.
    fn act_in_application(
        &mut self,
        now: Instant,
        id: ConnectionId,
        act: &Act,
        store: &mut Store,
    ) -> bool {
        let local = self.clock.shows(now);
        let Some(live) = self.live.get_mut(&id) else {
            return true;
        };
        match *act {
            Act::Burst {
                count,
                size,
                oversize,
            } => {
                live.bursts.push_back(Burst {
                    size: size as usize,
                    left: count,
                    oversize,
                });
                self.burst(now, id, store);
                return true;
            }
            Act::Stream {
                count,
                size,
                every_us,
            } => {
                live.streams.push(Stream {
                    next: now,
                    every: Duration::from_micros(every_us),
                    size: size as usize,
                    left: count,
                });
                return true;
            }
            Act::SendWith(with) => {
                live.with = Some((with, 0));
                return true;
            }
            Act::Pause => live.reading = Reading::Never,
            Act::ReadEvery { every_ms: 0 } => {
                live.reading = Reading::AtOnce;
                self.read_all(now, id, store);
                return true;
            }
            Act::ReadEvery { every_ms } => {
                live.reading = Reading::Every {
                    next: now,
                    every: Duration::from_millis(every_ms),
                };
            }
            Act::ReportDropped => {
                if let Some(seq) = live.last_read {
                    let code = DropCode::ReceiveBuffer;
                    self.endpoint.report_dropped(local, id, seq, code);
                    self.called(now, Call::ReportDropped(id, seq), store);
                }
                return true;
            }
            _ => {}
        }
        false
    }

    /// Makes the call of an act.
    fn act_on_endpoint(&mut self, now: Instant, id: ConnectionId, act: &Act, store: &mut Store) {
        let local = self.clock.shows(now);
        self.call(local, id, act);
        let call = match act {
            Act::Close => Call::Close(id),
            Act::Discard => Call::Discard(id),
            Act::Abort => Call::Abort(id),
            Act::Abandon => Call::Abandon(id),
            Act::StopReading => Call::StopReading(id),
            Act::PathChanged => Call::PathChanged(id),
            Act::ChangeCcid { sending, wanted } => {
                let direction = if *sending {
                    Direction::Send
                } else {
                    Direction::Receive
                };
                let asked = self
                    .endpoint
                    .change_ccid(local, id, direction, &ccids_of(wanted));
                Call::ChangeCcid {
                    id,
                    sending: *sending,
                    wanted,
                    taken: asked.is_ok(),
                }
            }
            act => Call::Other(id, act.name()),
        };
        self.called(now, call, store);
    }

    /// Makes a call that returns nothing.
    fn call(&mut self, local: Instant, id: ConnectionId, act: &Act) {
        let endpoint = &mut self.endpoint;
        match *act {
            Act::Close => endpoint.close(local, id),
            Act::Discard => endpoint.discard(local, id),
            Act::Abort => endpoint.abort(local, id),
            Act::Abandon => endpoint.abandon(local, id),
            Act::StopReading => endpoint.stop_reading(local, id),
            Act::PathChanged => endpoint.path_changed(local, id),
            Act::LimitPathMtu { mtu } => endpoint.limit_path_mtu(local, id, mtu),
            Act::RediscoverPathMtu => {
                endpoint.rediscover_path_mtu(local, id);
            }
            Act::Purge => {
                endpoint.purge(local, id);
            }
            Act::Slow(slow) => endpoint.set_slow(local, id, slow),
            _ => {}
        }
    }

    fn called(&mut self, now: Instant, call: Call<'_>, store: &mut Store) {
        self.is_dirty = true;
        store.watch.see(now, self.number, &Seen::Call(call));
    }

    /// Opens the server's listeners at the beginning.
    pub(super) fn listen(&mut self, now: Instant, store: &mut Store) {
        let plan = std::sync::Arc::clone(&self.plan);
        for of in &plan.connections {
            if of.invited || of.server != self.number {
                continue;
            }
            let config = config(&of.server_settings);
            if self
                .endpoint
                .listen(of.port(), &[SERVICE], config.clone())
                .is_err()
            {
                continue;
            }
            if let Some(room) = of.room {
                self.endpoint
                    .set_accept_places(of.port(), usize::from(room));
            }
            let call = Call::Listen {
                port: of.port(),
                services: &[SERVICE],
                config: &config,
            };
            self.called(now, call, store);
        }
    }

    /// Opens a connection: the client connects, and the server invites or prepares.
    fn open(&mut self, now: Instant, of: &ConnectionPlan, side: Side, store: &mut Store) {
        let (first, peer) = match side {
            Side::Client => (of.client_first, of.server),
            Side::Server => (of.server_first, of.client),
        };
        // RFC 4340, 7.2: a later connection of the same flow continues the numbers of the earlier one, so set them only
        // once.
        let first = first.filter(|_| self.begun.insert((of.id, side)));
        self.endpoint.set_first_sequence(first.map(Seq::new));
        let remote = address(&self.plan, peer, 0);
        let path = Path {
            encapsulation: if self.plan.udp {
                Encapsulation::Udp
            } else {
                Encapsulation::Native
            },
            local: address(&self.plan, self.number, 0),
            remote,
        };
        match side {
            Side::Client => {
                let config = config(&of.client_settings);
                self.connect(now, of, (path, config), store);
                self.endpoint.set_first_sequence(None);
            }
            Side::Server if of.invited => {
                let config = config(&of.server_settings);
                self.invite(now, of, (path, config), store);
                self.endpoint.set_first_sequence(None);
            }
            // The number is for the next connection that arrives.
            Side::Server => {}
        }
    }

    fn connect(
        &mut self,
        now: Instant,
        of: &ConnectionPlan,
        (path, config): (Path, Config),
        store: &mut Store,
    ) {
        let local = self.clock.shows(now);
        let port = Some(of.client_port());
        let result = self
            .endpoint
            .connect(local, path, port, of.port(), SERVICE, config.clone());
        if let Ok(id) = result {
            self.begin(id, Live::new(of.id, Side::Client));
        }
        let call = Call::Connect {
            remote: path.remote,
            config: &config,
            result: result.as_ref().copied(),
        };
        self.called(now, call, store);
        if let Ok(id) = result {
            self.encrypt(now, id, of, Side::Client, store);
        }
    }

    fn invite(
        &mut self,
        now: Instant,
        of: &ConnectionPlan,
        (path, config): (Path, Config),
        store: &mut Store,
    ) {
        let local = self.clock.shows(now);
        let (port, remote) = (of.port(), of.client_port());
        let result =
            self.endpoint
                .listen_towards(local, path, port, remote, SERVICE, config.clone());
        if let Ok(id) = result {
            self.begin(id, Live::new(of.id, Side::Server));
        }
        let call = Call::Invite {
            remote: path.remote,
            config: &config,
            result: result.as_ref().copied(),
        };
        self.called(now, call, store);
        if let Ok(id) = result {
            self.encrypt(now, id, of, Side::Server, store);
        }
    }

    /// Encrypts a connection, if the plan says so.
    fn encrypt(
        &mut self,
        now: Instant,
        id: ConnectionId,
        of: &ConnectionPlan,
        side: Side,
        store: &mut Store,
    ) {
        if of.dtls
            && let Some(keys) = &mut self.keys
        {
            let security = keys.security(side);
            self.endpoint.secure(self.clock.shows(now), id, security);
            self.called(now, Call::Secure(id), store);
        }
    }

    fn begin(&mut self, id: ConnectionId, live: Live) {
        self.newest.insert((live.connection, live.side), id);
        self.live.insert(id, live);
    }

    /// Reads the endpoint's events and reacts as an application does. Returns true if there were any.
    pub(super) fn events(&mut self, now: Instant, store: &mut Store) -> bool {
        let mut any = false;
        while let Some((id, event)) = self.endpoint.poll_event() {
            any = true;
            let seen = Seen::Event { id, event: &event };
            store.watch.see(now, self.number, &seen);
            match event {
                Event::Accepted { port } => self.accepted(now, id, port, store),
                Event::Readable => {
                    let live = self.live.get(&id);
                    if live.is_some_and(|live| matches!(live.reading, Reading::AtOnce)) {
                        self.read_all(now, id, store);
                    }
                }
                Event::Writable => self.burst(now, id, store),
                Event::NotListening => {
                    if let Some(live) = self.live.get_mut(&id) {
                        live.stop_sending();
                    }
                }
                Event::Closed { .. } => self.closed(now, id, store),
                _ => {}
            }
        }
        any
    }

    fn accepted(&mut self, now: Instant, id: ConnectionId, port: u16, store: &mut Store) {
        self.endpoint.set_first_sequence(None);
        let plan = std::sync::Arc::clone(&self.plan);
        let mut connections = plan.connections.iter();
        let Some(of) = connections.find(|of| of.port() == port && of.server == self.number) else {
            return;
        };
        let (number, has_room) = (of.id, of.room.is_some());
        let is_the_clients = self
            .endpoint
            .addresses(id)
            .is_some_and(|(_, remote, _)| remote == of.client_port());
        let live = Live::new(number, Side::Server);
        if is_the_clients {
            self.begin(id, live);
        } else {
            self.live.insert(id, live);
        }
        if has_room {
            let at = now + Duration::from_millis(300);
            self.chores.push((at, Chore::FreePlace { id, port }));
        }
        self.encrypt(now, id, of, Side::Server, store);
    }

    fn closed(&mut self, now: Instant, id: ConnectionId, store: &mut Store) {
        let Some(live) = self.live.get_mut(&id) else {
            return;
        };
        live.stop_sending();
        live.is_closed = true;
        live.reading = Reading::AtOnce;
        self.read_all(now, id, store);
        let at = now + Duration::from_secs(1);
        self.chores.push((at, Chore::Release { id }));
    }

    /// Performs a chore whose time has come.
    pub(super) fn chore(&mut self, now: Instant, chore: Chore, store: &mut Store) {
        match chore {
            Chore::FreePlace { id, port } => {
                self.endpoint.free_place(self.clock.shows(now), port);
                self.called(now, Call::Other(id, "free place"), store);
            }
            Chore::Release { id } => {
                self.endpoint.release(id);
                self.live.remove(&id);
                self.newest.retain(|_, newest| *newest != id);
                self.called(now, Call::Release(id), store);
            }
        }
    }

    fn read_all(&mut self, now: Instant, id: ConnectionId, store: &mut Store) {
        while self.read(now, id, store) {}
    }

    /// Reads a datagram. Returns false if there was none.
    pub(super) fn read(&mut self, now: Instant, id: ConnectionId, store: &mut Store) -> bool {
        let Some(received) = self.endpoint.recv(id) else {
            return false;
        };
        self.is_dirty = true;
        store.watch.tally.datagrams_read += 1;
        if let Some(live) = self.live.get_mut(&id) {
            live.last_read = Some(received.seq);
        }
        let seen = Seen::Received {
            id,
            payload: received.payload.as_slice(),
            ecn: received.ecn,
            received: &received,
        };
        store.watch.see(now, self.number, &seen);
        true
    }

    /// Offers the datagrams of pending bursts until the queue is full.
    fn burst(&mut self, now: Instant, id: ConnectionId, store: &mut Store) {
        while let Some(live) = self.live.get_mut(&id)
            && let Some(burst) = live.bursts.front_mut()
        {
            let (size, oversize) = (burst.size, burst.oversize);
            if burst.left == 0 {
                live.bursts.pop_front();
                continue;
            }
            burst.left -= 1;
            match self.send(now, id, size, oversize, store) {
                Ok(())
                | Err(
                    SendError::TooLarge { .. }
                    | SendError::GroupBroken { .. }
                    | SendError::DeadlinePassed,
                ) => {}
                Err(SendError::Full) => break,
                Err(_) => {
                    if let Some(live) = self.live.get_mut(&id) {
                        live.stop_sending();
                    }
                }
            }
        }
    }

    /// Offers a datagram.
    pub(super) fn send(
        &mut self,
        now: Instant,
        id: ConnectionId,
        size: usize,
        oversize: bool,
        store: &mut Store,
    ) -> Result<(), SendError> {
        let most = self.endpoint.max_datagram_size(id).unwrap_or(size);
        let size = if oversize { size } else { size.min(most) };
        let data = store.watch.datagram(size);
        let local = self.clock.shows(now);
        let live = self.live.get_mut(&id);
        let mut options = live.map_or_else(SendOptions::default, |live| live.options(local));
        let sent = self.offer(now, id, &data, options, store);
        let refused = SendError::ResendNotAgreed;
        if sent == Err(refused) || matches!(sent, Err(SendError::ResendWithoutLosses { .. })) {
            options.resend = Resend::Never;
            return self.offer(now, id, &data, options, store);
        }
        sent
    }

    fn offer(
        &mut self,
        now: Instant,
        id: ConnectionId,
        data: &[u8],
        options: SendOptions,
        store: &mut Store,
    ) -> Result<(), SendError> {
        let payload = Payload::from(data.to_vec());
        let local = self.clock.shows(now);
        let result = self.endpoint.send_with(local, id, payload, options);
        let call = Call::Send {
            id,
            payload: data,
            options,
            result,
        };
        self.called(now, call, store);
        result.map(|_| ())
    }
}
