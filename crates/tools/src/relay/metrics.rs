//! The counters of a relay for Prometheus, over HTTP.
//!
//! Every request gets the same answer, whatever it asks for. A client that says nothing is left after a few seconds.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::counters::{Reason, Totals};
use crate::perf::PerfError;

/// How long a request and its answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The largest number of requests at a time; others wait.
const MOST: usize = 16;

/// The longest request that is read, bytes.
const LONGEST: usize = 8_192;

/// The port on which the counters can be read, if one is asked for.
#[derive(Debug)]
pub(super) struct Metrics {
    listener: Option<TcpListener>,
    answering: JoinSet<()>,
}

impl Metrics {
    /// Binds the port.
    pub(super) async fn bind(addr: Option<SocketAddr>) -> Result<Self, PerfError> {
        let listener = match addr {
            Some(addr) => Some(TcpListener::bind(addr).await.map_err(|error| {
                PerfError::Local(match error.kind() {
                    io::ErrorKind::AddrInUse => {
                        format!("--metrics {addr}: the TCP port is in use: choose another")
                    }
                    _ => format!("--metrics {addr}: {error}"),
                })
            })?),
            None => None,
        };
        Ok(Self {
            listener,
            answering: JoinSet::new(),
        })
    }

    /// Returns the address, if there is one.
    pub(super) fn local_addr(&self) -> Option<SocketAddr> {
        self.listener.as_ref()?.local_addr().ok()
    }

    /// Waits for the next request; for ever if none can come. Cancelling loses none.
    pub(super) async fn request(&mut self) -> TcpStream {
        let Some(listener) = &self.listener else {
            return std::future::pending().await;
        };
        loop {
            while self.answering.try_join_next().is_some() {}
            if self.answering.len() >= MOST {
                self.answering.join_next().await;
                continue;
            }
            match listener.accept().await {
                Ok((stream, _)) => return stream,
                // Too many open files, for example.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// Answers a request.
    pub(super) fn answer(&mut self, mut stream: TcpStream, text: String) {
        self.answering.spawn(async move {
            let _ = timeout(PATIENCE, respond(&mut stream, &text)).await;
        });
    }
}

async fn respond(stream: &mut TcpStream, text: &str) -> io::Result<()> {
    let (mut request, mut part) = (Vec::new(), [0; 1_024]);
    while !request.windows(4).any(|four| four == b"\r\n\r\n") && request.len() < LONGEST {
        match stream.read(&mut part).await? {
            0 => break,
            len => request.extend_from_slice(&part[..len]),
        }
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

/// Returns the counters in Prometheus' text format.
pub(super) fn prometheus(totals: &Totals, sessions: usize) -> String {
    let mut text = String::new();
    let mut metric = |name: &str, kind: &str, values: &[(&str, u64)]| {
        let _ = writeln!(text, "# TYPE fairwire_relay_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "fairwire_relay_{name}{labels} {value}");
        }
    };
    let (to, from) = (totals.to_peer, totals.from_peer);
    let (to_peer, from_peer) = ("{direction=\"to_peer\"}", "{direction=\"from_peer\"}");
    // A datagram that a queue drops later is taken back, so these may fall.
    metric(
        "datagrams",
        "gauge",
        &[(to_peer, to.datagrams), (from_peer, from.datagrams)],
    );
    metric(
        "bytes",
        "gauge",
        &[(to_peer, to.bytes), (from_peer, from.bytes)],
    );
    let reasons = Reason::ALL.map(|reason| format!("{{reason=\"{}\"}}", reason.name()));
    let dropped: Vec<_> = Reason::ALL
        .into_iter()
        .map(|reason| totals.dropped.of(reason))
        .collect();
    let dropped: Vec<_> = reasons.iter().map(String::as_str).zip(dropped).collect();
    metric("dropped_total", "counter", &dropped);
    metric("sessions", "gauge", &[("", sessions as u64)]);
    for (name, value) in [
        ("sessions_begun_total", totals.sessions_begun),
        ("sessions_ended_total", totals.sessions_ended),
        ("sessions_lost_total", totals.sessions_lost),
        ("sessions_refused_total", totals.sessions_refused),
        ("failed_attempts_total", totals.failed_attempts),
    ] {
        metric(name, "counter", &[("", value)]);
    }
    let fits = totals.largest_that_fits.map_or(0, |bytes| bytes as u64);
    metric("largest_that_fits_bytes", "gauge", &[("", fits)]);
    text
}
