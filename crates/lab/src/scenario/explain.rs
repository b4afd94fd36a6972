//! A scenario explained: every value, where it comes from, and what it means.

use std::fmt;
use std::sync::Arc;

use super::Dccp;
use super::check::{ccid_2_keys, ccids, tfrc_keys};
use super::file::Cell;
use super::place::SourceText;
use super::tree::{Node, Value};

/// One line of an explanation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Explained {
    /// Dotted path of the value.
    pub path: String,
    /// The value, as TOML.
    pub value: String,
    /// `paper`, `derived`, `assumed`, `fitted`; `stated` in a file without sources, `preset`, or
    /// `default`.
    pub source: &'static str,
    /// Why, if it is said.
    pub note: Option<String>,
    /// What it means.
    pub meaning: &'static str,
    /// Does it change anything? What only another CCID reads does not, nor does anything of a flow that takes
    /// no part.
    pub has_effect: bool,
}

impl Explained {
    /// Does the file or the command line say it?
    pub fn is_stated(&self) -> bool {
        !["default", "preset"].contains(&self.source)
    }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = format!("{} = {}", self.path, self.value);
        write!(f, "{said:<52} {:<8} {}", self.source, self.meaning)?;
        if !self.has_effect {
            f.write_str(" (of no effect here)")?;
        }
        if let Some(note) = &self.note {
            write!(f, " [{note}]")?;
        }
        Ok(())
    }
}

/// Every value of `cell`, in the order of the format.
pub fn explain(cell: &Cell) -> Vec<Explained> {
    let mut lines = Vec::new();
    let source = Arc::new(SourceText {
        name: "resolved".into(),
        text: toml::to_string(&cell.scenario).unwrap_or_default(),
    });
    if let Ok(tree) = Node::parse(&source) {
        tree.leaves("", &mut |path, node| {
            // A list of tables has no text of its own: its tables stand at the end of the document.
            let value = match &node.value {
                Value::Array(_) => node.inline(),
                _ => source.text[node.place.span.clone()].to_owned(),
            };
            lines.push(line(cell, path, value));
        });
    }
    for (name, flow) in cell.scenario.flows.iter() {
        let dccp = flow.dccp.iter();
        for (before, key, value) in dccp.flat_map(unwritten) {
            let path = |key| format!("flows.{name}.dccp.{key}");
            let at = |path: String| lines.iter().position(|line| line.path == path);
            if let (Some(before), None) = (at(path(before)), at(path(key))) {
                lines.insert(before + 1, line(cell, &path(key), value));
            }
        }
    }
    lines
}

/// What resolved files leave out at its default though TFRC reads it: the key that it stands behind, its
/// own, and its value. Nothing where no CCID of the flow is 3 or 4.
fn unwritten(dccp: &Dccp) -> Vec<(&'static str, &'static str, String)> {
    if !ccids(dccp).iter().any(|(_, ccid)| [3, 4].contains(ccid)) {
        return Vec::new();
    }
    let mean = toml::Value::try_from(dccp.loss_mean);
    let first = toml::Value::try_from(dccp.first_interval);
    let written = |value: Result<toml::Value, _>| value.map(|value| value.to_string()).ok();
    let keys = [
        ("history_discounting", "loss_mean", written(mean)),
        ("loss_mean", "first_interval", written(first)),
        (
            "send_rtt_estimate",
            "feedback",
            Some(format!("\"{}\"", dccp.feedback)),
        ),
    ];
    let keys = keys.into_iter();
    keys.filter_map(|(before, key, value)| Some((before, key, value?)))
        .collect()
}

fn line(cell: &Cell, path: &str, value: String) -> Explained {
    let known = cell.provenance.get(path);
    let is_stated = cell.stated.iter().any(|stated| stated == path);
    Explained {
        path: path.to_owned(),
        value,
        source: match known {
            Some(known) => known.source.word(),
            None if is_stated => "stated",
            None if is_of_preset(cell, path) => "preset",
            None => "default",
        },
        note: known.and_then(|known| known.note.clone()),
        meaning: meaning(path),
        has_effect: has_effect(cell, path),
    }
}

/// Does the value at `path` change anything in its flow?
fn has_effect(cell: &Cell, path: &str) -> bool {
    let parts: Vec<&str> = path.split('.').collect();
    let ["flows", name, of_flow @ ..] = &parts[..] else {
        return true;
    };
    let Some(flow) = cell.scenario.flows.get(name) else {
        return true;
    };
    match (of_flow, &flow.dccp) {
        (["enabled"], _) => true,
        _ if !flow.enabled => false,
        // In a wlan flows have ends, not sides.
        (["from"], _) => flow.sender.is_none(),
        (["dccp", key, ..], Some(dccp)) => is_read(dccp, key),
        _ => true,
    }
}

