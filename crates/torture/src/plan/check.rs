//! Checks whether a hand-written plan can be run: everything that it names exists, and its numbers are within limits.
//!
//! The limits have two reasons. A run within them ends, in bounded memory. And it satisfies what the oracle requires of
//! honest endpoints: delays, timeouts and clocks fit into [`QUIET_MS`](super::QUIET_MS), and faults end in time. All
//! plans that [`Plan::draw`] draws are within the limits, and so is what the shrinker leaves of them.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::ops::RangeInclusive;
use std::time::Duration;

use fairwire_proto::ccids::{ccid_profile, list_ccids};
use fairwire_proto::{Config, FeedbackRate};

use super::draw_faults::MAX_DELAY_MS;
use super::fault::{Fault, Harm, Incident, TimedIncident};
use super::script::{Act, Entry};
use super::settings::EndpointSetting;
use super::{ConnectionPlan, HostPlan, Plan};

/// The number of hosts. A connection needs two.
pub const HOSTS: RangeInclusive<usize> = 2..=16;
/// The most connections.
pub const CONNECTIONS: usize = 64;
/// The greatest `id` of a connection. Its ports are 5,000 and 40,000 more, and must fit into 16 bits.
pub const GREATEST_ID: u16 = 25_535;
/// The most settings in one list.
pub const SETTINGS: usize = 100;
/// The most entries of the script.
pub const ENTRIES: usize = 1_000;
/// The most faults.
pub const FAULTS: usize = 64;
/// The most moments.
pub const MOMENTS: usize = 256;

/// The time at which the network is healed, in ms. Packets delayed by faults have arrived by then.
pub const HEALED_MS: RangeInclusive<u64> = MAX_DELAY_MS..=600_000;
/// The latest time of a script entry, in ms.
pub const LAST_MS: u64 = 600_000;

/// The rate of a link, in kbit/s.
pub const RATE_KBIT_PER_S: RangeInclusive<u64> = 32..=10_000_000;
/// The delay of a link, in microseconds.
pub const DELAY_US: RangeInclusive<u64> = 0..=1_000_000;
/// The packets in a link's queue.
pub const QUEUE_PACKETS: RangeInclusive<u32> = 0..=100_000;
/// The rate error of a clock, in ppm. `QUIET_MS` allows for a tenth.
pub const GAINS_PPM: RangeInclusive<i64> = -100_000..=100_000;
/// The greatest jump of a clock, in ms: ten days.
pub const CLOCK_STEP_MS: u64 = 864_000_000;

/// The most datagrams that all script entries together offer.
pub const DATAGRAMS: u64 = 60_000;
/// The most datagrams of one connection. The oracle's time for Ack Vectors grows with their square.
pub const DATAGRAMS_OF_CONNECTION: u64 = 15_000;
/// The most bytes of all datagrams.
pub const BYTES: u64 = 256 << 20;
/// The most bytes of one datagram.
pub const DATAGRAM: u32 = 65_535;
/// The greatest time between two datagrams of a stream, in microseconds.
pub const EVERY_US: u64 = 60_000_000;
/// The greatest time between two reads of a slow reader, in ms.
pub const EVERY_MS: u64 = 600_000;
/// The most reads by all slow readers together, if they continue to the end.
pub const READS: u64 = 10_000_000;
/// The greatest time of a datagram's options, in ms.
pub const OPTION_MS: u64 = 600_000;
/// The most priorities.
pub const PRIORITIES: u8 = 100;
/// Bytes of an MTU. The least is that of IPv4.
pub const MTU: RangeInclusive<u16> = 68..=65_535;

/// The most copies that all duplicating faults together make of one packet.
pub const COPIES: u64 = 32;
/// The packets of a loss burst.
pub const BURST_PACKETS: RangeInclusive<u32> = 1..=100_000;

/// Success, or what is wrong and where in the plan.
type Verdict = Result<(), String>;

