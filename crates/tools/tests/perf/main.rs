//! Client and server of `perf` on loopback, from connecting to the summary. Every run is bounded.

mod addresses;
mod dtls;
mod files;

use std::io::Write;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use fairwire_tools::identity::{self, Fingerprint};
use fairwire_tools::perf::{
    ClientOptions, Console, Limit, Local, Outcome, Protocol, Role, Server, ServerOptions, client,
    parse_law,
};

/// Makes an identity in a new directory and returns the directory, the identity's name, and its fingerprint.
fn identity() -> (tempfile::TempDir, PathBuf, Fingerprint) {
    let directory = tempfile::tempdir().expect("a directory");
    let id = directory.path().join("id");
    let names = ["localhost".to_owned()];
    let fingerprint = identity::generate(&id, &names, identity::valid_for(1)).expect("made");
    (directory, id, fingerprint)
}

/// The README's transfer of a file, encrypted. The file arrives, both sides say that it was encrypted, and a server
/// with another certificate gets nothing.
#[test]
fn a_file_crosses_encrypted() {
    let (directory, id, fingerprint) = identity();
    let (from, to) = (directory.path().join("in"), directory.path().join("out"));
    let bytes: Vec<u8> = (0..200_000_u32).map(|i| (i * 7 % 251) as u8).collect();
    std::fs::write(&from, &bytes).expect("written");
    let server = Running::with(Protocol::Dccp, |options| {
        options.save = Some(to.clone());
        options.dtls.identity = Some(id.clone());
    });
    let mut options = ClientOptions::new("127.0.0.1", server.port);
    options.file = Some(from);
    options.rate = Some(50_000_000);
    options.dtls.pins = vec![Fingerprint::of(b"another certificate")];
    let captured = Captured::default();
    let refused = client(&options, &mut captured.console(false));
    let message = refused.error.expect("the wrong server").message;
    assert!(message.contains(&fingerprint.to_string()), "{message}");
    options.dtls.pins = vec![fingerprint];
    let outcome = client(&options, &mut captured.console(false));
    assert!(
        outcome.error.is_none() && outcome.encrypted,
        "{:?}",
        outcome.error
    );
    assert!(
        captured.text().contains("encrypted with DTLS 1.3"),
        "{}",
        captured.text()
    );
    let said = server.captured.clone();
    assert_eq!(server.thread.join().expect("no panic"), 0);
    assert!(
        said.text().contains("encrypted with DTLS 1.3"),
        "{}",
        said.text()
    );
    assert!(
        std::fs::read(to).expect("saved") == bytes,
        "the file is the same"
    );
}

fn loopback() -> Local {
    std::net::IpAddr::from([127, 0, 0, 1]).into()
}

const ALL: [Protocol; 3] = [Protocol::Dccp, Protocol::Udp, Protocol::Tcp];

/// The captured output of a console.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("no panic").clone()).expect("text")
    }

    fn console(&self, json: bool) -> Console {
        Console::to(Box::new(self.clone()), json)
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A server that serves one client, on its own thread.
struct Running {
    port: u16,
    captured: Captured,
    thread: JoinHandle<u8>,
}

impl Running {
    fn start(protocol: Protocol, save: Option<PathBuf>) -> Self {
        Self::with(protocol, |options| options.save = save)
    }

    /// Starts a server with options.
    fn with(protocol: Protocol, set: impl FnOnce(&mut ServerOptions)) -> Self {
        let (tell, told) = std::sync::mpsc::channel();
        let captured = Captured::default();
        let mut console = captured.console(false);
        let mut options = ServerOptions::new(0);
        options.bind = Some(loopback());
        options.protocol = protocol;
        options.one_off = true;
        set(&mut options);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let server = Server::bind(options).expect("a free port");
                tell.send(server.port().expect("bound")).expect("heard");
                let serving = server.run(&mut console);
                let limit = Duration::from_secs(30);
                let served = tokio::time::timeout(limit, serving).await;
                served.expect("the server ends with its client")
            })
        });
        Self {
            port: told.recv().expect("bound"),
            captured,
            thread,
        }
    }

    /// Returns the exit status and the output.
    fn end(self) -> (u8, String) {
        let code = self.thread.join().expect("no panic");
        (code, self.captured.text())
    }
}

fn options(port: u16, protocol: Protocol) -> ClientOptions {
    let mut options = ClientOptions::new("127.0.0.1", port);
    options.protocol = protocol;
    options.limit = Some(Limit::Time(Duration::from_millis(400)));
    options.interval = Duration::from_millis(150);
    options.rate = Some(8_000_000);
    options
}

fn run(options: &ClientOptions) -> (Outcome, String) {
    let captured = Captured::default();
    let outcome = client(options, &mut captured.console(false));
    (outcome, captured.text())
}

