//! Uses its own window law over sockets and in a scenario: `cargo run --example own_law`.

use std::sync::Arc;

use fairwire::laws::{Kind, Law, Signal, Window, WindowLaw, law, register_law};
use fairwire::{Ccid, Config, ConnectOptions, Security, ServiceCode};
use fairwire_scenario::{Adjust, ScenarioFile};
use fairwire_sim::results::{Metric, Subject, WHOLE};
use fairwire_sim::{RunOptions, run};

/// A law that adds half a packet per round trip and removes an eighth of the window at congestion.
#[derive(Clone, Debug)]
struct Gentle;

impl WindowLaw for Gentle {
    fn increase(&mut self, window: &Window, acked: f64) -> f64 {
        0.5 * acked / window.cwnd
    }

    fn cut(&mut self, window: &Window, _signal: Signal) -> f64 {
        window.cwnd * 0.875
    }
}

type Failure = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let gentle = Kind::<dyn Law>::new("gentle", "Half a packet up, an eighth of the window down.");
    register_law(gentle.standard(|| Arc::new(Gentle)))?;
    over_sockets().await?;
    in_a_scenario()
}

/// Sends datagrams from a client under the law.
async fn over_sockets() -> Result<(), Failure> {
    let service = ServiceCode::from_bytes(*b"?law");
    let listener = fairwire::listen("127.0.0.1:0".parse()?, &[service], Security::None)?;
    let mut config = Config::default();
    config.send_ccids = vec![Ccid::TCP_LIKE];
    config.ccid2.law = law("gentle")?;
    let options = ConnectOptions::new().config(config);
    let server = listener.local_addr().to_string();
    let client = fairwire::connect_with(&server, service, Security::None, options).await?;
    let server = listener.accept().await?;
    for number in 0..100 {
        client.send(format!("datagram {number}")).await?;
        server.recv().await?;
    }
    client.close().await?;
    println!("over sockets: 100 datagrams by 'gentle'");
    Ok(())
}

const SCENARIO: &str = r#"
title = "A law of one's own and NewReno, each over a link that loses three packets in a thousand"
run.duration = "300 s"
topology = { kind = "graph", links.a = { between = ["s", "a"], rate = "50 Mbit/s", delay = "50 ms", loss = "0.3 %", back.loss = "0 %" }, links.b = { between = ["s", "b"], rate = "50 Mbit/s", delay = "50 ms", loss = "0.3 %", back.loss = "0 %" } }
flows.gentle = { sender = "s", receiver = "a", wire = "1000 B", traffic = "greedy", dccp = { ccid = 2, ccid2 = { law = "gentle" } } }
flows.newreno = { sender = "s", receiver = "b", wire = "1000 B", traffic = "greedy", dccp = { ccid = 2 } }
"#;

/// Runs a scenario that names the same law.
fn in_a_scenario() -> Result<(), Failure> {
    let cells = ScenarioFile::parse("own_law", SCENARIO)?.cells(&Adjust::default())?;
    let result = run(&cells[0].scenario, (1, false), RunOptions::default())?;
    for name in ["gentle", "newreno"] {
        let rate = result.value(&Subject::flow(name), WHOLE, Metric::Throughput);
        println!(
            "in a scenario: {name} {:.0} kbit/s",
            rate.unwrap_or_default() / 1e3
        );
    }
    Ok(())
}
