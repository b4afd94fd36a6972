//! What a send queue does with a datagram is the same with DTLS as without.

use std::time::Duration;

use fairwire::emulated::Link;
use fairwire::{
    Config, ConnectOptions, Connection, Fate, QueuePolicy, Rate, Security, SendError, SendOptions,
    TrySendError,
};

use crate::{SERVICE, dtls};

/// The datagrams that a send queue holds here.
const ROOM: usize = 8;

/// A configuration with a small send queue.
fn small(policy: QueuePolicy) -> Config {
    let mut config = Config::default();
    config.report_fates = true;
    config.send_queue.packets = ROOM;
    config.send_queue.policy = policy;
    config
}

/// Connects two endpoints whose send queues are small. The first datagram leaves at once; those that follow wait until
/// the test waits.
async fn pair(encrypted: bool, policy: QueuePolicy) -> (Connection, Connection) {
    let link = Link::new(Rate::from_bits_per_s(1_000_000), Duration::from_millis(10));
    pair_over(link, encrypted, small(policy), u64::MAX).await
}

/// Connects two endpoints. A key of the client protects this many records.
async fn pair_over(
    link: Link,
    encrypted: bool,
    config: Config,
    records_per_key: u64,
) -> (Connection, Connection) {
    pair_with(link, encrypted, config, [records_per_key, u64::MAX]).await
}

/// Connects two endpoints. A key of the client protects the first number of records, one of the server the second.
async fn pair_with(
    link: Link,
    encrypted: bool,
    config: Config,
    records_per_key: [u64; 2],
) -> (Connection, Connection) {
    let (a, b) = link.join().expect("a link");
    let (mut client, mut server) = (Security::None, Security::None);
    if encrypted {
        let (ours, theirs) = dtls();
        client = Security::dtls(ours.records_per_key(records_per_key[0]));
        server = Security::dtls(theirs.records_per_key(records_per_key[1]));
    }
    let listener = b.listen(b.local_addr().port(), &[SERVICE], server);
    let listener = listener.expect("a free port");
    let options = ConnectOptions::new().config(config);
    let connecting = a.connect_with(b.local_addr(), SERVICE, client, options);
    let (here, there) = tokio::join!(connecting, listener.accept());
    let (here, there) = (here.expect("a handshake"), there.expect("a handshake"));
    assert_eq!(
        (here.is_encrypted(), there.is_encrypted()),
        (encrypted, encrypted)
    );
    // What the handshake still has to say leaves.
    tokio::time::sleep(Duration::from_secs(1)).await;
    (here, there)
}

/// Sends datagrams until there is room for no more. The first may leave at once.
fn fill(here: &Connection) {
    let sent = (0..ROOM + 2).take_while(|_| here.try_send(vec![7; 100]).is_ok());
    let sent = sent.count();
    assert!((ROOM..=ROOM + 1).contains(&sent), "{sent}");
}

/// A queue that drops its oldest datagrams takes every new one, and the newest are those that arrive.
#[tokio::test(start_paused = true)]
async fn the_oldest_make_room() {
    for encrypted in [false, true] {
        let (here, there) = pair(encrypted, QueuePolicy::DropOldest).await;
        for number in 0..100_u8 {
            let sent = here.try_send(vec![number; 100]);
            assert!(sent.is_ok(), "encrypted {encrypted}, {number}: {sent:?}");
        }
        let sent = here
            .send_with(vec![100; 100], SendOptions::new().priority(1))
            .await;
        assert!(sent.is_ok(), "encrypted {encrypted}: {sent:?}");
        here.close().await.expect("orderly");
        let mut seen = Vec::new();
        while let Ok(received) = there.recv().await {
            seen.push(received.data[0]);
        }
        seen.sort_unstable();
        let newest = 101 - u8::try_from(ROOM).expect("small")..=100;
        let expected: Vec<_> = std::iter::once(0).chain(newest).collect();
        assert_eq!(seen, expected, "encrypted {encrypted}");
    }
}

