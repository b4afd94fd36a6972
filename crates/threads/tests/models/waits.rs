//! Waiting tasks: each is woken in every order of threads, and a cancelled one takes nothing from the others.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use fairwire_threads::{
    CloseReason, Config, Connection, Network, Pair, SERVICE, Security, TrySendError, explore,
};
use shuttle::future::{JoinHandle, block_on, spawn};
use shuttle::thread;

/// Returns the result of a task, or `None` if it was cancelled.
fn outcome<T>(task: JoinHandle<T>) -> Option<T> {
    block_on(task).ok()
}

/// A datagram and its echo arrive, and the end is orderly.
#[test]
fn both_ends_talk() {
    explore(false, || {
        let pair = Pair::new();
        let (here, there) = pair.connect(Config::default());
        let echo = spawn(async move {
            let got = there.recv().await.expect("data");
            there.send(got.data).await.expect("open");
            let lost = there.recv().await.expect_err("the end");
            assert!(lost.is_orderly());
        });
        block_on(async {
            here.send(vec![1]).await.expect("open");
            assert_eq!(here.recv().await.expect("data").data, [1_u8][..]);
            here.close().await.expect("orderly");
        });
        drop(here);
        block_on(echo).expect("not cancelled");
        pair.assert_ended();
    });
}

/// Three tasks read two datagrams, and one task is cancelled. The others get what it did not take, and a task without a
/// datagram learns of the end.
#[test]
fn a_cancelled_reader_takes_nothing() {
    explore(false, || {
        let pair = Pair::new();
        let (here, there) = pair.connect(Config::default());
        let read = |connection: &Connection| {
            let connection = connection.clone();
            spawn(async move { connection.recv().await.is_ok() })
        };
        let [cancelled, second, third] = [read(&there), read(&there), read(&there)];
        let sender = thread::spawn(move || {
            block_on(async {
                here.send(vec![1]).await.expect("open");
                here.send(vec![2]).await.expect("open");
                here.close().await.expect("orderly");
            });
        });
        cancelled.abort();
        let first = outcome(cancelled);
        let others = [second, third].map(|task| block_on(task).expect("not cancelled"));
        let got = usize::from(first == Some(true)) + others.iter().filter(|&&got| got).count();
        assert_eq!(got, 2, "each datagram is read once: {first:?}, {others:?}");
        sender.join().expect("sent");
        drop(there);
        pair.assert_ended();
    });
}

/// Two tasks accept and one of them is cancelled: every connection reaches one of them.
#[test]
fn a_cancelled_acceptor_takes_nothing() {
    explore(false, || {
        let pair = Pair::new();
        let listener = Arc::new(pair.server.listen());
        let accept = || {
            let listener = Arc::clone(&listener);
            spawn(async move { listener.accept().await.expect("the driver runs") })
        };
        let (cancelled, other) = (accept(), accept());
        let canceller = thread::spawn(move || {
            cancelled.abort();
            outcome(cancelled)
        });
        let connect = || {
            block_on(
                pair.client
                    .endpoint
                    .connect(pair.server.remote, SERVICE, Security::None),
            )
            .expect("open")
        };
        let mut ends = vec![connect()];
        let first = canceller.join().expect("no panic");
        if first.is_some() {
            ends.push(connect());
        }
        ends.extend(first);
        ends.push(block_on(other).expect("not cancelled"));
        drop((ends, listener));
        pair.assert_ended();
    });
}

/// Four tasks send two datagrams each through a queue of one datagram, and one task is cancelled: the others can send
/// all of theirs.
#[test]
fn a_cancelled_writer_leaves_its_turn() {
    explore(true, || {
        let pair = Pair::new();
        let mut config = Config::default();
        config.send_queue.packets = 1;
        let (here, there) = pair.connect(config);
        let write = |number: u8| {
            let connection = here.clone();
            spawn(async move {
                connection.send(vec![number]).await.expect("open");
                connection.send(vec![number]).await.expect("open");
            })
        };
        let cancelled = write(0);
        let writers = [1, 2, 3].map(write);
        let reader = spawn(async move {
            let mut counts = [0; 4];
            while let Ok(got) = there.recv().await {
                counts[usize::from(got.data[0])] += 1;
            }
            counts
        });
        cancelled.abort();
        let _it_may_have_finished = outcome(cancelled);
        for writer in writers {
            block_on(writer).expect("not cancelled");
        }
        block_on(here.close()).expect("orderly");
        drop(here);
        let counts = block_on(reader).expect("not cancelled");
        assert_eq!(counts[1..], [2, 2, 2]);
        pair.assert_ended();
    });
}

/// A task that sends through a queue of one datagram learns of the end, whichever side causes it, by a close or an
/// abort.
#[test]
fn a_writer_learns_of_the_end() {
    let ways: [fn(&Connection, &Connection); 3] = [
        |here, _| _ = block_on(here.close()),
        |here, _| here.abort(),
        |_, there| there.abort(),
    ];
    for way in ways {
        explore(true, move || {
            let pair = Pair::new();
            let mut config = Config::default();
            config.send_queue.packets = 1;
            let (here, there) = pair.connect(config);
            let sender = here.clone();
            let writer = spawn(async move { while sender.send(vec![1]).await.is_ok() {} });
            way(&here, &there);
            block_on(writer).expect("not cancelled");
            drop((here, there));
            pair.assert_ended();
        });
    }
}

