//! The descriptors that connections take, and what is said when there are no more.
use std::net::Ipv4Addr;
use std::process::Command;
use std::time::Duration;

use fairwire::tls::{ClientConfig, Date, Identity, ServerConfig, Validity};
use fairwire::{Config, ConnectOptions, Endpoint, Security, SendOptions};

use crate::{SERVICE, alone, turn};

/// Set in the process that has few descriptors.
const FEW: &str = "FAIRWIRE_TEST_FEW_DESCRIPTORS";

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux").count()
}

fn bind() -> Endpoint {
    Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into()).expect("bound")
}

/// Calls that wait for room with a deadline take no descriptors, however many there are.
#[test]
fn waiting_takes_no_descriptor() {
    alone(async {
        let (client, server) = (bind(), bind());
        let port = server.local_addr().port();
        let listener = server.listen(port, &[SERVICE], Security::None);
        let listener = listener.expect("a free port");
        let mut config = Config::default();
        config.send_queue.packets = 1;
        let options = ConnectOptions::new().config(config);
        let connecting = client.connect_with(server.local_addr(), SERVICE, Security::None, options);
        let (here, there) = tokio::join!(connecting, listener.accept());
        let (here, _there) = (here.expect("connected"), there.expect("accepted"));
        // The queue stays full: this task does not yield to the driver.
        while here.try_send("full").is_ok() {}
        let before = descriptors();
        let patient = SendOptions::new().within(Duration::from_secs(3_600));
        let mut waiting = Vec::new();
        for _ in 0..200 {
            let mut sending = Box::pin(here.send_with("waits", patient));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(sending.as_mut().poll(&mut context).is_pending());
            waiting.push(sending);
        }
        let added = descriptors().saturating_sub(before);
        assert!(
            added < 10,
            "{added} descriptors for {} calls",
            waiting.len()
        );
    });
}

/// Encrypted connections need no file descriptors of their own, of which strangers could use up those of the process.
#[test]
fn connections_take_no_descriptors() {
    alone(async {
        let validity = Validity::days(Date::from_unix_seconds(0), 40_000);
        let identity = Identity::generate(&["fairwire.test"], validity).expect("an identity");
        let pinned = ClientConfig::pinned([identity.fingerprint()]);
        let (client, server) = (bind(), bind());
        let security = Security::dtls(ServerConfig::new(identity));
        let listener = server.listen(server.local_addr().port(), &[SERVICE], security);
        let listener = listener.expect("a free port");
        let before = descriptors();
        let mut all = Vec::new();
        for _ in 0..300 {
            let security = Security::dtls(pinned.clone());
            let connecting = client.connect(server.local_addr(), SERVICE, security);
            let (here, there) = tokio::join!(connecting, listener.accept());
            all.push((here.expect("connected"), there.expect("accepted")));
        }
        let added = descriptors().saturating_sub(before);
        assert!(added < 10, "{added} descriptors for 600 connections");
    });
}

/// If the process has no descriptor left, the error of connecting says so, and not that there is no route.
#[test]
fn the_lack_of_descriptors_is_named() {
    if std::env::var_os(FEW).is_some() {
        return without_descriptors();
    }
    let _turn = turn();
    let this = std::env::current_exe().expect("this program");
    let child = Command::new("sh")
        .args([
            "-c",
            "ulimit -n 64 && exec \"$0\" --exact descriptors::the_lack_of_descriptors_is_named",
        ])
        .arg(this)
        .env(FEW, "1")
        .output()
        .expect("a shell");
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{output}");
    assert!(output.contains("1 passed"), "{output}");
}

fn without_descriptors() {
    alone(async {
        let endpoint = bind();
        let to = endpoint.local_addr();
        let mut all = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            all.push(file);
        }
        let connected = endpoint.connect(to, SERVICE, Security::None).await;
        let with_route = connected.expect_err("no descriptor").to_string();
        let connected = fairwire::connect("127.0.0.1:9", SERVICE, Security::None).await;
        let with_bind = connected.expect_err("no descriptor").to_string();
        for error in [with_route, with_bind] {
            assert!(error.contains("Too many open files"), "{error}");
            assert!(error.contains("ulimit -n"), "{error}");
            assert!(!error.contains("route"), "{error}");
        }
    });
}
