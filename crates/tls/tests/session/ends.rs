//! Two endpoints of encrypted DCCP connections on a virtual clock, whose packets a test sees and may lose.

use std::collections::VecDeque;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use fairwire_proto::{
    CloseReason, Config, ConnectionId, Encapsulation, Endpoint, EndpointConfig, Event, Meta, Path,
    Payload, Received, Security, SendOptions,
};
use fairwire_tls::{ClientConfig, Dtls, Output, ServerConfig, Session};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{HeadBuf, ServiceCode};

use crate::net::{CLIENT, DELAY, SERVER, TODAY, identity};

pub(crate) const PORT: u16 = 5_001;
pub(crate) const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"test");

/// Returns whether a packet is lost. It gets the sender, the packet's number among those of its sender, and the packet.
pub(crate) type Loses = Box<dyn FnMut(usize, usize, &[u8]) -> bool>;

/// How packets are carried. Tests name addresses as those of UDP over IPv4.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Dress {
    Udp4,
    Udp6,
    /// Without UDP: host and port become the address of a host.
    Native,
}

impl Dress {
    pub(crate) fn dressed(self, plain: SocketAddr) -> SocketAddr {
        let SocketAddr::V4(v4) = plain else {
            panic!("{plain} is dressed");
        };
        let [_, _, _, host] = v4.ip().octets();
        let [high, low] = v4.port().to_be_bytes();
        match self {
            Self::Udp4 => plain,
            Self::Udp6 => {
                let ip = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, host.into());
                (ip, v4.port()).into()
            }
            Self::Native => ([10, host, high, low], 0).into(),
        }
    }

    /// Returns an address as tests name it.
    pub(crate) fn off(self, dressed: SocketAddr) -> SocketAddr {
        let (host, port) = match (self, dressed) {
            (Self::Udp6, SocketAddr::V6(v6)) => (v6.ip().octets()[15], v6.port()),
            (Self::Native, SocketAddr::V4(v4)) => {
                let [_, host, high, low] = v4.ip().octets();
                (host, u16::from_be_bytes([high, low]))
            }
            _ => return dressed,
        };
        ([127, 0, 0, host], port).into()
    }

    pub(crate) fn on(self, path: Path) -> Path {
        Path {
            encapsulation: match self {
                Self::Native => Encapsulation::Native,
                _ => Encapsulation::Udp,
            },
            local: self.dressed(path.local),
            remote: self.dressed(path.remote),
        }
    }
}

pub(crate) struct Both {
    pub(crate) dress: Dress,
    pub(crate) ends: [Endpoint; 2],
    pub(crate) ids: [Option<ConnectionId>; 2],
    pub(crate) security: [Arc<dyn Security>; 2],
    pub(crate) now: Instant,
    pub(crate) loses: Loses,
    pub(crate) sent: [Vec<Vec<u8>>; 2],
    pub(crate) events: [Vec<Event>; 2],
    pub(crate) read: [Vec<Received>; 2],
    /// Whether this end's application reads.
    pub(crate) reads: [bool; 2],
    pub(crate) on_the_way: VecDeque<(Instant, usize, Vec<u8>)>,
}

pub(crate) fn path(of: usize) -> Path {
    let address = |end: usize| {
        let port = 4_000 + u16::try_from(end).expect("two ends");
        ([127, 0, 0, 1], port).into()
    };
    Path {
        encapsulation: Encapsulation::Udp,
        local: address(of),
        remote: address(1 - of),
    }
}

pub(crate) fn config() -> Config {
    let mut config = Config::default();
    config.report_fates = true;
    config.resend = true;
    config
}

pub(crate) fn dtls() -> [Dtls; 2] {
    let identity = identity();
    let client = ClientConfig::pinned([identity.fingerprint()]);
    [
        Dtls::client(client, || TODAY),
        Dtls::server(ServerConfig::new(identity), || TODAY),
    ]
}