/// Two threads queue datagrams without waiting: the driver learns of each, and all arrive. No timer is needed.
#[test]
fn the_driver_hears_of_every_datagram() {
    explore(false, || {
        let pair = Pair::new();
        let (here, there) = pair.connect(Config::default());
        let threads = [1, 2].map(|number: u8| {
            let here = here.clone();
            thread::spawn(move || match here.try_send(vec![number]) {
                Ok(_) => {}
                Err(TrySendError::Full) => panic!("the queue holds more than two"),
                Err(error) => panic!("{error}"),
            })
        });
        block_on(async {
            there.recv().await.expect("data");
            there.recv().await.expect("data");
        });
        for thread in threads {
            thread.join().expect("no panic");
        }
        drop((here, there));
        pair.assert_ended();
    });
}

/// Two threads send at one endpoint, each on a connection of its own that was quiet, so that both may send themselves:
/// both datagrams arrive. No timer is needed.
#[test]
fn handles_that_send_do_not_miss_each_other() {
    explore(false, || {
        let pair = Pair::new();
        let (here, there): (Vec<_>, Vec<_>) =
            (0..2).map(|_| pair.connect(Config::default())).unzip();
        let threads: Vec<_> = here
            .iter()
            .map(|here| {
                let here = here.clone();
                thread::spawn(move || here.try_send(vec![1]).expect("room"))
            })
            .collect();
        for there in &there {
            block_on(there.recv()).expect("data");
        }
        for thread in threads {
            thread.join().expect("no panic");
        }
        drop((here, there));
        pair.assert_ended();
    });
}

/// A handle sends on a quiet connection while the socket may have no room: the driver sends what the handle could not.
#[test]
fn the_driver_sends_what_a_handle_could_not() {
    explore(true, || {
        let pair = Pair::on(&Network::narrow(1));
        let (here, there) = pair.connect(Config::default());
        let (other_here, other_there) = pair.connect(Config::default());
        let threads = [here.clone(), other_here.clone()]
            .map(|here| thread::spawn(move || here.try_send(vec![1]).expect("room")));
        block_on(there.recv()).expect("data");
        block_on(other_there.recv()).expect("data");
        for thread in threads {
            thread.join().expect("no panic");
        }
        drop((here, there, other_here, other_there));
        pair.assert_ended();
    });
}

/// Tasks wait for the end, for a fate and for an event, and some of them are cancelled: the rest learn of the fate and
/// of the end.
#[test]
fn watchers_learn_of_fates_and_the_end() {
    explore(true, || {
        let pair = Pair::new();
        let mut config = Config::default();
        config.report_fates = true;
        let (here, there) = pair.connect(config);
        let ends = [(); 2].map(|()| {
            let here = here.clone();
            spawn(async move { here.closed().await })
        });
        let fates = [(); 2].map(|()| {
            let here = here.clone();
            spawn(async move { here.fate().await.is_ok() })
        });
        let mtu = here.clone();
        let mtu = spawn(async move { while mtu.event().await.is_ok() {} });
        let peer = spawn(async move {
            there.recv().await.expect("data");
            there.close().await.expect("orderly");
        });
        here.try_send(vec![1]).expect("room");
        let ([cancelled_end, end_task], [cancelled_fate, fate]) = (ends, fates);
        cancelled_end.abort();
        cancelled_fate.abort();
        let taken = outcome(cancelled_fate) == Some(true);
        let reason = block_on(end_task).expect("not cancelled");
        assert_eq!(reason, CloseReason::Closed);
        let told = block_on(fate).expect("not cancelled");
        assert!(taken != told, "one fate: {taken}, {told}");
        block_on(mtu).expect("not cancelled");
        block_on(peer).expect("not cancelled");
        drop((outcome(cancelled_end), here));
        pair.assert_ended();
    });
}

/// Two tasks wait until nothing is left, one of them is cancelled, and a third thread drops the connection: the other
/// task goes on.
#[test]
fn who_waits_for_the_last_connection_goes_on() {
    explore(false, || {
        let pair = Pair::new();
        let (here, there) = pair.connect(Config::default());
        let wait = || {
            let endpoint = pair.client.endpoint.clone();
            spawn(async move { endpoint.wait_idle().await })
        };
        let (cancelled, other) = (wait(), wait());
        let dropper = thread::spawn(move || drop(here));
        cancelled.abort();
        block_on(other).expect("not cancelled");
        block_on(there.closed());
        drop((outcome(cancelled), there));
        dropper.join().expect("no panic");
        pair.assert_ended();
    });
}

/// What a task's waker keeps alive: when the last waker is dropped, the task and everything that it owns is dropped.
struct Owner {
    _connection: Connection,
}

impl Wake for Owner {
    fn wake(self: Arc<Self>) {}
}

/// A waiting task owns the last handle of another connection at the same endpoint, and is dropped with its waker: once
/// when the waker is replaced, once when the wait is dropped. This causes no deadlock, and both peers learn of the end.
#[test]
fn a_waker_may_own_the_last_handle() {
    explore(false, || {
        let pair = Pair::new();
        let (here, there) = pair.connect(Config::default());
        let (first_peer, first) = pair.connect(Config::default());
        let (second_peer, second) = pair.connect(Config::default());
        {
            let mut wait = pin!(there.recv());
            for owned in [first, second] {
                let waker = Waker::from(Arc::new(Owner { _connection: owned }));
                let polled = wait.as_mut().poll(&mut Context::from_waker(&waker));
                assert!(polled.is_pending());
            }
            block_on(first_peer.closed());
        }
        block_on(second_peer.closed());
        drop((here, there, first_peer, second_peer));
        pair.assert_ended();
    });
}
