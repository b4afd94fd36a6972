//! `fairwire relay`: any UDP program through DCCP.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgGroup, Parser};
use fairwire_tools::perf::{
    Console, Dtls, Fingerprint, PerfError, Profile, parse_profile, parse_seconds,
};
use fairwire_tools::relay::{self, Options, Side, parse_listen, parse_time};

/// Carry the datagrams of any UDP program through DCCP: with congestion control, encryption, and a reason for each one
/// that is dropped.
///
/// It does not make datagrams reliable or ordered: each is sent once, as UDP does, and one that does not fit into a
/// packet is dropped and counted. Start `fairwire relay -s 7001 --dtls ID --to 127.0.0.1:5000` near the UDP server, and
/// `fairwire relay --listen udp:5000 --to HOST:7001 --dtls-pin FINGERPRINT` near its clients, which then use
/// 127.0.0.1:5000 as the server. Each client has a session of its own, and a UDP socket of its own at the far end. A
/// session ends after five minutes of silence, unless --idle says otherwise. Lines go to standard output. Exit status:
/// 0 ended by a signal, 1 failed, 2 wrong usage.
#[derive(Debug, Parser)]
#[command(group = ArgGroup::new("side").required(true).args(["listen", "server"]))]
pub(crate) struct Args {
    /// Run near the UDP clients: listen here for their datagrams. A port alone is on 127.0.0.1; udp:0.0.0.0:5000 is on
    /// all addresses.
    #[arg(long, value_name = "udp:PORT", value_parser = |text: &str| parse_listen(Side::Client, text))]
    listen: Option<SocketAddr>,
    /// Run near the UDP server: listen on this port, or ADDRESS:PORT, for other relays.
    #[arg(short, long, value_name = "PORT", value_parser = |text: &str| parse_listen(Side::Server, text))]
    server: Option<SocketAddr>,
    /// Where the datagrams go: with --listen the other relay, with -s the UDP server.
    #[arg(long, value_name = "HOST:PORT")]
    to: String,
    /// Encrypt with DTLS 1.3, with the identity in ID.key and ID.crt, which 'fairwire keygen --out ID' makes. With -s
    /// it is needed; with --listen only if the other relay asks for it.
    #[arg(long, value_name = "ID")]
    dtls: Option<PathBuf>,
    /// Encrypt, and trust the relay whose certificate has this SHA-256 fingerprint; may be given several times. With
    /// -s: serve only these.
    #[arg(long, value_name = "FINGERPRINT")]
    dtls_pin: Vec<Fingerprint>,
    /// Encrypt, and trust relays whose certificate comes from an authority in this file (PEM). With --listen the
    /// certificate must also name the host of --to.
    #[arg(long, value_name = "FILE")]
    dtls_ca: Option<PathBuf>,
    /// Do not encrypt: whoever is on the path can read, change and forge datagrams.
    #[arg(long)]
    clear_text: bool,
    /// End a session when nothing has passed for this long, in either direction.
    #[arg(long, value_parser = parse_time, default_value = "5min", value_name = "TIME")]
    idle: Duration,
    /// Drop a datagram that has waited for this long for its turn to leave [default: no limit].
    #[arg(long, value_parser = parse_time, value_name = "TIME")]
    within: Option<Duration>,
    /// Datagrams of one session that may wait for their turn to leave. When there are more, the oldest is dropped.
    #[arg(long, default_value_t = 256, value_name = "DATAGRAMS")]
    queue: usize,
    /// Datagrams of one client that may wait while its connection is made.
    #[arg(long, default_value_t = 64, value_name = "DATAGRAMS")]
    waiting: usize,
    /// Sessions at the same time.
    #[arg(long, default_value_t = 1_024, value_name = "SESSIONS")]
    sessions: usize,
    /// Kind of traffic, whose settings the connections have; 'fairwire perf --help' lists them.
    #[arg(long, value_parser = parse_profile, value_name = "NAME")]
    profile: Option<Profile>,
    /// Change a setting of the connections; may be given several times. 'fairwire perf --list-settings' lists them.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Seconds between two lines, at least 0.1; 0 prints only the summary. A quiet interval has no line.
    #[arg(short, long, default_value = "10", value_parser = parse_seconds, value_name = "SECONDS")]
    interval: Duration,
    /// Show the counters in Prometheus' format over HTTP at this address, for example 127.0.0.1:9100. Whoever reaches
    /// it can read them.
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    /// Print one JSON object at the end instead of text.
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let mut console = Console::standard(self.json);
        let code = match self.options() {
            Ok(options) => relay::relay(&options, &mut console),
            Err(error) => return crate::print::refuse(self.json, error.exit_code(), &error),
        };
        ExitCode::from(console.exit_code(code))
    }

    fn options(&self) -> Result<Options, PerfError> {
        let (side, listen) = match (self.listen, self.server) {
            (Some(listen), _) => (Side::Client, listen),
            (None, Some(listen)) => (Side::Server, listen),
            // The parser requires one of them.
            (None, None) => return Err(PerfError::Usage("give --listen or -s".to_owned())),
        };
        let mut options = Options::new(side, listen, self.to.as_str());
        let mut dtls = Dtls::default();
        dtls.identity.clone_from(&self.dtls);
        dtls.pins.clone_from(&self.dtls_pin);
        dtls.authorities.clone_from(&self.dtls_ca);
        options.dtls = dtls;
        options.clear_text = self.clear_text;
        options.idle = self.idle;
        options.within = self.within;
        options.queue = self.queue;
        options.waiting = self.waiting;
        options.sessions = self.sessions;
        options.profile = self.profile;
        options.settings.clone_from(&self.set);
        options.interval = self.interval;
        options.metrics = self.metrics;
        Ok(options)
    }
}
