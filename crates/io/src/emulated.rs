//! Endpoints on a simulated network inside this process, to test an application (feature `emulated`).
//!
//! A [`Link`] describes what joins two endpoints: rate, delay, queue, losses, outages. [`Link::join`] returns the two
//! [`Endpoint`](crate::Endpoint)s. They take the ordinary calls, run the ordinary driver and speak the ordinary
//! protocol; only the socket and the operating system below them are replaced. The link is one of the simulator's
//! ([`net`]), the same that reruns papers.
//!
//! ```
//! use std::time::Duration;
//!
//! use fairwire::emulated::Link;
//! use fairwire::{Rate, Security, ServiceCode};
//!
//! const CAMERA: ServiceCode = ServiceCode::from_bytes(*b"?cam");
//!
//! #[tokio::main(flavor = "current_thread", start_paused = true)] // in a test: #[tokio::test(start_paused = true)]
//! async fn main() {
//!     // 2 Mbit/s, 20 ms in each direction, a queue of 200 ms, one packet in a hundred lost.
//!     let link = Link::new(Rate::from_bits_per_s(2_000_000), Duration::from_millis(20))
//!         .queue(Duration::from_millis(200))
//!         .loss(0.01)
//!         .seed(7);
//!     let (client, server) = link.join().expect("a runtime and a sensible link");
//!
//!     let listener = server.listen(5_001, &[CAMERA], Security::None).expect("a free port");
//!     let mut remote = fairwire::DccpAddr::from(server.local_addr());
//!     remote.dccp_port = 5_001;
//!     let connecting = client.connect(remote, CAMERA, Security::None);
//!     let (here, there) = tokio::join!(connecting, listener.accept());
//!     let (here, there) = (here.expect("it answers"), there.expect("it connects"));
//!     here.send("one frame").await.expect("open");
//!     assert_eq!(there.recv().await.expect("open").data, "one frame");
//! }
//! ```
//!
//! # More
//!
//! - [`Link::hosts`] returns the two hosts instead: bind any number of endpoints on each; they share the link.
//!   [`EndpointBuilder::bind_emulated`](crate::EndpointBuilder::bind_emulated) takes options. [`Host::network`] has
//!   counters, and cuts a link by hand ([`Network::set_up`]).
//! - [`Network::new`] takes any [`Topology`](net::Topology) of the simulator, with more hosts, routers and radio.
//! - [`Host::socket`] opens a plain datagram socket, on which another protocol can run over the same link. The link
//!   carries 28 bytes of IP and UDP headers with each datagram, of both kinds of sockets.
//!
//! # Time
//!
//! Time is tokio's. With a paused clock (`start_paused`) it jumps to the next timer when no task has anything to do, so
//! a minute takes milliseconds. With a running clock the link works in real time.
//!
//! A link computes times to the nanosecond. Tokio's timers have a granularity of one millisecond, so a datagram that
//! arrives between two ticks is readable at the next tick: up to 1 ms later, and never early. The rate over the link,
//! its queue and its order of packets are not affected. A sender that paces its packets sends those of one tick
//! together.
//!
//! # What is the same each time
//!
//! With a paused clock, a runtime of one thread (`current_thread`) and the same seed, everything is: losses, secrets of
//! endpoints, every byte and the time of every arrival. It needs an application that is deterministic, too:
//! `tokio::select!` without `biased` draws random numbers, a `HashMap` has a random order, and threads and real sockets
//! do not wait for tokio's clock.
//!
//! With DTLS, keys and signatures differ in each run. A signature has 70 to 72 bytes, so packets of the handshake
//! differ in length by a few bytes, and later arrivals by microseconds, or by one tick. Which packets the link loses
//! (by their number), its rate and its outages stay the same.
//!
//! # Limits
//!
//! Hosts have IPv4 addresses: 10.0.0.1 for node 0, 10.0.0.2 for node 1, and so on. Nothing sends ICMP errors, so a
//! closed port is found by a timeout. A datagram has at most [`MAX_DATAGRAM`] bytes. What a socket has not read is
//! bounded by [`RECEIVE_BUFFER`]; more is dropped, as in a real host. Certificates are checked with the real date.

mod error;
mod host;
mod link;
mod network;
mod port;
mod socket;
mod system;
mod wire;

pub use error::LinkError;
pub use fairwire_net as net;
pub use fairwire_units as units;
pub use host::Host;
pub use link::Link;
pub use network::Network;
pub use port::{Arrival, RECEIVE_BUFFER};
pub use socket::Socket;
pub use wire::MAX_DATAGRAM;
