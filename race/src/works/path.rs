//! Single datagrams on an idle path, with the time that each takes one way.

use std::time::Duration;

use tokio::time::sleep;

use crate::board::{Board, stamped};
use crate::transport::{Connection, Result, send_one};

pub const SIZE: usize = 200;

/// The pause between two datagrams.
pub const PAUSE: Duration = Duration::from_millis(5);

pub async fn send(connection: &impl Connection, board: &Board) -> Result<()> {
    loop {
        send_one(connection, stamped(SIZE)).await?;
        board.sent(1);
        sleep(PAUSE).await;
    }
}
