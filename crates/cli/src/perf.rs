//! `fairwire perf`: the options of iperf3, where they have the same meaning.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgGroup, Parser, ValueEnum};
use fairwire_tools::perf::{
    self, Chosen, ClientOptions, Console, DEFAULT_PORT, Dtls, Fingerprint, Law, Limit, Local,
    Profile, Protocol, ServerOptions, ServiceCode, parse_bit_rate, parse_byte_count, parse_law,
    parse_profile, parse_seconds,
};

use crate::print;

/// Measure a path, or send a file over it, like iperf3 but over DCCP.
///
/// Start `fairwire perf -s` on one host and `fairwire perf -c HOST` on another. Rates are in bits per second (200M,
/// powers of ten), sizes in bytes (128K, powers of 1,024). A sender's lines count data that has left its queue. Over
/// DCCP it ends when this queue, of up to 256 datagrams, is empty; with -t at most half a second after that time, and
/// the rest is not sent. In the summary, both sides count the datagrams that left the sender's queue, and the time from
/// their agreement on the flows to the end of sending. Results go to standard output, progress to the terminal. Exit
/// status: 0 done, 1 failed, 2 wrong usage.
#[derive(Debug, Parser)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[command(group = ArgGroup::new("side").required(true).args(["server", "client", "list_settings"]))]
pub(crate) struct Args {
    /// Run as a server and wait for clients.
    #[arg(short, long)]
    server: bool,
    /// Run as a client and measure the path to the server HOST.
    #[arg(short, long, value_name = "HOST")]
    client: Option<String>,
    /// Use only this address of this host, this interface (%eth0, Linux only), or both (192.0.2.1%eth0): a server
    /// listens there, a client sends from there. An IPv6 link-local address needs its interface: `fe80::1%eth0`.
    #[arg(short = 'B', long, value_name = "ADDRESS")]
    bind: Option<Local>,
    /// Port of the server: the UDP port and the DCCP port; with --native the DCCP port.
    #[arg(short, long, default_value_t = DEFAULT_PORT)]
    port: u16,
    /// Protocol that carries the data; both sides must use the same.
    #[arg(long, value_enum, default_value = "dccp", value_name = "PROTOCOL")]
    proto: Proto,
    /// Send DCCP directly in IP (protocol 33) instead of in UDP; both sides must use it. Linux only, as root or with
    /// `CAP_NET_RAW`. Works with the DCCP of Linux kernels too.
    #[arg(long)]
    native: bool,
    /// Encrypt with DTLS 1.3, with the identity in ID.key and ID.crt, which 'fairwire keygen --out ID' makes. A server
    /// needs one. A client needs one only if the server asks for it, and also gives --dtls-pin or --dtls-ca.
    #[arg(long, value_name = "ID")]
    dtls: Option<PathBuf>,
    /// Encrypt, and trust the peer whose certificate has this SHA-256 fingerprint; may be given several times. At a
    /// server: serve only these clients.
    #[arg(long, value_name = "FINGERPRINT")]
    dtls_pin: Vec<Fingerprint>,
    /// Encrypt, and trust peers whose certificate comes from an authority in this file (PEM). A client also requires
    /// that the certificate names HOST.
    #[arg(long, value_name = "FILE")]
    dtls_ca: Option<PathBuf>,
    /// DCCP service that the server offers and the client asks for: SC:name, SC=number or SC=xhex [default: SC:?FwP].
    #[arg(long, value_name = "CODE")]
    service: Option<ServiceCode>,
    /// Largest IP packet to send over DCCP, in bytes, 576 to 65535. The interface or the path may require less
    /// [default: 1500].
    #[arg(long, value_parser = clap::value_parser!(u16).range(576..), value_name = "BYTES")]
    mtu: Option<u16>,
    /// How DCCP finds the largest packet that the path carries.
    #[arg(long, value_enum, default_value = "probe", value_name = "HOW")]
    pmtud: Pmtud,
    /// Kind of traffic, whose settings this side's DCCP connections have.
    #[arg(long, value_parser = parse_profile, value_name = "NAME", help = profile_help())]
    profile: Option<Profile>,
    /// Change a setting of this side's DCCP connections, for example `ccid3.history_discounting=false`; may be given
    /// several times.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// List the settings that --set changes.
    #[arg(long)]
    list_settings: bool,
    /// Window law of the data that this side sends over DCCP. A client then requires CCID 2. With -R the server sends,
    /// so give it there.
    #[arg(long, value_parser = parse_law, value_name = "NAME", help = law_help())]
    cc: Option<Chosen<dyn Law>>,
    /// Seconds between two lines, at least 0.1; 0 prints only the summary.
    #[arg(short, long, default_value = "1", value_parser = parse_seconds, value_name = "SECONDS")]
    #[arg(allow_negative_numbers = true)]
    // As below: accepted here, to be refused with a message.
    interval: Duration,
    /// Print one JSON object at the end instead of text.
    #[arg(long)]
    json: bool,