/// A full queue refuses a datagram that is late or whose group is broken for that reason, at once; any other has to
/// wait.
#[tokio::test(start_paused = true)]
async fn a_full_queue_names_the_reason() {
    for encrypted in [false, true] {
        let (here, _there) = pair(encrypted, QueuePolicy::BackPressure).await;
        fill(&here);
        let data = || vec![7; 100];
        assert_eq!(
            here.try_send(data()),
            Err(TrySendError::Full),
            "{encrypted}"
        );
        let late =
            SendOptions::new().deadline(tokio::time::Instant::now() - Duration::from_millis(1));
        let refused = Err(SendError::DeadlinePassed);
        assert_eq!(
            here.try_send_with(data(), late),
            refused.clone().map_err(Into::into)
        );
        assert_eq!(here.send_with(data(), late).await, refused, "{encrypted}");
        // Two members of a group; the queue is emptied under them.
        here.purge();
        let group = SendOptions::new().group(9);
        here.try_send_with(data(), group).expect("room");
        here.purge();
        fill(&here);
        let refused = Err(SendError::GroupBroken { group: 9 });
        assert_eq!(
            here.try_send_with(data(), group),
            refused.clone().map_err(Into::into)
        );
        assert_eq!(here.send_with(data(), group).await, refused, "{encrypted}");
        let large = vec![7; 60_000];
        let refused = here.try_send(large).expect_err("too large");
        assert!(
            matches!(refused, TrySendError::Send(SendError::TooLarge { size: 60_000, max }) if max == here.max_datagram_size()),
            "encrypted {encrypted}: {refused}"
        );
    }
}

/// A datagram that waits for room in a queue of expired ones gets it, because those are dropped.
#[tokio::test(start_paused = true)]
async fn expired_datagrams_make_room() {
    for encrypted in [false, true] {
        let (here, _there) = pair(encrypted, QueuePolicy::BackPressure).await;
        let short = SendOptions::new().within(Duration::from_micros(500));
        for _ in 0..=ROOM {
            here.try_send_with(vec![7; 100], short).expect("room");
        }
        assert_eq!(
            here.try_send(vec![8; 100]),
            Err(TrySendError::Full),
            "{encrypted}"
        );
        tokio::time::advance(Duration::from_millis(2)).await;
        let sent = here.try_send(vec![8; 100]);
        assert!(sent.is_ok(), "encrypted {encrypted}: {sent:?}");
    }
}

/// Under a paused clock of tokio, a deadline on sockets of the system is as far away as it was set.
#[tokio::test(start_paused = true)]
#[expect(
    clippy::disallowed_methods,
    reason = "the system's time has to pass, and tokio's not"
)]
async fn deadlines_survive_a_paused_clock() {
    let bind = || fairwire::Endpoint::bind("127.0.0.1:0".parse().expect("an address"));
    let (a, b) = (bind().expect("bound"), bind().expect("bound"));
    let listener = b.listen(b.local_addr().port(), &[SERVICE], Security::None);
    let listener = listener.expect("a free port");
    let connecting = a.connect(b.local_addr(), SERVICE, Security::None);
    let (here, there) = tokio::join!(connecting, listener.accept());
    let (here, there) = (here.expect("connected"), there.expect("accepted"));
    std::thread::sleep(Duration::from_millis(50));
    let options = SendOptions::new().within(Duration::from_secs(30));
    here.send_with("in time", options).await.expect("in time");
    let short = SendOptions::new().within(Duration::from_millis(20));
    here.try_send_with("in time", short).expect("in time");
    let late = tokio::time::Instant::now() - Duration::from_millis(1);
    let refused = here.try_send_with("late", SendOptions::new().deadline(late));
    assert_eq!(refused, Err(SendError::DeadlinePassed.into()));
    assert_eq!(there.recv().await.expect("sent").data, "in time");
}

/// The fates of datagrams that were pushed out are reported alike.
#[tokio::test(start_paused = true)]
async fn fates_of_what_made_room() {
    for encrypted in [false, true] {
        let (here, there) = pair(encrypted, QueuePolicy::DropOldest).await;
        let reading = tokio::spawn(async move { while there.recv().await.is_ok() {} });
        for number in 0..20_u8 {
            here.try_send(vec![number; 100]).expect("taken");
        }
        here.close().await.expect("orderly");
        let mut refused = 0;
        while let Ok((_, fate)) = here.fate().await {
            refused += usize::from(fate == Fate::Refused);
        }
        assert_eq!(refused, 19 - ROOM, "encrypted {encrypted}");
        reading.await.expect("no panic");
    }
}