/// Does one of the CCIDs that a flow has read `key`?
fn is_read(dccp: &Dccp, key: &str) -> bool {
    let ccids = ccids(dccp);
    let has = |wanted: &[u8]| ccids.iter().any(|(_, ccid)| wanted.contains(ccid));
    let is_among = |keys: Vec<(&str, bool)>| keys.iter().any(|(known, _)| *known == key);
    if key == "segment" {
        return has(&[3]);
    }
    (has(&[2]) || !is_among(ccid_2_keys(dccp))) && (has(&[3, 4]) || !is_among(tfrc_keys(dccp)))
}

/// Is the value one that the flow's TCP preset sets?
fn is_of_preset(cell: &Cell, path: &str) -> bool {
    let parts: Vec<&str> = path.split('.').collect();
    let ["flows", flow, "tcp", key] = parts[..] else {
        return false;
    };
    let flow = cell.scenario.flows.get(flow);
    flow.and_then(|flow| flow.tcp.as_ref())
        .is_some_and(|tcp| tcp.is_of_preset(key))
}

/// What the value at `path` means; the last part of the path says it, within its table.
pub(super) fn meaning(path: &str) -> &'static str {
    let parts: Vec<&str> = path.split('.').collect();
    let key = parts.last().copied().unwrap_or("");
    match parts.first().copied() {
        Some("run") => run(key),
        Some("topology") if parts.get(1) == Some(&"wlan") => wlan(key),
        Some("topology") => models(key).unwrap_or_else(|| topology(key)),
        Some("flows") if parts.get(2) == Some(&"tcp") => tcp(key),
        Some("flows") if parts.get(2) == Some(&"dccp") => dccp(key),
        Some("flows") => flow(key),
        Some("measure") => measure(key),
        _ => head(key),
    }
}

fn head(key: &str) -> &'static str {
    match key {
        "title" => "what it is",
        "about" => "what it shows",
        "paper" => "the paper it reproduces",
        _ => "",
    }
}

fn run(key: &str) -> &'static str {
    match key {
        "duration" => "simulated time",
        "seeds" => "seeds at least",
        "max_seeds" => "seeds at most; the spread of throughputs decides",
        "seed" => "the first seed",
        "start_offset" => {
            "how far starts move at random: auto is one round trip if nothing else is random"
        }
        _ => "",
    }
}

fn topology(key: &str) -> &'static str {
    match key {
        "kind" => "how links are joined",
        "rate" => "bits per second on the link",
        "delay" => "propagation delay, one way",
        "queue" => "what the DropTail queue holds",
        "queue_counts" => "what the queue's size is compared with",
        "loss" => "packets lost at random, each by itself",
        "loss_every" => "of so many packets one is lost, in turn; 0 none",
        "framing" => "bytes the link adds to each packet",
        "mtu" => "the largest IP packet the link takes; longer ones disappear",
        _ => "",
    }
}

fn models(key: &str) -> Option<&'static str> {
    Some(match key {
        "good_to_bad" => "how likely a good link is bad for the next packet",
        "bad_to_good" => "how likely a bad link is good for the next packet",
        "loss_good" => "what a good link loses",
        "loss_bad" => "what a bad link loses",
        "bit_errors" => "share of bits that are wrong; a packet with one is lost",
        "deviation" => "standard deviation of the delay",
        "distribution" => "its shape",
        "hold" => "how long a delay holds before another is drawn",
        "reorders" => "may packets overtake each other?",
        "min" => "RED: an average below it signals nothing",
        "max" => "RED: from this average on everything is signalled, unless gentle",
        "max_p" => "RED: probability as the average comes to max",
        "weight" => "RED: weight of the newest sample in the average",
        "gentle" => "RED: does the probability go on to 1 at twice max?",
        "mean_packet" => "RED: the typical packet, for idle times",
        "ecn" => "mark ECN-capable packets instead of dropping them?",
        "target" => "CoDel: the time in the queue that is accepted",
        "interval" => "CoDel: how long it may be exceeded",
        "keeps" => "CoDel: a queue with at most so much left drops nothing",
        _ => return None,
    })
}

fn wlan(key: &str) -> &'static str {
    match key {
        "rate" => "rate of frames both ways, or adaptive",
        "signal" => "level above what 6 Mbit/s needs; without one no frame is garbled",
        "queue" => "what the radio's queue holds",
        "per_packet" => "what a slow host takes for each packet",
        "per_kilobyte" => "and for each 1000 bytes of it",
        "backlog" => "packets that wait for a slow host",
        "outage" => "how long a station that hands off belongs to nobody",
        "at_station" => "what becomes of packets at a station that hands off",
        "at_ap" => "what becomes of packets at the access point that it leaves",
        "side" => "the side of the bottleneck the access point is on",
        "channel" => "access points of one channel share the medium",
        "ap" => "the access point that the station belongs to at first",
        "handoffs" => "who changes the access point, when and where to",
        _ => "",
    }
}