    /// Stop after this time; 0 only connects and reports [default: 10 s, or the end of the file].
    #[arg(short, long, value_parser = parse_seconds, value_name = "SECONDS", help_heading = CLIENT)]
    #[arg(conflicts_with = "server", allow_negative_numbers = true)]
    time: Option<Duration>,
    /// Stop after this many bytes, for example 10M.
    #[arg(short = 'n', long, value_parser = parse_byte_count, help_heading = CLIENT)]
    #[arg(conflicts_with_all = ["server", "time"], allow_hyphen_values = true)]
    bytes: Option<u64>,
    /// Highest rate of each flow, in bits per second; 0 means unlimited [default: unlimited; udp: 1M].
    #[arg(short, long, value_parser = parse_bit_rate, value_name = "RATE", help_heading = CLIENT)]
    #[arg(conflicts_with = "server", allow_hyphen_values = true)]
    bitrate: Option<u64>,
    /// Size of each datagram in bytes [default: 1200, or what the path carries; tcp: 128K].
    #[arg(short, long, value_parser = parse_byte_count, value_name = "BYTES", help_heading = CLIENT)]
    #[arg(conflicts_with = "server", allow_hyphen_values = true)]
    length: Option<u64>,
    /// Number of flows at the same time.
    #[arg(short = 'P', long, default_value_t = 1, value_name = "FLOWS", help_heading = CLIENT)]
    #[arg(conflicts_with = "server")]
    parallel: u32,
    /// Reverse the direction: the server sends.
    #[arg(short = 'R', long, conflicts_with = "server", help_heading = CLIENT)]
    reverse: bool,
    /// Require this congestion control.
    #[arg(long, value_name = "CCID", help_heading = CLIENT, help = ccid_help())]
    #[arg(conflicts_with = "server")]
    ccid: Option<u8>,
    /// Send this file. Lost parts are listed and never sent again, and do not change the exit status: read the list, or
    /// compare the two SHA-256 values in the results.
    #[arg(short = 'F', long, value_name = "PATH", conflicts_with = "server", help_heading = CLIENT)]
    file: Option<PathBuf>,

    /// Serve one client, then exit. Clients that are refused do not count.
    #[arg(short = '1', long, conflicts_with = "client", help_heading = SERVER)]
    one_off: bool,
    /// Save the file that a client sends at this path, once the client has sent all of it. Lost parts are zeros. Without
    /// it a file is only measured.
    #[arg(long, value_name = "PATH", conflicts_with = "client", help_heading = SERVER)]
    save: Option<PathBuf>,
}

