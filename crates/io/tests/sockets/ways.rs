//! Other ways to send, receive, accept and close: without waiting, in batches, by polling, and for a whole endpoint.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use fairwire::tls::{ClientConfig, ServerConfig};
use fairwire::{
    Ccid, CloseReason, ConnectError, Connection, ConnectionEvent, Direction, Endpoint, ErrorText,
    ListenError, Listener, ResetCode, Security, SendError, TryRecvError, TrySendError,
};

use crate::{SERVICE, in_time};

fn any() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// Makes a listener whose UDP and DCCP ports have the same number, and a client that is connected to it.
async fn pair() -> (Endpoint, Listener, Connection, Connection) {
    let listener = fairwire::listen(any(), &[SERVICE], Security::None).expect("bound");
    let client = Endpoint::bind(any()).expect("bound");
    let connecting = client.connect(listener.local_addr(), SERVICE, Security::None);
    let (here, there) = in_time(async { tokio::join!(connecting, listener.accept()) }).await;
    let (here, there) = (here.expect("connected"), there.expect("accepted"));
    (client, listener, here, there)
}

/// `listen` uses one number for the UDP port and the DCCP port.
#[tokio::test]
async fn one_number_is_both_ports() {
    let listener = fairwire::listen(any(), &[SERVICE], Security::None).expect("bound");
    assert_eq!(listener.local_addr().port(), listener.dccp_port());
    let taken =
        fairwire::listen(listener.local_addr(), &[SERVICE], Security::None).expect_err("taken");
    assert!(taken.to_string().contains("in use"), "{taken}");
    let name = listener.local_addr().to_string();
    let (here, there) = in_time(async {
        tokio::join!(
            fairwire::connect(&name, SERVICE, Security::None),
            listener.accept()
        )
    })
    .await;
    let there = there.expect("accepted");
    assert_eq!(there.local().expect("known"), listener.local_addr().into());
    in_time(here.expect("connected").close())
        .await
        .expect("closed");
}

/// `try_recv` returns a datagram that has arrived. Before that, and after the end, it returns the matching error.
#[tokio::test]
async fn datagrams_are_tried_for() {
    let (_client, _listener, here, there) = pair().await;
    assert_eq!(there.try_recv(), Err(TryRecvError::Empty));
    here.try_send("now").expect("room");
    let received = loop {
        match there.try_recv() {
            Err(TryRecvError::Empty) => tokio::time::sleep(Duration::from_millis(1)).await,
            other => break other.expect("data"),
        }
    };
    assert_eq!(received.data, "now");
    in_time(here.close()).await.expect("closed");
    in_time(there.closed()).await;
    let Err(TryRecvError::Closed(closed)) = there.try_recv() else {
        panic!("the connection is over")
    };
    assert!(closed.is_orderly(), "{closed}");
    let error = here.try_send("late").expect_err("over");
    assert!(
        matches!(error, TrySendError::Send(SendError::Closed(_))),
        "{error}"
    );
}

/// Batches keep the order, take what there is room for and leave the rest.
#[tokio::test]
async fn batches_keep_the_order() {
    let (_client, _listener, here, there) = pair().await;
    let all: Vec<Bytes> = (0..1_000_u32)
        .map(|n| Bytes::from(n.to_be_bytes().to_vec()))
        .collect();
    let mut waiting = VecDeque::from(all.clone());
    let sending = async {
        let mut ids = Vec::new();
        while !waiting.is_empty() {
            let taken = here.send_many(&mut waiting).await.expect("open");
            assert!(!taken.is_empty());
            ids.extend(taken);
        }
        ids
    };
    let receiving = async {
        let mut received = Vec::new();
        while received.len() < all.len() {
            let before = received.len();
            let more = there.recv_many(&mut received, 64).await.expect("open");
            assert!((1..=64).contains(&more));
            assert_eq!(received.len(), before + more);
        }
        received
    };
    let (ids, received) = in_time(async { tokio::join!(sending, receiving) }).await;
    assert_eq!(ids.len(), all.len());
    let data: Vec<Bytes> = received.into_iter().map(|received| received.data).collect();
    assert_eq!(data, all);
    assert_eq!(there.recv_many(&mut Vec::new(), 0).await, Ok(0));
    assert_eq!(here.send_many(&mut VecDeque::new()).await, Ok(Vec::new()));
    // A datagram that does not fit remains in `mixed`; those before it are sent.
    let large = Bytes::from(vec![0; here.max_datagram_size() + 1]);
    let mut mixed = VecDeque::from([Bytes::from("fits"), large]);
    assert_eq!(
        in_time(here.send_many(&mut mixed))
            .await
            .expect("one fits")
            .len(),
        1
    );
    let error = in_time(here.send_many(&mut mixed))
        .await
        .expect_err("too large");
    assert!(matches!(error, SendError::TooLarge { .. }), "{error}");
    assert_eq!(mixed.len(), 1);
}

