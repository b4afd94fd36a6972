//! The options of client and server.

use std::path::PathBuf;
use std::time::Duration;

use fairwire::ccids::{ccid_profile, list_ccids};
use fairwire::laws::{ChooseError, Chosen, Law, law, laws};
use fairwire::{Config, Profile, ServiceCode};

use super::PerfError;
use super::defaults::{PATIENCE, SERVICE};
use super::dtls::Dtls;
use super::local::Local;
use super::message;

/// The shortest time between two lines: more lines could not be read.
pub(crate) const MIN_INTERVAL: Duration = Duration::from_millis(100);

const SERVICE_IS_DCCP: &str =
    "--service works only with --proto dccp: the other protocols have no service codes";

const LAW_IS_DCCP: &str =
    "--cc works only with --proto dccp: UDP has no congestion control, and TCP's is the system's";

const PROFILE_IS_DCCP: &str =
    "--profile works only with --proto dccp: the others have no such settings";

const NATIVE_IS_DCCP: &str = "--native works only with --proto dccp";

/// The protocol that carries the data.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    /// DCCP, in UDP or directly in IP.
    Dccp,
    /// Plain UDP, which only `-b` limits.
    Udp,
    /// TCP, with messages in its stream.
    Tcp,
}

impl Protocol {
    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dccp => "dccp",
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        }
    }

    /// Returns the default size of a message, bytes.
    pub fn default_length(self) -> u32 {
        match self {
            Self::Dccp | Self::Udp => 1_200,
            Self::Tcp => 131_072,
        }
    }

    /// Returns the default rate in bits per second; zero is unlimited.
    pub fn default_rate(self) -> u64 {
        match self {
            Self::Dccp | Self::Tcp => 0,
            Self::Udp => 1_000_000,
        }
    }
}

/// Returns the list of all settings: for each its key, its default, the values that it takes, and its meaning.
pub fn settings() -> String {
    let all = Config::keys().into_iter().map(|key| {
        let (name, default) = (key.name, key.default);
        format!(
            "{name}={default}\n    {}\n    {}\n",
            key.allowed, key.meaning
        )
    });
    all.collect()
}

/// Checks that each setting is valid, and that only DCCP has any, or a profile.
fn check_settings(
    profile: Option<Profile>,
    settings: &[String],
    protocol: Protocol,
) -> Result<(), PerfError> {
    if profile.is_some() && protocol != Protocol::Dccp {
        return Err(PerfError::Usage(PROFILE_IS_DCCP.to_owned()));
    }
    if !settings.is_empty() && protocol != Protocol::Dccp {
        let text =
            "--mtu, --pmtud and --set are for --proto dccp: the others leave it to the system";
        return Err(PerfError::Usage(text.to_owned()));
    }
    let mut config = Config::default();
    let mut all = settings.iter();
    all.try_for_each(|setting| config.apply(setting))
        .map_err(|error| PerfError::Usage(error.to_string()))
}

/// When a flow ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// After this time.
    Time(Duration),
    /// After this many bytes, including the headers of the measurement.
    Bytes(u64),
    /// At the end of the file.
    File,
}

