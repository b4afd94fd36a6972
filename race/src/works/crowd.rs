//! One active flow, and idle connections of the same two sockets, opened when the parent says so.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::flow;
use crate::board::{Board, Order, tell};
use crate::transport::{Connection, Result, Transport};

/// For the memory of one.
pub const FEW: usize = 2_000;
/// How many are opened side by side.
const ABREAST: usize = 32;

/// Keeps all connections, and counts what arrives on each.
pub async fn serve<T: Transport>(mut listener: T::Listener, board: Arc<Board>) -> Result<()> {
    loop {
        let connection = T::accept(&mut listener).await?;
        tokio::spawn(flow::receive(connection, Arc::clone(&board)));
    }
}

/// Connects once and carries out the parent's orders: that connection sends when it is told to.
pub async fn connect<T: Transport>(
    dialer: &T::Dialer,
    to: SocketAddr,
    board: &Arc<Board>,
    orders: &mut mpsc::UnboundedReceiver<Order>,
) -> Result<()> {
    let active = T::dial(dialer, to).await?;
    let (gate, open) = watch::channel(false);
    let board = Arc::clone(board);
    tokio::spawn(async move {
        if let Err(error) = send_while(active, open, board).await {
            eprintln!("race: the active flow: {error}");
        }
    });
    let mut idle = Vec::new();
    tell(&())?;
    while let Some(order) = orders.recv().await {
        match order {
            Order::Pause => gate.send(false)?,
            Order::Resume => gate.send(true)?,
            Order::Open(count) => idle.extend(dial_many::<T>(dialer, to, count).await?),
            Order::Mark => {}
        }
        tell(&())?;
    }
    Ok(())
}

async fn send_while(
    connection: impl Connection,
    mut open: watch::Receiver<bool>,
    board: Arc<Board>,
) -> Result<()> {
    loop {
        open.wait_for(|open| *open).await?;
        tokio::select! {
            sent = flow::send(&connection, &board) => sent?,
            closed = open.wait_for(|open| !open) => drop(closed?),
        }
    }
}

async fn dial_many<T: Transport>(
    dialer: &T::Dialer,
    to: SocketAddr,
    count: usize,
) -> Result<Vec<T::Connection>> {
    let mut tasks = JoinSet::new();
    for part in 0..ABREAST {
        let share = (count + part) / ABREAST;
        let dialer = dialer.clone();
        tasks.spawn(async move {
            let mut dialled = Vec::with_capacity(share);
            for _ in 0..share {
                dialled.push(T::dial(&dialer, to).await?);
            }
            Result::Ok(dialled)
        });
    }
    let mut all = Vec::with_capacity(count);
    while let Some(dialled) = tasks.join_next().await {
        all.extend(dialled??);
    }
    Ok(all)
}
