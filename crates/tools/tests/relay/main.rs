//! Two relays back to back on loopback, with a UDP program behind them. Every wait is bounded.

mod refusals;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fairwire_tools::identity::{self, Fingerprint};
use fairwire_tools::perf::{Console, PerfError};
use fairwire_tools::relay::{Options, Reason, Relay, Side, Summary};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// Longer than anything takes on a slow machine.
const LIMIT: Duration = Duration::from_secs(60);

fn loopback(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

/// The captured output of a relay.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A relay that runs.
struct Running {
    addr: SocketAddr,
    metrics: Option<SocketAddr>,
    captured: Captured,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Summary>,
}

impl Running {
    async fn start(options: Options) -> Result<Self, PerfError> {
        let bound = timeout(LIMIT, Relay::bind(options)).await;
        let relay = bound.expect("it is bound or refused")?;
        let (addr, metrics) = (relay.local_addr(), relay.metrics_addr());
        let captured = Captured::default();
        let mut console = Console::to(Box::new(captured.clone()), false);
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            relay.run(&mut console, stopped).await
        });
        Ok(Self {
            addr,
            metrics,
            captured,
            stop,
            task,
        })
    }

    /// Stops it and returns the results and the output.
    async fn end(self) -> (Summary, String) {
        drop(self.stop);
        let summary = timeout(LIMIT, self.task).await.expect("it ends");
        let text = self.captured.0.lock().expect("no panic").clone();
        let text = String::from_utf8(text).expect("text");
        (summary.expect("no panic"), text)
    }
}

/// Makes an identity in a new directory.
fn new_identity() -> (tempfile::TempDir, PathBuf, Fingerprint) {
    let directory = tempfile::tempdir().expect("a directory");
    let id = directory.path().join("id");
    let names = ["localhost".to_owned()];
    let fingerprint = identity::generate(&id, &names, identity::valid_for(1)).expect("made");
    (directory, id, fingerprint)
}

/// Returns the options of a relay in clear text.
fn clear(side: Side, to: SocketAddr) -> Options {
    let mut options = Options::new(side, loopback(0), to.to_string());
    options.clear_text = true;
    options
}

/// Starts two relays in clear text towards `to`, after `set` has changed the options of each.
async fn pair(to: SocketAddr, set: impl Fn(&mut Options)) -> (Running, Running) {
    let mut options = clear(Side::Server, to);
    set(&mut options);
    let server = Running::start(options).await.expect("a free port");
    let mut options = clear(Side::Client, server.addr);
    set(&mut options);
    let client = Running::start(options).await.expect("a relay there");
    (client, server)
}

/// A UDP program that sends each datagram back, with the port that it came from in front.
async fn echo() -> SocketAddr {
    let socket = UdpSocket::bind(loopback(0)).await.expect("a free port");
    let addr = socket.local_addr().expect("bound");
    tokio::spawn(async move {
        let mut buffer = vec![0; 65_536];
        while let Ok((len, from)) = socket.recv_from(&mut buffer).await {
            let answer = [&from.port().to_be_bytes(), &buffer[..len]].concat();
            let _ = socket.send_to(&answer, from).await;
        }
    });
    addr
}

async fn program() -> UdpSocket {
    UdpSocket::bind(loopback(0)).await.expect("a free port")
}

/// Sends a datagram to the relay until it comes back, and returns the port that the far program saw.
async fn ask(program: &UdpSocket, relay: SocketAddr, datagram: &[u8]) -> u16 {
    let mut buffer = vec![0; 65_536];
    let asking = async {
        loop {
            program.send_to(datagram, relay).await.expect("sent");
            let answer = timeout(Duration::from_secs(2), program.recv_from(&mut buffer)).await;
            let Ok(answer) = answer else { continue };
            let (len, from) = answer.expect("received");
            assert_eq!(from, relay);
            let [high, low, text @ ..] = &buffer[..len] else {
                panic!("no port in the answer");
            };
            if text == datagram {
                return u16::from_be_bytes([*high, *low]);
            }
        }
    };
    timeout(LIMIT, asking).await.expect("an answer")
}

