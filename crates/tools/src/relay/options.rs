//! The options of both sides.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use fairwire::ccids::{CcidProfile, ccid_profiles};
use fairwire::{Config, Profile, QueuePolicy, ServiceCode};

use crate::perf::{Dtls, PerfError};

/// The DCCP service of an encrypted relay; for private use (RFC 5595, section 2.3).
pub const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"?FwR");

/// The service of a relay in clear text. RFC 5238, 3.6: it is another one. So two relays of which only one encrypts
/// part at once.
pub const CLEAR_SERVICE: ServiceCode = ServiceCode::from_bytes(*b"?FwC");

/// How long a peer may leave a packet unanswered, and after what silence it is asked for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which end of a connection a relay is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// It takes UDP datagrams and connects.
    Client,
    /// It accepts connections and sends UDP datagrams.
    Server,
}

/// The options of a relay.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Which end it is.
    pub side: Side,
    /// The address to listen on: UDP at a client, DCCP in UDP at a server.
    pub listen: SocketAddr,
    /// Where the datagrams go: the server's `host:port` at a client, the UDP program's at a server.
    pub to: String,
    /// Encryption.
    pub dtls: Dtls,
    /// Whether to relay in clear text.
    pub clear_text: bool,
    /// The kind of traffic, whose settings the connections have. [`Profile::Interactive`] if `None`.
    pub profile: Option<Profile>,
    /// Changes of these settings, as [`Config::apply`] takes them.
    pub settings: Vec<String>,
    /// How long a session may carry nothing in either direction before it ends.
    pub idle: Duration,
    /// The largest number of sessions at a time.
    pub sessions: usize,
    /// The largest number of datagrams of one client that wait for its connection.
    pub waiting: usize,
    /// The largest number of datagrams in the send queue of a connection.
    pub queue: usize,
    /// How long a datagram may wait to leave; without a limit if `None`.
    pub within: Option<Duration>,
    /// The time between two lines; zero prints only the summary.
    pub interval: Duration,
    /// The TCP address at which the counters can be read over HTTP; none if `None`.
    pub metrics: Option<SocketAddr>,
}

impl Options {
    /// Returns the defaults.
    pub fn new(side: Side, listen: SocketAddr, to: impl Into<String>) -> Self {
        Self {
            side,
            listen,
            to: to.into(),
            dtls: Dtls::default(),
            clear_text: false,
            profile: None,
            settings: Vec::new(),
            idle: Duration::from_secs(300),
            sessions: 1_024,
            waiting: 64,
            queue: 256,
            within: None,
            interval: Duration::from_secs(10),
            metrics: None,
        }
    }

    /// Checks that the options fit together.
    ///
    /// # Errors
    /// [`PerfError::Usage`], which says what does not fit.
    pub fn check(&self) -> Result<(), PerfError> {
        let usage = |text: &str| Err(PerfError::Usage(text.to_owned()));
        let port = self
            .to
            .rsplit_once(':')
            .map(|(_, port)| port.parse::<u16>());
        if !matches!(port, Some(Ok(1..))) {
            let text = format!("--to {}: write host:port, as in localhost:7001", self.to);
            return Err(PerfError::Usage(text));
        }
        match (self.dtls.is_on(), self.clear_text) {
            (true, true) => {
                return usage("--clear-text contradicts --dtls, --dtls-pin and --dtls-ca");
            }
            (false, false) => {
                return usage(match self.side {
                    Side::Client => {
                        "the relay encrypts, and needs to know whom to trust: give --dtls-pin with the fingerprint \
                         that the server prints, or --dtls-ca with a file of authorities; or write --clear-text"
                    }
                    Side::Server => {
                        "the relay encrypts, and needs an identity: make one with 'fairwire keygen --out ID' and give \
                         --dtls ID; or write --clear-text"
                    }
                });
            }
            _ => {}
        }
        self.dtls.check(true)?;
        match self.side {
            Side::Client => self.dtls.check_client()?,
            Side::Server => self.dtls.check_server()?,
        }
        if self.idle < Duration::from_secs(1) {
            return usage("--idle is too short: at least 1 s");
        }
        if self.within.is_some_and(|within| within.is_zero()) {
            return usage("--within 0 would let no datagram leave: write more, or leave it out");
        }
        if self.sessions == 0 || self.waiting == 0 || self.queue == 0 {
            return usage("--sessions, --waiting and --queue take at least 1");
        }
        if !self.interval.is_zero() && self.interval < Duration::from_millis(100) {
            return usage("-i is too short: at least 0.1 seconds, or 0 for the summary only");
        }
        self.configured().map(|_| ())
    }

    /// Returns the service that the two sides agree on.
    pub(super) fn service(&self) -> ServiceCode {
        if self.dtls.is_on() {
            SERVICE
        } else {
            CLEAR_SERVICE
        }
    }

