//! The client: connects, agrees with the server, runs its end of each flow, and prints.

use std::net::SocketAddr;
use std::time::Duration;

use fairwire::Endpoint;
use fairwire_measure::counted;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::console::Console;
use super::file::Source;
use super::flow::Flow;
use super::link::{Incoming, Link, client_config, native_endpoint};
use super::local::resolve;
use super::meter::Meter;
use super::options::{ClientOptions, Limit, MIN_INTERVAL, Protocol};
use super::report::{ErrorReport, FlowReport, Interval, Outcome, Role};
use super::session::{Answer, Params, Stop, random, send_params};
use super::text;
use super::ticker::Ticker;
use super::{PerfError, runtime, signals};
use crate::signals::Signals;

/// Runs a measurement and prints it to `console`; Ctrl-C, SIGTERM and SIGHUP end it early.
pub fn client(options: &ClientOptions, console: &mut Console) -> Outcome {
    let outcome = options
        .check()
        .and_then(|()| runtime())
        .and_then(|runtime| runtime.block_on(measure(options, console)));
    match outcome {
        Ok(outcome) => {
            console.outcome(&outcome);
            outcome
        }
        Err(error) => {
            let mut outcome = blank(options);
            let error = ErrorReport::from(&error);
            console.failure(&error);
            outcome.error = Some(error);
            outcome
        }
    }
}

fn blank(options: &ClientOptions) -> Outcome {
    Outcome {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        side: "client".to_owned(),
        protocol: options.protocol.name().to_owned(),
        native: options.native,
        encrypted: options.dtls.is_on(),
        peer: format!("{} port {}", options.host, options.port),
        length: 0,
        rate_limit: options.effective_rate(),
        reverse: options.reverse,
        file_size: None,
        intervals: Vec::new(),
        flows: Vec::new(),
        error: None,
    }
}

async fn measure(options: &ClientOptions, console: &mut Console) -> Result<Outcome, PerfError> {
    let source = options.file.as_deref().map(Source::open).transpose()?;
    let mut signals = signals()?;
    console.progress(&format!("connecting to {} ...", options.host));
    let ready = tokio::select! {
        ready = prepare(options, source) => ready?,
        () = signals.stop() => return Err(PerfError::Interrupted),
    };
    let mut outcome = blank(options);
    let (ready, answer) = ready;
    let first = ready.first().map(|flow| (&flow.params, flow.link.peer()));
    if let Some((params, peer)) = first {
        outcome.length = params.length;
        outcome.file_size = params.file_size;
        if let Some(peer) = peer {
            outcome.peer = peer.to_string();
        }
    }
    console.announce(&announcement(options, &outcome));
    if answer.saves == Some(false) {
        console.note("note: the server does not save the file, for it was started without --save");
    }
    run(options, ready, &mut signals, &mut outcome, console).await;
    Ok(outcome)
}

/// Connects every flow and agrees on it with the server. Returns the flows, and the server's answer about the first one
/// agreed on.
async fn prepare(
    options: &ClientOptions,
    source: Option<Source>,
) -> Result<(Vec<Flow>, Answer), PerfError> {
    let mut params = Params::new(options.effective_limit());
    params.test = random();
    params.flows = options.parallel;
    params.patience = options.patience;
    params.reverse = options.reverse;
    params.rate = options.effective_rate();
    params.file_size = source.as_ref().map(|source| source.size);
    let (_, stop) = Stop::new();
    // All flows at the same time: one after the other, many flows over a long path would take longer than the server
    // waits for data of the first.
    let mut agreeing = JoinSet::new();
    let addrs = resolve(&options.target(), options.bind.as_ref()).await?;
    let native = if options.native {
        Some(native_endpoint(options.bind.as_ref())?)
    } else {
        None
    };
    for flow in 1..=options.parallel {
        let (options, addrs, native) = (options.clone(), addrs.clone(), native.clone());
        let params = Params {
            flow,
            ..params.clone()
        };
        agreeing.spawn(async move { agree_with_any(&options, &addrs, params, native).await });
    }
    let mut flows = Vec::new();
    let mut first_answer = None;
    while let Some(agreed) = agreeing.join_next().await {
        let lost = |error| PerfError::Local(format!("a flow failed: {error}"));
        let (link, params, answer, early) = agreed.map_err(lost)??;
        first_answer.get_or_insert(answer);
        flows.push(Flow {
            role: if options.reverse {
                Role::Receiver
            } else {
                Role::Sender
            },
            meter: Meter::of(&link),
            stop: stop.clone(),
            law: client_config(options).ccid2.law.kind(),
            source: None,
            sink: None,
            early,
            params,
            link,
        });
    }
    flows.sort_by_key(|flow| flow.params.flow);
    if let Some(first) = flows.first_mut() {
        first.source = source;
    }
    Ok((flows, first_answer.unwrap_or_default()))
}

/// A flow that the server has agreed on, its answer, and the first message of the flow if that has already arrived.
type Agreed = (Link, Params, Answer, Option<Incoming>);

/// How long a server at one address of several may be silent before the next one is tried, over plain UDP.
const NEXT_ADDRESS: Duration = Duration::from_secs(1);

