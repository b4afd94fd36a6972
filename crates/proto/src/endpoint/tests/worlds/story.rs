//! Reports of failures: a readable story, and a line that can be replayed.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fairwire_wire::{DccpOption, Options};

use super::super::kit::Wire;
use super::search::Failure;
use super::state::State;
use super::world::{Action, Budget, World};

/// Returns the steps in one line, which [`read`] parses.
pub(super) fn line(actions: &[Action]) -> String {
    let words: Vec<_> = actions.iter().map(ToString::to_string).collect();
    words.join(" ")
}

/// Parses the steps of a line that [`line`] printed.
pub(super) fn read(text: &str) -> Option<Vec<Action>> {
    text.split_whitespace().map(Action::read).collect()
}

/// Describes one packet in a few words.
fn packet(wire: &Wire) -> String {
    let packet = wire.packet();
    let (seq, ack) = (
        packet.seq.long(),
        packet.ack().and_then(fairwire_wire::SeqNo::long),
    );
    let number = |seq: Option<fairwire_wire::Seq>| {
        seq.map_or_else(|| "-".to_owned(), |seq| format!("{seq:?}"))
    };
    let side = ["a", "b"][wire.from];
    let reset = wire.reset().map(|(code, _)| format!(" {code:?}"));
    format!(
        "{:?}{} of {side}, number {}, acknowledges {}{}",
        packet.packet_type(),
        reset.unwrap_or_default(),
        number(seq),
        number(ack),
        negotiation(packet.options)
    )
}

/// Describes the Changes and Confirms of a packet.
fn negotiation(options: Options<'_>) -> String {
    let mut text = String::new();
    for option in options.iter().filter_map(|raw| raw.decode().ok()) {
        let (name, feature, value) = match option {
            DccpOption::ChangeL { feature, value } => ("Change L", feature, value),
            DccpOption::ChangeR { feature, value } => ("Change R", feature, value),
            DccpOption::ConfirmL { feature, value } => ("Confirm L", feature, value),
            DccpOption::ConfirmR { feature, value } => ("Confirm R", feature, value),
            _ => continue,
        };
        let _ = write!(text, ", {name} of {feature} {value:?}");
    }
    text
}

/// Describes what happened, step by step.
pub(super) fn tell(world: &World, budget: Budget, failure: &Failure) -> String {
    let mut text = format!(
        "world `{}`: {}\nin {} steps: {}\n",
        world.name,
        failure.what,
        failure.actions.len(),
        line(&failure.actions)
    );
    let Ok(mut state) = State::begin(world, budget) else {
        return text;
    };
    for &action in &failure.actions {
        let what = describe(&state, action);
        let done = catch_unwind(AssertUnwindSafe(|| state.act(action)));
        let _ = writeln!(text, "  {action:4} {what}");
        if !matches!(done, Ok(Ok(()))) {
            break;
        }
        show(&mut text, &state);
    }
    if failure.settles {
        text.push_str("  then everything arrives:\n");
        let mut shown = 0;
        let _ = catch_unwind(AssertUnwindSafe(|| {
            state.settle_watched(|state| {
                shown += 1;
                if shown <= SHOWN {
                    show(&mut text, state);
                }
            })
        }));
    }
    text
}

/// The largest number of steps that are shown of the path to the end.
const SHOWN: usize = 40;

fn show(text: &mut String, state: &State) {
    let [a, b] = state.phases();
    let _ = writeln!(text, "       {:?}: a {a:?}, b {b:?}", state.now);
    for (place, wire) in state.flight.iter().enumerate() {
        let _ = writeln!(text, "         in flight {place}: {}", packet(wire));
    }
}

fn describe(state: &State, action: Action) -> String {
    let of = |place: u8| {
        state
            .flight
            .get(usize::from(place))
            .map_or_else(String::new, packet)
    };
    match action {
        Action::Deliver(place) => format!("arrives: {}", of(place)),
        Action::Copy(place) => format!("arrives, and a copy stays: {}", of(place)),
        Action::Lose(place) => format!("is lost: {}", of(place)),
        Action::Timer(side) => format!("timer of {}", ["a", "b"][usize::from(side)]),
        Action::Call(side) => format!(
            "{} calls {:?}",
            ["a", "b"][usize::from(side)],
            state.call_of(usize::from(side))
        ),
        Action::Pause => "time passes".to_owned(),
    }
}