impl Plan {
    /// Checks the plan against the limits. A plan that passes runs to its end.
    ///
    /// # Errors
    /// The first problem: its place in the plan's JSON, the value there, and what is allowed.
    pub fn check(&self) -> Verdict {
        sizes(self)?;
        within("healed_ms", self.healed_ms, HEALED_MS)?;
        for (n, host) in self.hosts.iter().enumerate() {
            check_host(n, host)?;
        }
        for (n, of) in self.connections.iter().enumerate() {
            check_connection(self, n, of)?;
        }
        check_script(self)?;
        check_faults(self)?;
        for (n, moment) in self.moments.iter().enumerate() {
            check_moment(self, n, moment)?;
        }
        Ok(())
    }
}

/// Checks the lengths of the lists.
fn sizes(plan: &Plan) -> Verdict {
    let most = |name: &str, len: usize, most: usize| {
        within(format_args!("length of {name}"), len, 0..=most)
    };
    within("length of hosts", plan.hosts.len(), HOSTS)?;
    most("connections", plan.connections.len(), CONNECTIONS)?;
    most("script", plan.script.len(), ENTRIES)?;
    most("faults", plan.faults.len(), FAULTS)?;
    most("moments", plan.moments.len(), MOMENTS)
}

/// Checks that a number in the plan is within a limit.
fn within<T: Copy + Display + PartialOrd>(
    place: impl Display,
    value: T,
    limit: RangeInclusive<T>,
) -> Verdict {
    if limit.contains(&value) {
        return Ok(());
    }
    let (least, most) = limit.into_inner();
    Err(format!("{place}: {value}, expected {least} to {most}"))
}

/// Checks that there is such a host.
fn host(plan: &Plan, place: impl Display, host: usize) -> Verdict {
    let hosts = plan.hosts.len();
    if host < hosts {
        return Ok(());
    }
    Err(format!(
        "{place}: {host}, but there are {hosts} hosts (0 to {})",
        hosts - 1
    ))
}

/// Checks that there is such a connection.
fn connection(plan: &Plan, place: impl Display, id: u16) -> Verdict {
    if plan.connection(id).is_some() {
        return Ok(());
    }
    let ids: Vec<String> = plan
        .connections
        .iter()
        .map(|of| of.id.to_string())
        .collect();
    Err(match ids.as_slice() {
        [] => format!("{place}: {id}, but there are no connections"),
        [only] => format!("{place}: {id}, but the only connection has the id {only}"),
        _ => format!(
            "{place}: {id}, but the connections have the ids {}",
            ids.join(", ")
        ),
    })
}

fn check_host(n: usize, host: &HostPlan) -> Verdict {
    let place = Place("hosts", n);
    within(
        format_args!("{place}.rate_kbit_per_s"),
        host.rate_kbit_per_s,
        RATE_KBIT_PER_S,
    )?;
    within(format_args!("{place}.delay_us"), host.delay_us, DELAY_US)?;
    within(
        format_args!("{place}.queue_packets"),
        host.queue_packets,
        QUEUE_PACKETS,
    )?;
    within(format_args!("{place}.clock_ppm"), host.clock_ppm, GAINS_PPM)?;
    within(
        format_args!("length of {place}.endpoint"),
        host.endpoint.len(),
        0..=SETTINGS,
    )?;
    for (n, setting) in host.endpoint.iter().enumerate() {
        if let Some((name, value, limit)) = of_endpoint(setting) {
            within(format_args!("{place}.endpoint[{n}].{name}"), value, limit)?;
        }
    }
    Ok(())
}

fn check_connection(plan: &Plan, n: usize, of: &ConnectionPlan) -> Verdict {
    let place = Place("connections", n);
    within(format_args!("{place}.id"), of.id, 0..=GREATEST_ID)?;
    if let Some(twin) = plan.connections[..n]
        .iter()
        .position(|earlier| earlier.id == of.id)
    {
        return Err(format!(
            "{place}.id: {}, already used by connections[{twin}]",
            of.id
        ));
    }
    host(plan, format_args!("{place}.client"), of.client)?;
    host(plan, format_args!("{place}.server"), of.server)?;
    if of.client == of.server {
        return Err(format!(
            "{place}: client and server are both host {}, expected two hosts",
            of.client
        ));
    }
    for (name, first) in [
        ("client_first", of.client_first),
        ("server_first", of.server_first),
    ] {
        // RFC 4340, 3.1: sequence numbers have 48 bits.
        within(
            format_args!("{place}.{name}"),
            first.unwrap_or(0),
            0..=(1 << 48) - 1,
        )?;
    }
    for (name, settings) in [
        ("client_settings", &of.client_settings),
        ("server_settings", &of.server_settings),
    ] {
        within(
            format_args!("length of {place}.{name}"),
            settings.len(),
            0..=SETTINGS,
        )?;
        check_settings(format_args!("{place}.{name}"), settings)?;
    }
    Ok(())
}

