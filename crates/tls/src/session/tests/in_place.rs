//! Data that is opened in the datagram that arrived, and sealed behind others.

use bytes::{Bytes, BytesMut};
use fairwire_proto::Rest;
use fairwire_units::Instant;

use super::super::{OVERHEAD, Output, Session};
use super::connected;
use crate::channel::Sending;
use crate::head::{ALERT, DATA};
use crate::{SealError, SessionError};

const NOW: Instant = Instant::START;

fn sending(end: &mut Session) -> &mut Sending {
    &mut end.channel.as_mut().expect("it is connected").sending
}

fn record(end: &mut Session, kind: u8, content: &[u8]) -> Vec<u8> {
    let record = sending(end).seal(kind, content);
    record.expect("a key").to_vec()
}

/// Data is opened in its place unless something is polled before it. What follows it is polled, as is the data of a
/// datagram that ends the session.
#[test]
fn data_is_opened_in_its_place() {
    let [mut client, mut server] = connected(None);
    let mut seal = |kind, content| record(&mut client, kind, content);
    let mut datagram = [seal(DATA, b"first"), seal(DATA, b"second")].concat();
    let opened = server.open(NOW, &mut datagram).expect("genuine");
    assert_eq!(opened.rest, Rest::Nothing);
    assert_eq!(&datagram[opened.data.expect("the first")], b"first");

    let mut datagram = seal(DATA, b"third");
    let opened = server.open(NOW, &mut datagram).expect("genuine");
    assert_eq!(opened.data, None, "the second comes before it");
    for data in [&b"second"[..], b"third"] {
        assert_eq!(server.poll(), Output::Data(Bytes::from_static(data)));
    }

    let mut datagram = [seal(DATA, b"fourth"), vec![0x2f, 9, 9, 0, 17]].concat();
    datagram.extend([9; 17]);
    let opened = server.open(NOW, &mut datagram).expect("one is forged");
    assert_eq!(opened.rest, Rest::Unread);
    assert_eq!(&datagram[opened.data.expect("genuine")], b"fourth");

    let forged = [vec![0x2f, 9, 9, 0, 17], vec![9; 17]].concat();
    let mut datagram = [forged, seal(DATA, b"fifth")].concat();
    let opened = server.open(NOW, &mut datagram).expect("one is forged");
    assert_eq!(opened.rest, Rest::Unread);
    assert_eq!(&datagram[opened.data.expect("genuine")], b"fifth");

    let mut datagram = [seal(DATA, b"last"), seal(ALERT, &[2, 80])].concat();
    let failed = server.open(NOW, &mut datagram);
    assert!(matches!(failed, Err(SessionError::Alert(_))), "{failed:?}");
    assert_eq!(server.poll(), Output::Data(Bytes::from_static(b"last")));
    assert_eq!(server.poll(), Output::Idle);
}

/// Data before the announcement of the end is data, and what follows it is none.
#[test]
fn data_ends_where_the_end_is_announced() {
    let [mut client, mut server] = connected(None);
    let mut seal = |kind, content| record(&mut client, kind, content);
    let before = seal(DATA, b"before");
    let end = seal(ALERT, &[1, 0]);
    let mut datagram = [before, end, seal(DATA, b"after")].concat();
    let opened = server.open(NOW, &mut datagram).expect("genuine");
    assert_eq!(&datagram[opened.data.expect("genuine")], b"before");
    assert_eq!(
        [server.poll(), server.poll()],
        [Output::Closed, Output::Idle]
    );
}

/// A datagram follows what is there already, and its data may be in parts. Where nothing may be sealed, nothing is added.
#[test]
fn datagrams_are_appended() {
    let [mut client, mut server] = connected(None);
    let mut datagrams = BytesMut::from(&b"before"[..]);
    client
        .append(&[b"da", b"", b"ta"], &mut datagrams)
        .expect("connected");
    assert_eq!(datagrams.len(), 6 + 4 + OVERHEAD);
    assert!(datagrams.starts_with(b"before"));
    server
        .handle_datagram(NOW, &datagrams[6..])
        .expect("genuine");
    assert_eq!(server.poll(), Output::Data(Bytes::from_static(b"data")));

    let before = datagrams.clone();
    let long = vec![0; client.max_data()];
    let result = client.append(&[&long, &[0]], &mut datagrams);
    assert!(matches!(result, Err(SealError::TooLarge { .. })));
    sending(&mut client).set_limit(1);
    let result = client.append(&[b"data"], &mut datagrams);
    assert!(matches!(result, Err(SealError::Failed(_))));
    assert_eq!(datagrams, before);
}
