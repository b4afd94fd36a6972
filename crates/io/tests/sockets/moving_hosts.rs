//! A client whose host changes its addresses and interfaces, in network namespaces (`scripts/two-hosts`).
//!
//! Both ends are this test program, called with a test name. `stays` and `moves` do nothing when the test runner runs
//! them.

use std::future::Future;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use fairwire::tls::{ClientConfig, Fingerprint, ServerConfig};
use fairwire::{
    Config, ConnectOptions, Connection, DccpAddr, Endpoint, ListenOptions, Security, ServiceCode,
};
use tokio::time::{Instant, sleep, timeout};

use crate::{identity, in_time};

/// The variable with a directory that the programs on the two hosts share.
const INSIDE: &str = "FAIRWIRE_TEST_MOVING_HOSTS";

/// The service of the game server that the README shows.
const GAME: ServiceCode = ServiceCode::from_bytes(*b"game");

/// The time between two datagrams of an end.
const EVERY: Duration = Duration::from_millis(5);

fn shared() -> Option<PathBuf> {
    std::env::var_os(INSIDE).map(PathBuf::from)
}

fn inside<F: Future<Output = ()>>(test: impl FnOnce(PathBuf) -> F) {
    if let Some(shared) = shared() {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime")
            .block_on(test(shared));
    }
}

/// A client goes on, in both directions, when its address is replaced, when it has none for a while, when the route begins
/// at another interface, when that disappears, and when its IPv6 address is replaced. It prints what was lost and for how
/// long nothing came.
#[test]
fn a_host_that_moves_keeps_its_connections() {
    let program = std::env::current_exe().expect("a test has a path");
    run(&role(&program, "stays"), "own");
}

/// The same for a player of the game server that the README shows. Its source has less than 40 lines.
#[test]
fn a_player_moves() {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.parent().and_then(Path::parent).expect("target");
    let game = target.join("examples/game-server");
    assert!(
        game.exists(),
        "{game:?} is missing: cargo test without --test builds it, or cargo build -p fairwire --example game-server"
    );
    run(&format!("'{}' '[::]:7000'", game.display()), "game");
    let source = include_str!("../../examples/game-server.rs");
    assert!(source.lines().count() < 40);
}

fn role(program: &Path, name: &str) -> String {
    let program = program.display();
    format!("'{program}' --exact moving_hosts::{name} --nocapture --test-threads 1")
}

/// Runs a server on the host that stays, and the client on the one that moves.
fn run(server: &str, name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = format!("fairwire-moving-{name}-{}", std::process::id());
    let shared = std::env::temp_dir().join(shared);
    std::fs::create_dir_all(&shared).expect("a directory");
    let program = std::env::current_exe().expect("a test has a path");
    let told = shared.display();
    let server = format!("sh -c \"echo \\$\\$ >{told}/pid; exec {server} >{told}/told\"");
    let ran = Command::new(root.join("scripts/two-hosts"))
        .args([server, role(&program, "moves")])
        .env(INSIDE, &shared)
        .output()
        .expect("a script of ours");
    let _ = std::fs::remove_dir_all(&shared);
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
    let told = out.lines().filter(|line| line.contains(" lost, "));
    told.for_each(|line| println!("{line}"));
}

fn config() -> Config {
    let mut config = Config::interactive();
    config.migration = true;
    config
}

/// What came of the other end's datagrams, which are numbered.
#[derive(Debug, Default)]
struct Came {
    numbers: Vec<u32>,
    /// The longest time between two of them.
    gap: Duration,
}

/// Sends numbers for some time, and notes what comes.
async fn talk(connection: &Connection, time: Duration, from: u32) -> Came {
    let end = Instant::now() + time;
    let speaks = async {
        let mut number = from;
        while Instant::now() < end {
            let sent = connection.send(number.to_be_bytes().to_vec()).await;
            sent.expect("open");
            number += 1;
            sleep(EVERY).await;
        }
    };
    let hears = async {
        let (mut came, mut last) = (Came::default(), Instant::now());
        while let Ok(received) = timeout(end - Instant::now().min(end), connection.recv()).await {
            let data = received.expect("open").data;
            let number = data[..].try_into().expect("four bytes");
            came.numbers.push(u32::from_be_bytes(number));
            came.gap = came.gap.max(last.elapsed());
            last = Instant::now();
        }
        came
    };
    tokio::join!(speaks, hears).1
}

/// The host that stays: sends each datagram of its clients back.
#[test]
fn stays() {
    inside(async |_| {
        let identity = identity();
        println!("players pin {}", identity.fingerprint());
        let endpoint = Endpoint::bind("[::]:7000".parse().expect("an address")).expect("free");
        let options = ListenOptions::new().config(config());
        let security = Security::dtls(ServerConfig::new(identity));
        let listener = endpoint.listen_with(7_000, &[GAME], security, options);
        let listener = listener.expect("a free port");
        loop {
            let connection = in_time(listener.accept()).await.expect("a client");
            tokio::spawn(async move {
                while let Ok(received) = connection.recv().await {
                    let _ = connection.send(received.data).await;
                }
            });
        }
    });
}