    /// Returns the parameters of the connections.
    pub(super) fn configured(&self) -> Result<Config, PerfError> {
        let mut config = self.profile.unwrap_or_default().config();
        if self.side == Side::Server {
            // The client chooses the CCID.
            let all: Vec<_> = ccid_profiles().map(CcidProfile::ccid).collect();
            config.send_ccids.clone_from(&all);
            config.receive_ccids = all;
        }
        config.keep_alive = Some(PATIENCE);
        config.idle_timeout = PATIENCE;
        config.connect_timeout = PATIENCE;
        config.drain_timeout = Duration::from_secs(1);
        config.close_timeout = Duration::from_secs(1);
        config.migration = self.dtls.is_on();
        // What is old is of less use than what is new; and a program that sends UDP expects no back pressure.
        config.send_queue.policy = QueuePolicy::DropOldest;
        config.send_queue.packets = self.queue;
        config.send_queue.bytes = config
            .send_queue
            .bytes
            .max(self.queue.saturating_mul(1_500));
        config.send_queue.age = self.within;
        let mut settings = self.settings.iter();
        let applied = settings.try_for_each(|setting| config.apply(setting));
        applied.map_err(|error| PerfError::Usage(error.to_string()))?;
        Ok(config)
    }

    /// Returns the line that says what the relay does.
    pub(super) fn first_line(&self, local: SocketAddr) -> String {
        let (words, idle) = (self.dtls.words(), self.idle.as_secs_f64());
        let (from, to) = match self.side {
            Side::Client => ("UDP", "DCCP in UDP"),
            Side::Server => ("DCCP in UDP", "UDP"),
        };
        format!(
            "Relay from {from} {local} to {to} {} ({words}); sessions end after {idle} s of silence, at most {}",
            self.to, self.sessions
        )
    }
}

/// Returns whether what goes to `addr` would arrive at a socket that listens on `listen`.
pub(super) fn reaches_itself(listen: SocketAddr, addr: SocketAddr) -> bool {
    let (ip, own) = (addr.ip().to_canonical(), listen.ip().to_canonical());
    let same = ip == own || (own.is_unspecified() && (ip.is_unspecified() || is_local(ip)));
    addr.port() == listen.port() && same
}

/// Returns whether this host has the address: whether a socket can have it.
fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || std::net::UdpSocket::bind((ip, 0)).is_ok()
}

/// Parses where to listen: `5000`, `udp:5000`, `udp:192.0.2.1:5000`. A client without an address listens on 127.0.0.1,
/// a server on all addresses.
///
/// # Errors
/// [`PerfError::Usage`] with the forms that are possible.
pub fn parse_listen(side: Side, text: &str) -> Result<SocketAddr, PerfError> {
    let forms = match side {
        Side::Client => "as udp:5000 (on 127.0.0.1) or udp:192.0.2.1:5000",
        Side::Server => "as 7001 or 192.0.2.1:7001",
    };
    let bare = match side {
        Side::Client => text.strip_prefix("udp:").unwrap_or(text),
        Side::Server => text,
    };
    if let Ok(port) = bare.parse() {
        let ip = match side {
            Side::Client => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Side::Server => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        return Ok(SocketAddr::new(ip, port));
    }
    bare.parse()
        .map_err(|_| PerfError::Usage(format!("'{text}' is not a port: write it {forms}")))
}

/// Parses a time with its unit: `100ms`, `5min`.
///
/// # Errors
/// [`PerfError::Usage`] with the forms that are possible.
pub fn parse_time(text: &str) -> Result<Duration, PerfError> {
    let time: Result<fairwire_units::Duration, _> = text.parse();
    time.map(Duration::from).map_err(|error| {
        PerfError::Usage(format!(
            "'{text}' is not a time such as 100ms or 5min: {error}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Options, Side, parse_listen, parse_time};

    /// A port alone is on loopback at a client and on all addresses at a server.
    #[test]
    fn addresses_are_read() {
        for (side, text, addr) in [
            (Side::Client, "udp:5000", "127.0.0.1:5000"),
            (Side::Client, "5000", "127.0.0.1:5000"),
            (Side::Client, "udp:0.0.0.0:5000", "0.0.0.0:5000"),
            (Side::Client, "udp:[::1]:5000", "[::1]:5000"),
            (Side::Server, "7001", "[::]:7001"),
            (Side::Server, "192.0.2.1:7001", "192.0.2.1:7001"),
        ] {
            assert_eq!(parse_listen(side, text).expect(text).to_string(), addr);
        }
        for text in ["", "udp:", "tcp:5000", "host:5000", "65536"] {
            let error = parse_listen(Side::Client, text).expect_err(text);
            assert!(error.to_string().contains("udp:5000"), "{error}");
        }
        assert_eq!(parse_time("100ms").ok(), Some(Duration::from_millis(100)));
        assert!(parse_time("100").is_err(), "no unit");
    }

    /// Nothing is relayed in clear text unless it is asked for, and a server needs an identity.
    #[test]
    fn clear_text_is_asked_for() {
        for (side, said) in [(Side::Client, "--dtls-pin"), (Side::Server, "keygen")] {
            let listen = parse_listen(side, "5000").expect("a port");
            let mut options = Options::new(side, listen, "localhost:7001");
            let text = options.check().expect_err("not said").to_string();
            assert!(
                text.contains(said) && text.contains("--clear-text"),
                "{text}"
            );
            options.clear_text = true;
            assert_eq!(options.check(), Ok(()));
            options.dtls.identity = Some("id".into());
            assert!(options.check().is_err(), "both");
            options.dtls.identity = None;
            options.to = "localhost".to_owned();
            let text = options.check().expect_err("no port").to_string();
            assert!(text.contains("host:port"), "{text}");
        }
    }
}
