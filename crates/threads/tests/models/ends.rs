//! Ends: in every order of threads, a connection ends with its last handle and a driver with its last connection, and
//! tasks that wait learn of it.

use std::sync::Arc;

use fairwire_threads::{
    CloseReason, Config, ConnectError, ConnectOptions, DccpAddr, ListenOptions, Network, PORT,
    Pair, SERVICE, Security, explore, host,
};
use shuttle::future::{block_on, spawn};
use shuttle::thread;

/// When three threads drop three clones while the peer reads, the peer sees a reset.
#[test]
fn the_last_handle_ends_the_connection() {
    explore(false, || {
        let pair = Pair::new();
        let (here, there) = pair.connect(Config::default());
        let clones = [here.clone(), here.clone(), here];
        let threads = clones.map(|clone| thread::spawn(move || drop(clone)));
        let lost = block_on(there.recv()).expect_err("reset");
        assert!(!lost.is_orderly());
        drop(there);
        for thread in threads {
            thread.join().expect("no panic");
        }
        pair.assert_ended();
    });
}

/// Both ends close at the same time, each from two tasks, one of which is cancelled: both connections end.
#[test]
fn both_ends_close_at_once() {
    explore(true, || {
        let pair = Pair::new();
        let (here, there) = pair.connect(Config::default());
        let mut closing = Vec::new();
        for connection in [here, there] {
            let second = connection.clone();
            let cancelled = spawn(async move { second.close().await.is_ok() });
            closing.push(spawn(async move { connection.close().await.is_ok() }));
            cancelled.abort();
        }
        for task in closing {
            assert!(block_on(task).expect("not cancelled"), "orderly");
        }
        pair.assert_ended();
    });
}

/// One end closes, the other aborts and drops, from three threads: everything ends, whichever comes first.
#[test]
fn close_abort_and_drop_meet() {
    explore(true, || {
        let pair = Pair::new();
        let (here, there) = pair.connect(Config::default());
        let again = there.clone();
        let threads = [
            thread::spawn(move || {
                let _either_way = block_on(here.close());
            }),
            thread::spawn(move || again.abort()),
            thread::spawn(move || drop(there)),
        ];
        for thread in threads {
            thread.join().expect("no panic");
        }
        pair.assert_ended();
    });
}

/// A client that cancels its handshake at any point leaves nothing on either side.
#[test]
fn a_cancelled_handshake_leaves_nothing() {
    explore(false, || {
        let pair = Pair::new();
        let listener = pair.server.listen();
        let accepting = spawn(async move {
            while let Ok(connection) = listener.accept().await {
                connection.closed().await;
            }
        });
        let (endpoint, remote) = (pair.client.endpoint.clone(), pair.server.remote);
        let connecting =
            spawn(async move { drop(endpoint.connect(remote, SERVICE, Security::None).await) });
        connecting.abort();
        let _it_may_have_connected = block_on(connecting);
        accepting.abort();
        let _cancelled = block_on(accepting);
        pair.assert_ended();
    });
}

/// A listener is dropped at any point while a client connects: the client is refused, or its connection is reset, or it
/// was accepted before.
#[test]
fn a_dropped_listener_leaves_nobody_waiting() {
    explore(false, || {
        let pair = Pair::new();
        let listener = pair.server.listen();
        let accepting = spawn(async move { listener.accept().await.expect("the driver runs") });
        let stopper = thread::spawn(move || {
            accepting.abort();
            block_on(accepting).ok()
        });
        let connected = block_on(pair.client.endpoint.connect(
            pair.server.remote,
            SERVICE,
            Security::None,
        ));
        let accepted = stopper.join().expect("no panic");
        match (connected, accepted) {
            (Ok(here), Some(there)) => {
                drop(there);
                assert_ne!(block_on(here.closed()), CloseReason::Closed);
            }
            (Ok(here), None) => assert_ne!(block_on(here.closed()), CloseReason::Closed),
            (Err(ConnectError::Refused { .. } | ConnectError::Ended { .. }), None) => {}
            (connected, accepted) => panic!("{connected:?}, {accepted:?}"),
        }
        pair.assert_ended();
    });
}

