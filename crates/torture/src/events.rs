//! The names of application events, as reports count them and `--forbid` takes them.

use fairwire_proto::{CloseReason, Event};
use fairwire_wire::ResetCode;

/// Events without a further distinction.
const PLAIN: [&str; 12] = [
    "Accepted",
    "Ccid",
    "Connected",
    "Heard",
    "NotListening",
    "PathChanged",
    "PathMtu",
    "Readable",
    "Secured",
    "SlowReceiver",
    "TargetBitrate",
    "Writable",
];

/// The possible fates of a datagram.
const FATES: [&str; 9] = [
    "Acknowledged",
    "Dropped",
    "Expired",
    "GroupBroken",
    "Lost",
    "Marked",
    "Refused",
    "Sent",
    "TooLarge",
];

/// The reasons for the end of a connection that have no Reset Code.
const ENDS: [&str; 9] = [
    "Aborted",
    "ApplicationClosed",
    "CloseTimeout",
    "Closed",
    "ConnectTimeout",
    "Reflected",
    "IdleTimeout",
    "Security",
    "Unreachable",
];

/// Returns the name of an event.
pub fn name(event: &Event) -> String {
    match event {
        Event::Closed { reason } => format!("closed: {}", reason_name(reason)),
        Event::Fate { fate, .. } => format!("fate: {}", first_word(fate)),
        event => first_word(event),
    }
}

/// Returns the name of a reason, with its code if it has one.
fn reason_name(reason: &CloseReason) -> String {
    match reason {
        CloseReason::Reset { code, .. } => format!("reset {code:?}"),
        CloseReason::PeerError { code, .. } => format!("peer error {code:?}"),
        reason => first_word(reason),
    }
}

/// Returns the name of an enum variant, taken from its debug output.
fn first_word(value: &dyn std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let end = text.find(|c: char| !c.is_alphanumeric());
    text[..end.unwrap_or(text.len())].to_owned()
}

/// Returns whether there is an event with this name.
pub fn is_name(name: &str) -> bool {
    names(u8::MAX).any(|known| known == name)
}

/// Returns the error message for an unknown event name: it lists the names that contain its last word, or all names.
pub fn unknown(asked: &str) -> String {
    let lower = asked.to_lowercase();
    let word = lower.split([' ', ':']).next_back().unwrap_or_default();
    let near = |name: &String| !word.is_empty() && name.to_lowercase().contains(word);
    let found: Vec<String> = all().filter(near).collect();
    let text = format!("no event is called '{asked}'");
    if found.is_empty() {
        let all: Vec<String> = all().collect();
        return format!("{text}; the names are:\n  {}", all.join("\n  "));
    }
    format!("{text}; did you mean '{}'?", found.join("' or '"))
}

/// Returns all names except those of Reset Codes without a name of their own.
fn all() -> impl Iterator<Item = String> {
    names(12)
}

/// Returns all names, with the Reset Codes up to this one.
fn names(codes: u8) -> impl Iterator<Item = String> {
    let plain = PLAIN.iter().map(ToString::to_string);
    let fates = FATES.iter().map(|fate| format!("fate: {fate}"));
    let ends = ENDS.iter().map(|end| format!("closed: {end}"));
    let codes = ["reset", "peer error"].into_iter().flat_map(move |how| {
        let codes = (0..=codes).map(ResetCode::from_number);
        codes.map(move |code| format!("closed: {how} {code:?}"))
    });
    plain.chain(fates).chain(ends).chain(codes)
}
