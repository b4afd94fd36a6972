//! ENet, by its Rust port: unreliable packets, without encryption and without congestion control.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use rusty_enet::{EventNoRef, Host, HostSettings, Packet};

use crate::board::{Board, stamped};
use crate::socket;
use crate::transport::{BATCH, Result};
use crate::works::{flow, game};

type Enet = Host<UdpSocket>;

/// How long a client waits for its connection.
const PATIENCE: Duration = Duration::from_secs(5);

fn host(peer_limit: usize) -> Result<Enet> {
    let settings = HostSettings {
        peer_limit,
        channel_limit: 1,
        ..HostSettings::default()
    };
    let host = Host::new(socket::bind()?, settings);
    host.map_err(|error| format!("{error:?}").into())
}

pub fn listen() -> Result<(Enet, SocketAddr)> {
    let host = host(game::CLIENTS)?;
    let addr = host.socket().local_addr()?;
    Ok((host, addr))
}

/// Connects, and waits for the answer.
pub fn connect(to: SocketAddr) -> Result<Enet> {
    let mut host = host(1)?;
    host.connect(to, 1, 0)?;
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Some(rusty_enet::Event::Connect { .. }) = host.service()? {
            return Ok(host);
        }
        wait(&[&host], Duration::from_millis(10))?;
    }
    Err("no answer from the server".into())
}

/// Waits until a datagram is there for one of the hosts, or until the time is over.
fn wait(hosts: &[&Enet], time: Duration) -> Result<()> {
    let mut polled: Vec<_> = hosts
        .iter()
        .map(|host| PollFd::new(host.socket().as_fd(), PollFlags::POLLIN))
        .collect();
    ppoll(&mut polled, Some(TimeSpec::from_duration(time)), None)?;
    Ok(())
}

/// Takes all that has arrived.
fn drain(host: &mut Enet, mut each: impl FnMut(&[u8])) -> Result<()> {
    while let Some(event) = host.service()? {
        if let EventNoRef::Receive { packet, .. } = event.no_ref() {
            each(packet.data());
        }
    }
    Ok(())
}

/// Counts what arrives.
pub fn receive(host: &mut Enet, board: &Board) -> Result<()> {
    loop {
        let mut count = 0;
        drain(host, |_| count += 1)?;
        board.received(count);
        wait(&[host], flow::TICK)?;
    }
}

/// Sends on the only connection, without pause or at a rate.
pub fn send(host: &mut Enet, rate: Option<u32>, board: &Board) -> Result<()> {
    let data = vec![0; flow::SIZE];
    let mut due = rate.map(flow::Due::at);
    loop {
        let count = due.as_mut().map_or(BATCH, flow::Due::now);
        for peer in host.connected_peers_mut() {
            for _ in 0..count {
                peer.send(0, &Packet::unreliable(&data[..]))
                    .map_err(|error| format!("{error:?}"))?;
            }
        }
        board.sent(count as u64);
        host.flush();
        drain(host, |_| {})?;
        if due.is_some() {
            wait(&[host], flow::TICK)?;
        }
    }
}

/// Plays on these hosts: each sends to all of its peers once a tick. The hosts take turns within it.
pub fn play(mut hosts: Vec<Enet>, board: &Board) -> Result<()> {
    let begun = Instant::now();
    let count = hosts.len() as u32;
    let mut next: Vec<_> = (0..count)
        .map(|turn| begun + game::TICK * turn / count)
        .collect();
    loop {
        for (host, next) in hosts.iter_mut().zip(&mut next) {
            drain(host, |datagram| board.arrived(datagram))?;
            if Instant::now() < *next {
                continue;
            }
            *next += game::TICK;
            for peer in host.connected_peers_mut() {
                let packet = Packet::unreliable(&stamped(game::SIZE)[..]);
                if peer.send(0, &packet).is_ok() {
                    board.sent(1);
                }
            }
            host.flush();
        }
        let soonest = next.iter().min().copied().unwrap_or(begun);
        let left = soonest.saturating_duration_since(Instant::now());
        wait(&hosts.iter().collect::<Vec<_>>(), left)?;
    }
}