/// A future written by hand is woken for a datagram, for room and for a connection.
#[tokio::test]
async fn futures_are_polled_by_hand() {
    let listener = fairwire::listen(any(), &[SERVICE], Security::None).expect("bound");
    let client = Endpoint::bind(any()).expect("bound");
    let connecting = client.connect(listener.local_addr(), SERVICE, Security::None);
    let arriving = poll_fn(|context| listener.poll_incoming(context));
    let (here, there) = in_time(async { tokio::join!(connecting, arriving) }).await;
    let (here, there) = (here.expect("connected"), there.expect("arrived"));
    let there = there.accept().await.expect("no DTLS to set up");
    let sending = async {
        for n in 0..2_000_u32 {
            let data = Bytes::from(n.to_be_bytes().to_vec());
            poll_fn(|context| here.poll_send(context, &data))
                .await
                .expect("open");
        }
    };
    let receiving = async {
        for n in 0..2_000_u32 {
            let received = poll_fn(|context| there.poll_recv(context))
                .await
                .expect("open");
            assert_eq!(received.data, n.to_be_bytes().to_vec());
        }
    };
    in_time(async { tokio::join!(sending, receiving) }).await;
    in_time(here.close()).await.expect("closed");
    let end = in_time(poll_fn(|context| there.poll_recv(context))).await;
    assert!(end.expect_err("the end").is_orderly());
}

/// A connection can be inspected before it is accepted. A connection that is refused or dropped is reset, and the
/// client reads the reason if the server gives one.
#[tokio::test]
async fn incoming_connections_are_inspected() {
    let listener = fairwire::listen(any(), &[SERVICE], Security::None).expect("bound");
    let client = Endpoint::bind(any()).expect("bound");
    for way in ["drop", "refuse", "say why"] {
        let connecting = client.connect(listener.local_addr(), SERVICE, Security::None);
        let (here, there) = in_time(async { tokio::join!(connecting, listener.incoming()) }).await;
        let (here, there) = (here.expect("connected"), there.expect("arrived"));
        assert_eq!(there.service(), SERVICE);
        let remote = there.remote().expect("known");
        assert_eq!(remote.addr, client.local_addr());
        assert_eq!(there.local().expect("known"), listener.local_addr().into());
        match way {
            "drop" => drop(there),
            "refuse" => there.refuse(),
            _ => there.refuse_with("no seat is free"),
        }
        let CloseReason::Reset { code, text, .. } = in_time(here.closed()).await else {
            panic!("{way}: not reset");
        };
        let expected = (way == "say why").then_some("no seat is free");
        assert_eq!(code, ResetCode::Aborted, "{way}");
        assert_eq!(text.as_ref().map(ErrorText::as_str), expected, "{way}");
        // A Reset in answer to the Request gives the same text as an error of `connect`.
        let remote = listener.local_addr();
        let shown = ConnectError::Refused { remote, code, text }.to_string();
        let saying = expected.map_or(String::new(), |text| format!(", saying {text:?}"));
        let expected = format!(
            "{remote} refused the connection ({code}){saying}: the server's program stopped listening, or gave up"
        );
        assert_eq!(shown, expected, "{way}");
    }
}

/// An application that aborts can give a reason. The peer's application reads it unchanged; its error message escapes
/// control characters, which could affect a terminal.
#[tokio::test]
async fn an_abort_says_why() {
    let listener = fairwire::listen(any(), &[SERVICE], Security::None).expect("bound");
    let client = Endpoint::bind(any()).expect("bound");
    let connecting = client.connect(listener.local_addr(), SERVICE, Security::None);
    let (here, there) = in_time(async { tokio::join!(connecting, listener.accept()) }).await;
    let (here, there) = (here.expect("connected"), there.expect("accepted"));
    here.abort_with("code 7: \u{1b}[31mdisk full");
    let closed = in_time(there.recv()).await.expect_err("the end");
    assert!(!closed.is_orderly());
    let shown = closed.to_string();
    assert!(shown.contains(r"code 7: \u{1b}[31mdisk full"), "{shown}");
    let CloseReason::Reset { text, .. } = closed.reason else {
        panic!("not reset");
    };
    let text = text.expect("it was sent");
    assert_eq!(text.as_str(), "code 7: \u{1b}[31mdisk full");
    assert_eq!(in_time(here.closed()).await, CloseReason::Aborted);
}

