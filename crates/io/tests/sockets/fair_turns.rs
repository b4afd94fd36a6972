//! A task that never has to wait still lets other tasks run, on a runtime with one thread.

use std::cell::Cell;
use std::rc::Rc;

use fairwire::{Config, ConnectOptions, Connection, DccpAddr, Endpoint, QueuePolicy, Security};
use tokio::task::{LocalSet, spawn_local, yield_now};

use crate::{SERVICE, in_time};

/// Makes a connection whose client's send queue is never full, because it drops its oldest datagram.
async fn pair() -> (Connection, Connection) {
    let any = "127.0.0.1:0".parse().expect("an address");
    let server = Endpoint::bind(any).expect("a free port");
    let listener = server
        .listen(5_001, &[SERVICE], Security::None)
        .expect("a free port");
    let remote = DccpAddr {
        addr: server.local_addr(),
        dccp_port: 5_001,
    };
    let client = Endpoint::bind(any).expect("a free port");
    let mut config = Config::default();
    config.send_queue.policy = QueuePolicy::DropOldest;
    let options = ConnectOptions::new().config(config);
    let (here, there) = tokio::join!(
        client.connect_with(remote, SERVICE, Security::None, options),
        listener.accept()
    );
    (here.expect("connected"), there.expect("accepted"))
}

/// Finding 19: a task sends forever into a queue that is never full. The driver still delivers, and other tasks still
/// run: each gets its turn after a bounded number of datagrams.
#[tokio::test]
async fn finding_19_a_sender_lets_others_run() {
    const TURNS: u64 = 200;
    let local = LocalSet::new();
    let done = local.run_until(async {
        let (here, there) = pair().await;
        let sent = Rc::new(Cell::new(0_u64));
        let counter = Rc::clone(&sent);
        let sender = spawn_local(async move {
            while here.send(vec![7; 100]).await.is_ok() {
                counter.set(counter.get() + 1);
            }
        });
        for _ in 0..TURNS {
            yield_now().await;
        }
        for _ in 0..TURNS {
            there.recv().await.expect("data");
        }
        sender.abort();
        sent.get()
    });
    assert!(in_time(done).await > TURNS, "others had their turns");
}