/// Checks that `Config` takes each setting alone, and that a run with all of them ends: times, in ms, are within
/// `QUIET_MS`, and sizes within memory. What does not fit together is left to the run.
fn check_settings(place: fmt::Arguments<'_>, settings: &[String]) -> Verdict {
    let mut config = Config::default();
    for (n, setting) in settings.iter().enumerate() {
        let applied = config.apply(setting);
        applied.map_err(|error| format!("{place}[{n}]: {error}"))?;
    }
    let for_network = config.check_for_network();
    for_network.map_err(|error| format!("{place}: {error}"))?;
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let (queue, ccid2, ccid3) = (&config.send_queue, &config.ccid2, &config.ccid3);
    let (reports, report_ms) = match ccid3.feedback {
        FeedbackRate::Every(time) => (1, ms(time)),
        FeedbackRate::PerRoundTrip(n) => (n.into(), 1),
        _ => (1, 1),
    };
    // With a shorter interval a run would exceed its limit of packets.
    let keep_alive = config.keep_alive.map_or(15_000, ms);
    let limits = [
        ("send_queue.packets", queue.packets as u64, 0..=10_000),
        ("send_queue.bytes", queue.bytes as u64, 0..=16 << 20),
        ("send_queue.age", queue.age.map_or(0, ms), 0..=600_000),
        (
            "receive_queue_packets",
            config.receive_queue_packets as u64,
            0..=10_000,
        ),
        (
            "receive_queue_bytes",
            config.receive_queue_bytes as u64,
            0..=16 << 20,
        ),
        ("connect_timeout", ms(config.connect_timeout), 0..=60_000),
        ("idle_timeout", ms(config.idle_timeout), 0..=30_000),
        ("keep_alive", keep_alive, 500..=15_000),
        ("drain_timeout", ms(config.drain_timeout), 0..=5_000),
        ("close_timeout", ms(config.close_timeout), 0..=5_000),
        ("sequence_window", config.sequence_window, 0..=1 << 20),
        (
            "max_sequence_window",
            config.max_sequence_window,
            0..=1 << 20,
        ),
        (
            "ccid_change_interval",
            ms(config.ccid_change_interval),
            0..=600_000,
        ),
        ("ccid2.min_rto", ms(ccid2.min_rto), 1..=10_000),
        ("ccid3.min_nofeedback", ms(ccid3.min_nofeedback), 0..=10_000),
        ("ccid3.feedback", reports, 1..=100),
        ("ccid3.feedback", report_ms, 1..=10_000),
    ];
    for (key, value, limit) in limits {
        within(format_args!("{place}: {key}"), value, limit)?;
    }
    let place = format_args!("{place}: ccid2.initial_window");
    within(place, ccid2.initial_window.unwrap_or(1.0), 1.0..=100.0)
}

fn check_ccids(place: fmt::Arguments<'_>, ccids: &[u8]) -> Verdict {
    within(format_args!("length of {place}"), ccids.len(), 1..=8)?;
    for (n, &ccid) in ccids.iter().enumerate() {
        if ccid_profile(ccid.into()).is_none() {
            let all = list_ccids("or", |_| true);
            return Err(format!("{place}[{n}]: {ccid}, expected {all}"));
        }
    }
    Ok(())
}