/// The options of a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The server's name or address.
    pub host: String,
    /// The server's port: of UDP and DCCP, of UDP, or of TCP.
    pub port: u16,
    /// The address, or the interface, to send from; the system chooses if `None`.
    pub bind: Option<Local>,
    /// The protocol that carries the data.
    pub protocol: Protocol,
    /// Whether DCCP is carried directly in IP, not in UDP.
    pub native: bool,
    /// The service to ask the server for; DCCP only.
    pub service: ServiceCode,
    /// Encryption; DCCP only.
    pub dtls: Dtls,
    /// The kind of traffic, whose settings the connections have; DCCP only. [`Profile::Interactive`] if `None`.
    pub profile: Option<Profile>,
    /// Changes of these settings, as [`Config::apply`] takes them; DCCP only.
    pub settings: Vec<String>,
    /// The required CCID; DCCP only.
    pub ccid: Option<u8>,
    /// The window law of the data that the client sends, for DCCP; it requires CCID 2. The profile's if `None`.
    pub law: Option<Chosen<dyn Law>>,
    /// When to stop; after 10 s, or at the end of the file, if `None`.
    pub limit: Option<Limit>,
    /// The time between two lines, at least 100 ms; zero prints only the summary.
    pub interval: Duration,
    /// The highest rate of each flow, bits per second; zero is unlimited; `None` is the protocol's default.
    pub rate: Option<u64>,
    /// The size of a message, bytes; `None` is the protocol's default, or less if the path requires it.
    pub length: Option<u32>,
    /// The number of flows at the same time.
    pub parallel: u32,
    /// Whether the server sends.
    pub reverse: bool,
    /// The file to send.
    pub file: Option<PathBuf>,
    /// How long the server may be silent before the client gives up; 10 s by default.
    pub patience: Duration,
}

impl ClientOptions {
    /// Returns the defaults, for this server.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
            bind: None,
            protocol: Protocol::Dccp,
            native: false,
            service: SERVICE,
            dtls: Dtls::default(),
            profile: None,
            settings: Vec::new(),
            ccid: None,
            law: None,
            limit: None,
            interval: Duration::from_secs(1),
            rate: None,
            length: None,
            parallel: 1,
            reverse: false,
            file: None,
            patience: PATIENCE,
        }
    }

    /// Checks the CCID and the window law.
    fn check_congestion_control(&self) -> Result<(), PerfError> {
        let usage = |text: &str| Err(PerfError::Usage(text.to_owned()));
        if self.ccid.is_some() && self.protocol != Protocol::Dccp {
            return usage("--ccid works only with --proto dccp");
        }
        let profile = self.ccid.map(|ccid| ccid_profile(ccid.into()));
        if profile.is_some_and(|profile| profile.is_none()) {
            let text = format!("--ccid is {}", ccid_names());
            return Err(PerfError::Usage(text));
        }
        if let Some(law) = &self.law {
            check_law(law, self.protocol)?;
            if self.reverse {
                let text = format!(
                    "--cc is for the sender, which with -R is the server: start it with --cc {}",
                    law.kind()
                );
                return Err(PerfError::Usage(text));
            }
            if let Some(profile) = profile.flatten().filter(|it| !it.has_window_law()) {
                let text = format!(
                    "--cc is a window law, and {} has none: write --ccid 2, or leave out --cc",
                    profile.ccid()
                );
                return Err(PerfError::Usage(text));
            }
        }
        Ok(())
    }

    /// Checks that the options fit together.
    ///
    /// # Errors
    /// [`PerfError::Usage`], which says what does not fit.
    pub fn check(&self) -> Result<(), PerfError> {
        let usage = |text: &str| Err(PerfError::Usage(text.to_owned()));
        if self.host.is_empty() {
            return usage("-c needs the server's name or address, as in -c 192.0.2.1");
        }
        if let Some((host, port)) = split_port(&self.host) {
            let text = format!("the port goes in -p: write -c {host} -p {port}");
            return Err(PerfError::Usage(text));
        }
        if self.port == 0 {
            return usage(
                "-p 0 is for servers, which then take a free port: write the port that the server printed",
            );
        }
        if !(1..=128).contains(&self.parallel) {
            return usage("-P takes 1 to 128 flows");
        }
        check_interval(self.interval)?;
        if self.native && self.protocol != Protocol::Dccp {
            return usage(NATIVE_IS_DCCP);
        }
        if self.service != SERVICE && self.protocol != Protocol::Dccp {
            return usage(SERVICE_IS_DCCP);
        }
        self.dtls.check(self.protocol == Protocol::Dccp)?;
        self.dtls.check_client()?;
        check_settings(self.profile, &self.settings, self.protocol)?;
        self.check_congestion_control()?;
        if self.file.is_some() && self.reverse {
            return usage("-F sends from the client: leave out -R, or swap the two sides");
        }
        if self.file.is_some() && self.parallel > 1 {
            return usage("-F sends one file over one flow: leave out -P");
        }
        let least = self.least_length();
        let most = match self.protocol {
            Protocol::Tcp => message::MAX_FRAME,
            Protocol::Dccp | Protocol::Udp => 65_000,
        };
        match self.length {
            Some(length) if length < least => {
                let text = format!("-l {length} is too short: each message needs {least} bytes");
                Err(PerfError::Usage(text))
            }
            Some(length) if length > most => {
                let text = format!("-l is too long: at most {most} bytes");
                Err(PerfError::Usage(text))
            }
            _ => Ok(()),
        }
    }

    /// Returns the size of the shortest message that holds the headers, and one byte of the file.
    fn least_length(&self) -> u32 {
        if self.file.is_some() {
            message::FILE_HEADER + 1
        } else {
            message::DATA_HEADER
        }
    }

    /// Returns the rate that applies, bits per second; zero is unlimited.
    pub fn effective_rate(&self) -> u64 {
        self.rate.unwrap_or_else(|| self.protocol.default_rate())
    }

    /// Returns `host:port`, with brackets around an IPv6 address.
    pub(crate) fn target(&self) -> String {
        let (host, port) = (&self.host, self.port);
        if host.contains(':') && !host.starts_with('[') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        }
    }

    /// Returns the limit that applies.
    pub fn effective_limit(&self) -> Limit {
        self.limit.unwrap_or(if self.file.is_some() {
            Limit::File
        } else {
            Limit::Time(Duration::from_secs(10))
        })
    }
}

