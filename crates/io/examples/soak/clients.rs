//! Clients. Each one opens one connection after another, exchanges data, rests, and ends the connection in one of
//! several ways.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use fairwire::{
    Ccid, CloseReason, Config, ConnectError, ConnectOptions, Connection, DccpAddr, Endpoint,
    Security, ServiceCode,
};

use crate::counts::{Counts, Doing, End};
use crate::dice::Dice;
use crate::hostile::Relay;
use crate::server::{ABORT, CLOSE, ECHO, PORT, SERVICE, config};

/// The number of clients that share an endpoint. One connection in 16 has its own endpoint.
const SHARING: usize = 50;

/// A client, which opens one connection after another.
struct Client {
    /// Selects the kind of its first connection, so that even a short run has all kinds.
    number: u64,
    endpoint: Endpoint,
    server: DccpAddr,
    counts: Arc<Counts>,
    dice: Dice,
    stop: watch::Receiver<bool>,
}

/// Starts `clients` clients. They end some time after `stop` becomes true.
pub(crate) fn start(
    clients: usize,
    seed: u64,
    server: DccpAddr,
    counts: &Arc<Counts>,
    stop: &watch::Receiver<bool>,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let mut endpoint = bind();
    for number in 0..clients {
        if number % SHARING == 0 {
            endpoint = bind();
        }
        let client = Client {
            number: number as u64,
            endpoint: endpoint.clone(),
            server,
            counts: Arc::clone(counts),
            dice: Dice::new(seed, number as u64),
            stop: stop.clone(),
        };
        tasks.spawn(client.run());
    }
    tasks
}

fn bind() -> Endpoint {
    let builder = Endpoint::builder().socket_buffer(256 << 10);
    builder
        .bind(([127, 0, 0, 1], 0).into())
        .expect("a free port")
}

impl Client {
    async fn run(mut self) {
        // Clients do not all start at once.
        sleep(self.dice.millis(1_000)).await;
        let mut kind = self.number % 20;
        while !*self.stop.borrow() {
            let own = (self.dice.below(16) == 0).then(bind);
            let endpoint = own.unwrap_or_else(|| self.endpoint.clone());
            let end = match kind {
                0 => self.refused(&endpoint).await,
                1 => self.cancelled(&endpoint).await,
                2 => self.vanish(&endpoint).await,
                _ => self.live(&endpoint).await,
            };
            self.counts.ended(end);
            kind = self.dice.below(20);
        }
    }

    fn options(&mut self) -> ConnectOptions {
        let mut config: Config = config();
        if self.dice.below(2) == 0 {
            config.send_ccids = vec![Ccid::TFRC];
            config.receive_ccids = vec![Ccid::TFRC];
        } else {
            config.send_ccids = vec![Ccid::TCP_LIKE];
            config.receive_ccids = vec![Ccid::TCP_LIKE];
        }
        ConnectOptions::new().config(config)
    }

    async fn connect(&mut self, endpoint: &Endpoint, to: DccpAddr) -> Option<Connection> {
        let options = self.options();
        let _connecting = self.counts.during(Doing::Connecting);
        match endpoint
            .connect_with(to, SERVICE, Security::None, options)
            .await
        {
            Ok(connection) => Some(connection),
            Err(error) => {
                self.counts.failed(&error.to_string());
                None
            }
        }
    }

    /// Connects to a service or a port that the server does not have.
    async fn refused(&mut self, endpoint: &Endpoint) -> End {
        let (service, dccp_port) = if self.dice.below(2) == 0 {
            (ServiceCode(7), PORT)
        } else {
            (SERVICE, PORT + 1)
        };
        let to = DccpAddr {
            dccp_port,
            ..self.server
        };
        let options = self.options();
        match endpoint
            .connect_with(to, service, Security::None, options)
            .await
        {
            Err(ConnectError::Refused { .. }) => End::Refused,
            other => self
                .counts
                .failed(&format!("expected a refusal: {other:?}")),
        }
    }

