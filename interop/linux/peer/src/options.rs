//! What a peer is asked to do; the same options as the guest's.

use std::net::IpAddr;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, ValueEnum};
use fairwire::{Config, ServiceCode};

/// Datagrams that may wait: as few as the kernel lets wait, near enough, so that what is sent is
/// what the congestion control lets out.
const QUEUE: usize = 8;

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Role {
    Server,
    Client,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Task {
    Idle,
    Echo,
    Send,
    Recv,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Closer {
    Us,
    Peer,
}

/// One end of a native DCCP connection; interop/linux/README.md says what it prints.
#[derive(Debug, Parser)]
pub(crate) struct Options {
    #[arg(value_enum)]
    pub role: Role,
    /// The server's address, on both sides.
    #[arg(long)]
    pub address: IpAddr,
    #[arg(long, default_value_t = 5_001)]
    pub port: u16,
    #[arg(long)]
    pub local_port: Option<u16>,
    /// Numbers, or SC: and four characters; a client uses the first.
    #[arg(long, value_delimiter = ',', default_value = "42", value_parser = service)]
    service: Vec<ServiceCode>,
    /// Preferences of both halves.
    #[arg(long)]
    ccid: Option<String>,
    #[arg(long)]
    tx_ccid: Option<String>,
    #[arg(long)]
    rx_ccid: Option<String>,
    #[arg(long, value_enum, default_value = "idle")]
    pub task: Task,
    /// Of sending, receiving or waiting; 0 is no limit of its own.
    #[arg(long, default_value_t = 0.0)]
    seconds: f64,
    /// Messages; 0 is no limit of its own.
    #[arg(long, default_value_t = 0)]
    pub count: u64,
    #[arg(long, default_value_t = 1_000)]
    pub size: usize,
    /// Bits per second; 0 is as fast as allowed.
    #[arg(long, default_value_t = 0)]
    pub rate: u64,
    #[arg(long, value_enum, default_value = "us")]
    pub close: Closer,
    #[arg(long, default_value_t = 8)]
    pub backlog: usize,
    /// Listen and accept nobody.
    #[arg(long)]
    pub hold: bool,
    /// Serve so many, one after the other.
    #[arg(long, default_value_t = 1)]
    pub connections: u32,
    /// Go on after a connection that failed.
    #[arg(long)]
    pub tolerant: bool,
    /// Seconds before figures are sampled.
    #[arg(long, default_value_t = 0.0)]
    settle: f64,
    /// Answer for every port of the host.
    #[arg(long)]
    pub exclusive: bool,
    /// Seconds for everything.
    #[arg(long, default_value_t = 60)]
    pub limit: u64,
}

impl Options {
    /// The connection's parameters.
    pub(crate) fn config(&self) -> Config {
        let mut config = Config::default();
        let lists = [
            ("send_ccids", &self.tx_ccid),
            ("receive_ccids", &self.rx_ccid),
        ];
        for (key, own) in lists {
            if let Some(ccids) = own.as_ref().or(self.ccid.as_ref())
                && let Err(error) = config.set(key, ccids)
            {
                Self::command().error(ErrorKind::InvalidValue, error).exit();
            }
        }
        config.send_queue.packets = QUEUE;
        config
    }

    pub(crate) fn services(&self) -> Vec<ServiceCode> {
        self.service.clone()
    }

    /// The one that a client asks for.
    pub(crate) fn service(&self) -> ServiceCode {
        self.service.first().copied().unwrap_or(ServiceCode(0))
    }

    pub(crate) fn seconds(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds).unwrap_or_default()
    }

    pub(crate) fn settle(&self) -> Duration {
        Duration::try_from_secs_f64(self.settle).unwrap_or_default()
    }

    /// Is there time left, as far as `--seconds` goes?
    pub(crate) fn has_time(&self, elapsed: Duration) -> bool {
        self.seconds == 0.0 || elapsed < self.seconds()
    }

    /// Is there something left, as far as `--count` goes?
    pub(crate) fn has_more(&self, done: u64) -> bool {
        self.count == 0 || done < self.count
    }
}

fn service(text: &str) -> Result<ServiceCode, String> {
    let wrong = || format!("'{text}' is no service code: write a number, or SC: and 4 characters");
    match text.strip_prefix("SC:") {
        Some(name) => {
            let bytes = name.as_bytes().try_into().map_err(|_| wrong())?;
            Ok(ServiceCode::from_bytes(bytes))
        }
        None => text.parse().map(ServiceCode).map_err(|_| wrong()),
    }
}