/// A directory that is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("fairwire-perf-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Every protocol, both directions, at 8 Mbit/s for 0.4 s: both sides have both reports, and the reports agree. Nothing
/// is lost, and the rate is kept within 20 %, because a busy machine may delay either end.
#[test]
fn a_rate_is_measured_on_both_sides() {
    for protocol in ALL {
        for reverse in [false, true] {
            let server = Running::start(protocol, None);
            let mut options = options(server.port, protocol);
            options.reverse = reverse;
            options.length = Some(1_000);
            let (outcome, text) = run(&options);
            let (code, served) = server.end();
            let what = format!("{protocol:?}, reverse {reverse}:\n{text}{served}");
            assert_eq!((outcome.exit_code(), code), (0, 0), "{what}");
            let flow = &outcome.flows[0];
            let (sender, receiver) = (flow.sender.as_ref(), flow.receiver.as_ref());
            let sender = sender.unwrap_or_else(|| panic!("no sender in {what}"));
            let receiver = receiver.unwrap_or_else(|| panic!("no receiver in {what}"));
            assert_eq!(receiver.datagrams, sender.datagrams, "{what}");
            assert_eq!((receiver.lost, receiver.reordered), (0, 0), "{what}");
            let rate = receiver.bits_per_second / 8e6;
            assert!((0.8..1.2).contains(&rate), "{rate} of the rate, {what}");
            assert!(outcome.intervals.len() >= 2, "{what}");
            let role = if reverse {
                Role::Receiver
            } else {
                Role::Sender
            };
            assert_eq!(outcome.intervals[0].role, role);
            let sent = format!("  {} sent ", sender.datagrams);
            assert!(text.contains(&sent) && served.contains(&sent), "{what}");
            for line in [" sender\n", " receiver\n"] {
                assert!(text.contains(line) && served.contains(line), "{what}");
            }
            assert!(
                sender.path.is_some() == (protocol == Protocol::Dccp),
                "{what}"
            );
        }
    }
}

/// At a rate that lets one datagram leave, a test of half a second lasts that long at both ends, and the rates are of
/// that time.
#[test]
fn a_low_rate_is_of_the_whole_test() {
    for reverse in [false, true] {
        let server = Running::start(Protocol::Dccp, None);
        let mut options = options(server.port, Protocol::Dccp);
        (options.rate, options.reverse) = (Some(1), reverse);
        options.limit = Some(Limit::Time(Duration::from_millis(500)));
        let (outcome, text) = run(&options);
        assert_eq!(server.end().0, 0, "{text}");
        let flow = &outcome.flows[0];
        let (sender, receiver) = (flow.sender.as_ref(), flow.receiver.as_ref());
        let sender = sender.map(|it| (it.datagrams, it.seconds, it.bits_per_second));
        let receiver = receiver.map(|it| (it.datagrams, it.seconds, it.bits_per_second));
        for (datagrams, seconds, rate) in [sender, receiver].map(|it| it.expect("a report")) {
            assert_eq!(datagrams, 1, "{text}");
            // A receiver that began a little later has a little less.
            assert!(seconds > 0.4 && rate < 9_600.0 / 0.4, "{seconds} s: {text}");
        }
    }
}

/// With `--ccid` both sides use that CCID, and the text names it.
#[test]
fn the_ccid_asked_for_is_agreed() {
    for ccid in [2, 3, 4] {
        let server = Running::start(Protocol::Dccp, None);
        let mut options = options(server.port, Protocol::Dccp);
        options.ccid = Some(ccid);
        options.limit = Some(Limit::Bytes(100_000));
        let (outcome, text) = run(&options);
        assert_eq!(server.end().0, 0);
        let path = outcome.flows[0]
            .sender
            .as_ref()
            .and_then(|s| s.path.clone());
        let path = path.expect("DCCP knows");
        assert_eq!(path.ccid, Some(ccid), "{text}");
        // Only the sender of CCID 2 learns which datagrams are missing.
        assert_eq!(path.lost.is_some(), ccid == 2, "{text}");
        let law = if ccid == 2 { " (cubic)" } else { "" };
        assert!(text.contains(&format!("CCID {ccid}{law}: RTT")), "{text}");
    }
}

