//! The endpoint's memory budget.

use fairwire_units::Duration;
use fairwire_wire::{Ccid, ResetCode};

use super::kit::{PORT, Pair, SERVICE, data, ms};
use crate::connection::NEW_FOOTPRINT;
use crate::{
    CloseReason, Config, ConnectionId, Event, InitCookies, QueuePolicy, SendError, StartError,
};

/// Returns a pair with `count` connections; the server has `memory` bytes.
fn crowd(count: usize, memory: usize, config: &Config) -> (Pair, Vec<[ConnectionId; 2]>) {
    let mut pair = Pair::new();
    pair.record = false;
    pair.ends[1].config.max_memory = memory;
    let listening = pair.ends[1].listen(PORT, &[SERVICE], config.clone());
    assert_eq!(listening, Ok(()));
    let ids = (0..count).map(|_| {
        let client = pair.connect_only(config.clone());
        pair.run_for(ms(200));
        [client, pair.server.expect("accepted")]
    });
    let ids = ids.collect();
    (pair, ids)
}

/// Asserts that the memory of each endpoint is the sum over its connections.
fn check_sum(pair: &Pair) {
    for end in &pair.ends {
        let sum: usize = end.connections.iter().map(|(_, c)| c.counted()).sum();
        assert_eq!(end.endpoint_stats().memory, sum);
    }
}

/// Many connections whose readers have stopped take no more memory than the endpoint's budget.
///
/// Data beyond it is dropped and reported with Drop Code 2. Each queue still takes one datagram. All packets are
/// acknowledged, and the other direction and the end of the connection work.
#[test]
fn finding_4_data_beyond_the_budget_is_dropped() {
    for ccid in [2, 3] {
        let mut config = Config::default();
        config.send_ccids = vec![Ccid::new(ccid)];
        config.receive_ccids = vec![Ccid::new(ccid)];
        let budget = 40 * NEW_FOOTPRINT;
        let (mut pair, ids) = crowd(8, budget, &config);
        for _ in 0..600 {
            for &[client, server] in &ids {
                let _ = pair.ends[0].send(pair.now, client, data(1_000));
                let _ = pair.ends[1].send(pair.now, server, data(100));
                while pair.ends[0].recv(client).is_some() {}
            }
            pair.run_for(ms(10));
            assert!(pair.ends[1].endpoint_stats().memory <= budget);
        }
        check_sum(&pair);
        pair.run_for(ms(1_000));
        let code = 2;
        for &[client, server] in &ids {
            let (sent, got) = (pair.ends[0].stats(client), pair.ends[1].stats(server));
            let (sent, got) = (sent.unwrap(), got.unwrap());
            assert!(got.dropped_locally[code] > 0 && sent.dropped_by_peer[code] > 0);
            assert!(got.data_sent > 0 && sent.data_received == got.data_sent);
            assert!(pair.ends[1].recv(server).is_some());
            pair.ends[0].close(pair.now, client);
        }
        pair.run_for(ms(10_000));
        let closed = |event: &&Event| {
            **event
                == Event::Closed {
                    reason: CloseReason::Closed,
                }
        };
        assert_eq!(pair.told(1).iter().filter(closed).count(), ids.len());
        for [client, server] in ids {
            pair.ends[0].release(client);
            pair.ends[1].release(server);
        }
        assert_eq!(pair.ends.map(|end| end.endpoint_stats().memory), [0, 0]);
    }
}