/// Twenty programs behind an encrypted relay get their own answers, through as many sockets at the far end. Datagrams
/// that are empty, or do not fit, are counted, and harm nobody.
#[tokio::test]
async fn each_program_has_its_own_socket() {
    let (_directory, id, fingerprint) = new_identity();
    let far = echo().await;
    let mut options = Options::new(Side::Server, loopback(0), far.to_string());
    options.dtls.identity = Some(id);
    let server = Running::start(options).await.expect("a free port");
    let mut options = Options::new(Side::Client, loopback(0), server.addr.to_string());
    options.dtls.pins = vec![fingerprint];
    let client = Running::start(options).await.expect("a relay there");
    let mut programs = Vec::new();
    for _ in 0..20 {
        programs.push((program().await, 0));
    }
    for round in 0..5 {
        for (number, (program, port)) in programs.iter_mut().enumerate() {
            let text = format!("datagram {round} of program {number}");
            let seen = ask(program, client.addr, text.as_bytes()).await;
            assert!(round == 0 || seen == *port, "a session keeps its socket");
            *port = seen;
        }
    }
    let (first, _) = &programs[0];
    first
        .send_to(&vec![7; 65_507], client.addr)
        .await
        .expect("sent");
    ask(first, client.addr, b"").await;
    ask(first, client.addr, &[8; 1_200]).await;
    let mut ports: Vec<_> = programs.iter().map(|(_, port)| *port).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 20);
    let (near, text) = client.end().await;
    let (far, far_text) = server.end().await;
    let (near, far) = (near.totals, far.totals);
    let what = format!("{text}{far_text}");
    assert_eq!(
        (near.sessions_begun, far.sessions_begun),
        (20, 20),
        "{what}"
    );
    assert_eq!(near.dropped.of(Reason::TooLarge), 1, "{what}");
    assert_eq!(near.dropped.sum() + far.dropped.sum(), 1, "{what}");
    assert!(near.empty >= 1 && near.to_peer.datagrams >= 102, "{what}");
    assert_eq!(near.to_peer.datagrams, far.from_peer.datagrams, "{what}");
    assert_eq!(near.largest_refused, Some(65_507), "{what}");
    assert!(
        near.largest_that_fits.is_some_and(|fits| fits > 1_200),
        "{what}"
    );
    assert!(text.contains("encrypted with DTLS 1.3"), "{text}");
    assert!(text.contains("65507 bytes were too large"), "{text}");
    assert!(far_text.contains(&fingerprint.to_string()), "{far_text}");
}

/// Programs that begin with the same datagram and get answers, as those of iperf3 do, never get anything else, however
/// many they are: only a relay that reaches itself looks alike without answers.
#[tokio::test]
async fn programs_that_begin_alike_are_left_alone() {
    let (client, server) = pair(echo().await, |_| {}).await;
    let mut buffer = [0; 64];
    for _ in 0..40 {
        let program = program().await;
        program.send_to(b"9876", client.addr).await.expect("sent");
        let answer = timeout(LIMIT, program.recv_from(&mut buffer)).await;
        let (len, _) = answer.expect("an answer").expect("received");
        assert_eq!(&buffer[2..len], b"9876");
    }
    let (near, text) = client.end().await;
    assert_eq!(near.totals.from_peer.datagrams, 40, "{text}");
    server.end().await;
}

