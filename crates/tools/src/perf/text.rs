//! A measurement as text, in the columns of iperf3.

use std::fmt::Write as _;

use fairwire_measure::counted;

use super::report::{
    FlowReport, Interval, Outcome, PathReport, ReceiverReport, Role, SenderReport,
};

const RULE: &str =
    "- - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - -\n";

/// What the numbers of the summary mean at both ends.
const DEFINITION: &str = "\
Times run from the agreement on the flows to the end of sending; an older version at the other end may differ.
Datagrams that never left the sender's queue do not count as sent.
";

/// Returns the column names of [`interval`].
pub(super) fn heading(first: &Interval) -> String {
    let rest = match (first.role, &first.path) {
        (Role::Sender, Some(_)) => "  RTT         Window",
        (Role::Sender, None) => "",
        (Role::Receiver, _) => "  Jitter      Lost",
    };
    format!("{}  {:>9}{rest}\n", lead_names(), "Datagrams")
}

/// Returns the column names of [`lead`].
fn lead_names() -> String {
    format!(
        "[ ID] {:>13}      {:>9}  {:>13}",
        "Interval", "Transfer", "Bitrate"
    )
}

/// Returns one line.
pub(super) fn interval(row: &Interval) -> String {
    let mut line = lead(row.flow, row.start, row.end, row.bytes, row.bits_per_second);
    let _ = write!(line, "  {:>9}", row.datagrams);
    match row.role {
        Role::Sender => {
            if let Some(path) = &row.path {
                let _ = write!(line, "  {:<10}  {}", millis(path.rtt_ms), window(path));
            }
        }
        Role::Receiver => {
            let _ = write!(line, "  {:<10}", millis(row.jitter_ms));
            let lost = row.lost.unwrap_or(0);
            let _ = write!(line, "  {lost} ({})", percent(lost, row.datagrams + lost));
        }
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

/// Returns the summary: both ends of each flow, their sum, and the result of a file transfer.
pub(super) fn summary(outcome: &Outcome) -> String {
    let mut text = String::from(RULE);
    if outcome
        .flows
        .iter()
        .any(|f| f.sender.is_some() || f.receiver.is_some())
    {
        let _ = writeln!(
            text,
            "{}  {:<10}  {:<22}  {:<9}  CPU/datagram",
            lead_names(),
            "Jitter",
            "Lost/Total",
            "Reordered"
        );
    }
    let several = outcome.flows.len() > 1;
    // The processor works for all flows at once, so only the sum has a meaningful cost.
    for flow in &outcome.flows {
        let own = (!several).then_some(());
        both(&mut text, Some(flow.flow), flow, own);
    }
    if several {
        both(&mut text, None, &sum(&outcome.flows), Some(()));
    }
    let has_both = |flow: &FlowReport| flow.sender.is_some() && flow.receiver.is_some();
    if outcome.flows.iter().any(has_both) {
        text.push_str(DEFINITION);
    }
    for flow in &outcome.flows {
        details(&mut text, outcome, flow);
    }
    let of_a_flow = |message| {
        outcome
            .flows
            .iter()
            .any(|f| f.error.as_ref() == Some(message))
    };
    if let Some(error) = &outcome.error
        && !of_a_flow(&error.message)
    {
        let _ = writeln!(text, "error: {}", error.message);
    }
    text
}

/// Writes a sender's line and a receiver's line.
fn both(text: &mut String, id: Option<u32>, flow: &FlowReport, cpu: Option<()>) {
    if let Some(sender) = &flow.sender {
        let mut line = lead(
            id,
            0.0,
            sender.seconds,
            sender.bytes,
            sender.bits_per_second,
        );
        let cost = cpu.and_then(|()| cost(sender.cpu_seconds, sender.datagrams));
        let total = format!("{} sent", sender.datagrams);
        let _ = write!(line, "  {:<10}  {total:<22}  {:<9}", "", "");
        let _ = writeln!(line, "  {:<12}  sender", cost.unwrap_or_default());
        text.push_str(&line);
    }
    if let Some(receiver) = &flow.receiver {
        let rate = receiver.bits_per_second;
        let mut line = lead(id, 0.0, receiver.seconds, receiver.bytes, rate);
        let total = receiver.datagrams.saturating_add(receiver.lost);
        let lost = format!(
            "{}/{total} ({})",
            receiver.lost,
            percent(receiver.lost, total)
        );
        let jitter = millis(Some(receiver.jitter_ms));
        let cost = cpu.and_then(|()| cost(receiver.cpu_seconds, receiver.datagrams));
        let _ = write!(
            line,
            "  {jitter:<10}  {lost:<22}  {:<9}",
            receiver.reordered
        );
        let _ = writeln!(line, "  {:<12}  receiver", cost.unwrap_or_default());
        text.push_str(&line);
    }
}

/// Writes what does not fit into a line.
fn details(text: &mut String, outcome: &Outcome, flow: &FlowReport) {
    let name = match outcome.flows.len() {
        0 | 1 => String::new(),
        _ => format!("[{:>3}] ", flow.flow),
    };
    if let Some(sender) = &flow.sender
        && let Some(path) = &sender.path
    {
        let law = sender.law.as_deref().map(printable);
        let law = law.map_or(String::new(), |law| format!(" ({law})"));
        let ccid = path.ccid.map_or("none yet".into(), |ccid| ccid.to_string());
        let lost = path.lost.map_or(String::new(), |n| format!("{n} lost, "));
        let never_sent = match path.never_sent {
            0 => String::new(),
            n => format!("{n} never sent, "),
        };
        let _ = writeln!(
            text,
            "{name}CCID {ccid}{law}: RTT {}, {}, {lost}{never_sent}{} marked, {}, {}, {} sent, path MTU {} ({})",
            millis(path.rtt_ms),
            window(path),
            path.marked,
            counted(path.cuts, "cut"),
            counted(path.timeouts, "timeout"),
            counted(path.syncs, "Sync"),
            path.path_mtu,
            counted(path.mtu_probes, "probe"),
        );
    }
    if let Some(receiver) = &flow.receiver
        && (receiver.duplicates | receiver.marked | receiver.dropped_here) > 0
    {
        let _ = writeln!(
            text,
            "{name}Received {} twice, {} with a congestion mark; {} of the lost dropped by the receiver itself",
            receiver.duplicates, receiver.marked, receiver.dropped_here
        );
    }
    file(text, outcome, flow);
    if let Some(error) = &flow.error {
        let _ = writeln!(text, "{name}ended early: {error}");
    }
}

/// Writes the result of a file transfer.
fn file(text: &mut String, outcome: &Outcome, flow: &FlowReport) {
    let Some(size) = outcome.file_size else {
        return;
    };
    let sent = flow.sender.as_ref().and_then(|s| s.sha256.as_deref());
    let sent = sent.map(printable);
    let _ = writeln!(
        text,
        "File of {}, SHA-256 {}",
        counted(size, "byte"),
        sent.as_deref().unwrap_or("unknown")
    );
    let Some(receiver) = &flow.receiver else {
        text.push_str("     it is unknown how much of it arrived\n");
        return;
    };
    if let (Some(path), Some(sum)) = (&receiver.saved, &receiver.sha256) {
        let (path, sum) = (printable(path), printable(sum));
        let verdict = match sent {
            Some(sent) if sent == sum => "identical",
            Some(_) => "different",
            None => "not compared",
        };
        let _ = writeln!(text, "     saved to {path}, SHA-256 {sum}: {verdict}");
    } else if let Some(path) = receiver.saved.as_deref().map(printable) {
        let _ = writeln!(
            text,
            "     saved to {path}, not hashed: more than half is missing"
        );
    } else if let Some(why) = receiver.not_saved.as_deref().map(printable) {
        let _ = writeln!(text, "     not saved: {why}");
    } else {
        text.push_str("     not saved: the server has no --save\n");
    }
    let Some(missing) = &receiver.missing else {
        return;
    };
    if missing.count == 0 {
        text.push_str("     nothing is missing\n");
        return;
    }
    let _ = write!(
        text,
        "     missing: {} in {} ({}): ",
        counted(missing.bytes, "byte"),
        counted(missing.count, "range"),
        percent(missing.bytes, size)
    );
    let ranges: Vec<_> = missing
        .first
        .iter()
        .map(|(from, to)| format!("{from}-{}", to.saturating_sub(1)))
        .collect();
    let listed = ranges.len() as u64;
    let _ = write!(text, "{}", ranges.join(", "));
    if listed < missing.count {
        let _ = write!(text, " and {} more", missing.count - listed);
    }
    text.push('\n');
}

/// Replaces control characters in a peer's text, which could affect a terminal.
pub(super) fn printable(words: &str) -> String {
    words.replace(char::is_control, "\u{FFFD}")
}

/// Returns the sum of all flows as one report.
fn sum(flows: &[FlowReport]) -> FlowReport {
    let senders = flows.iter().filter_map(|flow| flow.sender.as_ref());
    let receivers = flows.iter().filter_map(|flow| flow.receiver.as_ref());
    let sender = senders.fold(None::<SenderReport>, |sum, flow| {
        let sum = sum.unwrap_or_default();
        Some(SenderReport {
            datagrams: sum.datagrams.saturating_add(flow.datagrams),
            bytes: sum.bytes.saturating_add(flow.bytes),
            seconds: sum.seconds.max(flow.seconds),
            bits_per_second: sum.bits_per_second + flow.bits_per_second,
            cpu_seconds: longest(sum.cpu_seconds, flow.cpu_seconds),
            ..sum
        })
    });
    let receiver = receivers.fold(None::<ReceiverReport>, |sum, flow| {
        let sum = sum.unwrap_or_default();
        Some(ReceiverReport {
            datagrams: sum.datagrams.saturating_add(flow.datagrams),
            bytes: sum.bytes.saturating_add(flow.bytes),
            seconds: sum.seconds.max(flow.seconds),
            lost: sum.lost.saturating_add(flow.lost),
            reordered: sum.reordered.saturating_add(flow.reordered),
            jitter_ms: sum.jitter_ms.max(flow.jitter_ms),
            bits_per_second: sum.bits_per_second + flow.bits_per_second,
            cpu_seconds: longest(sum.cpu_seconds, flow.cpu_seconds),
            ..sum
        })
    });
    FlowReport {
        sender,
        receiver,
        ..FlowReport::default()
    }
}

/// Returns the longer time: each flow counts the whole process, so the longest time covers all flows.
fn longest(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

/// Returns the columns that every line begins with.
fn lead(flow: Option<u32>, start: f64, end: f64, bytes: u64, rate: f64) -> String {
    let id = flow.map_or("SUM".to_owned(), |flow| flow.to_string());
    let span = format!("{start:.2}-{end:.2}");
    format!(
        "[{id:>3}] {span:>13} sec  {:>9}  {:>13}",
        scaled(bytes as f64, "B"),
        scaled(rate, "bit/s")
    )
}

/// Formats a number with a decimal prefix of `unit`: three digits with a prefix, whole numbers without.
pub(super) fn scaled(value: f64, unit: &str) -> String {
    let mut value = value;
    let mut prefix = "";
    for next in ["k", "M", "G", "T"] {
        if value < 999.5 {
            break;
        }
        value /= 1_000.0;
        prefix = next;
    }
    let digits = match value {
        v if prefix.is_empty() || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {prefix}{unit}")
}

fn millis(ms: Option<f64>) -> String {
    ms.map_or("-".to_owned(), |ms| format!("{ms:.3} ms"))
}

/// Describes what limits the sender: a window, or a rate with its loss event rate.
fn window(path: &PathReport) -> String {
    match (path.cwnd_packets, path.rate_bits_per_second) {
        (Some(cwnd), _) => format!("cwnd {cwnd:.1}"),
        (None, Some(rate)) => {
            let rate = scaled(rate, "bit/s");
            match path.loss_event_rate {
                Some(p) if p > 0.0 => format!("X {rate}, p {p:.2e}"),
                Some(_) => format!("X {rate}, p 0"),
                None => format!("X {rate}"),
            }
        }
        (None, None) => "-".to_owned(),
    }
}

fn percent(part: u64, whole: u64) -> String {
    if part == 0 || whole == 0 {
        return "0 %".to_owned();
    }
    format!("{:.3} %", part as f64 * 100.0 / whole as f64)
}

fn cost(seconds: Option<f64>, datagrams: u64) -> Option<String> {
    let seconds = seconds.filter(|_| datagrams > 0)?;
    Some(format!("{:.2} us", seconds * 1e6 / datagrams as f64))
}

#[cfg(test)]
mod tests {
    use super::{heading, interval, scaled, summary};
    use crate::perf::report::{PathReport, rate};
    use crate::perf::session::refusal;
    use crate::perf::{FlowReport, Interval, Missing, Outcome, ReceiverReport, Role, SenderReport};

    /// Numbers have three digits, and the unit's prefix changes where that saves a digit.
    #[test]
    fn figures_are_scaled() {
        for (value, text) in [
            (0.0, "0 bit/s"),
            (999.0, "999 bit/s"),
            (999.6, "1.00 kbit/s"),
            (1_234_567.0, "1.23 Mbit/s"),
            (200e6, "200 Mbit/s"),
            (12_340_000.0, "12.3 Mbit/s"),
            (99_960_000.0, "100 Mbit/s"),
        ] {
            assert_eq!(scaled(value, "bit/s"), text);
        }
    }

    fn row(role: Role) -> Interval {
        Interval {
            flow: Some(1),
            role,
            start: 1.0,
            end: 2.0,
            bytes: 25_000_000,
            datagrams: 20_833,
            bits_per_second: rate(25_000_000, 1.0),
            lost: Some(7),
            jitter_ms: Some(0.012),
            path: Some(PathReport {
                rtt_ms: Some(0.5),
                cwnd_packets: Some(96.0),
                ..PathReport::default()
            }),
        }
    }

    /// Each number starts exactly below the start of its column's name.
    #[test]
    fn columns_align() {
        for (role, last) in [(Role::Sender, "cwnd 96.0"), (Role::Receiver, "7 (0.034 %)")] {
            let row = row(role);
            let (heading, line) = (heading(&row), interval(&row));
            assert!(line.contains("25.0 MB"), "{line}");
            assert!(line.contains("200 Mbit/s"), "{line}");
            let name = heading.split_whitespace().last().expect("a name");
            assert_eq!(heading.find(name), line.find(last), "{heading}{line}");
        }
    }

    /// A peer's report may hold any numbers and any text. Sums stop at the largest number, and control characters do
    /// not reach the terminal.
    #[test]
    fn a_report_of_nonsense_is_printed() {
        let receiver = ReceiverReport {
            datagrams: u64::MAX,
            bytes: u64::MAX,
            lost: u64::MAX,
            reordered: u64::MAX,
            duplicates: u64::MAX,
            marked: u64::MAX,
            dropped_here: u64::MAX,
            missing: Some(Missing {
                bytes: 1,
                count: 1,
                first: vec![(0, 0)],
            }),
            saved: Some("\u{1b}[2J\nFile".into()),
            sha256: Some("\u{1b}[1m".into()),
            ..ReceiverReport::default()
        };
        let flow = FlowReport {
            receiver: Some(receiver),
            error: Some(refusal(b"\x1b]0;mine\x07").to_string()),
            ..FlowReport::default()
        };
        let text = summary(&Outcome {
            version: String::new(),
            side: "client".into(),
            protocol: "udp".into(),
            native: false,
            encrypted: false,
            peer: "127.0.0.1:7001".into(),
            length: 1_200,
            rate_limit: 0,
            reverse: false,
            file_size: Some(10),
            intervals: Vec::new(),
            flows: vec![flow.clone(), flow],
            error: None,
        });
        assert!(text.contains("18446744073709551615/18446744073709551615"));
        assert!(text.contains("saved to \u{FFFD}[2J\u{FFFD}File"), "{text}");
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{7}'),
            "{text}"
        );
    }

    /// The summary shows both ends, the missing bytes of a file, and how many ranges are not listed.
    #[test]
    fn losses_of_a_file_are_listed() {
        let outcome = Outcome {
            version: String::new(),
            side: "client".into(),
            protocol: "dccp".into(),
            native: false,
            encrypted: false,
            peer: "127.0.0.1:7001".into(),
            length: 1_200,
            rate_limit: 0,
            reverse: false,
            file_size: Some(100_000),
            intervals: Vec::new(),
            flows: vec![FlowReport {
                flow: 1,
                sender: Some(SenderReport {
                    datagrams: 100,
                    bytes: 120_000,
                    seconds: 1.0,
                    cpu_seconds: Some(0.001),
                    sha256: Some("aa".into()),
                    ..SenderReport::default()
                }),
                receiver: Some(ReceiverReport {
                    datagrams: 97,
                    lost: 3,
                    saved: Some("got".into()),
                    sha256: Some("bb".into()),
                    missing: Some(Missing {
                        bytes: 3_516,
                        count: 3,
                        first: vec![(0, 1_172)],
                    }),
                    ..ReceiverReport::default()
                }),
                ..FlowReport::default()
            }],
            error: None,
        };
        let text = summary(&outcome);
        for part in [
            "sender",
            "3/100 (3.000 %)",
            "10.00 us",
            "different",
            "3516 bytes in 3 ranges",
            "0-1171 and 2 more",
        ] {
            assert!(text.contains(part), "no '{part}' in\n{text}");
        }
        assert_eq!(outcome.exit_code(), 0, "losses are no failure");
    }
}