/// New keys get through although the application always has more than the path carries, whatever its queue does then.
///
/// A new key that is never acknowledged ends a session after some six minutes.
#[tokio::test(start_paused = true)]
async fn new_keys_pass_a_full_queue() {
    let minutes = Duration::from_secs(1_200);
    for policy in [QueuePolicy::BackPressure, QueuePolicy::DropOldest] {
        let link = Link::new(Rate::from_bits_per_s(50_000), Duration::from_millis(10));
        let link = link.loss(0.05).seed(4_347);
        let (here, there) = pair_over(link, true, small(policy), 50).await;
        let reading = tokio::spawn(async move {
            let mut read = 0;
            while there.recv().await.is_ok() {
                read += 1;
            }
            read
        });
        let end = tokio::time::Instant::now() + minutes;
        while tokio::time::Instant::now() < end {
            if policy == QueuePolicy::BackPressure {
                let sent = here.send(vec![7; 400]).await;
                assert!(sent.is_ok(), "{policy:?}: {sent:?}");
            } else {
                // Some six times as much as the path carries.
                for _ in 0..ROOM {
                    let sent = here.try_send(vec![7; 400]);
                    assert!(sent.is_ok(), "{policy:?}: {sent:?}");
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        drop(here);
        let read = reading.await.expect("no panic");
        assert!(read > 2_000, "{policy:?}: {read} datagrams");
    }
}

/// An application that only sends does not read its peer's new key. It is acknowledged all the same, and what the peer
/// sent besides can be read later.
///
/// RFC 9147, section 8. Without the acknowledgement, the peer ends the session after some seven minutes.
#[tokio::test(start_paused = true)]
async fn an_end_that_only_sends_acknowledges_new_keys() {
    let link = Link::new(Rate::from_bits_per_s(1_000_000), Duration::from_millis(10));
    let config = Config::default();
    let (here, there) = pair_with(link, true, config, [u64::MAX, 8]).await;
    for number in 0..20_u8 {
        there.send(vec![number; 100]).await.expect("open");
    }
    // Longer than an end waits for an acknowledgement, with each wait a quarter longer: 12 repeats from 50 ms on.
    for _ in 0..70 {
        here.send(vec![7; 100]).await.expect("open");
        assert_eq!(there.recv().await.expect("open").data, vec![7; 100]);
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    for number in 0..20_u8 {
        let read = here.try_recv().expect("it was kept");
        assert_eq!(read.data, vec![number; 100]);
    }
}

/// Data that begins like DTLS's agreement on sending again arrives as it was sent. It has 16 bytes less room, which the
/// error says, and waits for them as for others.
#[tokio::test(start_paused = true)]
async fn escaped_data_has_its_size() {
    let magic = [
        0xE7, 0x2B, 0x91, 0x5C, 0x0D, 0xF4, 0x63, 0xA8, 0x1E, 0xB5, 0x7A, 0xC9, 0x34, 0x86, 0xDF,
        0x02,
    ];
    let like_it = |len: usize| {
        let mut data = magic.to_vec();
        data.resize(len, 7);
        data
    };
    let (here, there) = pair(true, QueuePolicy::BackPressure).await;
    let max = here.max_datagram_size();
    let too_large = SendError::TooLarge {
        size: max,
        max: max - 16,
    };
    assert_eq!(here.send(like_it(max)).await, Err(too_large.clone()));
    assert_eq!(here.try_send(like_it(max)), Err(too_large.into()));
    here.send(like_it(max - 16)).await.expect("room");
    assert_eq!(there.recv().await.expect("sent").data, like_it(max - 16));

    // Room for the data, but not for what is put in front of it.
    let mut config = small(QueuePolicy::BackPressure);
    config.send_queue.bytes = 2 * 100 + 8;
    let link = Link::new(Rate::from_bits_per_s(1_000_000), Duration::from_millis(10));
    let (here, there) = pair_over(link, true, config, u64::MAX).await;
    let many = || (0..3).map(|_| like_it(100).into()).collect();
    // The first leaves at once.
    for _ in 0..2 {
        here.try_send(vec![7; 100]).expect("room");
    }
    assert_eq!(here.try_send(like_it(100)), Err(TrySendError::Full));
    let waits = std::future::poll_fn(|context| here.poll_send(context, &like_it(100).into()));
    waits.await.expect("open");
    here.send(like_it(100)).await.expect("open");
    let mut queued: std::collections::VecDeque<_> = many();
    while !queued.is_empty() {
        here.send_many(&mut queued).await.expect("open");
    }
    for number in 0..7 {
        let data = there.recv().await.expect("sent").data;
        let expected = if number < 2 {
            vec![7; 100]
        } else {
            like_it(100)
        };
        assert_eq!(data, expected, "{number}");
    }
}
