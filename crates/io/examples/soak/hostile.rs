//! Paths that fail, and a sender of junk.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::interval;

use fairwire::DccpAddr;

use crate::counts::Counts;
use crate::dice::Dice;
use crate::server::PORT;

/// Junk datagrams per second.
const JUNK_PER_S: u64 = 500;

/// A relay between a client and the server. To the server, its socket is the client's.
pub(crate) struct Relay {
    task: JoinHandle<()>,
    addr: SocketAddr,
    mute: Arc<AtomicBool>,
}

impl Relay {
    pub(crate) async fn start(server: DccpAddr) -> io::Result<Self> {
        let here = UdpSocket::bind("127.0.0.1:0").await?;
        let addr = here.local_addr()?;
        let mute = Arc::new(AtomicBool::new(false));
        let muted = Arc::clone(&mute);
        let task = tokio::spawn(async move {
            let mut buffer = vec![0; 2_048];
            let mut client = None;
            loop {
                let Ok((len, from)) = here.recv_from(&mut buffer).await else {
                    continue; // An ICMP error about a relayed datagram.
                };
                if muted.load(Ordering::Relaxed) {
                    continue;
                }
                let to = if from == server.addr {
                    client
                } else {
                    client = Some(from);
                    Some(server.addr)
                };
                if let Some(to) = to {
                    let _may_be_lost = here.send_to(&buffer[..len], to).await;
                }
            }
        });
        Ok(Self { task, addr, mute })
    }

    pub(crate) fn remote(&self) -> DccpAddr {
        DccpAddr {
            addr: self.addr,
            dccp_port: PORT,
        }
    }

    /// Stops relaying packets.
    pub(crate) fn mute(&self) {
        self.mute.store(true, Ordering::Relaxed);
    }

    /// Closes the socket, so that peers that send to it get ICMP errors.
    pub(crate) async fn close(mut self) {
        self.task.abort();
        let _cancelled = (&mut self.task).await;
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts a task that sends junk to the server: noise, and headers that are valid except for some bytes.
pub(crate) fn start(
    tasks: &mut JoinSet<()>,
    seed: u64,
    server: DccpAddr,
    counts: &Arc<Counts>,
    stop: &watch::Receiver<bool>,
) {
    let (counts, mut stop) = (Arc::clone(counts), stop.clone());
    let mut dice = Dice::new(seed, u64::MAX / 2);
    tasks.spawn(async move {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
        let mut every =
            interval(Duration::from_secs(1) / u32::try_from(JUNK_PER_S).expect("small"));
        loop {
            tokio::select! {
                _ = stop.wait_for(|&stopped| stopped) => return,
                _ = every.tick() => {}
            }
            let datagram = junk(&mut dice);
            let _may_be_lost = socket.send_to(&datagram, server.addr).await;
            counts.junk.fetch_add(1, Ordering::Relaxed);
        }
    });
}

/// Returns a datagram of at most 100 bytes.
fn junk(dice: &mut Dice) -> Vec<u8> {
    let len = usize::try_from(dice.below(100)).expect("small");
    let mut datagram: Vec<u8> = (0..len).map(|_| dice.byte()).collect();
    if dice.below(2) == 0 && len >= 24 {
        // Long sequence numbers, a port with a listener, and an existing packet type.
        datagram[2..4].copy_from_slice(&PORT.to_be_bytes());
        datagram[4] = 6;
        datagram[5] = 0;
        datagram[8] = u8::try_from(dice.below(10)).expect("small") << 1 | 1;
        // RFC 6773, 3.3: over UDP this field is not used.
        datagram[6..8].fill(0);
    }
    datagram
}
