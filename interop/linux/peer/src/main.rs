//! One end of a DCCP connection over native sockets: our counterpart of the program in the guest.
//!
//! It takes the same options and prints the same JSON lines as `interop/linux/guest`; the
//! contract is in `interop/linux/README.md`.

mod account;
mod options;
mod report;
mod traffic;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use fairwire::{
    ConnectError, ConnectOptions, Connection, DccpAddr, Endpoint, ListenOptions, Security,
};
use tokio::time::{sleep, timeout};

use options::{Options, Role};
use report::{Outcome, event};

fn main() -> ExitCode {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return ExitCode::FAILURE;
    };
    let limit = Duration::from_secs(options.limit);
    let good = runtime.block_on(async {
        match timeout(limit, run(&options)).await {
            Ok(good) => good,
            Err(_) => Outcome::new(&options, "limit")
                .failed("Timeout", "everything took too long")
                .print(),
        }
    });
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Says whether all went as asked.
async fn run(options: &Options) -> bool {
    let ip = match (options.role, options.address) {
        (Role::Server, ip) => ip,
        (Role::Client, IpAddr::V4(_)) => Ipv4Addr::UNSPECIFIED.into(),
        (Role::Client, IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let builder = Endpoint::builder().exclusive(options.exclusive);
    let endpoint = match builder.bind_native(ip) {
        Ok(endpoint) => endpoint,
        Err(error) => {
            let outcome = Outcome::new(options, "socket");
            return outcome.failed("Bind", &error).print();
        }
    };
    let good = match options.role {
        Role::Server => server(options, &endpoint).await,
        Role::Client => client(options, &endpoint).await,
    };
    // The last packets of a close leave before we do.
    let _ = timeout(Duration::from_secs(1), endpoint.wait_idle()).await;
    good
}

async fn client(options: &Options, endpoint: &Endpoint) -> bool {
    let remote = DccpAddr::native(SocketAddr::new(options.address, options.port));
    let mut asked = ConnectOptions::new().config(options.config());
    asked.local_port = options.local_port;
    match endpoint
        .connect_with(remote, options.service(), Security::None, asked)
        .await
    {
        Ok(connection) => {
            event("connected");
            converse(options, connection).await
        }
        Err(error) => {
            let word = match &error {
                ConnectError::Refused { .. } => "Refused",
                ConnectError::Unreachable { .. } => "Unreachable",
                ConnectError::Timeout { .. } => "Timeout",
                _ => "Connect",
            };
            let outcome = Outcome::new(options, "connect");
            outcome.failed(word, &error).print()
        }
    }
}

async fn server(options: &Options, endpoint: &Endpoint) -> bool {
    // As in the kernel, a backlog of none has room for one.
    let asked = ListenOptions::new().config(options.config());
    let asked = asked.backlog(options.backlog + 1);
    let listener =
        match endpoint.listen_with(options.port, &options.services(), Security::None, asked) {
            Ok(listener) => listener,
            Err(error) => {
                let outcome = Outcome::new(options, "listen");
                return outcome.failed("Listen", error).print();
            }
        };
    event("listening");
    if options.hold {
        sleep(options.seconds()).await;
        return Outcome::new(options, "listen").print();
    }
    for _ in 0..options.connections {
        let Ok(connection) = listener.accept().await else {
            let outcome = Outcome::new(options, "accept");
            return outcome.failed("Accept", "the endpoint is gone").print();
        };
        event("accepted");
        if !converse(options, connection).await && !options.tolerant {
            return false;
        }
    }
    true
}

/// Does what is asked on an open connection, and reports.
async fn converse(options: &Options, connection: Connection) -> bool {
    let mut outcome = Outcome::new(options, "traffic");
    outcome.opened = true;
    traffic::run(&connection, options, &mut outcome).await;
    outcome.describe(&connection);
    outcome.print()
}