/// Splits `host:port` into host and port. An IPv6 address without brackets has no port.
fn split_port(text: &str) -> Option<(&str, &str)> {
    let (host, port) = text.rsplit_once(':')?;
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    (digits && (bracketed || !host.contains(':'))).then_some((host, port))
}

/// The options of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The address, or the interface, to listen on; all addresses if `None`.
    pub bind: Option<Local>,
    /// The port: of UDP and DCCP, of UDP, or of TCP; zero takes a free one.
    pub port: u16,
    /// The protocol that carries the data.
    pub protocol: Protocol,
    /// Whether DCCP is carried directly in IP, not in UDP.
    pub native: bool,
    /// The service that the server offers; DCCP only.
    pub service: ServiceCode,
    /// Encryption; DCCP only.
    pub dtls: Dtls,
    /// The kind of traffic, whose settings the connections have; DCCP only. [`Profile::Interactive`] if `None`.
    pub profile: Option<Profile>,
    /// Changes of these settings, as [`Config::apply`] takes them; DCCP only.
    pub settings: Vec<String>,
    /// The window law when the server sends under CCID 2; DCCP only. The profile's if `None`.
    pub law: Option<Chosen<dyn Law>>,
    /// The time between two lines, at least 100 ms; zero prints only the summary.
    pub interval: Duration,
    /// Whether to serve one client and then end.
    pub one_off: bool,
    /// The path for the file that a client sends.
    pub save: Option<PathBuf>,
}

impl ServerOptions {
    /// Returns the defaults, for this port.
    pub fn new(port: u16) -> Self {
        Self {
            bind: None,
            port,
            protocol: Protocol::Dccp,
            native: false,
            service: SERVICE,
            dtls: Dtls::default(),
            profile: None,
            settings: Vec::new(),
            law: None,
            interval: Duration::from_secs(1),
            one_off: false,
            save: None,
        }
    }

