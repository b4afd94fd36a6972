//! One of the two processes of a run: the server, which receives, or the client, which connects and sends.

use std::net::SocketAddr;
use std::sync::Arc;

use fairwire::Ccid;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::board::{Board, Order, answer_parent, tell};
use crate::peers::dccp::Dccp;
use crate::peers::kernel::{self, Calls};
use crate::peers::quic::{noq::Noq, quinn::Quinn};
use crate::peers::s2n::S2n;
use crate::peers::udp::Udp;
use crate::peers::{Peer, enet};
use crate::tls::{Identity, Trusted};
use crate::transport::{Result, Transport};
use crate::works::{Work, crowd, flow, game, handshake, path};

/// What a process is to do.
#[derive(Debug, Deserialize, Serialize)]
pub struct Role {
    pub peer: Peer,
    pub work: Work,
    /// The processor that the process stays on.
    pub core: usize,
    /// The server that a client connects to; `None` for the server itself.
    pub to: Option<Server>,
}

/// What a server says when it listens.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Server {
    pub addr: SocketAddr,
    pub trusted: Trusted,
}

/// Plays a role until the parent is gone.
pub fn play(role: Role) -> Result<()> {
    let mut cores = CpuSet::new();
    cores.set(role.core)?;
    sched_setaffinity(Pid::from_raw(0), &cores)?;
    let board = Arc::new(Board::default());
    let orders = answer_parent(Arc::clone(&board));
    let dccp = |ccid, encrypted| Dccp { ccid, encrypted };
    match role.peer {
        Peer::UdpSend => play_kernel(&role, Calls::Single, &board),
        Peer::UdpMmsg => play_kernel(&role, Calls::Many, &board),
        Peer::UdpGso => play_kernel(&role, Calls::Segments, &board),
        Peer::Enet => play_enet(&role, &board),
        Peer::UdpTokio => play_over(Udp, role, board, orders),
        Peer::Quinn => play_over(Quinn, role, board, orders),
        Peer::Noq => play_over(Noq, role, board, orders),
        Peer::S2nQuic => play_over(S2n, role, board, orders),
        Peer::Ccid2 => play_over(dccp(Ccid::TCP_LIKE, false), role, board, orders),
        Peer::Ccid3 => play_over(dccp(Ccid::TFRC, false), role, board, orders),
        Peer::Ccid2Dtls => play_over(dccp(Ccid::TCP_LIKE, true), role, board, orders),
        Peer::Ccid3Dtls => play_over(dccp(Ccid::TFRC, true), role, board, orders),
        Peer::Simulator | Peer::Ns2 | Peer::Daytone => Err("a simulator has no roles".into()),
    }
}

fn play_kernel(role: &Role, calls: Calls, board: &Board) -> Result<()> {
    let Work::Flow { mbit_per_s } = role.work else {
        return Err("the kernel's UDP takes part in flows only".into());
    };
    if let Some(server) = &role.to {
        let socket = kernel::connect(server.addr)?;
        tell(&())?;
        kernel::send(&socket, calls, mbit_per_s, board)
    } else {
        let (socket, addr) = kernel::listen()?;
        tell(&server_at(addr))?;
        kernel::receive(&socket, calls, board)
    }
}

fn play_enet(role: &Role, board: &Board) -> Result<()> {
    if let Some(server) = &role.to {
        let clients = if role.work == Work::Game {
            game::CLIENTS
        } else {
            1
        };
        let mut hosts = Vec::new();
        for _ in 0..clients {
            hosts.push(enet::connect(server.addr)?);
        }
        tell(&())?;
        match (role.work, &mut hosts[..]) {
            (Work::Flow { mbit_per_s }, [host]) => enet::send(host, mbit_per_s, board),
            (Work::Game, _) => enet::play(hosts, board),
            _ => Err("ENet takes part in flows and games only".into()),
        }
    } else {
        let (mut host, addr) = enet::listen()?;
        tell(&server_at(addr))?;
        match role.work {
            Work::Game => enet::play(vec![host], board),
            _ => enet::receive(&mut host, board),
        }
    }
}

/// A server without a certificate.
fn server_at(addr: SocketAddr) -> Server {
    let certificate = Vec::new();
    Server {
        addr,
        trusted: Trusted { certificate },
    }
}

fn play_over<T: Transport + Send>(
    transport: T,
    role: Role,
    board: Arc<Board>,
    orders: mpsc::UnboundedReceiver<Order>,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let played = match role.to {
            None => tokio::spawn(serve(transport, role.work, board)),
            Some(server) => tokio::spawn(call(transport, role.work, server, board, orders)),
        };
        played.await?
    })
}

async fn serve<T: Transport>(transport: T, work: Work, board: Arc<Board>) -> Result<()> {
    let identity = Identity::generate()?;
    let (mut listener, addr) = transport.listen(&identity)?;
    let trusted = identity.trusted();
    tell(&Server { addr, trusted })?;
    match work {
        Work::Flow { .. } => flow::receive(T::accept(&mut listener).await?, board).await,
        Work::Path => {
            let connection = T::accept(&mut listener).await?;
            game::listen(Arc::new(connection), board).await
        }
        Work::Game => game::serve::<T>(listener, board).await,
        Work::Handshake => handshake::serve::<T>(listener, board).await,
        Work::Crowd => crowd::serve::<T>(listener, board).await,
        Work::Simulation(_) => Err("a simulator has no server".into()),
    }
}

async fn call<T: Transport>(
    transport: T,
    work: Work,
    server: Server,
    board: Arc<Board>,
    mut orders: mpsc::UnboundedReceiver<Order>,
) -> Result<()> {
    let (to, trusted) = (server.addr, &server.trusted);
    let dialer = transport.dialer(trusted)?;
    match work {
        Work::Handshake => {
            tell(&())?;
            handshake::connect::<T>(&dialer, to, &board).await
        }
        Work::Crowd => crowd::connect::<T>(&dialer, to, &board, &mut orders).await,
        Work::Flow { mbit_per_s } => {
            let connection = T::dial(&dialer, to).await?;
            tell(&())?;
            match mbit_per_s {
                Some(rate) => flow::send_at(&connection, &board, rate).await,
                None => flow::send(&connection, &board).await,
            }
        }
        Work::Game => {
            game::play(&transport, trusted, to, &board).await?;
            tell(&())?;
            std::future::pending().await
        }
        Work::Simulation(_) => Err("a simulator has no client".into()),
        Work::Path => {
            let connection = T::dial(&dialer, to).await?;
            tell(&())?;
            path::send(&connection, &board).await
        }
    }
}
