//! Peers that vanish silently: a child process is killed, and its socket closes with it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fairwire::{
    CloseReason, Config, ConnectOptions, Connection, DccpAddr, Endpoint, Security, Unreachable,
};

use crate::{PORT, SERVICE, soon};

/// The variable that is set in the child, which accepts one connection and waits to be killed.
const CHILD: &str = "FAIRWIRE_TEST_VANISHES";

/// The child process; it does nothing when the test runner runs it as a test.
#[test]
fn the_child_that_vanishes() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let endpoint = Endpoint::bind(([127, 0, 0, 1], 0).into()).expect("a free port");
        let listener = endpoint
            .listen(PORT, &[SERVICE], Security::None)
            .expect("a free port");
        println!("\nbound {}", endpoint.local_addr());
        let connection = listener.accept().await.expect("a client");
        println!("\naccepted");
        while let Ok(received) = connection.recv().await {
            let _ = connection.send(received.data).await;
        }
    });
}

/// A peer that can be killed. It is killed when the test ends, at the latest.
struct Peer {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Peer {
    fn start() -> (Self, DccpAddr) {
        let test = std::env::current_exe().expect("a test has a path");
        let mut child = Command::new(test)
            .args([
                "--exact",
                "vanished::the_child_that_vanishes",
                "--nocapture",
            ])
            .env(CHILD, "1")
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program runs");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut peer = Self { child, lines };
        let addr = peer.hear("bound ").parse().expect("an address");
        let remote = DccpAddr {
            addr,
            dccp_port: PORT,
        };
        (peer, remote)
    }

    /// Returns the rest of the next line that begins with `what`.
    fn hear(&mut self, what: &str) -> String {
        loop {
            let line = self.lines.next().expect("it lives").expect("text");
            if let Some(rest) = line.strip_prefix(what) {
                return rest.to_owned();
            }
        }
    }

    fn kill(mut self) {
        self.child.kill().expect("it lives");
        self.child.wait().expect("it was killed");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a connection to a peer that accepted it and was then killed.
async fn with_a_dead_peer(change: impl FnOnce(&mut Config)) -> Connection {
    let (mut peer, remote) = Peer::start();
    let client = Endpoint::bind(([127, 0, 0, 1], 0).into()).expect("a free port");
    let mut config = Config::default();
    config.idle_timeout = Duration::from_secs(60);
    change(&mut config);
    let options = ConnectOptions::new().config(config);
    let connecting = client.connect_with(remote, SERVICE, Security::None, options);
    let connection = soon(connecting).await.expect("connected");
    peer.hear("accepted");
    soon(connection.send("hello")).await.expect("sent");
    assert_eq!(soon(connection.recv()).await.expect("open").data, "hello");
    peer.kill();
    connection
}

const GONE: CloseReason = CloseReason::Unreachable {
    why: Unreachable::Port,
};

/// A program that sends to a killed peer learns of it at once, not after the idle timeout. The error names the cause.
#[tokio::test]
async fn finding_20_a_sender_learns_of_a_killed_peer() {
    let connection = with_a_dead_peer(|_| {}).await;
    soon(connection.send("anybody?")).await.expect("sent");
    assert_eq!(soon(connection.closed()).await, GONE);
    let end = soon(connection.recv()).await.expect_err("the end");
    let text = end.to_string();
    assert!(!end.is_orderly() && text.contains("no program"), "{text}");
}

/// A program that only receives learns of a killed peer too, if keep-alive is on.
#[tokio::test]
async fn finding_20_a_receiver_learns_of_a_killed_peer() {
    let every = Duration::from_millis(200);
    let connection = with_a_dead_peer(|config| config.keep_alive = Some(every)).await;
    let end = soon(connection.recv()).await.expect_err("the end");
    assert_eq!(end.reason, GONE);
}

/// `close` does not wait for a peer that is gone.
#[tokio::test]
async fn finding_20_closing_learns_of_a_killed_peer() {
    let connection = with_a_dead_peer(|_| {}).await;
    let end = soon(connection.close()).await.expect_err("nobody answers");
    assert_eq!(end.reason, GONE);
}

/// A server that vanishes and returns on the same port resets connections that it no longer knows, so the client does
/// not hang.
#[tokio::test]
async fn a_restarted_server_resets() {
    let connection = with_a_dead_peer(|_| {}).await;
    let addr = connection.remote().expect("known").addr;
    let _again = Endpoint::bind(addr).expect("free again");
    soon(connection.send("anybody?")).await.expect("sent");
    let end = soon(connection.recv()).await.expect_err("the end");
    assert!(end.to_string().contains("restarted"), "{end}");
}