/// With `--cc` the sending side uses that law, under CCID 2 even where another CCID would be the default. Both sides
/// name it in the text and in the report, whichever of them sent.
#[test]
fn the_window_law_asked_for_is_in_force() {
    for reverse in [false, true] {
        let law = Some(parse_law("vegas").expect("built in"));
        let server = Running::with(Protocol::Dccp, |server| {
            server.law = law.clone().filter(|_| reverse);
        });
        let mut options = options(server.port, Protocol::Dccp);
        options.reverse = reverse;
        options.ccid = reverse.then_some(2);
        options.law = law.filter(|_| !reverse);
        options.limit = Some(Limit::Bytes(100_000));
        let (outcome, text) = run(&options);
        let (code, served) = server.end();
        assert_eq!((outcome.exit_code(), code), (0, 0), "{text}{served}");
        let sender = outcome.flows[0].sender.as_ref().expect("a report");
        assert_eq!(sender.law.as_deref(), Some("vegas"), "{text}");
        for text in [text, served] {
            assert!(text.contains("CCID 2 (vegas): RTT"), "{text}");
        }
    }
}

/// A server with a window law prints a note if it sends under a CCID without a window, because the client asked for
/// that CCID.
#[test]
fn a_law_without_a_window_is_noted() {
    for (ccid, noted) in [(2, false), (3, true)] {
        let server = Running::with(Protocol::Dccp, |server| {
            server.law = Some(parse_law("vegas").expect("built in"));
        });
        let mut options = options(server.port, Protocol::Dccp);
        options.reverse = true;
        options.ccid = Some(ccid);
        options.limit = Some(Limit::Bytes(100_000));
        let (outcome, text) = run(&options);
        let (code, served) = server.end();
        assert_eq!((outcome.exit_code(), code), (0, 0), "{text}{served}");
        let note = "--cc vegas had no effect, because the client asked for CCID 3";
        assert_eq!(served.contains(note), noted, "{served}");
    }
}

/// CCID 4 sends at most 100 packets a second (RFC 5622, 5). Although the queue takes more at once, lines and summary
/// count only what has left, and the reported rate is possible.
#[test]
fn what_waits_is_not_sent() {
    let server = Running::start(Protocol::Dccp, None);
    let mut options = options(server.port, Protocol::Dccp);
    options.ccid = Some(4);
    options.length = Some(80);
    let (outcome, text) = run(&options);
    assert_eq!(server.end().0, 0);
    // One packet more than there are gaps, and one that may be early or counted late.
    let may = |seconds: f64| seconds * 100.0 + 2.0;
    for row in &outcome.intervals {
        assert!(row.datagrams as f64 <= may(row.end - row.start), "{text}");
    }
    let sender = outcome.flows[0].sender.as_ref().expect("a report");
    let counted: u64 = outcome.intervals.iter().map(|row| row.datagrams).sum();
    // There is no line for the last 10 ms.
    assert!(
        (counted..=counted + 1).contains(&sender.datagrams),
        "{text}"
    );
    assert!(sender.datagrams as f64 <= may(sender.seconds), "{text}");
    // The queue of 256 is not emptied for 2.6 s when the time is up, but dropped.
    let path = sender.path.as_ref().expect("DCCP knows");
    assert!(path.never_sent > 100 && sender.datagrams < 256, "{text}");
    let last = outcome.intervals.last().and_then(|row| row.path.as_ref());
    let rate = last.and_then(|path| path.rate_bits_per_second);
    // 80 bytes every 10 ms; the control messages before were longer, and affect the mean size for a while.
    let rate = rate.expect("CCID 4 has a rate");
    assert!((64_000.0..66_000.0).contains(&rate), "{text}");
}

/// A limit in bytes is kept: however slow the path, everything leaves that fits.
#[test]
fn a_limit_in_bytes_is_kept() {
    let server = Running::start(Protocol::Dccp, None);
    let mut options = options(server.port, Protocol::Dccp);
    options.ccid = Some(4);
    options.length = Some(100);
    options.limit = Some(Limit::Bytes(15_000));
    let (outcome, text) = run(&options);
    assert_eq!(server.end().0, 0);
    let sender = outcome.flows[0].sender.as_ref().expect("a report");
    assert_eq!(sender.datagrams, 150, "{text}");
}

/// Parallel flows are counted one by one and together.
#[test]
fn parallel_flows_are_summed() {
    for protocol in ALL {
        let server = Running::start(protocol, None);
        let mut options = options(server.port, protocol);
        options.parallel = 3;
        options.length = Some(1_000);
        options.rate = Some(2_000_000);
        let (outcome, text) = run(&options);
        let (code, served) = server.end();
        assert_eq!((outcome.exit_code(), code), (0, 0), "{text}{served}");
        let flows: Vec<_> = outcome.flows.iter().map(|flow| flow.flow).collect();
        assert_eq!(flows, [1, 2, 3]);
        assert_eq!(
            text.matches("[SUM]").count() % 2,
            served.matches("[SUM]").count() % 2
        );
        assert!(
            text.contains("[SUM]") && served.contains("[SUM]"),
            "{text}{served}"
        );
    }
}