/// An endpoint without memory refuses Requests with Reset 9, with and without cookies, and calls of `connect`.
///
/// When memory is free again, it accepts them.
#[test]
fn finding_4_no_connection_begins_without_memory() {
    for policy in [InitCookies::Never, InitCookies::Always] {
        let mut pair = Pair::new();
        pair.ends[1].config.init_cookies = policy;
        pair.ends[1].config.max_memory = 4 * NEW_FOOTPRINT;
        let client = pair.connect(Config::default(), Config::default());
        let mut ids = vec![client];
        for _ in 0..6 {
            pair.run_for(ms(200));
            ids.push(pair.connect_only(Config::default()));
        }
        pair.run_for(ms(200));
        let served = pair.ends[1].endpoint_stats().connections;
        assert!((2..6).contains(&served), "{served}");
        assert!(pair.ends[1].endpoint_stats().memory <= 4 * NEW_FOOTPRINT);
        let refusals = pair.log.iter().filter_map(super::kit::Wire::reset);
        let codes: Vec<_> = refusals.map(|(code, _)| code).collect();
        assert_eq!(codes, vec![ResetCode::TooBusy; 7 - served], "{policy:?}");
        let path = pair.path(1);
        let now = pair.now;
        let own = pair.ends[1].connect(now, path, None, PORT, SERVICE, Config::default());
        assert_eq!(own, Err(StartError::NoMemory));
        for id in ids {
            pair.ends[0].abort(pair.now, id);
        }
        pair.run_for(ms(200));
        let over: Vec<_> = pair.ends[1]
            .connections
            .iter()
            .map(|(_, c)| c.id())
            .collect();
        for id in over {
            pair.ends[1].release(id);
        }
        pair.connect_only(Config::default());
        pair.run_for(ms(200));
        assert_eq!(pair.ends[1].endpoint_stats().connections, 1);
        check_sum(&pair);
    }
}

/// Datagrams to send beyond the budget are refused, or replace the oldest ones if that is the policy.
///
/// A queue always takes one datagram. A refused application gets an event when there is room.
#[test]
fn finding_4_send_says_full_beyond_the_budget() {
    for policy in [QueuePolicy::BackPressure, QueuePolicy::DropOldest] {
        let mut config = Config::default();
        config.send_queue.policy = policy;
        config.ccid2.initial_window = Some(1.0);
        let budget = 4 * NEW_FOOTPRINT;
        let (mut pair, ids) = crowd(2, budget, &config);
        let mut full = 0;
        for _ in 0..100 {
            for &[_, server] in &ids {
                let fits = pair.ends[1].can_send(server, 1_000);
                match pair.ends[1].send(pair.now, server, data(1_000)) {
                    Ok(_) => assert!(fits || policy == QueuePolicy::DropOldest),
                    Err(error) => {
                        assert_eq!((error, fits), (SendError::Full, false));
                        full += 1;
                    }
                }
                assert!(pair.ends[1].endpoint_stats().memory <= budget);
            }
        }
        assert_eq!(full > 0, policy == QueuePolicy::BackPressure);
        for &[_, server] in &ids {
            assert!(pair.ends[1].stats(server).unwrap().queued_packets >= 1);
        }
        pair.run_for(Duration::from_secs(20));
        let writable = |event: &&Event| **event == Event::Writable;
        let told = pair.told(1).iter().filter(writable).count();
        assert_eq!(told > 0, policy == QueuePolicy::BackPressure);
        for &[_, server] in &ids {
            assert_eq!(pair.ends[1].stats(server).unwrap().queued_packets, 0);
        }
        check_sum(&pair);
    }
}

/// After `reserve` the tables of a server do not grow while clients connect, so no packet pays for moving them.
#[test]
fn tables_do_not_move_while_clients_come() {
    let mut pair = Pair::new();
    pair.ends[1].config.max_connections = 300;
    pair.connect(Config::default(), Config::default());
    pair.ends[1].reserve();
    let size = |pair: &Pair| {
        (
            pair.ends[1].connections.capacity(),
            pair.ends[1].is_ready.capacity(),
        )
    };
    let before = size(&pair);
    for _ in 1..300 {
        pair.connect_only(Config::default());
        pair.run_for(ms(1));
    }
    pair.run_for(ms(500));
    assert_eq!(pair.ends[1].endpoint_stats().connections, 300);
    assert_eq!(size(&pair), before);
}

/// Seven connections that queue as much as they may leave room for an eighth.
///
/// No connection gets more than a fraction of what is left.
#[test]
fn who_takes_much_leaves_room_for_others() {
    let mut config = Config::default();
    config.ccid2.initial_window = Some(1.0);
    let (mut pair, ids) = crowd(8, 40 * NEW_FOOTPRINT, &config);
    let mut fill = |server| {
        let sends = (0..250).take_while(|_| {
            let sent = pair.ends[1].send(pair.now, server, data(1_000));
            sent.is_ok()
        });
        sends.count()
    };
    let counts: Vec<_> = ids.iter().map(|&[_, server]| fill(server)).collect();
    assert!(counts.iter().all(|&count| count < 250), "all met the limit");
    assert!(counts[7] * 3 > counts[0], "{counts:?}");
    check_sum(&pair);
}
