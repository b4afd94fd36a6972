//! The cost of a datagram on loopback: DCCP with each CCID compared with plain UDP and TCP, as processor time on both
//! sides.
//!
//! Run it with `cargo bench -p fairwire-tools`. The server is a separate process, so that the time of each side can be
//! told apart.

use std::io::{BufRead, BufReader, Write, sink};
use std::process::{Command, Stdio};
use std::time::Duration;

use fairwire_tools::perf::{
    ClientOptions, Console, Limit, Outcome, PerfError, Protocol, Server, ServerOptions, client,
};

const ROWS: [(&str, Protocol, Option<u8>); 5] = [
    ("dccp, CCID 2", Protocol::Dccp, Some(2)),
    ("dccp, CCID 3", Protocol::Dccp, Some(3)),
    // At most 100 packets a second: this shows the cost of one, not the highest rate.
    ("dccp, CCID 4", Protocol::Dccp, Some(4)),
    ("udp", Protocol::Udp, None),
    ("tcp", Protocol::Tcp, None),
];

fn main() {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some("--serve") {
        let name = args.next().unwrap_or_default();
        let row = ROWS.iter().find(|row| row.1.name() == name);
        serve(row.map_or(Protocol::Dccp, |row| row.1));
        return;
    }
    println!("loopback, 1,200-byte datagrams, 2 s each; processor time per datagram\n");
    println!(
        "{:<14} {:<11} {:>12} {:>9} {:>9} {:>8}",
        "", "-b", "Mbit/s", "sender", "receiver", "lost"
    );
    for (name, protocol, ccid) in ROWS {
        for (label, rate) in [("200M", 200_000_000), ("unlimited", 0)] {
            match measure(protocol, ccid, rate) {
                Ok(outcome) => println!("{name:<14} {label:<11} {}", row(&outcome)),
                Err(error) => println!("{name:<14} {label:<11} failed: {error}"),
            }
        }
    }
}

/// Runs the server's process: prints its port and serves one client.
fn serve(protocol: Protocol) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut options = ServerOptions::new(0);
        options.bind = Some(std::net::IpAddr::from([127, 0, 0, 1]).into());
        options.protocol = protocol;
        options.one_off = true;
        let server = Server::bind(options).expect("a free port");
        println!("{}", server.port().expect("bound"));
        std::io::stdout().flush().expect("read");
        server.run(&mut quiet()).await;
    });
}

fn measure(protocol: Protocol, ccid: Option<u8>, rate: u64) -> Result<Outcome, PerfError> {
    let failed = |error: std::io::Error| PerfError::Local(error.to_string());
    let mut server = Command::new(std::env::current_exe().map_err(failed)?)
        .args(["--serve", protocol.name()])
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut line = String::new();
    if let Some(out) = server.stdout.take() {
        BufReader::new(out).read_line(&mut line).map_err(failed)?;
    }
    let mut options = ClientOptions::new("127.0.0.1", line.trim().parse().unwrap_or(0));
    options.protocol = protocol;
    options.ccid = ccid;
    options.rate = Some(rate);
    options.length = Some(1_200);
    options.interval = Duration::ZERO;
    options.limit = Some(Limit::Time(Duration::from_secs(2)));
    let outcome = client(&options, &mut quiet());
    server.wait().map_err(failed)?;
    match &outcome.error {
        Some(error) => Err(PerfError::Peer(error.message.clone())),
        None => Ok(outcome),
    }
}

fn quiet() -> Console {
    Console::to(Box::new(sink()), false)
}

fn row(outcome: &Outcome) -> String {
    let flow = outcome.flows.first();
    let Some((sender, receiver)) =
        flow.and_then(|flow| Some((flow.sender.as_ref()?, flow.receiver.as_ref()?)))
    else {
        return "no report".to_owned();
    };
    let cost = |cpu: Option<f64>, datagrams: u64| match cpu {
        Some(cpu) if datagrams > 0 => format!("{:.2} us", cpu * 1e6 / datagrams as f64),
        _ => "-".to_owned(),
    };
    format!(
        "{:>12.0} {:>9} {:>9} {:>7.3}%",
        receiver.bits_per_second / 1e6,
        cost(sender.cpu_seconds, sender.datagrams),
        cost(receiver.cpu_seconds, receiver.datagrams),
        receiver.lost as f64 * 100.0 / sender.datagrams.max(1) as f64
    )
}