/// Without a server, the client reports an error at once, as text or as JSON, and exits with 1.
#[test]
fn no_server_is_an_error_with_advice() {
    let free = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let port = free.local_addr().expect("bound").port();
    drop(free);
    let protocols: &[Protocol] = if cfg!(target_os = "linux") {
        &ALL
    } else {
        &[Protocol::Tcp]
    };
    for protocol in protocols {
        let captured = Captured::default();
        let outcome = client(&options(port, *protocol), &mut captured.console(true));
        assert_eq!(outcome.exit_code(), 1);
        let json: serde_json::Value = serde_json::from_str(&captured.text()).expect("JSON");
        assert_eq!(json["error"]["kind"], "peer", "{json}");
        let message = json["error"]["message"].as_str().expect("a message");
        assert!(message.contains("server"), "{message}");
    }
}

/// A port in use gives an error that names it; a second server does not share the port.
#[test]
fn a_port_in_use_is_an_error() {
    for protocol in ALL {
        let server = Running::start(protocol, None);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let mut taken = ServerOptions::new(server.port);
        taken.bind = Some(loopback());
        taken.protocol = protocol;
        let error = runtime.block_on(async { Server::bind(taken).expect_err("taken") });
        assert!(error.to_string().contains("in use"), "{error}");
        let mut options = options(server.port, protocol);
        options.limit = Some(Limit::Bytes(2_000));
        let (outcome, text) = run(&options);
        assert_eq!((outcome.exit_code(), server.end().0), (0, 0), "{text}");
    }
}

/// Addresses of plain UDP can be forged: a peer that only asks for data gets a short question, not data. A client that
/// answers the question and then falls silent does not occupy the server for the hour that it asked for.
#[test]
fn a_silent_udp_client_is_not_flooded() {
    const ASK: &str = r#"{"version":1,"test":1,"flow":1,"flows":1,"reverse":true,"length":1000,"rate":500000,"seconds":3600.0,"bytes":null,"file_size":null}"#;
    let server = Running::start(Protocol::Udp, None);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    socket.connect(("127.0.0.1", server.port)).expect("a route");
    let patience = Some(Duration::from_millis(500));
    socket.set_read_timeout(patience).expect("set");
    let ask = format!("FwPP{ASK}");
    socket.send(ask.as_bytes()).expect("sent");
    let mut buffer = [0; 2_048];
    let question = socket.recv(&mut buffer).expect("a question");
    assert!(question < ask.len() && buffer.starts_with(b"FwPT"));
    let number = buffer[4..].first_chunk().copied().expect("a number");
    socket.recv(&mut buffer).expect_err("nothing more unasked");
    let proof = u64::from_be_bytes(number);
    let proven = ask.replace('}', &format!(",\"proof\":{proof}}}"));
    socket.send(proven.as_bytes()).expect("sent");
    let mut seen = Vec::new();
    for _ in 0..3 {
        socket.recv(&mut buffer).expect("data");
        seen.push(buffer[3]);
    }
    assert!(seen.contains(&b'D'), "{seen:?}");
    // The socket stays open, so that no ICMP error tells the server that nobody reads.
    let (code, served) = server.end();
    assert_eq!(code, 1, "{served}");
    assert!(served.contains("it is gone"), "{served}");
}

/// If a server vanishes, the client fails within its patience, and shows the results so far.
#[test]
fn a_server_that_vanishes() {
    for protocol in [Protocol::Dccp, Protocol::Tcp] {
        let (tell, told) = std::sync::mpsc::channel();
        let dying = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let mut options = ServerOptions::new(0);
                options.bind = Some(loopback());
                options.protocol = protocol;
                let server = Server::bind(options).expect("a free port");
                tell.send(server.port().expect("bound")).expect("heard");
                let mut console = Captured::default().console(false);
                let life = Duration::from_millis(500);
                let _ = tokio::time::timeout(life, server.run(&mut console)).await;
            });
        });
        let mut options = options(told.recv().expect("bound"), protocol);
        options.limit = Some(Limit::Time(Duration::from_secs(20)));
        options.length = Some(1_000);
        options.patience = Duration::from_secs(1);
        let (outcome, text) = run(&options);
        dying.join().expect("no panic");
        assert_eq!(outcome.exit_code(), 1, "{text}");
        let flow = &outcome.flows[0];
        assert!(flow.error.is_some(), "{text}");
        assert!(
            flow.sender.as_ref().is_some_and(|s| s.datagrams > 10),
            "{text}"
        );
        let error = outcome.error.as_ref().expect("that of the flow");
        assert_eq!(error.kind, "peer");
        assert_eq!(Some(&error.message), flow.error.as_ref());
    }
}
