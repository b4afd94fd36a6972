//! A soak test: thousands of connections open, exchange data, rest and end in every way, and leave nothing behind.
//!
//! Usage: `soak [minutes [connections [seed]]]`; the defaults are 5 minutes and 3,000 connections at a time. Server and
//! clients run in this process and communicate over loopback, under CCID 2 and CCID 3. The program prints its state
//! every 5 s.
//!
//! A short round runs first, so that memory that a process allocates only once is part of the measured start. The test
//! fails if heap, file descriptors or tasks do not return to the start, if the server keeps a connection, or if a kind
//! of end never occurred. The last line says "passed" or "FAILED". Connections that time out are noted, but do not fail
//! the test.

mod args;
mod clients;
mod counts;
mod dice;
mod hostile;
mod process;
mod server;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, interval, timeout};

use fairwire_held::Counting;

use args::Plan;
use counts::Counts;
use process::Figures;
use server::Server;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The heap that may be in use at the end beyond the start, bytes. The runtime keeps lists that grew with the number of
/// its tasks and timers. One forgotten connection takes 10,000 bytes, and tens of thousands come and go.
const HEAP_SLACK: isize = 256 << 10;

/// The same for a server that still runs: per flow in TIMEWAIT (16 bytes, which a B-tree may triple), and per half-open
/// connection. These last for minutes, as RFC 4340 requires.
const TIME_WAIT_BYTES: isize = 64;
const HALF_OPEN_BYTES: isize = 1_024;

/// The longest wait for clients to end: longer than it takes to detect any peer that vanished.
const DRAIN: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let plan = match Plan::read(&given) {
        Ok(plan) => plan,
        Err(error) => {
            eprintln!("soak: {error}");
            return ExitCode::from(2);
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    match runtime.block_on(soak(&plan)) {
        Ok(()) => {
            println!("passed");
            ExitCode::SUCCESS
        }
        Err(complaints) => {
            println!("FAILED: {} (seed {})", complaints.join("; "), plan.seed);
            ExitCode::FAILURE
        }
    }
}

/// Runs the short round and the long one. Returns what was left over as an error.
async fn soak(plan: &Plan) -> Result<(), Vec<String>> {
    let mut complaints = Vec::new();
    println!(
        "soak: {:.0} s, {} connections at a time, seed {}",
        plan.churn.as_secs_f64(),
        plan.connections,
        plan.seed
    );
    let warm_up = Plan {
        churn: plan.churn.min(Duration::from_secs(8)) / 2,
        connections: plan.connections,
        seed: plan.seed,
    };
    let warm = round(&warm_up, &Counts::shared(), &mut Vec::new()).await;
    let start = Figures::settled().await;
    println!("start   {start}");

    fairwire_held::reset_peak();
    let counts = Counts::shared();
    let idle = round(plan, &counts, &mut complaints).await;
    let end = Figures::settled().await;
    println!("peak    heap {} kB", fairwire_held::peak() / 1_024);
    println!("end     {end}");
    println!("{}", counts.totals());
    if let Some(note) = counts.note() {
        println!("{note}");
    }

    let mut hold = |what: &str, start: isize, end: isize, slack: isize| {
        if end > start + slack {
            complaints.push(format!(
                "{what}: {start} at the start, {end} at the end, at most {slack} more expected"
            ));
        }
    };
    hold("heap, bytes", start.heap, end.heap, HEAP_SLACK);
    hold("file descriptors", start.fds, end.fds, 0);
    hold("tasks", start.tasks, end.tasks, 0);
    let kept = idle.time_wait * TIME_WAIT_BYTES + idle.half_open * HALF_OPEN_BYTES;
    let before = warm.heap;
    hold(
        "heap of the server at rest, bytes",
        before,
        idle.heap,
        HEAP_SLACK + kept,
    );
    complaints.extend(counts.missing());
    complaints.is_empty().then_some(()).ok_or(complaints)
}

/// What a server at rest holds when all its connections are over.
struct Idle {
    heap: isize,
    time_wait: isize,
    half_open: isize,
}

/// Runs one server, and clients that come and go until the time is over; then all clients end.
async fn round(plan: &Plan, counts: &Arc<Counts>, complaints: &mut Vec<String>) -> Idle {
    let server = Server::start();
    let (stop, stopped) = watch::channel(false);
    let mut tasks = clients::start(
        plan.connections,
        plan.seed,
        server.remote(),
        counts,
        &stopped,
    );
    hostile::start(&mut tasks, plan.seed, server.remote(), counts, &stopped);
    let begun = Instant::now();
    let mut every = interval(Duration::from_secs(5));
    while begun.elapsed() < plan.churn {
        let left = plan.churn.saturating_sub(begun.elapsed());
        // The last report comes before the end, while all clients are still active.
        if timeout(left, every.tick()).await.is_ok() {
            report(begun, counts, &server);
        }
    }
    report(begun, counts, &server);
    stop.send_replace(true);
    let drained = timeout(DRAIN, async { while tasks.join_next().await.is_some() {} });
    if drained.await.is_err() {
        complaints.push(format!("{} clients never ended", tasks.len()));
        tasks.shutdown().await;
    }
    let idle = server.rest(complaints).await;
    let stats = idle.stats;
    println!(
        "at rest after {:.0} s: {} connections, {} in TIMEWAIT, {} half-open, heap {} kB",
        begun.elapsed().as_secs_f64(),
        stats.connections,
        stats.time_wait,
        stats.half_open,
        idle.heap / 1_024
    );
    Idle {
        heap: idle.heap,
        time_wait: stats.time_wait.cast_signed(),
        half_open: stats.half_open.cast_signed(),
    }
}

fn report(begun: Instant, counts: &Counts, server: &Server) {
    let stats = server.stats();
    println!(
        "{:>5.0} s  {}  server: {} open, {} half-open, {} in TIMEWAIT  {}",
        begun.elapsed().as_secs_f64(),
        counts.now(),
        stats.connections - stats.half_open,
        stats.half_open,
        stats.time_wait,
        Figures::now()
    );
}