    /// Checks that the options fit together.
    ///
    /// # Errors
    /// [`PerfError::Usage`], which says what does not fit.
    pub fn check(&self) -> Result<(), PerfError> {
        check_interval(self.interval)?;
        if self.native && self.protocol != Protocol::Dccp {
            return Err(PerfError::Usage(NATIVE_IS_DCCP.to_owned()));
        }
        if self.service != SERVICE && self.protocol != Protocol::Dccp {
            return Err(PerfError::Usage(SERVICE_IS_DCCP.to_owned()));
        }
        if let Some(law) = &self.law {
            check_law(law, self.protocol)?;
        }
        self.dtls.check(self.protocol == Protocol::Dccp)?;
        self.dtls.check_server()?;
        check_settings(self.profile, &self.settings, self.protocol)
    }
}

/// Checks that the law can be used with the protocol.
fn check_law(law: &Chosen<dyn Law>, protocol: Protocol) -> Result<(), PerfError> {
    if protocol != Protocol::Dccp {
        return Err(PerfError::Usage(LAW_IS_DCCP.to_owned()));
    }
    match law.problem() {
        None => Ok(()),
        Some(problem) => Err(PerfError::Usage(format!("--cc {}: {problem}", law.kind()))),
    }
}

/// Checks that the time between two lines is zero, for no lines, or long enough.
fn check_interval(interval: Duration) -> Result<(), PerfError> {
    if interval.is_zero() || interval >= MIN_INTERVAL {
        return Ok(());
    }
    let text = "-i is too short: at least 0.1 seconds, or 0 for the summary only";
    Err(PerfError::Usage(text.to_owned()))
}

/// Returns the profile with this name.
///
/// # Errors
/// [`PerfError::Usage`] with the names that are possible.
pub fn parse_profile(name: &str) -> Result<Profile, PerfError> {
    let parsed = name.parse::<Profile>();
    parsed.map_err(|error| PerfError::Usage(error.problem().to_owned()))
}

/// Returns the window law with this name, with its default settings.
///
/// # Errors
/// [`PerfError::Usage`] with the names that are possible.
pub fn parse_law(name: &str) -> Result<Chosen<dyn Law>, PerfError> {
    law(name).map_err(|error| {
        let names = law_names();
        PerfError::Usage(match error {
            ChooseError::NeedsSettings { name, .. } => format!(
                "the window law '{name}' has settings that --cc cannot give: write one of {}",
                names.join(", ")
            ),
            // Only the laws that a name alone selects.
            ChooseError::Unknown { what, name, .. } => ChooseError::Unknown {
                what,
                name,
                known: names,
            }
            .to_string(),
            other => other.to_string(),
        })
    })
}

/// Returns the names that [`parse_law`] accepts: those of all registered laws that need no settings.
pub fn law_names() -> Vec<&'static str> {
    let names = laws().into_iter().map(|kind| kind.name());
    names.filter(|name| law(name).is_ok()).collect()
}