/// A setting with a number: its name, the number and the limit.
type Numbered = (&'static str, u64, RangeInclusive<u64>);

/// Returns the number of an endpoint's setting with its limit: the default at most, or a thousand times a rate.
fn of_endpoint(setting: &EndpointSetting) -> Option<Numbered> {
    use EndpointSetting as E;
    Some(match *setting {
        E::Connections(n) => ("Connections", n as u64, 0..=65_536),
        E::Memory(n) => ("Memory", n as u64, 0..=256 << 20),
        E::ConnectionsPerSource(n) => ("ConnectionsPerSource", n as u64, 0..=65_536),
        E::HalfOpen(n) => ("HalfOpen", n as u64, 0..=65_536),
        E::HalfOpenPerSource(n) => ("HalfOpenPerSource", n as u64, 0..=65_536),
        E::CookiesWhenBusy(n) => ("CookiesWhenBusy", n as u64, 0..=65_536),
        E::Resets(n) => ("Resets", n.into(), 0..=1_000_000),
        E::AnswersPerSource(n) => ("AnswersPerSource", n.into(), 0..=1_000_000),
        E::CookiesAlways | E::CookiesNever | E::SilentPorts => return None,
    })
}

fn check_script(plan: &Plan) -> Verdict {
    let (mut datagrams, mut bytes) = (BTreeMap::new(), 0);
    let mut before = 0;
    for (n, entry) in plan.script.iter().enumerate() {
        let (place, at_ms) = (Place("script", n), entry.at_ms);
        connection(plan, format_args!("{place}.connection"), entry.connection)?;
        within(format_args!("{place}.at_ms"), at_ms, 0..=LAST_MS)?;
        if at_ms < before {
            return Err(format!(
                "{place}.at_ms: {at_ms}, but script[{}] is at {before}; entries must be in the order of time",
                n - 1
            ));
        }
        before = at_ms;
        let (offers, size) = check_act(&place, entry)?;
        *datagrams.entry(entry.connection).or_default() += u64::from(offers);
        bytes += u64::from(offers) * u64::from(size);
    }
    let reads = plan.script.iter().map(|entry| match entry.act {
        Act::ReadEvery { every_ms } => (plan.end_ms() - entry.at_ms)
            .checked_div(every_ms)
            .unwrap_or(0),
        _ => 0,
    });
    for (id, &datagrams) in &datagrams {
        let place = format_args!("script: datagrams of connection {id}");
        within(place, datagrams, 0..=DATAGRAMS_OF_CONNECTION)?;
    }
    let datagrams = datagrams.values().sum();
    within("script: datagrams in all", datagrams, 0..=DATAGRAMS)?;
    within("script: bytes in all", bytes, 0..=BYTES)?;
    within(
        "script: reads of all ReadEvery until the end of the run",
        reads.sum(),
        0..=READS,
    )
}

/// Checks an act of an application. Returns the number of datagrams that it offers, and their size in bytes.
fn check_act(place: &Place, entry: &Entry) -> Result<(u32, u32), String> {
    let (name, count, size) = match &entry.act {
        Act::Burst { count, size, .. } => ("Burst", *count, *size),
        Act::Stream {
            count,
            size,
            every_us,
        } => {
            within(
                format_args!("{place}.act.Stream.every_us"),
                *every_us,
                0..=EVERY_US,
            )?;
            // The world decrements the count before it compares it.
            within(
                format_args!("{place}.act.Stream.count"),
                u64::from(*count),
                1..=DATAGRAMS_OF_CONNECTION,
            )?;
            ("Stream", *count, *size)
        }
        Act::ChangeCcid { wanted, .. } => {
            check_ccids(format_args!("{place}.act.ChangeCcid.wanted"), wanted)?;
            return Ok((0, 0));
        }
        Act::ReadEvery { every_ms } => {
            let place = format_args!("{place}.act.ReadEvery.every_ms");
            within(place, *every_ms, 0..=EVERY_MS)?;
            return Ok((0, 0));
        }
        Act::SendWith(with) => {
            let place = format_args!("{place}.act.SendWith");
            let times = [
                ("deadline_ms", with.deadline_ms),
                ("resend_ms", with.resend_ms),
            ];
            for (name, time) in times {
                within(format_args!("{place}.{name}"), time, 0..=OPTION_MS)?;
            }
            let limit = 0..=PRIORITIES;
            within(format_args!("{place}.priorities"), with.priorities, limit)?;
            return Ok((0, 0));
        }
        Act::LimitPathMtu { mtu } => {
            within(format_args!("{place}.act.LimitPathMtu.mtu"), *mtu, MTU)?;
            return Ok((0, 0));
        }
        _ => return Ok((0, 0)),
    };
    within(
        format_args!("{place}.act.{name}.count"),
        u64::from(count),
        0..=DATAGRAMS_OF_CONNECTION,
    )?;
    within(format_args!("{place}.act.{name}.size"), size, 0..=DATAGRAM)?;
    Ok((count, size))
}

fn check_faults(plan: &Plan) -> Verdict {
    let mut copies = 0;
    for (n, fault) in plan.faults.iter().enumerate() {
        let place = Place("faults", n);
        host(plan, format_args!("{place}.host"), fault.host)?;
        within(
            format_args!("{place}.per_mille"),
            fault.per_mille,
            0..=1_000,
        )?;
        // Packets delayed by a fault arrive before the network is healed.
        let most = plan.healed_ms - MAX_DELAY_MS;
        if fault.until_ms > most {
            return Err(format!(
                "{place}.until_ms: {}, expected {most} at most, {MAX_DELAY_MS} before healed_ms",
                fault.until_ms
            ));
        }
        within(
            format_args!("{place}.from_ms"),
            fault.from_ms,
            0..=fault.until_ms,
        )?;
        copies += check_harm(&place, fault)?;
    }
    within("faults: copies of all Duplicate", copies, 0..=COPIES)
}

/// Checks what a fault does to packets. Returns the number of copies that it makes of each.
fn check_harm(place: &Place, fault: &Fault) -> Result<u64, String> {
    let held = |what: &str, ms, least| {
        within(
            format_args!("{place}.harm.{what}"),
            ms,
            least..=MAX_DELAY_MS,
        )
    };
    match fault.harm {
        Harm::DropFirst { kind } => {
            within(format_args!("{place}.harm.DropFirst.kind"), kind, 0..=15)?;
        }
        Harm::Burst { packets } => {
            within(
                format_args!("{place}.harm.Burst.packets"),
                packets,
                BURST_PACKETS,
            )?;
        }
        Harm::Refuse { why } => within(format_args!("{place}.harm.Refuse.why"), why, 0..=6)?,
        Harm::Narrow { mtu, .. } => within(format_args!("{place}.harm.Narrow.mtu"), mtu, MTU)?,
        Harm::Duplicate { copies, within_ms } => {
            held("Duplicate.within_ms", within_ms, 1)?;
            return Ok(copies.into());
        }
        Harm::Reorder { by_ms } => held("Reorder.by_ms", by_ms, 1)?,
        Harm::Delay { by_ms } => held("Delay.by_ms", by_ms, 0)?,
        Harm::SecondResponse { within_ms } => held("SecondResponse.within_ms", within_ms, 1)?,
        _ => {}
    }
    Ok(0)
}

fn check_moment(plan: &Plan, n: usize, moment: &TimedIncident) -> Verdict {
    let place = Place("moments", n);
    let most = plan.healed_ms - MAX_DELAY_MS;
    host(plan, format_args!("{place}.host"), moment.host)?;
    if moment.at_ms > most {
        let at_ms = moment.at_ms;
        return Err(format!(
            "{place}.at_ms: {at_ms}, expected {most} at most, {MAX_DELAY_MS} before healed_ms"
        ));
    }
    match moment.what {
        // The host is up again before the network is healed.
        Incident::Restart { after_ms } => within(
            format_args!("{place}.what.Restart.after_ms"),
            after_ms,
            0..=plan.healed_ms - moment.at_ms,
        ),
        Incident::ClockStep { by_ms } => within(
            format_args!("{place}.what.ClockStep.by_ms"),
            by_ms,
            0..=CLOCK_STEP_MS,
        ),
        Incident::ClockRate { gains_ppm } => within(
            format_args!("{place}.what.ClockRate.gains_ppm"),
            gains_ppm,
            GAINS_PPM,
        ),
        Incident::IcmpLie { says, quote, .. } => {
            within(format_args!("{place}.what.IcmpLie.says"), says, 0..=8)?;
            within(format_args!("{place}.what.IcmpLie.quote"), quote, 0..=3)
        }
        Incident::Inject { kind, .. } => {
            within(format_args!("{place}.what.Inject.kind"), kind, 0..=15)
        }
        Incident::Flood { connection: id, .. } => {
            connection(plan, format_args!("{place}.what.Flood.connection"), id)
        }
        Incident::Rebind | Incident::Row { .. } => Ok(()),
    }
}

/// An element of a list in the plan.
struct Place(&'static str, usize);

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.0, self.1)
    }
}