impl Both {
    pub(crate) fn new([client, server]: [Dtls; 2], config: Config) -> Self {
        Self::with_memory([client, server], config, EndpointConfig::default())
    }

    pub(crate) fn with_memory(dtls: [Dtls; 2], config: Config, endpoint: EndpointConfig) -> Self {
        Self::encrypted(dtls, [config.clone(), config], endpoint)
    }

    /// Both ends, each with its settings, before their handshake.
    pub(crate) fn encrypted(
        dtls: [Dtls; 2],
        configs: [Config; 2],
        endpoint: EndpointConfig,
    ) -> Self {
        Self::dressed(Dress::Udp4, dtls, configs, endpoint)
    }

    /// The same, with packets that are carried in another way.
    pub(crate) fn dressed(
        dress: Dress,
        dtls: [Dtls; 2],
        configs: [Config; 2],
        endpoint: EndpointConfig,
    ) -> Self {
        let mut ends = Self::between(dress, dtls, configs, endpoint);
        let (now, id) = (ends.now, ends.id(CLIENT));
        let security = Arc::clone(&ends.security[CLIENT]);
        ends.ends[CLIENT].secure(now, id, security);
        ends
    }

    /// The client's end does not encrypt.
    pub(crate) fn clear(dtls: [Dtls; 2], config: Config) -> Self {
        Self::begin(dtls, config, EndpointConfig::default())
    }

    pub(crate) fn begin(dtls: [Dtls; 2], config: Config, endpoint: EndpointConfig) -> Self {
        Self::between(Dress::Udp4, dtls, [config.clone(), config], endpoint)
    }

    fn between(
        dress: Dress,
        [client, server]: [Dtls; 2],
        [of_client, of_server]: [Config; 2],
        endpoint: EndpointConfig,
    ) -> Self {
        let mut ends = [
            Endpoint::new(EndpointConfig::default(), [1; 32]),
            Endpoint::new(endpoint, [2; 32]),
        ];
        let now = Instant::START + Duration::from_secs(5);
        ends[SERVER]
            .listen(PORT, &[SERVICE], of_server)
            .expect("a listener");
        let way = dress.on(path(CLIENT));
        let connected = ends[CLIENT].connect(now, way, None, PORT, SERVICE, of_client);
        let id = connected.expect("a connection");
        let security: [Arc<dyn Security>; 2] = [Arc::new(client), Arc::new(server)];
        Self {
            dress,
            ends,
            ids: [Some(id), None],
            security,
            now,
            loses: Box::new(|_, _, _| false),
            sent: [Vec::new(), Vec::new()],
            events: [Vec::new(), Vec::new()],
            read: [Vec::new(), Vec::new()],
            reads: [true; 2],
            on_the_way: VecDeque::new(),
        }
    }

    /// Both ends, with an encrypted connection.
    pub(crate) fn secured(config: Config) -> Self {
        Self::secured_over(
            Dress::Udp4,
            [config.clone(), config],
            EndpointConfig::default(),
        )
    }

    /// The same, with packets that are carried in another way, and each end with its settings.
    pub(crate) fn secured_over(
        dress: Dress,
        configs: [Config; 2],
        endpoint: EndpointConfig,
    ) -> Self {
        let mut ends = Self::dressed(dress, dtls(), configs, endpoint);
        ends.run_for(Duration::from_secs(3));
        for end in [CLIENT, SERVER] {
            assert!(
                ends.has(end, |event| matches!(event, Event::Secured)),
                "{end}"
            );
        }
        ends
    }

    pub(crate) fn has(&self, end: usize, is: impl Fn(&Event) -> bool) -> bool {
        self.events[end].iter().any(is)
    }

    pub(crate) fn closed(&self, end: usize) -> Option<&CloseReason> {
        self.events[end].iter().find_map(|event| match event {
            Event::Closed { reason } => Some(reason),
            _ => None,
        })
    }

    pub(crate) fn id(&self, end: usize) -> ConnectionId {
        self.ids[end].expect("a connection")
    }