/// Runs `ip`, here or on the host of a process.
fn ip(arguments: &str, on: Option<&str>) {
    let arguments = arguments.split(' ');
    let mut command = match on {
        Some(process) => {
            let mut command = Command::new("nsenter");
            command.args(["--target", process, "--net", "ip"]);
            command
        }
        None => Command::new("ip"),
    };
    let ran = command.args(arguments).output().expect("iproute2");
    assert!(
        ran.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

/// Talks while `change` takes place. Prints what was lost, and checks that both directions go on from `to`.
async fn while_it_changes(
    name: &str,
    connection: &Connection,
    change: impl Future<Output = ()>,
    to: &str,
) {
    let before = connection.stats();
    let all = Duration::from_millis(1_500);
    let (came, ()) = tokio::join!(talk(connection, all, 0), async {
        sleep(Duration::from_millis(500)).await;
        change.await;
    });
    let last = came.numbers.iter().max().copied().unwrap_or(0);
    let lost = last + 1 - u32::try_from(came.numbers.len()).expect("few");
    let rtt = connection.stats().srtt;
    println!(
        "{name}: {lost} of {} lost, at most {:?} between two, round trip {rtt:?}",
        last + 1,
        came.gap
    );
    let local: IpAddr = to.parse().expect("an address");
    assert_eq!(
        connection.local().expect("known").addr.ip(),
        local,
        "{name}"
    );
    assert_eq!(
        connection.stats().migrations,
        before.migrations + 1,
        "{name}"
    );
    // What is sent now arrives, and so does its echo.
    connection.send("end").await.expect("open");
    loop {
        let received = in_time(connection.recv()).await.expect("open");
        if received.data == "end" {
            break;
        }
    }
}

/// Reads the last word of a line of a file that comes.
async fn read<T: FromStr>(shared: &Path, name: &str) -> T {
    in_time(async {
        loop {
            let text = std::fs::read_to_string(shared.join(name)).unwrap_or_default();
            let mut words = text.lines().filter_map(|line| line.split(' ').next_back());
            if let Some(value) = words.find_map(|word| word.parse().ok()) {
                break value;
            }
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await
}

/// The host that moves.
#[test]
fn moves() {
    inside(async |shared| {
        let told: Fingerprint = read(&shared, "told").await;
        let first: u32 = read(&shared, "pid").await;
        let first = first.to_string();
        // Its neighbour may come with any address.
        ip("route add 10.78.0.0/24 dev cable", Some(&first));
        let endpoint = Endpoint::bind("[::]:0".parse().expect("an address")).expect("free");
        let connect = async |to: &str| {
            let remote = DccpAddr {
                addr: to.parse().expect("an address"),
                dccp_port: 7_000,
            };
            let security = Security::dtls(ClientConfig::pinned([told]));
            let options = ConnectOptions::new().config(config());
            let connecting = endpoint.connect_with(remote, GAME, security, options);
            in_time(connecting).await.expect("connected")
        };
        let four = connect("10.77.0.1:7000").await;
        let replaced = async {
            ip("addr add 10.78.0.2/24 dev cable", None);
            ip(
                "route add 10.77.0.0/24 dev cable src 10.78.0.2 metric 5",
                None,
            );
            ip("addr del 10.77.0.2/24 dev cable", None);
        };
        while_it_changes("an address is replaced", &four, replaced, "10.78.0.2").await;
        let dark = async {
            ip("addr del 10.78.0.2/24 dev cable", None);
            sleep(Duration::from_millis(200)).await;
            ip("addr add 10.77.0.5/24 dev cable", None);
        };
        while_it_changes("none for 200 ms", &four, dark, "10.77.0.5").await;
        ip(
            &format!("link add wire type veth peer name wire netns {first}"),
            None,
        );
        for (on, last) in [(None, 2), (Some(&*first), 1)] {
            ip(&format!("addr add 10.79.0.{last}/24 dev wire"), on);
            ip("link set wire up", on);
        }
        sleep(Duration::from_millis(300)).await;
        let other = async { ip("route add 10.77.0.1/32 dev wire src 10.79.0.2", None) };
        while_it_changes("another interface", &four, other, "10.79.0.2").await;
        let down = async {
            ip("link del wire", None);
        };
        while_it_changes("the interface is gone", &four, down, "10.77.0.5").await;
        let six = connect("[fd77::1]:7000").await;
        let replaced = async {
            ip("-6 addr add fd77::3/64 dev cable nodad", None);
            ip("-6 addr del fd77::2/64 dev cable", None);
        };
        while_it_changes("an IPv6 address is replaced", &six, replaced, "fd77::3").await;
        for connection in [four, six] {
            in_time(connection.close()).await.expect("an orderly end");
        }
        sleep(Duration::from_millis(100)).await;
        println!("all seen");
    });
}
