//! Tasks that are cancelled at any point (adversarial item 32), on loopback.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fairwire::{
    Ccid, CloseReason, Config, ConnectOptions, Connection, DccpAddr, Direction, Endpoint,
    ListenOptions, Listener, ResetCode, Security,
};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::{PORT, SERVICE};

/// How long tasks come and go in each of [`ROUNDS`], at least.
const ROUND: Duration = Duration::from_millis(800);

/// Each round has a listener of its own.
const ROUNDS: u64 = 3;

/// The connections that are made during each round, at least. On a busy machine it lasts longer.
const MADE: u64 = 7;

/// The longest wait: far more than the idle timeout of two seconds and the shorter timeouts of a close.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of tasks that connect.
const CLIENTS: u64 = 8;

struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % bound
    }

    /// Returns a short time; often so short that a call cancelled after it has not begun.
    fn moment(&mut self) -> Duration {
        let bound = [50, 1_000, 20_000][usize::try_from(self.below(3)).expect("small")];
        Duration::from_micros(self.below(bound))
    }
}

fn config() -> Config {
    let mut config = Config::default();
    config.connect_timeout = Duration::from_secs(2);
    config.idle_timeout = Duration::from_secs(2);
    config.drain_timeout = Duration::from_millis(200);
    config.close_timeout = Duration::from_millis(200);
    config.send_queue.packets = 8;
    config.report_fates = true;
    config
}

/// Makes one call on a connection and cancels it if it takes longer than a moment.
async fn call(connection: &Connection, dice: &mut Dice) {
    let patience = dice.moment();
    match dice.below(14) {
        0..=3 => drop(timeout(patience, connection.send(vec![1; 500])).await),
        4 | 5 => drop(timeout(patience, connection.recv()).await),
        6 => drop(timeout(patience, connection.recv_into(&mut [0; 100])).await),
        7 => drop(timeout(patience, connection.fate()).await),
        8 => drop(timeout(patience, connection.event()).await),
        9 => drop(timeout(patience, connection.close()).await),
        10 => drop(timeout(patience, connection.closed()).await),
        11 => drop(timeout(patience, connection.rate_changed()).await),
        12 => {
            // The peer may refuse it, or the connection may be over.
            let _refused = connection.change_ccid(Direction::Send, &[Ccid::TFRC]);
            connection.set_slow(dice.below(2) == 0);
            connection.path_changed();
            connection.rediscover_path_mtu();
            let _full = connection.try_send("now");
        }
        _ => {
            // Calls that only read state work at any time.
            let _ = connection.stats();
            let _ = (
                connection.remote(),
                connection.local(),
                connection.service(),
            );
            let _ = (connection.allowed_rate(), connection.max_datagram_size());
            let _ = (connection.target_bitrate(), connection.encoder_input());
        }
    }
}

/// Uses a connection for a while, sometimes from two tasks, one of which is cancelled.
async fn use_it(connection: Connection, mut dice: Dice) {
    let calls = dice.below(30);
    if dice.below(3) == 0 {
        let (other, seed) = (connection.clone(), dice.below(1 << 40));
        let task = tokio::spawn(async move {
            let mut dice = Dice::new(seed);
            for _ in 0..20 {
                call(&other, &mut dice).await;
            }
        });
        sleep(dice.moment()).await;
        task.abort();
    }
    for _ in 0..calls {
        call(&connection, &mut dice).await;
    }
    match dice.below(4) {
        0 => connection.abort(),
        1 => connection.stop_reading(),
        _ => {}
    }
}

/// Connects again and again, and cancels at any point.
async fn connect_for_ever(endpoint: Endpoint, remote: DccpAddr, seed: u64, made: Arc<AtomicU64>) {
    let mut dice = Dice::new(seed);
    loop {
        let options = ConnectOptions::new().config(config());
        let attempt = endpoint.connect_with(remote, SERVICE, Security::None, options);
        let patience = dice.moment();
        if let Ok(Ok(connection)) = timeout(patience, attempt).await {
            made.fetch_add(1, Ordering::Relaxed);
            let using = use_it(connection, Dice::new(dice.below(1 << 40)));
            drop(timeout(dice.moment() * 4, using).await);
        }
        tokio::task::yield_now().await;
    }
}