/// A listener without a task that accepts is dropped at any point: no client keeps a connection that will never be
/// served.
#[test]
fn an_unaccepted_connection_is_reset() {
    explore(false, || {
        let pair = Pair::new();
        let listener = pair.server.listen();
        let dropper = thread::spawn(move || drop(listener));
        match block_on(
            pair.client
                .endpoint
                .connect(pair.server.remote, SERVICE, Security::None),
        ) {
            Ok(here) => assert_ne!(block_on(here.closed()), CloseReason::Closed),
            Err(ConnectError::Refused { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        dropper.join().expect("no panic");
        pair.assert_ended();
    });
}

/// A listener is dropped while a connection arrives that no task waits for. Whether the connection is still on its way
/// or in the accept queue, its client sees a reset. Random timing rarely lets the handshake complete first, so this
/// model waits for the client.
#[test]
fn a_queued_connection_is_reset_with_its_listener() {
    explore(false, || {
        let pair = Pair::new();
        let listener = pair.server.listen();
        let here = block_on(pair.client.endpoint.connect(
            pair.server.remote,
            SERVICE,
            Security::None,
        ));
        let here = here.expect("the server listens");
        let dropper = thread::spawn(move || drop(listener));
        assert_ne!(block_on(here.closed()), CloseReason::Closed);
        dropper.join().expect("no panic");
        drop(here);
        pair.assert_ended();
    });
}

/// The server's runtime shuts down at any point: every task that waits there goes on, and so does the peer.
#[test]
fn a_shutdown_leaves_nobody_waiting() {
    explore(false, || {
        let pair = Pair::new();
        let mut config = Config::default();
        config.send_queue.packets = 1;
        let (here, there) = pair.connect(config);
        let listener = pair
            .server
            .endpoint
            .listen(PORT + 1, &[SERVICE], Security::None);
        let listener = Arc::new(listener.expect("the port is free"));
        let (reader, watcher, writer) = (there.clone(), there.clone(), there);
        let idler = pair.server.endpoint.clone();
        let (caller, to) = (pair.server.endpoint.clone(), pair.client.remote);
        let tasks = [
            spawn(async move { assert!(reader.recv().await.is_err()) }),
            spawn(async move { assert_ne!(watcher.closed().await, CloseReason::Closed) }),
            spawn(async move {
                // A bounded number, because a schedule may run this task until it waits.
                let mut left = 20;
                while left > 0 && writer.send(vec![0; 200]).await.is_ok() {
                    left -= 1;
                }
            }),
            spawn(async move { assert!(listener.accept().await.is_err()) }),
            spawn(async move { idler.wait_idle().await }),
            spawn(
                async move { assert!(caller.connect(to, SERVICE, Security::None).await.is_err()) },
            ),
            spawn(async move { while here.recv().await.is_ok() {} }),
        ];
        pair.server.watch.shut_down();
        for task in tasks {
            block_on(task).expect("not cancelled");
        }
        drop((pair.client.endpoint, pair.server.endpoint));
        pair.client.watch.assert_ended();
        pair.server.watch.assert_gone();
    });
}

/// Of two servers, the one that answers wins a race, and the attempt at the other one ends. One address has no host, so
/// the head start must pass.
#[test]
fn a_race_leaves_only_its_winner() {
    explore(true, || {
        let network = Network::new();
        let pair = Pair::on(&network);
        let other = host(&network, 3);
        let listener = pair.server.listen();
        let nobody = DccpAddr::same_ports(([192, 0, 2, 9], 6_511).into());
        let remotes = [nobody, other.remote, pair.server.remote];
        let accepting = spawn(async move { listener.accept().await.expect("the driver runs") });
        let options = ConnectOptions::new();
        let racing = pair
            .client
            .endpoint
            .connect_any(&remotes, SERVICE, Security::None, options);
        let here = block_on(racing).expect("one of them listens");
        let there = block_on(accepting).expect("not cancelled");
        assert_eq!(here.remote(), Some(pair.server.remote));
        drop((here, there, other.endpoint));
        pair.assert_ended();
        other.watch.assert_ended();
    });
}

/// An endpoint closes while other tasks connect, send and accept: all of them learn of it, and none waits forever.
#[test]
fn an_endpoint_closes_beside_its_users() {
    explore(true, || {
        let network = Network::new();
        let pair = Pair::on(&network);
        let listener = pair.server.listen();
        let accepting = spawn(async move {
            while let Ok(there) = listener.accept().await {
                while there.recv().await.is_ok() {}
            }
        });
        let (endpoint, remote) = (pair.client.endpoint.clone(), pair.server.remote);
        let talking = spawn(async move {
            if let Ok(here) = endpoint.connect(remote, SERVICE, Security::None).await {
                while here.send(vec![1]).await.is_ok() && here.stats().data_sent < 2 {}
                here.closed().await;
            }
        });
        block_on(pair.server.endpoint.close());
        block_on(accepting).expect("not cancelled");
        block_on(pair.client.endpoint.close());
        block_on(talking).expect("not cancelled");
        pair.assert_ended();
    });
}

/// Two clients, one place in the accept queue, a slow acceptor, and sockets that are often full: each client is served
/// or told that the server is busy.
#[test]
fn one_place_serves_two_clients() {
    explore(true, || {
        let network = Network::narrow(1);
        let pair = Pair::on(&network);
        let listener = pair.server.listen_with(ListenOptions::new().backlog(1));
        let accepting = spawn(async move {
            loop {
                let there = listener.accept().await.expect("the driver runs");
                while there.recv().await.is_ok() {}
            }
        });
        let clients = [(); 2].map(|()| {
            let (endpoint, remote) = (pair.client.endpoint.clone(), pair.server.remote);
            spawn(async move {
                match endpoint.connect(remote, SERVICE, Security::None).await {
                    Ok(here) => {
                        here.send(vec![1]).await.expect("open");
                        here.close().await.is_ok()
                    }
                    Err(ConnectError::Refused { .. }) => false,
                    Err(error) => panic!("{error}"),
                }
            })
        });
        let served = clients.map(|task| block_on(task).expect("not cancelled"));
        assert!(served.contains(&true), "{served:?}");
        accepting.abort();
        let _cancelled = block_on(accepting);
        pair.assert_ended();
    });
}
