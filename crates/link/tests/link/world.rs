//! A link with a program behind it that sends everything back.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::thread::JoinHandle;
use std::time::Duration;

use fairwire_link::{Options, Relay, RelayError, Report, Stopper};

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// How long a test waits for what must not come.
pub(crate) const SILENCE: Duration = Duration::from_millis(300);

pub(crate) fn options(words: &str, to: SocketAddr) -> Options {
    Options {
        words: words.parse().expect("words"),
        listen: ([127, 0, 0, 1], 0).into(),
        to,
        seed: 7,
        idle: Duration::from_secs(300),
        changes: Vec::new(),
        time: None,
        name: None,
    }
}

/// A link that runs.
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    stopper: Stopper,
    thread: JoinHandle<Result<Report, RelayError>>,
}

impl Running {
    pub(crate) fn start(options: Options) -> Self {
        let mut relay = Relay::bind(options).expect("bound");
        let (addr, stopper) = (relay.local_addr(), relay.stopper());
        let thread = std::thread::spawn(move || relay.run(Duration::ZERO, |_| {}));
        Self {
            addr,
            stopper,
            thread,
        }
    }

    pub(crate) fn end(self) -> Report {
        self.stopper.stop();
        self.thread.join().expect("no panic").expect("a report")
    }

    /// Returns the name by which the link is changed.
    pub(crate) fn name(&self) -> String {
        self.addr.port().to_string()
    }
}

/// Starts a program that sends back each datagram, until it gets an empty one. Returns its address.
pub(crate) fn echo() -> SocketAddr {
    let socket = socket();
    let addr = socket.local_addr().expect("an address");
    std::thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        while let Ok((len, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..len], from);
        }
    });
    addr
}

#[expect(clippy::disallowed_methods, reason = "the link runs in real time")]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

pub(crate) fn socket() -> UdpSocket {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("a socket");
    socket
        .set_read_timeout(Some(PATIENCE))
        .expect("a time above zero");
    socket
}

/// Returns the datagrams that come until none has come for a while.
pub(crate) fn all(socket: &UdpSocket) -> Vec<Vec<u8>> {
    socket
        .set_read_timeout(Some(SILENCE))
        .expect("a time above zero");
    let mut got = Vec::new();
    let mut buffer = vec![0; 65_536];
    loop {
        match socket.recv(&mut buffer) {
            Ok(len) => got.push(buffer[..len].to_vec()),
            Err(error) => {
                let is_over = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
                assert!(is_over, "{error}");
                return got;
            }
        }
    }
}
