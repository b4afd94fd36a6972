//! What a peer prints: one JSON object per line.

use std::fmt::Display;

use fairwire::{Ccid, Connection};
use serde_json::{Value, json};

use crate::account::Account;
use crate::options::{Options, Role};

/// Says that something happened.
pub(crate) fn event(name: &str) {
    println!("{}", json!({ "event": name }));
}

/// Mean and last of a figure.
#[derive(Debug, Default)]
struct Mean {
    sum: f64,
    last: f64,
    samples: u32,
}

impl Mean {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.sum += value;
            self.last = value;
            self.samples += 1;
        }
    }

    fn mean(&self) -> f64 {
        self.sum / f64::from(self.samples.max(1))
    }
}

/// What CCID 3 shows of one direction: bytes/s, bytes/s, 1, seconds.
#[derive(Debug, Default)]
struct Figures {
    samples: u64,
    x: Mean,
    x_recv: Mean,
    p: Mean,
    rtt: Mean,
}

impl Figures {
    fn json(&self) -> Value {
        json!({
            "samples": self.samples,
            "x": self.x.mean(), "x_recv": self.x_recv.mean(),
            "p": self.p.mean(), "rtt": self.rtt.mean(),
            "last": {
                "x": self.x.last, "x_recv": self.x_recv.last,
                "p": self.p.last, "rtt": self.rtt.last,
            },
        })
    }
}

/// What became of a connection.
#[derive(Debug)]
pub(crate) struct Outcome {
    role: Role,
    /// Where it ended.
    pub stage: &'static str,
    error: Option<&'static str>,
    note: Option<String>,
    pub opened: bool,
    pub peer_closed: bool,
    ccids: (Option<u8>, Option<u8>),
    mps: usize,
    pub sent: u64,
    pub sent_bytes: u64,
    pub refused: u64,
    pub seconds: f64,
    pub account: Account,
    tx: Figures,
    rx: Figures,
}

impl Outcome {
    pub(crate) fn new(options: &Options, stage: &'static str) -> Self {
        Self {
            role: options.role,
            stage,
            error: None,
            note: None,
            opened: false,
            peer_closed: false,
            ccids: (None, None),
            mps: 0,
            sent: 0,
            sent_bytes: 0,
            refused: 0,
            seconds: 0.0,
            account: Account::default(),
            tx: Figures::default(),
            rx: Figures::default(),
        }
    }

    /// It failed: in a word, and in full.
    pub(crate) fn failed(mut self, error: &'static str, why: impl Display) -> Self {
        self.fail(error, why);
        self
    }

    /// It failed: in a word, and in full.
    pub(crate) fn fail(&mut self, error: &'static str, why: impl Display) {
        self.error = Some(error);
        self.note = Some(why.to_string());
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Takes CCID 3's figures of both directions; other CCIDs have none.
    pub(crate) fn sample(&mut self, connection: &Connection) {
        let stats = connection.stats();
        if stats.send_ccid == Some(Ccid::TFRC) {
            self.tx.samples += 1;
            self.tx.x.add(stats.gauges.rate_bytes_per_s);
            self.tx.x_recv.add(stats.gauges.x_recv_bytes_per_s);
            self.tx.p.add(stats.gauges.p);
            let rtt = stats.srtt;
            self.tx.rtt.add(rtt.map(|rtt| rtt.as_secs_f64()));
        }
        if stats.receive_ccid == Some(Ccid::TFRC) {
            self.rx.samples += 1;
            self.rx.p.add(stats.loss_rate_seen);
        }
    }

    /// What was agreed.
    pub(crate) fn describe(&mut self, connection: &Connection) {
        let stats = connection.stats();
        let number = |ccid: Option<Ccid>| ccid.map(Ccid::number);
        self.ccids = (number(stats.send_ccid), number(stats.receive_ccid));
        self.mps = connection.max_datagram_size();
    }

    /// Prints it; says whether all went as asked.
    pub(crate) fn print(self) -> bool {
        let ccid = |agreed: Option<u8>| agreed.map_or(-1, i32::from);
        let role = match self.role {
            Role::Server => "server",
            Role::Client => "client",
        };
        let account = &self.account;
        let result = json!({
            "event": "result", "role": role,
            "stage": self.stage, "error": self.error, "note": self.note,
            "opened": self.opened, "peer_closed": self.peer_closed,
            "ccid_tx": ccid(self.ccids.0), "ccid_rx": ccid(self.ccids.1), "mps": self.mps,
            "sent": self.sent, "sent_bytes": self.sent_bytes, "refused": self.refused,
            "seconds": self.seconds,
            "received": account.received, "received_bytes": account.bytes,
            "distinct": account.distinct(), "missing": account.missing(),
            "reordered": account.reordered, "duplicates": account.duplicates,
            "foreign": account.foreign, "jitter_ms": account.jitter_ms,
            "tx": self.tx.json(), "rx": self.rx.json(),
        });
        println!("{result}");
        !self.has_failed()
    }
}
