//! Records after the handshake: sizes, copies and forgeries.

use fairwire_tls::{OVERHEAD, SealError};
use fairwire_units::Duration;

use crate::net::{CLIENT, DELAY, MAX_DATAGRAM, Net, SERVER, disturbed};

/// Data of every length up to the maximum pass in a datagram that is as much longer as the overhead says; one byte more
/// is refused with both numbers, and so is any length after the limit sank.
#[test]
fn data_up_to_the_maximum_pass() {
    let mut net = Net::connected();
    let max = net.ends[CLIENT].max_data();
    assert_eq!(max, MAX_DATAGRAM - OVERHEAD);
    for length in [0, 1, 100, max - 1, max] {
        let data = vec![7; length];
        for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
            let datagram = net.send(from, &data);
            assert_eq!(datagram.len(), length + OVERHEAD);
            net.run_for(DELAY);
            assert_eq!(net.data(to).last(), Some(&&data[..]));
        }
    }
    let error = SealError::TooLarge {
        length: max + 1,
        max,
    };
    let text = error.to_string();
    assert!(
        text.contains("1379 bytes") && text.contains("1378"),
        "{text}"
    );
    assert_eq!(net.ends[CLIENT].seal(&vec![7; max + 1]), Err(error));
    net.ends[CLIENT].set_max_datagram(100);
    assert_eq!(net.ends[CLIENT].max_data(), 78);
    assert!(net.ends[CLIENT].seal(&[7; 79]).is_err());
    assert!(net.ends[CLIENT].seal(&[7; 78]).is_ok());
    net.ends[CLIENT].set_max_datagram(10);
    assert_eq!(net.ends[CLIENT].max_data(), 0);
}

/// However large datagrams may be, a record carries at most 16,384 bytes (RFC 8446, section 5.1).
#[test]
fn a_record_has_a_limit_of_its_own() {
    let mut net = Net::connected();
    net.ends[CLIENT].set_max_datagram(65_535);
    assert_eq!(net.ends[CLIENT].max_data(), 16_384);
    assert!(net.ends[CLIENT].seal(&vec![7; 16_385]).is_err());
    net.send(CLIENT, &[7; 16_384]);
    net.run_for(DELAY);
    assert_eq!(net.data(SERVER), [&[7; 16_384]]);
}

/// A record that arrives again is delivered once (RFC 9147, section 4.5.1).
#[test]
fn a_replayed_record_is_delivered_once() {
    let mut net = Net::connected();
    let datagram = net.send(CLIENT, b"once");
    net.run_for(DELAY);
    for _ in 0..3 {
        net.arrive(SERVER, &datagram);
    }
    assert_eq!(net.data(SERVER), [b"once"]);
    let stats = net.ends[SERVER].stats();
    assert_eq!((stats.dropped, stats.forged), (3, 0));
}

/// A record that was changed in any byte is dropped, and the session goes on (RFC 9147, section 4.5.2). Records that
/// fail authentication are counted (section 4.5.3).
#[test]
fn a_forged_record_is_dropped_and_counted() {
    let mut net = Net::connected();
    let datagram = net.ends[CLIENT].seal(b"genuine").expect("connected");
    let before = net.ends[SERVER].stats();
    for place in 0..datagram.len() {
        for flip in [1, 0x80] {
            let mut forged = datagram.to_vec();
            forged[place] ^= flip;
            net.arrive(SERVER, &forged);
        }
    }
    assert_eq!(net.data(SERVER).len(), 0);
    let stats = net.ends[SERVER].stats();
    let datagrams = 2 * u64::try_from(datagram.len()).unwrap();
    assert_eq!(stats.opened, before.opened);
    assert!(stats.forged > before.forged + 17, "{stats:?}");
    assert_eq!(
        stats.forged + stats.dropped,
        before.forged + before.dropped + datagrams
    );
    net.arrive(SERVER, &datagram);
    assert_eq!(
        net.data(SERVER),
        [b"genuine"],
        "the window still has room for it"
    );
    assert_eq!(net.failed, [None, None]);
}

/// Data and alerts that are not protected do nothing once the session is: neither are they delivered, nor do they end
/// it.
#[test]
fn records_in_the_clear_are_dropped() {
    let mut net = Net::connected();
    for end in [CLIENT, SERVER] {
        for (kind, body) in [
            (23, &b"injected"[..]),
            (21, &[2, 40]),
            (21, &[1, 0]),
            (22, &[0; 12]),
            (26, &[0, 0]),
        ] {
            let mut record = vec![kind, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 99, 0];
            record.push(u8::try_from(body.len()).unwrap());
            record.extend_from_slice(body);
            let before = net.ends[end].stats().dropped;
            net.arrive(end, &record);
            assert_eq!(net.ends[end].stats().dropped, before + 1, "kind {kind}");
        }
        assert_eq!(net.data(end).len(), 0);
    }
    net.expect_connected();
}

