//! How sessions close.

use fairwire_tls::{Output, SealError};
use fairwire_units::Duration;

use crate::net::{CLIENT, DELAY, Net, SERVER, pinned};

/// The peer sees that an end closes, and then that end takes no more data to send, but still receives.
#[test]
fn the_peer_sees_a_close() {
    for (closer, peer) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
        let mut net = Net::connected();
        net.send(closer, b"last");
        net.ends[closer].close();
        assert_eq!(net.ends[closer].seal(b"more"), Err(SealError::Closed));
        net.send(peer, b"on its way");
        net.run_for(DELAY);
        assert_eq!(net.data(peer), [b"last"]);
        assert_eq!(net.done[peer].last(), Some(&Output::Closed));
        assert_eq!(net.data(closer), [b"on its way"]);
        net.ends[peer].close();
        net.run_for(DELAY);
        assert_eq!(net.done[closer].last(), Some(&Output::Closed));
        assert_eq!(net.failed, [None, None]);
        for end in &net.ends {
            assert_eq!(end.next_timeout(), None);
        }
    }
}

/// Data that were sent before the close and arrive after it are received; closing twice sends one message.
#[test]
fn data_overtaken_by_a_close_arrive() {
    for (closer, peer) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
        let mut net = Net::connected();
        let late = net.ends[closer].seal(b"overtaken").expect("connected");
        let before = net.sent.len();
        net.ends[closer].close();
        net.ends[closer].close();
        net.run_for(DELAY);
        assert_eq!(net.sent.len(), before + 1);
        assert_eq!(net.done[peer].last(), Some(&Output::Closed));
        net.arrive(peer, &late);
        assert_eq!(net.data(peer), [b"overtaken"]);
    }
}

/// After its peer has closed, an end takes no data to send, because nobody waits for them.
#[test]
fn nothing_is_sealed_for_a_peer_that_closed() {
    let mut net = Net::connected();
    net.ends[SERVER].close();
    net.run_for(DELAY);
    assert_eq!(net.ends[CLIENT].seal(b"?"), Err(SealError::Closed));
    assert_eq!(SealError::Closed.to_string(), "the DTLS session is closed");
}

/// A session that is closed before its handshake is complete sends nothing and ignores what arrives.
#[test]
fn a_close_during_the_handshake_ends_it() {
    let (client, server) = pinned();
    let mut net = Net::new(&client, &server);
    assert_eq!(
        net.ends[CLIENT].seal(b"early"),
        Err(SealError::NotConnected)
    );
    net.ends[CLIENT].close();
    net.run_for(Duration::from_secs(100));
    assert_eq!(net.sent.len(), 0);
    assert_eq!(net.ends[CLIENT].next_timeout(), None);
    net.arrive(CLIENT, &[22; 100]);
    assert_eq!(net.failed, [None, None]);
    assert_eq!(net.ends[CLIENT].seal(b"late"), Err(SealError::Closed));
}

/// An alert in the clear can end a handshake, as anybody on the path can, but makes no connection.
#[test]
fn a_close_in_the_clear_is_no_connection() {
    let close_notify = [21, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 1, 0];
    let (client, server) = pinned();
    let mut net = Net::new(&client, &server);
    net.run_for(DELAY);
    net.arrive(CLIENT, &close_notify);
    assert_eq!(net.done[CLIENT], [Output::Closed]);
    assert!(!net.ends[CLIENT].is_connected());
    assert_eq!(net.ends[CLIENT].seal(b"?"), Err(SealError::Closed));
    net.run_for(Duration::from_secs(100));
    assert_eq!(net.done[CLIENT], [Output::Closed], "nothing more");
    assert_eq!(net.ends[CLIENT].next_timeout(), None);
}
