//! The processes of a run, from the parent's side. Every wait has an end, and a process ends with its handle.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::sleep;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::board::{Mark, Order};
use crate::peers::Peer;
use crate::profile::Recording;
use crate::role::{Role, Server};
use crate::transport::Result;
use crate::works::Work;

/// How long a process may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long it may take to open ten thousand connections.
const LONG_PATIENCE: Duration = Duration::from_secs(180);

/// The two processes of a run, once they are connected.
pub struct Pair {
    // The client ends first, so that it never sends to a closed port.
    client: Process,
    server: Process,
    /// Of the server, before it had a client.
    pub before: Mark,
}

/// What the two processes did between two marks.
pub struct Window {
    pub seconds: f64,
    pub server: Part,
    pub client: Part,
}

/// What one process did between two marks.
pub struct Part {
    pub cpu_ns: f64,
    pub sent: f64,
    pub received: f64,
    pub times_ns: Vec<u64>,
    /// Resident memory at the end, bytes.
    pub rss: f64,
}

impl Pair {
    /// Starts the server on the second of the cores, and the client on the first.
    pub fn start(peer: Peer, work: Work, cores: [usize; 2]) -> Result<Self> {
        let mut role = Role {
            peer,
            work,
            core: cores[1],
            to: None,
        };
        let mut server = Process::start(&role)?;
        role.to = Some(server.answer::<Server>(PATIENCE)?);
        role.core = cores[0];
        let before = server.ask(Order::Mark, PATIENCE)?;
        let client = Process::start(&role)?;
        client.answer::<()>(PATIENCE)?;
        Ok(Self {
            server,
            client,
            before,
        })
    }

    /// Counts what happens in a time.
    pub fn window(&mut self, time: Duration) -> Result<Window> {
        let (server, client) = self.marks()?;
        sleep(time);
        let (server_end, client_end) = self.marks()?;
        let ns = server_end.at_ns.saturating_sub(server.at_ns);
        Ok(Window {
            seconds: ns as f64 / 1e9,
            server: Part::between(&server, server_end),
            client: Part::between(&client, client_end),
        })
    }

    /// Returns the counters of the server and of the client.
    pub fn marks(&mut self) -> Result<(Mark, Mark)> {
        self.server.say(Order::Mark)?;
        self.client.say(Order::Mark)?;
        Ok((self.server.answer(PATIENCE)?, self.client.answer(PATIENCE)?))
    }

    /// Records where the time of the client and of the server goes.
    pub fn record(&self, time: Duration) -> Result<[Recording; 2]> {
        let record = |process: &Process| Recording::start(process.child.id(), time);
        Ok([record(&self.client)?, record(&self.server)?])
    }

    /// Has the client carry out an order.
    pub fn order(&mut self, order: Order) -> Result<()> {
        self.client.ask(order, LONG_PATIENCE)
    }
}

impl Part {
    fn between(begin: &Mark, end: Mark) -> Self {
        Self {
            cpu_ns: end.cpu_ns.saturating_sub(begin.cpu_ns) as f64,
            sent: end.sent.saturating_sub(begin.sent) as f64,
            received: end.received.saturating_sub(begin.received) as f64,
            times_ns: end.times_ns,
            rss: end.rss as f64,
        }
    }
}

/// A process of this program. It is killed when its handle is dropped.
struct Process {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Process {
    fn start(role: &Role) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("--role")
            .arg(serde_json::to_string(role)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().ok_or("no standard input")?;
        let stdout = child.stdout.take().ok_or("no standard output")?;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(|line| line.ok()) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            stdin,
            lines,
        })
    }

    fn say(&mut self, order: Order) -> Result<()> {
        let mut line = serde_json::to_vec(&order)?;
        line.push(b'\n');
        self.stdin.write_all(&line)?;
        Ok(())
    }

    fn answer<T: DeserializeOwned>(&self, patience: Duration) -> Result<T> {
        let line = self.lines.recv_timeout(patience);
        let line = line.map_err(|error| format!("no answer from a process: {error}"))?;
        Ok(serde_json::from_str(&line)?)
    }

    fn ask<T: DeserializeOwned>(&mut self, order: Order, patience: Duration) -> Result<T> {
        self.say(order)?;
        self.answer(patience)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
