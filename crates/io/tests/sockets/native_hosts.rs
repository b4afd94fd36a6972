//! DCCP directly in IP between two hosts: network namespaces connected by `scripts/two-hosts`.
//!
//! Both ends are this test program, called with a test name. `first` and `second` do nothing when the test runner runs
//! them.

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use fairwire::{
    Config, ConnectError, ConnectOptions, Connection, DccpAddr, Ecn, Endpoint, ListenOptions,
    Security,
};

use crate::{PORT, SERVICE, in_time};

/// The variable that is set in the programs on the two hosts.
const INSIDE: &str = "FAIRWIRE_TEST_TWO_HOSTS";

/// The two addresses of the first host.
const FIRST: [&str; 2] = ["10.77.0.1", "fd77::1"];

fn inside(test: impl Future<Output = ()>) {
    if std::env::var_os(INSIDE).is_some() {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime")
            .block_on(test);
    }
}

/// Over a cable, with IPv4 and IPv6, a connection carries data both ways as ECT(0), and an unbound port is not
/// answered. After the server's raw sockets are closed, the host's ICMP error says that it has no DCCP, which ends an
/// attempt at once.
#[test]
fn two_hosts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = std::env::current_exe().expect("a test has a path");
    let program = program.to_str().expect("a plain path");
    let role =
        |name| format!("'{program}' --exact native_hosts::{name} --nocapture --test-threads 1");
    let ran = Command::new(root.join("scripts/two-hosts"))
        .args([role("first"), role("second")])
        .env(INSIDE, "1")
        .output()
        .expect("a script of ours");
    let (out, err) = (
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr),
    );
    if ran.status.code() == Some(77) {
        let strict = std::env::var_os("FAIRWIRE_NO_SKIP").is_some_and(|value| value == "1");
        assert!(!strict, "FAIRWIRE_NO_SKIP=1: {err}");
        eprintln!("skipped: {err}");
        return;
    }
    assert!(ran.status.success(), "{out}{err}");
    assert!(out.contains("all seen"), "{out}{err}");
}

/// The first host: echoes the data of two connections, then ends.
#[test]
fn first() {
    inside(async {
        let endpoint = Endpoint::bind_native("::".parse().expect("an address"));
        let endpoint = endpoint.expect("raw sockets");
        let listener = endpoint.listen_with(PORT, &[SERVICE], Security::None, ListenOptions::new());
        let listener = listener.expect("a free port");
        for _ in FIRST {
            let connection = in_time(listener.accept()).await.expect("a client");
            while let Ok(received) = in_time(connection.recv()).await {
                assert_eq!(received.ecn, Ecn::Ect0);
                in_time(connection.send(received.data)).await.expect("open");
            }
        }
        drop(listener);
        in_time(endpoint.wait_idle()).await;
    });
}

/// The second host: connects to both addresses of the first one, then waits for its ICMP errors.
#[test]
fn second() {
    inside(async {
        let remote = |ip: &str, port| {
            let ip = ip.parse().expect("an address");
            DccpAddr::native(SocketAddr::new(ip, port))
        };
        let endpoint = Endpoint::bind_native("::".parse().expect("an address"));
        let endpoint = endpoint.expect("raw sockets");
        let mut last = None;
        for ip in FIRST {
            let silent = hurried(&endpoint, remote(ip, PORT + 1)).await;
            let error = silent.expect_err("nobody listens");
            assert!(matches!(error, ConnectError::Timeout { .. }), "{error}");
            let connecting = endpoint.connect(remote(ip, PORT), SERVICE, Security::None);
            let connection = in_time(connecting).await.expect(ip);
            for n in 0..100_u8 {
                in_time(connection.send(vec![n; 1_000]))
                    .await
                    .expect("sent");
                let back = in_time(connection.recv()).await.expect("open");
                assert_eq!((back.data[999], back.ecn), (n, Ecn::Ect0), "{ip}");
            }
            in_time(connection.close()).await.expect("an orderly end");
            last = Some(connection);
        }
        drop(last);
        // The first host has finished; its sockets close with its program.
        for ip in FIRST {
            let begun = tokio::time::Instant::now();
            let error = loop {
                match hurried(&endpoint, remote(ip, PORT)).await {
                    Err(error @ ConnectError::Unreachable { .. }) => break error,
                    _ => assert!(
                        begun.elapsed() < Duration::from_secs(8),
                        "no ICMP from {ip}"
                    ),
                }
            };
            let text = error.to_string();
            assert!(text.contains("protocol 33") && text.contains(ip), "{text}");
        }
        println!("all seen");
    });
}

/// Connects within half a second, or fails.
async fn hurried(endpoint: &Endpoint, remote: DccpAddr) -> Result<Connection, ConnectError> {
    let mut config = Config::default();
    config.connect_timeout = Duration::from_millis(500);
    let options = ConnectOptions::new().config(config);
    in_time(endpoint.connect_with(remote, SERVICE, Security::None, options)).await
}