/// Accepts and is cancelled again and again; each connection is used by its own task.
async fn accept_for_ever(listener: Arc<Listener>, seed: u64) {
    let mut dice = Dice::new(seed);
    let mut tasks = JoinSet::new();
    loop {
        if let Ok(Ok(connection)) = timeout(dice.moment(), listener.accept()).await {
            tasks.spawn(use_it(connection, Dice::new(dice.below(1 << 40))));
        }
        if dice.below(20) == 0 {
            tasks.abort_all();
        }
        while tasks.try_join_next().is_some() {}
    }
}

/// Checks that no connection is left within [`PATIENCE`], except half-open ones. When the Reset of a client that gave
/// up was lost or exceeded its limit, these stay for 4 MSL (item 33).
async fn comes_to_rest(endpoint: &Endpoint, name: &str) {
    let open = || {
        let stats = endpoint.stats();
        stats.connections - stats.half_open
    };
    let idle = timeout(PATIENCE, endpoint.wait_idle()).await;
    assert!(idle.is_ok(), "{name}: {:?}", endpoint.stats());
    let until = Instant::now() + PATIENCE;
    while open() > 0 && Instant::now() < until {
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(open(), 0, "{name}: {:?}", endpoint.stats());
}

/// Item 32: tasks that connect, accept, send, receive, wait and close are cancelled at any point for some seconds. The
/// listener is dropped and made again meanwhile. Afterwards no connection is left at either endpoint, and a new
/// connection works.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_32_tasks_cancelled_at_any_point_leave_nothing() {
    let bind = || Endpoint::bind(([127, 0, 0, 1], 0).into()).expect("a free port");
    let (server, client) = (bind(), bind());
    let remote = DccpAddr {
        addr: server.local_addr(),
        dccp_port: PORT,
    };
    let listen = || {
        let options = ListenOptions::new().config(config()).backlog(4);
        server
            .listen_with(PORT, &[SERVICE], Security::None, options)
            .expect("free")
    };
    let made = Arc::new(AtomicU64::new(0));
    let mut clients = JoinSet::new();
    for seed in 0..CLIENTS {
        let made = Arc::clone(&made);
        clients.spawn(connect_for_ever(client.clone(), remote, seed, made));
    }
    for round in 0..ROUNDS {
        let until = made.load(Ordering::Relaxed) + MADE;
        let listener = Arc::new(listen());
        let mut acceptors = JoinSet::new();
        for seed in 0..2 {
            acceptors.spawn(accept_for_ever(
                Arc::clone(&listener),
                100 + round * 2 + seed,
            ));
        }
        sleep(ROUND).await;
        let enough = async {
            while made.load(Ordering::Relaxed) < until {
                sleep(Duration::from_millis(10)).await;
            }
        };
        let in_time = timeout(PATIENCE, enough).await;
        assert!(in_time.is_ok(), "{made:?} connections, not {until}");
        acceptors.shutdown().await;
    }
    clients.shutdown().await;
    comes_to_rest(&client, "the client").await;
    comes_to_rest(&server, "the server").await;

    let listener = listen();
    let options = ConnectOptions::new().config(config());
    let here = client.connect_with(remote, SERVICE, Security::None, options);
    let here = timeout(PATIENCE, here).await.expect("in time");
    let here = here.expect("connected");
    here.send("again").await.expect("sent");
    // Packets of cancelled attempts may have waited in the socket while both sides were at rest. The connections that
    // they open are accepted first, and are aborted.
    let received = loop {
        let there = timeout(PATIENCE, listener.accept()).await.expect("in time");
        let there = there.expect("accepted");
        match timeout(PATIENCE, there.recv()).await.expect("in time") {
            Ok(received) => break received,
            Err(closed) => assert!(
                matches!(
                    closed.reason,
                    CloseReason::Reset {
                        code: ResetCode::Aborted,
                        ..
                    }
                ),
                "{closed}"
            ),
        }
    };
    assert_eq!(received.data, "again");
}