const CLIENT: &str = "Client";
const SERVER: &str = "Server";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Proto {
    /// DCCP, in UDP or, with --native, directly in IP.
    Dccp,
    /// UDP, without congestion control.
    Udp,
    /// TCP of the operating system.
    Tcp,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Pmtud {
    /// By probes and by ICMP errors.
    Probe,
    /// By ICMP errors only.
    Icmp,
    /// Not at all.
    Off,
}

impl From<Proto> for Protocol {
    fn from(proto: Proto) -> Self {
        match proto {
            Proto::Dccp => Self::Dccp,
            Proto::Udp => Self::Udp,
            Proto::Tcp => Self::Tcp,
        }
    }
}

impl Args {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        if self.list_settings {
            return print::text(&perf::settings());
        }
        let mut console = Console::standard(self.json);
        let code = match self.client.clone() {
            Some(host) => perf::client(&self.client_options(host), &mut console).exit_code(),
            None => perf::server(&self.server_options(), &mut console),
        };
        ExitCode::from(console.exit_code(code))
    }

    /// Returns the settings that the options state.
    fn settings(&self) -> Vec<String> {
        let mtu = self.mtu.map(|mtu| format!("path_mtu={mtu} B"));
        // The default needs no setting, so that it is valid for every protocol.
        let discovery = match self.pmtud {
            Pmtud::Probe => None,
            Pmtud::Icmp => Some("path_mtu_discovery=icmp".to_owned()),
            Pmtud::Off => Some("path_mtu_discovery=off".to_owned()),
        };
        let stated = self.set.iter().cloned();
        mtu.into_iter().chain(discovery).chain(stated).collect()
    }

    fn dtls(&self) -> Dtls {
        let mut dtls = Dtls::default();
        dtls.identity.clone_from(&self.dtls);
        dtls.pins.clone_from(&self.dtls_pin);
        dtls.authorities.clone_from(&self.dtls_ca);
        dtls
    }

    fn client_options(self, host: String) -> ClientOptions {
        let mut options = ClientOptions::new(host, self.port);
        options.bind.clone_from(&self.bind);
        options.profile = self.profile;
        options.settings = self.settings();
        options.dtls = self.dtls();
        options.protocol = self.proto.into();
        options.native = self.native;
        options.service = self.service.unwrap_or(options.service);
        options.ccid = self.ccid;
        options.law = self.cc;
        options.limit = match (self.time, self.bytes) {
            (Some(time), _) => Some(Limit::Time(time)),
            (None, Some(bytes)) => Some(Limit::Bytes(bytes)),
            (None, None) => None,
        };
        options.interval = self.interval;
        options.rate = self.bitrate;
        // A value above 32 bits is too large for a datagram; this is reported later.
        options.length = self.length.map(|l| u32::try_from(l).unwrap_or(u32::MAX));
        options.parallel = self.parallel;
        options.reverse = self.reverse;
        options.file = self.file;
        options
    }

    fn server_options(self) -> ServerOptions {
        let mut options = ServerOptions::new(self.port);
        options.profile = self.profile;
        options.settings = self.settings();
        options.dtls = self.dtls();
        options.bind = self.bind;
        options.protocol = self.proto.into();
        options.native = self.native;
        options.service = self.service.unwrap_or(options.service);
        options.interval = self.interval;
        options.law = self.cc;
        options.one_off = self.one_off;
        options.save = self.save;
        options
    }
}

/// Returns the help text of `--ccid`, with the registered ones.
fn ccid_help() -> String {
    format!("Require this congestion control: {}", perf::ccid_names())
}

/// Returns the help text of `--profile`, with the names of the profiles.
fn profile_help() -> String {
    let all = Profile::ALL.map(|profile| format!("{profile} ({})", profile.meaning()));
    format!(
        "Kind of traffic, whose settings this side's DCCP connections have: {} [default: {}]",
        all.join(", "),
        Profile::default()
    )
}

/// Returns the help text of `--cc`, with the names of the laws.
fn law_help() -> String {
    format!(
        "Window law for sending over DCCP; requires CCID 2: {}. With -R the server sends, so give it there [default: the profile's]",
        perf::law_names().join(", ")
    )
}
