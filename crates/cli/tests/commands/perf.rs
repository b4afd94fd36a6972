//! `fairwire perf` as a process.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use super::{command, err, fairwire};

fn start(arguments: &[&str]) -> Child {
    let mut command = command(&[&["perf"], arguments].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().expect("the command starts")
}

/// Waits until `child` prints a line with `text`, and returns the line.
fn wait_for(text: &str, lines: &mut impl Iterator<Item = std::io::Result<String>>) -> String {
    let mut lines = lines.map(|line| line.expect("text"));
    let found = lines.find(|line| line.contains(text));
    found.unwrap_or_else(|| panic!("no line with '{text}'"))
}

/// Ctrl-C, SIGTERM and SIGHUP end a client, and then a server, with the results so far: one JSON object at each end.
#[test]
fn a_signal_ends_with_the_results() {
    for signal in ["INT", "TERM", "HUP"] {
        // Under nohup, SIGHUP is ignored by the test's children, too.
        if signal == "HUP" && is_hangup_ignored() {
            continue;
        }
        for at_server in [false, true] {
            let json: &[&str] = if at_server { &["--json"] } else { &[] };
            // The side that is not asked for JSON prints lines, which show that the test runs.
            let bind = ["-s", "-1", "-B", "127.0.0.1", "-i", "0.1", "-p"];
            let port = free_port();
            let mut server = start(&[&bind[..], &[&port], json].concat());
            let json: &[&str] = if at_server { &[] } else { &["--json"] };
            let client = ["-c", "127.0.0.1", "-t", "60", "-b", "5M", "-i", "0.1", "-p"];
            let client = [&client[..], &[&port], json].concat();
            if at_server {
                wait_for_port(&port);
            } else {
                let out = server.stdout.as_mut().expect("piped");
                wait_for("listening", &mut BufReader::new(out).lines());
            }
            let mut client = start(&client);
            let (asked, other) = if at_server {
                (&mut server, &mut client)
            } else {
                (&mut client, &mut server)
            };
            let lines = other.stdout.take().expect("piped");
            let mut lines = BufReader::new(lines).lines();
            wait_for(" sec ", &mut lines);
            let pid = asked.id().to_string();
            let kill = Command::new("kill").args(["-s", signal, &pid]).status();
            assert!(kill.expect("kill").success());
            let out = std::io::read_to_string(asked.stdout.take().expect("piped")).expect("text");
            let what = format!("{signal}, server {at_server}: {out}");
            let json: serde_json::Value = serde_json::from_str(&out).expect(&what);
            assert_eq!(json["error"]["kind"], "interrupted", "{what}");
            assert!(!json["flows"].as_array().expect(&what).is_empty(), "{what}");
            assert!(!asked.wait().expect("ended").success(), "{what}");
            drop(lines);
            other.wait().expect("ended");
        }
    }
}

/// A client that is interrupted or killed while it sends a file leaves the file on the server's disk as it was. The
/// server says that nothing was saved, and fails. Its silence shows the death of a client over UDP, so only a kill over
/// TCP is found at once.
#[test]
fn an_interrupted_file_replaces_nothing() {
    let name = format!("fairwire-perf-interrupted-{}", std::process::id());
    let scratch = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&scratch).expect("a directory");
    let (from, to) = (scratch.join("from"), scratch.join("to"));
    std::fs::write(&from, vec![7; 30_000_000]).expect("written");
    std::fs::write(&to, "a whole file").expect("written");
    let (file, save) = (from.to_str().expect("text"), to.to_str().expect("text"));
    for (proto, signal) in [
        ("dccp", "INT"),
        ("udp", "INT"),
        ("tcp", "INT"),
        ("tcp", "KILL"),
    ] {
        let port = match proto {
            "tcp" => free_tcp_port(),
            _ => free_port(),
        };
        let bind = ["-s", "-1", "-B", "127.0.0.1", "--proto", proto, "-p", &port];
        let mut server = start(&[&bind[..], &["--save", save]].concat());
        let out = server.stdout.take().expect("piped");
        let mut served = BufReader::new(out).lines();
        wait_for("listening", &mut served);
        let to_server = ["-c", "127.0.0.1", "--proto", proto, "-p", &port];
        let slowly = ["-F", file, "-b", "20M", "-l", "1000", "-i", "0.1"];
        let mut client = start(&[&to_server[..], &slowly[..]].concat());
        let lines = client.stdout.take().expect("piped");
        let mut lines = BufReader::new(lines).lines();
        wait_for(" sec ", &mut lines);
        let pid = client.id().to_string();
        let kill = Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(kill.expect("kill").success());
        assert!(!client.wait().expect("ended").success());
        let served: Vec<String> = served.map(|line| line.expect("text")).collect();
        let what = format!("{proto}, {signal}: {}", served.join("\n"));
        assert_eq!(server.wait().expect("ended").code(), Some(1), "{what}");
        assert!(what.contains("not saved: "), "{what}");
        let kept = std::fs::read(&to).expect("still there");
        assert!(kept == b"a whole file", "{what}");
        let beside = std::fs::read_dir(&scratch).expect("a directory");
        assert_eq!(beside.count(), 2, "{what}");
    }
    std::fs::remove_dir_all(&scratch).expect("removed");
}

/// Returns whether this process ignores SIGHUP, the first signal in the system's masks.
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = u64::from_str_radix(ignored.expect("a mask").trim(), 16);
    mask.expect("hexadecimal digits") & 1 != 0
}

/// Returns a UDP port that was free just now.
fn free_port() -> String {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a free port");
    socket.local_addr().expect("bound").port().to_string()
}

/// Returns a TCP port that was free just now.
fn free_tcp_port() -> String {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    socket.local_addr().expect("bound").port().to_string()
}

/// Waits until a process has bound the UDP port.
fn wait_for_port(port: &str) {
    let port: u16 = port.parse().expect("a port");
    let bound = format!(":{port:04X} ");
    while !std::fs::read_to_string("/proc/net/udp")
        .expect("Linux")
        .contains(&bound)
    {
        std::thread::yield_now();
    }
}

/// A time that is too long and an interface that this host lacks are named.
#[test]
fn what_perf_cannot_use_is_named() {
    let cases: [(&[&str], i32, &str); 3] = [
        (
            &["perf", "-c", "::1", "-t", "1e8"],
            2,
            "'1e8' is too long a time: write seconds without a sign, as 10 or 0.5, up to 10000000",
        ),
        (
            &["perf", "-c", "::1", "-B", "%no-such"],
            1,
            "there is no interface 'no-such' on this host",
        ),
        (
            &["perf", "-s", "--proto", "tcp", "-B", "%no-such"],
            1,
            "there is no interface 'no-such' on this host",
        ),
    ];
    for (arguments, code, said) in cases {
        let output = fairwire(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(err(&output).contains(said), "{}", err(&output));
    }
}