    pub(crate) fn send(&mut self, end: usize, data: &[u8], options: SendOptions) {
        let (now, id) = (self.now, self.id(end));
        let payload = Payload::Bytes(Bytes::copy_from_slice(data));
        let queued = self.ends[end].send_with(now, id, payload, options);
        queued.expect("there is room");
    }

    pub(crate) fn data(&self, end: usize) -> Vec<Vec<u8>> {
        let read = self.read[end].iter();
        read.map(|read| read.payload.as_slice().to_vec()).collect()
    }

    pub(crate) fn serve(&mut self, end: usize) {
        let mut head = HeadBuf::new();
        loop {
            while let Some(packet) = self.ends[end].poll_transmit(self.now, &mut head) {
                let mut bytes = head.as_slice().to_vec();
                bytes.extend_from_slice(packet.payload.as_slice());
                let number = self.sent[end].len();
                let is_lost = (self.loses)(end, number, &bytes);
                self.sent[end].push(bytes.clone());
                if !is_lost {
                    self.on_the_way
                        .push_back((self.now + DELAY, 1 - end, bytes));
                }
            }
            let Some((id, event)) = self.ends[end].poll_event() else {
                break;
            };
            if matches!(event, Event::Accepted { .. }) {
                self.ids[end] = Some(id);
                let security = Arc::clone(&self.security[end]);
                self.ends[end].secure(self.now, id, security);
            }
            self.events[end].push(event);
        }
        if let Some(id) = self.ids[end].filter(|_| self.reads[end]) {
            while let Some(read) = self.ends[end].recv(id) {
                self.read[end].push(read);
            }
        }
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            for end in [CLIENT, SERVER] {
                self.serve(end);
            }
            let arrival = self.on_the_way.front().map(|(at, ..)| *at);
            let timers = [CLIENT, SERVER].map(|end| self.ends[end].next_timeout());
            let next = timers.into_iter().chain([arrival]).flatten().min();
            let Some(at) = next.filter(|&at| at <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(at);
            for end in [CLIENT, SERVER] {
                self.ends[end].handle_timeout(self.now);
            }
            while self
                .on_the_way
                .front()
                .is_some_and(|(at, ..)| *at <= self.now)
                && let Some((_, end, bytes)) = self.on_the_way.pop_front()
            {
                let meta = Meta {
                    path: self.dress.on(path(end)),
                    ecn: fairwire_units::Ecn::NotEct,
                };
                let none: &[u8] = &[];
                self.ends[end].handle_datagram(self.now, meta, &bytes, none);
            }
        }
    }
}

/// A client whose datagrams a test makes itself: the session, and its clear text connection.
pub(crate) struct Bare {
    pub(crate) ends: Both,
    pub(crate) session: Session,
    /// The datagrams of its session.
    pub(crate) said: Vec<Bytes>,
}

impl Bare {
    pub(crate) fn connected(config: Config) -> Self {
        let identity = identity();
        let pinned = ClientConfig::pinned([identity.fingerprint()]);
        let server = Dtls::server(ServerConfig::new(identity), || TODAY);
        let mut ends = Both::clear([Dtls::client(pinned.clone(), || TODAY), server], config);
        ends.run_for(Duration::from_secs(1));
        let session = Session::client(&pinned, 1_200, ends.now, TODAY).expect("a client");
        let mut bare = Self {
            ends,
            session,
            said: Vec::new(),
        };
        for _ in 0..50 {
            bare.turn();
        }
        assert!(bare.session.is_confirmed());
        bare
    }

    pub(crate) fn turn(&mut self) {
        for received in std::mem::take(&mut self.ends.read[CLIENT]) {
            let data = received.payload.as_slice();
            let handled = self.session.handle_datagram(self.ends.now, data);
            handled.expect("a good server");
        }
        while let Output::Send(datagram) = self.session.poll() {
            self.ends.send(CLIENT, &datagram, SendOptions::default());
            self.said.push(datagram);
        }
        self.ends.run_for(Duration::from_millis(50));
    }
}