/// Returns the CCIDs that `--ccid` takes, with their names.
pub fn ccid_names() -> String {
    list_ccids("or", |_| true)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::link::client_config;
    use super::{ClientOptions, Protocol, ServerOptions, law_names, parse_law};

    /// A window law is selected by name, at the sending side, under CCID 2. Any other use is refused with advice.
    #[test]
    fn window_laws_belong_to_the_sender() {
        assert!(law_names().contains(&"vegas"));
        let unknown = parse_law("vegsa").expect_err("no such law").to_string();
        assert!(unknown.contains("did you mean 'vegas'?"), "{unknown}");
        assert!(unknown.contains("cubic"), "{unknown}");
        assert!(!unknown.contains("threshold-window"), "{unknown}");
        let needs = parse_law("threshold-window").expect_err("it needs a cut");
        let needs = needs.to_string();
        assert!(
            needs.contains("--cc cannot give: write one of newreno, vegas"),
            "{needs}"
        );

        let mut options = ClientOptions::new("localhost", 7_001);
        options.law = Some(parse_law("vegas").expect("built in"));
        let mut server = ServerOptions::new(0);
        server.law = options.law.clone();
        assert_eq!((options.check(), server.check()), (Ok(()), Ok(())));
        options.ccid = Some(2);
        assert_eq!(options.check(), Ok(()));
        options.ccid = Some(3);
        let text = options.check().expect_err("no window").to_string();
        assert!(text.contains("--ccid 2"), "{text}");
        options.ccid = None;
        options.reverse = true;
        let text = options.check().expect_err("the server sends").to_string();
        assert!(text.contains("start it with --cc vegas"), "{text}");
        options.reverse = false;
        (options.protocol, server.protocol) = (Protocol::Tcp, Protocol::Udp);
        assert!(options.check().is_err() && server.check().is_err());
    }

    /// A setting is checked before a socket is opened, and belongs to DCCP.
    #[test]
    fn settings_are_for_dccp() {
        let setting = "ccid3.history_discounting = false";
        let mut options = ClientOptions::new("localhost", 7_001);
        options.settings.push(setting.to_owned());
        assert_eq!(options.check(), Ok(()));
        assert!(!client_config(&options).ccid3.history_discounting);
        options.protocol = Protocol::Udp;
        let text = options.check().expect_err("UDP has none").to_string();
        assert!(text.contains("--set"), "{text}");
        let mut server = ServerOptions::new(0);
        for (setting, said) in [
            ("ccid3.history_discount=false", "did you mean"),
            ("ecn=no", "write true or false"),
            ("ecn", "write KEY=VALUE"),
        ] {
            server.settings = vec![setting.to_owned()];
            let text = server.check().expect_err(setting).to_string();
            assert!(text.contains(said), "{text}");
        }
    }

    /// IPv6 addresses get brackets; names do not.
    #[test]
    fn targets_are_written_right() {
        let target = |host| ClientOptions::new(host, 7).target();
        assert_eq!(target("example.org"), "example.org:7");
        for host in ["fe80::1%eth0", "[fe80::1%eth0]"] {
            assert_eq!(target(host), "[fe80::1%eth0]:7");
        }
    }

    /// Options that contradict each other are found before a socket is opened.
    #[test]
    fn contradictions_are_found() {
        let mut options = ClientOptions::new("localhost", 7_001);
        assert_eq!(options.check(), Ok(()));
        for with_port in ["127.0.0.1:7003", "[::1]:7003", "localhost:7003"] {
            let error = ClientOptions::new(with_port, 7_001).check();
            let text = error.expect_err(with_port).to_string();
            assert!(text.contains("-p 7003"), "{text}");
        }
        for alone in ["::1", "[::1]", "fe80::1%2"] {
            assert_eq!(ClientOptions::new(alone, 7_001).check(), Ok(()));
        }
        assert!(ClientOptions::new("localhost", 0).check().is_err(), "-p 0");
        for (interval_ms, fits) in [(0, true), (99, false), (100, true)] {
            let mut client = options.clone();
            client.interval = Duration::from_millis(interval_ms);
            assert_eq!(client.check().is_ok(), fits, "-i of {interval_ms} ms");
            let mut server = ServerOptions::new(0);
            server.interval = client.interval;
            assert_eq!(server.check().is_ok(), fits, "-i of {interval_ms} ms");
        }
        options.file = Some("in".into());
        options.reverse = true;
        assert_eq!(options.check().expect_err("-F -R").exit_code(), 2);
        options.reverse = false;
        options.length = Some(28);
        assert!(options.check().is_err(), "no room for a byte of the file");
        options.length = Some(29);
        assert_eq!(options.check(), Ok(()));
        options.protocol = Protocol::Udp;
        options.ccid = Some(3);
        assert!(options.check().is_err(), "UDP has no CCID");
        options.ccid = None;
        assert_eq!(options.check(), Ok(()));
        options.native = true;
        assert!(options.check().is_err(), "UDP is not DCCP");
        options.native = false;
        options.service = fairwire::ServiceCode::from_bytes(*b"demo");
        assert!(options.check().is_err(), "UDP has no Service Codes");
        options.protocol = Protocol::Dccp;
        assert_eq!(options.check(), Ok(()));
    }
}
