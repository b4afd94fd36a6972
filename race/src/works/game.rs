//! A game server: each client sends 30 datagrams of 200 bytes a second, and gets as many. Both measure the time that a
//! datagram takes from the application of one end to that of the other.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::board::{Board, stamped};
use crate::tls::Trusted;
use crate::transport::{Connection, Result, Transport, send_one};

pub const CLIENTS: usize = 50;
pub const SIZE: usize = 200;
pub const TICK: Duration = Duration::from_nanos(1_000_000_000 / 30);

/// Serves: once a tick, sends to all clients.
pub async fn serve<T: Transport>(mut listener: T::Listener, board: Arc<Board>) -> Result<()> {
    let players = Arc::new(Mutex::new(Vec::<Arc<T::Connection>>::new()));
    tokio::spawn(tick::<T>(Arc::clone(&players), Arc::clone(&board)));
    loop {
        let player = Arc::new(T::accept(&mut listener).await?);
        tokio::spawn(listen(Arc::clone(&player), Arc::clone(&board)));
        let mut players = players.lock().unwrap_or_else(PoisonError::into_inner);
        players.push(player);
    }
}

async fn tick<T: Transport>(players: Arc<Mutex<Vec<Arc<T::Connection>>>>, board: Arc<Board>) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        let all = players
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for player in all {
            if send_one(&*player, stamped(SIZE)).await.is_ok() {
                board.sent(1);
            }
        }
    }
}

/// Plays with all clients, each on a socket of its own, once they are connected.
pub async fn play<T: Transport>(
    transport: &T,
    trusted: &Trusted,
    to: SocketAddr,
    board: &Arc<Board>,
) -> Result<()> {
    for number in 0..CLIENTS {
        let dialer = transport.dialer(trusted)?;
        let connection = Arc::new(T::dial(&dialer, to).await?);
        tokio::spawn(listen(Arc::clone(&connection), Arc::clone(board)));
        // The clients take turns within a tick.
        let turn = TICK * number as u32 / CLIENTS as u32;
        tokio::spawn(talk::<T>(dialer, connection, turn, Arc::clone(board)));
    }
    Ok(())
}

/// Sends once a tick. The socket of the connection lives as long.
async fn talk<T: Transport>(
    _socket: T::Dialer,
    connection: Arc<T::Connection>,
    turn: Duration,
    board: Arc<Board>,
) -> Result<()> {
    sleep(turn).await;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        send_one(&*connection, stamped(SIZE)).await?;
        board.sent(1);
    }
}

/// Counts what arrives, with its latency.
pub async fn listen(connection: Arc<impl Connection>, board: Arc<Board>) -> Result<()> {
    let mut inbox = Default::default();
    loop {
        let mut each = |datagram: &[u8]| board.arrived(datagram);
        connection.receive(&mut inbox, &mut each).await?;
    }
}
