//! Connections, one after the other, each with one datagram there and back, so that both ends have finished.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;

use crate::board::{Board, now_ns};
use crate::transport::{Connection, Result, Transport, send_one};

/// Answers the first datagram of each connection, and keeps the connection until the client ends it.
pub async fn serve<T: Transport>(mut listener: T::Listener, board: Arc<Board>) -> Result<()> {
    loop {
        let connection = T::accept(&mut listener).await?;
        let board = Arc::clone(&board);
        tokio::spawn(async move {
            let mut inbox = Default::default();
            while connection.receive(&mut inbox, &mut |_| {}).await.is_ok() {
                send_one(&connection, Bytes::from_static(b"here")).await?;
                board.received(1);
            }
            Result::Ok(())
        });
    }
}

/// Connects again and again, from as few sockets as its library allows.
pub async fn connect<T: Transport>(
    dialer: &T::Dialer,
    to: SocketAddr,
    board: &Board,
) -> Result<()> {
    loop {
        let begun = now_ns();
        let connection = T::dial(dialer, to).await?;
        send_one(&connection, Bytes::from_static(b"there")).await?;
        let mut inbox = Default::default();
        connection.receive(&mut inbox, &mut |_| {}).await?;
        board.took(now_ns() - begun);
        board.sent(1);
    }
}
