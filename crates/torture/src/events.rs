//! The names of what applications learn, as reports count them and `--forbid` takes them.

use fairwire_proto::{CloseReason, Event};
use fairwire_wire::ResetCode;

/// Events whose names say all.
const PLAIN: [&str; 8] = [
    "Accepted",
    "Ccid",
    "Connected",
    "NotListening",
    "PathMtu",
    "Readable",
    "SlowReceiver",
    "Writable",
];

/// What may become of a datagram.
const FATES: [&str; 8] = [
    "Acknowledged",
    "Dropped",
    "Expired",
    "Lost",
    "Marked",
    "Refused",
    "Sent",
    "TooLarge",
];

/// How a connection may end without a Reset Code.
const ENDS: [&str; 7] = [
    "Aborted",
    "CloseTimeout",
    "Closed",
    "ConnectTimeout",
    "Echoed",
    "IdleTimeout",
    "Unreachable",
];

/// The name of an event.
pub fn name(event: &Event) -> String {
    match event {
        Event::Closed { reason } => format!("closed: {}", reason_name(reason)),
        Event::Fate { fate, .. } => format!("fate: {}", first_word(fate)),
        event => first_word(event),
    }
}

/// The name of a reason, with its code if it has one.
fn reason_name(reason: &CloseReason) -> String {
    match reason {
        CloseReason::Reset { code, .. } => format!("reset {code:?}"),
        CloseReason::PeerError { code, .. } => format!("peer error {code:?}"),
        reason => first_word(reason),
    }
}

/// The variant's name of a value that prints as one.
fn first_word(value: &dyn std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let end = text.find(|c: char| !c.is_alphanumeric());
    text[..end.unwrap_or(text.len())].to_owned()
}

/// Is there an event of this name?
pub fn is_name(name: &str) -> bool {
    names(u8::MAX).any(|known| known == name)
}

/// What to say to somebody who asked for an event that there is not: the names with the same last word, or all.
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

/// All names, but those of Reset Codes that have none of their own.
fn all() -> impl Iterator<Item = String> {
    names(12)
}

/// All names, with the Reset Codes up to this one.
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

#[cfg(test)]
mod tests {
    use super::{is_name, unknown};

    /// Who asks for an event that there is not is told of those that are like it, or else of all.
    #[test]
    fn the_nearest_names_are_told() {
        assert_eq!(
            unknown("aborted"),
            "no event is called 'aborted'; did you mean 'closed: Aborted' or 'closed: reset Aborted' \
             or 'closed: peer error Aborted'?"
        );
        assert_eq!(
            unknown("fates: expired"),
            "no event is called 'fates: expired'; did you mean 'fate: Expired'?"
        );
        for asked in ["", "nonsense"] {
            let names = unknown(asked).lines().count() - 1;
            assert_eq!(names, 8 + 8 + 7 + 2 * 13);
        }
        assert!(is_name("closed: reset CcidSpecific(130)"));
        assert!(!is_name("closed: reset CcidSpecific(12)"));
    }
}