/// Over a path that loses, repeats and reorders, each datagram's data arrive at most once, whole, and most arrive.
#[test]
fn data_survive_a_bad_path() {
    for seed in 1..=20 {
        let mut net = Net::connected();
        net.path = disturbed(seed, 10, 20, 40);
        let sent: Vec<Vec<u8>> = (0..200_u8).map(|n| vec![n; usize::from(n) + 1]).collect();
        for data in &sent {
            net.send(CLIENT, data);
            net.run_for(Duration::from_millis(2));
        }
        net.run_for(Duration::from_secs(1));
        let mut received = net.data(SERVER);
        received.sort_unstable();
        let count = received.len();
        received.dedup();
        assert_eq!(received.len(), count, "seed {seed}: a datagram twice");
        assert!(
            received.iter().all(|data| sent.iter().any(|s| s == data)),
            "seed {seed}"
        );
        assert!(count > 160, "seed {seed}: {count} of 200");
        assert_eq!(net.failed, [None, None], "seed {seed}");
    }
}

/// A record that comes after more than the 4,096 behind it that can be told from copies is not read, and counted. One
/// that comes after fewer is read.
#[test]
fn a_record_that_is_too_late_is_counted() {
    let mut net = Net::connected();
    let mut datagrams: Vec<_> = (0..4_098_u16)
        .map(|number| net.ends[CLIENT].seal(&number.to_be_bytes()))
        .map(|sealed| sealed.expect("connected"))
        .collect();
    let late: Vec<_> = datagrams.drain(..3).collect();
    for datagram in &datagrams {
        net.arrive(SERVER, datagram);
    }
    for (datagram, read) in late.iter().zip([4_095, 4_095, 4_096]) {
        net.arrive(SERVER, datagram);
        assert_eq!(net.data(SERVER).len(), read);
    }
    assert_eq!(net.ends[SERVER].stats().unread, 2);
}

/// Somebody on the path who makes data look like a message of the handshake does not take it away unnoticed: where the
/// peer cannot repeat its handshake any more, such a datagram counts as unread data.
#[test]
fn data_that_looks_like_a_handshake_is_counted() {
    let mut net = Net::connected();
    for from in [CLIENT, SERVER] {
        net.send(from, b"the handshake is over");
    }
    net.run_for(Duration::from_secs(3));
    for (from, to) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
        let data = net.ends[from].seal(b"data").expect("connected");
        let of_epoch_2 = [&[data[0] & !1], &data[1..]].concat();
        let in_the_clear = [&[22, 0xfe, 0xfd][..], &data[3..]].concat();
        for changed in [of_epoch_2, in_the_clear] {
            let before = net.ends[to].stats().unread;
            net.arrive(to, &changed);
            assert_eq!(net.ends[to].stats().unread, before + 1, "{changed:?}");
        }
    }
}

/// RFC 9147, 4.5.2: a record that cannot be read is dropped, and those after it in its datagram are read. A datagram
/// with such a record counts once, also if all that cannot be read is beyond those that are tried.
#[test]
fn one_bad_record_spoils_no_other() {
    let mut net = Net::connected();
    let mut seal = |data: &[u8]| net.ends[CLIENT].seal(data).expect("connected").to_vec();
    let [first, second] = [seal(b"first"), seal(b"second")];
    let mut spoilt = seal(b"spoilt");
    *spoilt.last_mut().expect("a tag") ^= 1;
    let before = net.ends[SERVER].stats();
    net.arrive(SERVER, &[&first[..], &spoilt, &second].concat());
    assert_eq!(net.data(SERVER), [&b"first"[..], b"second"]);
    assert_eq!(net.ends[SERVER].stats().unread, before.unread + 1);
    // It costs no more than a few attempts.
    let last = net.ends[CLIENT].seal(b"last").expect("connected");
    let before = net.ends[SERVER].stats();
    net.arrive(SERVER, &[&spoilt.repeat(31)[..], &last].concat());
    let after = net.ends[SERVER].stats();
    assert_eq!(after.unread, before.unread + 1);
    assert!(after.forged <= before.forged + 4, "{after:?}");
}
