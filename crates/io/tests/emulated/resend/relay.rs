//! Datagrams with options within DTLS, through a relay that loses what a test wants lost.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fairwire::emulated::net::LinkId;
use fairwire::emulated::{Host, Link, Socket};
use fairwire::tls::ClientConfig;
use fairwire::{
    ConnectError, ConnectOptions, Connection, DccpAddr, Endpoint, EndpointConfig, Fate,
    ListenOptions, Listener, Rate, Security, SendOptions, TrySendError,
};
use tokio::time::{Instant, sleep, timeout};

use super::resending;
use crate::{PORT, SERVICE, dtls, ms};

/// After the loss of one announcement of resending, `connect` and `accept` return within a second, and both ends can
/// send lost datagrams again.
#[tokio::test(start_paused = true)]
async fn a_lost_announcement_costs_little_time() {
    let mut times = Vec::new();
    for loser in [Sender::Client, Sender::Server] {
        let mut lost = false;
        let pair = Pair::new(EndpointConfig::default(), move |from, datagram| {
            let loses = from == loser && is_announcement(datagram) && !lost;
            lost |= loses;
            loses
        });
        let began = Instant::now();
        let (here, there) = tokio::join!(pair.connect(), pair.listener.accept());
        let (here, there) = (here.expect("it answers"), there.expect("it connects"));
        times.push(began.elapsed());
        let options = SendOptions::new().resend_within(ms(500));
        for (from, to) in [(&here, &there), (&there, &here)] {
            from.try_send_with("data", options).expect("agreed");
            assert_eq!(to.recv().await.expect("open").data, "data", "{loser:?}");
        }
    }
    assert!(times.iter().all(|time| *time < ms(1_000)), "{times:?}");
}

/// An end repeats the announcement of resending until the peer hears it, so that the peer can send lost datagrams again.
#[tokio::test(start_paused = true)]
async fn announcements_are_repeated() {
    let mut announced = [0; 2];
    let pair = Pair::new(EndpointConfig::default(), move |from, datagram| {
        if !is_announcement(datagram) {
            return false;
        }
        let number = &mut announced[from as usize];
        *number += 1;
        // The client's fifth arrives. Each of the server's would make the client answer, so only the first one arrives.
        match from {
            Sender::Client => *number < 5,
            Sender::Server => *number > 1,
        }
    });
    let Pair { listener, .. } = &pair;
    let (here, there) = tokio::join!(pair.connect(), listener.accept());
    let (_here, there) = (here.expect("it answers"), there.expect("it connects"));
    sleep(ms(2_500)).await;
    let options = SendOptions::new().resend_within(ms(500));
    let sent = there.try_send_with("data", options);
    assert!(sent.is_ok(), "{sent:?}: the server has heard nothing");
}

/// A datagram with options that was accepted after the path MTU had risen fits when it leaves, and arrives.
#[tokio::test(start_paused = true)]
async fn datagrams_fit_when_the_path_mtu_has_risen() {
    const NARROW: usize = 1_000;
    let largest = Arc::new(AtomicUsize::new(usize::MAX));
    let limit = Arc::clone(&largest);
    let pair = Pair::new(EndpointConfig::default(), move |_, datagram| {
        datagram.len() > limit.load(Ordering::Relaxed)
    });
    let (here, there) = tokio::join!(pair.connect(), pair.listener.accept());
    let (here, there) = (here.expect("it answers"), there.expect("it connects"));
    let wide = here.max_datagram_size();
    largest.store(NARROW, Ordering::Relaxed);
    assert!(here.rediscover_path_mtu());
    sleep(ms(60_000)).await;
    assert!(here.max_datagram_size() < NARROW, "the path is narrow");
    here.send("narrow").await.expect("there is room");
    assert_eq!(there.recv().await.expect("open").data, "narrow");
    largest.store(usize::MAX, Ordering::Relaxed);
    assert!(here.rediscover_path_mtu());
    sleep(ms(60_000)).await;
    assert_eq!(here.max_datagram_size(), wide, "the path is wide again");
    let options = SendOptions::new().priority(1);
    let id = here.send_with(vec![7; wide], options).await;
    let id = id.expect("it fits");
    let fate = async {
        loop {
            let (of, fate) = here.fate().await.expect("open");
            if of == id {
                return fate;
            }
        }
    };
    let fate = timeout(ms(5_000), fate).await.expect("it has one");
    assert_eq!(fate, Fate::Acknowledged);
    assert_eq!(there.recv().await.expect("open").data.len(), wide);
}