/// Agrees on a flow with the server at the first of its addresses that answers.
async fn agree_with_any(
    options: &ClientOptions,
    addrs: &[SocketAddr],
    params: Params,
    native: Option<Endpoint>,
) -> Result<Agreed, PerfError> {
    let Some((last, others)) = addrs
        .split_last()
        .filter(|_| options.protocol == Protocol::Udp)
    else {
        return agree(options, addrs, params, native).await;
    };
    // Over plain UDP only an answer shows that there is a server.
    for addr in others {
        let mut params = params.clone();
        params.patience = params.patience.min(NEXT_ADDRESS);
        match agree(options, &[*addr], params, None).await {
            Ok((link, mut params, answer, early)) => {
                params.patience = options.patience;
                return Ok((link, params, answer, early));
            }
            Err(PerfError::Peer(_)) => {}
            Err(error) => return Err(error),
        }
    }
    agree(options, &[*last], params, None).await
}

/// Connects one flow and agrees on it with the server.
async fn agree(
    options: &ClientOptions,
    addrs: &[SocketAddr],
    mut params: Params,
    native: Option<Endpoint>,
) -> Result<Agreed, PerfError> {
    let link = Link::connect(options, addrs, native).await?;
    params.length = length(options, link.max_message())?;
    let (answer, early) = send_params(&link, &params).await?;
    Ok((link, params, answer, early))
}

/// Returns the bytes per message: as requested, or the default if it fits.
fn length(options: &ClientOptions, max: usize) -> Result<u32, PerfError> {
    let max = u32::try_from(max).unwrap_or(u32::MAX);
    match options.length {
        Some(length) if length > max => Err(PerfError::Usage(format!(
            "-l: {length} bytes are too many: datagrams to {} have at most {max}; write -l {max} or less, or leave it out",
            options.host
        ))),
        Some(length) => Ok(length),
        None => Ok(options.protocol.default_length().min(max)),
    }
}

/// Runs the flows at the same time until the last one ends.
async fn run(
    options: &ClientOptions,
    ready: Vec<Flow>,
    signals: &mut Signals,
    outcome: &mut Outcome,
    console: &mut Console,
) {
    let role = ready.first().map_or(Role::Sender, |flow| flow.role);
    let (stop, stopped) = Stop::new();
    let mut ticker = Ticker::new(role);
    let mut running = JoinSet::new();
    for mut flow in ready {
        if flow.role == Role::Sender {
            // All flows of a test begin together, when the last has been agreed on.
            flow.meter = Meter::of(&flow.link);
        }
        ticker.watch(flow.params.flow, flow.meter.clone());
        flow.stop = stopped.clone();
        running.spawn(flow.run());
    }
    let every = match options.interval {
        Duration::ZERO => Duration::from_secs(3_600),
        interval => interval.max(MIN_INTERVAL),
    };
    let mut tick = interval_at(Instant::now() + every, every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut interrupted = false;
    loop {
        tokio::select! {
            ended = running.join_next() => match ended {
                Some(Ok(flow)) => outcome.flows.push(flow),
                Some(Err(error)) => {
                    let text = format!("a flow failed: {error}");
                    outcome.error = Some((&PerfError::Local(text)).into());
                }
                None => break,
            },
            _ = tick.tick(), if !options.interval.is_zero() => {
                show(ticker.lines(), outcome, console);
                console.progress(&progress(outcome));
            }
            () = signals.stop() => {
                if std::mem::replace(&mut interrupted, true) {
                    break; // The second Ctrl-C: end without the other side's report.
                }
                let _ = stop.send(true);
            }
        }
    }
    if !options.interval.is_zero() {
        show(ticker.last_lines(), outcome, console);
    }
    outcome.flows.sort_by_key(|flow: &FlowReport| flow.flow);
    if interrupted {
        outcome.error = Some((&PerfError::Interrupted).into());
    }
    outcome.conclude();
}

/// Prints lines and keeps them in the outcome.
pub(super) fn show(rows: Vec<Interval>, outcome: &mut Outcome, console: &mut Console) {
    if outcome.intervals.is_empty() && !rows.is_empty() {
        console.heading(&rows);
    }
    console.intervals(&rows);
    outcome.intervals.extend(rows);
}

/// Returns how much of a file was sent.
fn progress(outcome: &Outcome) -> String {
    let Some(size) = outcome.file_size.filter(|size| *size > 0) else {
        return String::new();
    };
    let sent: u64 = outcome.intervals.iter().map(|row| row.bytes).sum();
    format!(
        "{:.0} % of the file",
        (sent as f64 * 100.0 / size as f64).min(100.0)
    )
}

fn announcement(options: &ClientOptions, outcome: &Outcome) -> String {
    let rate = match (options.effective_rate(), options.rate) {
        (0, None) => "unlimited by default (-b)".to_owned(),
        (0, Some(_)) => "unlimited (-b)".to_owned(),
        (rate, None) => format!("{} by default (-b)", text::scaled(rate as f64, "bit/s")),
        (rate, Some(_)) => format!("{} (-b)", text::scaled(rate as f64, "bit/s")),
    };
    let unit = match options.protocol {
        Protocol::Tcp => "messages",
        _ => "datagrams",
    };
    let direction = if options.reverse { "from" } else { "to" };
    let until = match options.effective_limit() {
        Limit::Time(time) => format!("{} s", time.as_secs_f64()),
        Limit::Bytes(bytes) => text::scaled(bytes as f64, "B"),
        Limit::File => "the whole file".to_owned(),
    };
    let flows = match options.parallel {
        1 => String::new(),
        n => format!("{n} flows, each "),
    };
    format!(
        "{}{}, {}, {direction} {}: {flows}{until}, {unit} of {}, rate {rate}",
        options.protocol.name(),
        if options.native { " (native)" } else { "" },
        options.dtls.words(),
        outcome.peer,
        counted(outcome.length.into(), "byte")
    )
}