    /// Cancels a handshake at once or after some turns of the task, unless it is complete by then.
    async fn cancelled(&mut self, endpoint: &Endpoint) -> End {
        let turns = self.dice.below(8);
        let options = self.options();
        let connecting = endpoint.connect_with(self.server, SERVICE, Security::None, options);
        // Far shorter than any timer.
        let patience = async {
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            connected = connecting => {
                drop(connected);
                End::AbortedByClient
            }
            () = patience => End::Cancelled,
        }
    }

    /// Ends without a close: the client's socket disappears, or its path no longer carries packets.
    async fn vanish(&mut self, endpoint: &Endpoint) -> End {
        let Ok(relay) = Relay::start(self.server).await else {
            return End::Failed;
        };
        let Some(connection) = self.connect(endpoint, relay.remote()).await else {
            return End::Failed;
        };
        self.talk(&connection, 3).await;
        let with_socket = self.dice.below(2) == 0;
        if with_socket {
            relay.close().await;
        } else {
            relay.mute();
        }
        let _resting = self.counts.during(Doing::Resting);
        let pause = self.dice.millis(2_000);
        self.rest(pause).await;
        if with_socket {
            End::Vanished
        } else {
            End::Muted
        }
    }

    /// Uses a connection that works, and ends it in one of four ways.
    async fn live(&mut self, endpoint: &Endpoint) -> End {
        let Some(connection) = self.connect(endpoint, self.server).await else {
            return End::Failed;
        };
        let count = self.dice.below(30);
        self.talk(&connection, count).await;
        if self.dice.below(3) > 0 {
            let _resting = self.counts.during(Doing::Resting);
            let pause = self.dice.millis(20_000);
            self.rest(pause).await;
        } else {
            let count = self.dice.below(100);
            self.talk(&connection, count).await;
        }
        let _closing = self.counts.during(Doing::Closing);
        match self.dice.below(4) {
            0 => {
                if self.dice.below(2) == 0 {
                    connection.abort();
                }
                End::AbortedByClient
            }
            1 => self.wish(&connection, CLOSE, End::ClosedByServer).await,
            2 => self.wish(&connection, ABORT, End::AbortedByServer).await,
            _ => match connection.close().await {
                Ok(()) => End::ClosedByClient,
                Err(lost) => self.counts.failed(&format!("expected a close: {lost:?}")),
            },
        }
    }

    /// Sends datagrams of many sizes and reads the echoes.
    async fn talk(&mut self, connection: &Connection, datagrams: u64) {
        let _sending = self.counts.during(Doing::Sending);
        for _ in 0..datagrams {
            let len = usize::try_from(1 + self.dice.below(1_200)).expect("small");
            if *self.stop.borrow() || connection.send(vec![ECHO; len]).await.is_err() {
                return;
            }
            self.counts.datagrams.fetch_add(1, Ordering::Relaxed);
            let patience = Duration::from_millis(20) + self.dice.millis(200);
            while let Ok(Ok(_)) = timeout(patience, connection.recv()).await {
                self.counts.datagrams.fetch_add(1, Ordering::Relaxed);
                if self.dice.below(2) == 0 {
                    break;
                }
            }
        }
    }

    /// Does nothing for a while, or until all clients must stop.
    async fn rest(&self, pause: Duration) {
        let mut stop = self.stop.clone();
        let _either_way = timeout(pause, stop.wait_for(|&stopped| stopped)).await;
    }

    /// Asks the server to end the connection, up to ten times.
    ///
    /// After losses a retransmission timer may have backed off to a minute.
    async fn wish(&self, connection: &Connection, wish: u8, end: End) -> End {
        for _ in 0..10 {
            // The datagram may be lost, or the queue may be full.
            let _gone_or_full = connection.try_send(vec![wish]);
            let ended = timeout(Duration::from_secs(2), connection.closed());
            match (ended.await, end) {
                (Ok(CloseReason::Closed), End::ClosedByServer)
                | (Ok(CloseReason::Reset { .. }), End::AbortedByServer) => return end,
                (Ok(reason), _) => {
                    let how = format!("expected an end by the server: {reason:?}");
                    return self.counts.failed(&how);
                }
                (Err(_), _) => {}
            }
        }
        self.counts.failed("the server did not end a connection")
    }
}