/// A session ends after silence at both sides; the next datagram begins another one, with another socket.
#[tokio::test]
async fn silence_ends_a_session() {
    let far = echo().await;
    let (client, server) = pair(far, |options| options.idle = Duration::from_secs(1)).await;
    let program = program().await;
    let first = ask(&program, client.addr, b"one").await;
    let ended = async {
        loop {
            sleep(Duration::from_millis(2_500)).await;
            if ask(&program, client.addr, b"two").await != first {
                return;
            }
        }
    };
    timeout(LIMIT, ended).await.expect("another session");
    let (near, text) = client.end().await;
    let (far, _) = server.end().await;
    assert!(
        near.totals.sessions_begun >= 2 && far.totals.sessions_begun >= 2,
        "{text}"
    );
    assert_eq!(
        near.totals.sessions_lost + far.totals.sessions_lost,
        0,
        "{text}"
    );
    assert!(near.totals.sessions_ended >= 1, "{text}");
}

/// The host of a UDP program that is not there says so, and the far relay counts it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_missing_program_is_counted() {
    let gone = program().await.local_addr().expect("bound");
    let (client, server) = pair(gone, |_| {}).await;
    let program = program().await;
    for _ in 0..10 {
        program
            .send_to(b"anybody?", client.addr)
            .await
            .expect("sent");
        sleep(Duration::from_millis(50)).await;
    }
    client.end().await;
    let (far, text) = server.end().await;
    assert!(far.totals.dropped.of(Reason::FarRefused) >= 1, "{text}");
    assert!(text.contains("refused at the far end"), "{text}");
}

/// A far relay that is started again is found by the next datagrams. Those that came meanwhile are counted.
#[tokio::test]
async fn a_relay_that_comes_back_is_found() {
    let far = echo().await;
    let (client, server) = pair(far, |_| {}).await;
    let program = program().await;
    ask(&program, client.addr, b"before").await;
    let addr = server.addr;
    server.end().await;
    for _ in 0..5 {
        program.send_to(b"lost", client.addr).await.expect("sent");
        sleep(Duration::from_millis(50)).await;
    }
    let mut options = clear(Side::Server, far);
    options.listen = addr;
    let server = Running::start(options)
        .await
        .expect("the port is free again");
    ask(&program, client.addr, b"after").await;
    let (near, text) = client.end().await;
    assert!(near.totals.dropped.of(Reason::SessionLost) >= 1, "{text}");
    let (far, text) = server.end().await;
    assert_eq!(far.totals.sessions_begun, 1, "{text}");
}

/// Returns what the relay shows over HTTP.
async fn metrics(addr: SocketAddr) -> String {
    let asking = async {
        let mut stream = TcpStream::connect(addr).await.expect("it listens");
        let request = b"GET /metrics HTTP/1.1\r\nHost: relay\r\n\r\n";
        stream.write_all(request).await.expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).await.expect("text");
        text
    };
    timeout(LIMIT, asking).await.expect("an answer")
}

/// Programs beyond the limit of sessions are counted; those before it are served. The counters can be read meanwhile,
/// also while somebody else is connected and says nothing.
#[tokio::test]
async fn the_limit_of_sessions_is_kept() {
    let far = echo().await;
    let set = |options: &mut Options| {
        options.sessions = 3;
        options.metrics = Some(loopback(0));
    };
    let (client, server) = pair(far, set).await;
    let shown = client.metrics.expect("asked for");
    let _silent = TcpStream::connect(shown).await.expect("it listens");
    let programs = [program().await, program().await, program().await];
    for program in &programs {
        ask(program, client.addr, b"served").await;
    }
    let late = program().await;
    late.send_to(b"one too many", client.addr)
        .await
        .expect("sent");
    ask(&programs[0], client.addr, b"served").await;
    let shown = metrics(shown).await;
    for line in [
        "HTTP/1.1 200 OK\r\n",
        "fairwire_relay_sessions 3\n",
        "fairwire_relay_dropped_total{reason=\"session_limit\"} 1\n",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    let (near, text) = client.end().await;
    assert_eq!(near.totals.dropped.of(Reason::SessionLimit), 1, "{text}");
    assert_eq!(near.totals.sessions_begun, 3, "{text}");
    server.end().await;
}