/// While the endpoint's memory is used up, `send_with` waits without using the processor. When there is room again, it
/// sends.
#[tokio::test(start_paused = true)]
async fn without_memory_it_waits_for_room() {
    // The memory that is left when a datagram no longer fits differs by 100 bytes from step to step. A datagram with
    // options needs 384 bytes more than a plain one. So in one step at least, a plain one would still fit.
    for step in 0..6 {
        let mut config = EndpointConfig::default();
        // Enough for a handshake of a client. One connection may use a sixteenth of what is left.
        config.max_memory = (512 << 10) + step * 16 * 100;
        let pair = Pair::new(config, |_, _| false);
        let both = async { tokio::join!(pair.connect(), pair.listener.accept()) };
        let (here, there) = timeout(ms(10_000), both).await.expect("they meet");
        let (here, _there) = (here.expect("it answers"), there.expect("it connects"));
        let network = pair.here.network();
        let set_up = |up| [0, 1].map(|link| network.set_up(LinkId(link), up));
        set_up(false);
        let options = SendOptions::new().priority(1);
        loop {
            match here.try_send_with("data", options) {
                Ok(_) => sleep(ms(1)).await,
                Err(TrySendError::Full) => break,
                Err(error) => panic!("{error}"),
            }
        }
        let queued = here.stats().queued_packets;
        assert!((1..100).contains(&queued), "the memory is the limit");
        let mut sending = pin!(here.send_with("data", options));
        let mut polls = 0;
        let counted = poll_fn(|context| {
            polls += 1;
            assert!(polls < 100, "step {step}: it spins");
            sending.as_mut().poll(context)
        });
        let waited = timeout(ms(100), counted).await;
        assert!(waited.is_err(), "step {step}: there is no room");
        set_up(true);
        let sent = timeout(ms(30_000), sending).await;
        sent.expect("there is room in time").expect("it is open");
    }
}

/// Who sent a datagram.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Sender {
    Client,
    Server,
}

/// A client, a server that listens, and the address of a relay between them.
struct Pair {
    here: Host,
    client: Endpoint,
    listener: Listener,
    relay: DccpAddr,
    security: ClientConfig,
}

impl Pair {
    /// Joins them by a link of 1 Mbit/s and 5 ms. The relay loses a datagram if `loses` says so.
    fn new(
        config: EndpointConfig,
        loses: impl FnMut(Sender, &[u8]) -> bool + Send + 'static,
    ) -> Self {
        let link = Link::new(Rate::from_bits_per_s(1_000_000), ms(5));
        let (a, b) = link.queue(ms(2_000)).hosts().expect("a link");
        let client = Endpoint::builder().config(config).bind_emulated(&a, 0);
        let server = b.bind(0).expect("a free port");
        let sockets = [0, 0].map(|port| b.socket(port).expect("a free port"));
        let relay = DccpAddr {
            addr: sockets[0].local_addr(),
            dccp_port: PORT,
        };
        tokio::spawn(pass_on(sockets, server.local_addr(), loses));
        let (security, theirs) = dtls();
        let options = ListenOptions::new().config(resending());
        let listener = server.listen_with(PORT, &[SERVICE], Security::dtls(theirs), options);
        Self {
            here: a,
            client: client.expect("a free port"),
            listener: listener.expect("a free port"),
            relay,
            security,
        }
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        let options = ConnectOptions::new().config(resending());
        let security = Security::dtls(self.security.clone());
        let connecting = self
            .client
            .connect_with(self.relay, SERVICE, security, options);
        connecting.await
    }
}

/// Passes datagrams on between a client and `server`, except those that it `loses`.
async fn pass_on(
    [front, back]: [Socket; 2],
    server: SocketAddr,
    mut loses: impl FnMut(Sender, &[u8]) -> bool,
) {
    let (mut one, mut other) = ([0; 1_500], [0; 1_500]);
    let mut client = None;
    loop {
        tokio::select! {
            biased; // A random order would make equal runs differ.
            arrival = front.recv_from(&mut one) => {
                client = Some(arrival.from);
                let datagram = &one[..arrival.len];
                if !loses(Sender::Client, datagram) {
                    back.send_to(datagram, server, arrival.ecn).expect("a route");
                }
            }
            arrival = back.recv_from(&mut other) => {
                let datagram = &other[..arrival.len];
                if let Some(client) = client && !loses(Sender::Server, datagram) {
                    front.send_to(datagram, client, arrival.ecn).expect("a route");
                }
            }
        }
    }
}

/// Returns what follows DCCP's header in a datagram (RFC 4340, section 5.1).
fn payload(datagram: &[u8]) -> &[u8] {
    &datagram[4 * usize::from(datagram[4])..]
}

/// Returns whether a datagram is an announcement of resending: a record of data (RFC 9147, section 4)
/// with 25 bytes (`docs/resend.md`), which nothing else here has.
fn is_announcement(datagram: &[u8]) -> bool {
    let payload = payload(datagram);
    payload.len() == 25 + 22 && payload[0] & 0b1110_0011 == 0b0010_0011
}