/// An application that closes can say why: the end is orderly, and the peer's application has the code and the text,
/// with DTLS authentic ones.
#[tokio::test]
async fn a_close_says_why() {
    let identity = crate::identity();
    let trusted = ClientConfig::pinned([identity.fingerprint()]);
    let ways = [
        (Security::None, Security::None),
        (
            Security::dtls(trusted),
            Security::dtls(ServerConfig::new(identity)),
        ),
    ];
    for (of_client, of_server) in ways {
        let is_encrypted = of_server.is_encrypted();
        let listener = fairwire::listen(any(), &[SERVICE], of_server).expect("bound");
        let client = Endpoint::bind(any()).expect("bound");
        let connecting = client.connect(listener.local_addr(), SERVICE, of_client);
        let (here, there) = in_time(async { tokio::join!(connecting, listener.accept()) }).await;
        let (here, there) = (here.expect("connected"), there.expect("accepted"));
        here.send("last").await.expect("open");
        let closing = here.close_with(42, "no more \u{7} players");
        let (closed, last) = in_time(async { tokio::join!(closing, there.recv()) }).await;
        closed.expect("an orderly end");
        assert_eq!(last.expect("it was sent before").data, "last");
        let closed = in_time(there.recv()).await.expect_err("the end");
        assert!(closed.is_orderly());
        assert_eq!(
            (closed.code(), closed.is_authenticated),
            (Some(42), is_encrypted)
        );
        let shown = closed.to_string();
        assert!(
            shown.contains("code 42") && shown.contains(r"no more \u{7} players"),
            "{shown}"
        );
    }
}

/// Closing an endpoint closes all its connections properly, ends its listeners, and refuses new connections.
#[tokio::test]
async fn an_endpoint_closes_as_a_whole() {
    let server = Endpoint::bind(any()).expect("bound");
    let listener = server
        .listen(5_001, &[SERVICE], Security::None)
        .expect("free");
    let remote = fairwire::DccpAddr {
        addr: server.local_addr(),
        dccp_port: 5_001,
    };
    let client = Endpoint::bind(any()).expect("bound");
    let mut pairs = Vec::new();
    for _ in 0..3 {
        let connecting = client.connect(remote, SERVICE, Security::None);
        let (here, there) = in_time(async { tokio::join!(connecting, listener.accept()) }).await;
        pairs.push((here.expect("connected"), there.expect("accepted")));
    }
    for (here, there) in &pairs {
        here.send("before").await.expect("open");
        there.send("before").await.expect("open");
    }
    let accepting = tokio::spawn(async move { (listener.accept().await.is_err(), listener) });
    in_time(server.close()).await;
    let (ended, _listener) = in_time(accepting).await.expect("no panic");
    assert!(ended, "nothing more is accepted");
    for (here, there) in &pairs {
        assert_eq!(in_time(there.closed()).await, CloseReason::Closed);
        assert_eq!(in_time(here.closed()).await, CloseReason::Closed);
        // Datagrams that had arrived can be read after the end.
        assert_eq!(in_time(here.recv()).await.expect("data").data, "before");
        assert_eq!(in_time(there.recv()).await.expect("data").data, "before");
    }
    let error = server
        .listen(5_002, &[SERVICE], Security::None)
        .expect_err("closed");
    assert_eq!(error, ListenError::EndpointClosed);
    let error = in_time(server.connect(client.local_addr(), SERVICE, Security::None)).await;
    assert!(
        matches!(error, Err(ConnectError::EndpointClosed)),
        "{error:?}"
    );
    // With nothing left, a second close returns at once.
    in_time(server.close()).await;
}

/// Each event of the protocol reaches the application: a change of CCID, a slow peer, a peer that stopped reading.
#[tokio::test]
async fn events_are_told() {
    let (_client, _listener, here, there) = pair().await;
    here.send("open").await.expect("open");
    in_time(there.recv()).await.expect("data");
    let next = || async {
        loop {
            match in_time(here.event()).await.expect("open") {
                ConnectionEvent::MaxDatagramSize { .. } => {}
                event => return event,
            }
        }
    };
    let to = if here.stats().send_ccid == Some(Ccid::TFRC) {
        Ccid::TCP_LIKE
    } else {
        Ccid::TFRC
    };
    here.change_ccid(Direction::Send, &[to])
        .expect("may be asked for");
    let changed = ConnectionEvent::Ccid {
        direction: Direction::Send,
        ccid: to,
    };
    assert_eq!(next().await, changed);
    there.set_slow(true);
    here.send("answer me").await.expect("open");
    assert_eq!(next().await, ConnectionEvent::SlowReceiver);
    there.set_slow(false);
    there.stop_reading();
    here.send("for nobody").await.expect("open");
    // The event may be reported again after a round trip; how often depends on the machine.
    let last = loop {
        match next().await {
            ConnectionEvent::SlowReceiver => {}
            event => break event,
        }
    };
    assert_eq!(last, ConnectionEvent::NotListening);
    in_time(there.close()).await.expect("closed");
    while in_time(here.event()).await.is_ok() {}
}
