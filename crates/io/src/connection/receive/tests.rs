//! How much is decrypted at one time.

use std::time::Duration;

use fairwire_tls::{ClientConfig, Date, Identity, Output, ServerConfig, Session, Validity};
use fairwire_units::Instant;
use fairwire_wire::ServiceCode;

use crate::address::DccpAddr;
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::security::Security;

const SERVICE: ServiceCode = ServiceCode(42);
const PORT: u16 = 5_001;
const TODAY: Date = Date::from_unix_seconds(1_795_000_000);

/// The datagrams that a peer sends, and the records in each.
const DATAGRAMS: usize = 40;
const RECORDS: usize = 20;

/// However many datagrams are asked for and wait, [`Connection::recv_many`] decrypts sixteen before it looks at what they
/// held. A peer may put many records into each, and what is not returned is kept.
#[tokio::test]
async fn sixteen_datagrams_are_decrypted_at_once() {
    let any = "127.0.0.1:0".parse().expect("an address");
    let server = Endpoint::bind(any).expect("a free port");
    let identity = Identity::generate(&[], Validity::days(TODAY, 40_000)).expect("an identity");
    let config = ClientConfig::pinned([identity.fingerprint()]);
    let security = Security::dtls(ServerConfig::new(identity));
    let listener = server.listen(PORT, &[SERVICE], security);
    let listener = listener.expect("a free port");
    let remote = DccpAddr {
        addr: server.local_addr(),
        dccp_port: PORT,
    };
    let client = Endpoint::bind(any).expect("a free port");
    let connecting = async {
        let connection = client.connect(remote, SERVICE, Security::None).await;
        let connection = connection.expect("DCCP is open");
        let session = Session::client(&config, 1_200, Instant::START, TODAY);
        let mut session = session.expect("a client");
        while !session.is_connected() {
            flush(&mut session, &connection).await;
            if !session.is_connected() {
                let received = connection.recv().await.expect("open");
                let handled = session.handle_datagram(Instant::START, &received.data);
                handled.expect("a good server");
            }
        }
        flush(&mut session, &connection).await;
        (session, connection)
    };
    let ((mut session, here), there) = tokio::join!(connecting, listener.accept());
    let there = there.expect("accepted");
    let before = there.stats().data_received;
    for _ in 0..DATAGRAMS {
        let mut all = Vec::new();
        for _ in 0..RECORDS {
            all.extend(session.seal(b"1").expect("connected"));
        }
        here.send(all).await.expect("open");
    }
    while there.stats().data_received < before + DATAGRAMS as u64 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut read = Vec::new();
    let count = there.recv_many(&mut read, DATAGRAMS).await.expect("open");
    let secure = there.inner.secure.get().expect("encrypted");
    let decrypted = count + secure.kept();
    assert_eq!(count, DATAGRAMS);
    assert!(decrypted <= 16 * RECORDS, "{decrypted}");
    while read.len() < DATAGRAMS * RECORDS {
        there.recv_many(&mut read, DATAGRAMS).await.expect("open");
    }
}

/// Sends what a session has to say.
async fn flush(session: &mut Session, connection: &Connection) {
    loop {
        match session.poll() {
            Output::Send(datagram) => drop(connection.send(datagram).await.expect("open")),
            Output::Idle => return,
            _ => {}
        }
    }
}