fn flow(key: &str) -> &'static str {
    match key {
        "enabled" => "does it take part?",
        "from" => "the side its sender is on",
        "sender" => "the station or wired host that sends",
        "receiver" => "the one that receives",
        "start" => "when it starts",
        "stop" => "when its source stops",
        "wire" => "size of a data packet as IP packet",
        "payload" => "size of a packet's payload",
        "codec" => "the speech codec: sizes, times and what a call is worth",
        "rtp" => "does an RTP header come before each payload?",
        "traffic" => {
            "greedy always has data, cbr sends at a constant interval, talk-spurts only while somebody talks"
        }
        "talk" => "mean length of a talk spurt",
        "pause" => "mean length of a pause",
        "rate" => "what a CBR source sends, counted as the packet's size is",
        "every" => "time between two packets of a CBR source",
        "total" => "payload at most",
        _ => "",
    }
}

fn tcp(key: &str) -> &'static str {
    match key {
        "preset" => "what it imitates: the values of what is not stated",
        "variant" => "which TCP: its window law, and its recovery unless stated or the preset's",
        "recovery" => "what is sent again and when",
        "ack_wait" => "how long a delayed acknowledgement waits",
        "quick_acks" => "segments at the beginning acknowledged one by one",
        "initial_rto" => "retransmission timeout before the first sample",
        "rearm" => "does a fast retransmission start the timer afresh (RFC 6675, 6)?",
        "abc" => "grow by segments acknowledged (RFC 3465), not by acknowledgements?",
        "alpha" => "Vegas: grow with fewer packets in queues",
        "beta" => "Vegas: come down with more; Veno: the queue is full with as many",
        "gamma" => "Vegas: slow start ends with more",
        "window" => "the receiver's window",
        "delayed_acks" => "one acknowledgement for two segments (RFC 5681, 4.2)?",
        "min_rto" => "retransmission timeout at least",
        "initial_window" => "first window",
        "initial_ssthresh" => "first slow-start threshold",
        "handshake" => "open with SYN, SYN-ACK and ACK?",
        "limited_transmit" => "send on the first two duplicate acknowledgements (RFC 3042)?",
        "max_burst" => "segments at once when a recovery ends (RFC 6582, 6)",
        _ => "",
    }
}

fn dccp(key: &str) -> &'static str {
    match key {
        "ccid" => "congestion control: 2 is TCP-like, 3 is TFRC, 4 is TFRC for small packets",
        "back_ccid" => "loads the way back, too, under this CCID",
        "encapsulation" => "natively on IP, or in UDP (RFC 6773)",
        "service" => "the Service Code of the flow (RFC 5595)",
        "probe_path_mtu" => "find out by padded Syncs what the path takes?",
        "ecn" => "send ECN-capable packets and answer marks?",
        "ccid_changes" => "CCIDs that the data changes to, and when",
        "short_seqnos" => "24-bit sequence numbers (RFC 4340, 7.6)?",
        "ecn_nonce" => "CCID 2: send ECN nonces and check their echoes?",
        "data_checksum" => "a Data Checksum on each datagram (RFC 4340, 9.3)?",
        "checksum_coverage" => {
            "checksum coverage of data, if the other side agrees (RFC 4340, 9.2)"
        }
        "minimum_checksum_coverage" => "the least checksum coverage taken (RFC 4340, 9.2.1)",
        "every" => "the receiving application reads a datagram in this time",
        "law" => "CCID 2: how the window grows and shrinks",
        "cut" => "CCID 2: what congestion takes of the window",
        "initial_ssthresh" => "CCID 2: first slow-start threshold",
        "initial_window" => "CCID 2: first window",
        "min_rto" => "CCID 2: retransmission timeout at least",
        "idle" => "CCID 2: what becomes of a window that is not used",
        "segment" => "CCID 3: segment size of the throughput equation",
        "b" => "CCID 3 and 4: packets per acknowledgement in the equation",
        "t_rto_rtts" => "CCID 3 and 4: retransmission timeout in the equation, in round trips",
        "oscillation_reduction" => "CCID 3 and 4: RFC 5348, 4.5?",
        "history_discounting" => "CCID 3 and 4: RFC 5348, 5.5?",
        "loss_mean" => {
            "CCID 3 and 4: weights that the mean of loss intervals is divided by (RFC 5348, 5.4)"
        }
        "first_interval" => {
            "CCID 3 and 4: the rate that the interval before the first loss stands for (RFC 5348, 6.3.1)"
        }
        "send_rtt_estimate" => {
            "CCID 3 and 4: data carries the sender's round-trip time (RFC 6323)?"
        }
        "feedback" => "CCID 3 and 4: how often the receiver reports, at most once for each packet",
        "limit" => "datagrams in the queue at most",
        "age" => "a datagram that waited longer is dropped",
        "policy" => "what a full queue does",
        _ => "",
    }
}

fn measure(key: &str) -> &'static str {
    match key {
        "metrics" => "the metrics wanted",
        "from" => "the window's beginning",
        "to" => "the window's end",
        "series" => "period of the time series",
        "playout" => "a packet that comes later after its offer is as good as lost",
        "baseline" => "the window that throughput_ratio compares with",
        _ => "",
    }
}
