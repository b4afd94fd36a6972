//! The words in which a link is described: those of netem (`man tc-netem`), and some for what netem cannot do.
//!
//! `rate 2mbit delay 100ms 5ms loss 1% limit 50` describes both directions. What follows `back` is for the way back
//! alone: `rate 20mbit delay 30ms back rate 1mbit`.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use fairwire_net::{QueueLimit, Trace};
use fairwire_units::registry::nearest;
use fairwire_units::{Rate, Size};

use crate::preset;
use crate::way::{Discipline, Jitter, Losses, Shape, Way};

/// The highest rate of a link: beyond it the packets of a socket are not kept apart any more.
const FASTEST: u64 = 100_000_000_000;
/// The longest delay.
const LONGEST: Duration = Duration::from_secs(3_600);
/// The most packets that a queue may hold.
const MOST_PACKETS: u32 = 10_000_000;

/// The words, for messages.
const WORDS: [&str; 21] = [
    "rate",
    "delay",
    "latency",
    "loss",
    "limit",
    "duplicate",
    "corrupt",
    "reorder",
    "gap",
    "ecn",
    "queue",
    "codel",
    "fq_codel",
    "droptail",
    "mtu",
    "trace",
    "down",
    "up",
    "back",
    "random",
    "overhead",
];

/// A description of a link that is not possible.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("link: {0}")]
pub struct WordsError(String);

fn error(problem: impl Into<String>) -> WordsError {
    WordsError(problem.into())
}

/// A link: what each direction does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// From the side that connects to the other one.
    pub there: Way,
    /// The way back.
    pub back: Way,
}

impl Words {
    /// Changes what `text` names, and leaves the rest as it is.
    ///
    /// # Errors
    /// If a word is unknown, or if its value is not possible. Then nothing is changed.
    pub fn change(&mut self, text: &str) -> Result<(), WordsError> {
        let changed = self.changed(text)?;
        changed.there.check().map_err(error)?;
        changed.back.check().map_err(error)?;
        *self = changed;
        Ok(())
    }

    /// Returns it with what `text` names, which may not go together.
    fn changed(&self, text: &str) -> Result<Self, WordsError> {
        let mut changed = self.clone();
        let mut words = text.split_whitespace().peekable();
        let mut is_back = false;
        while let Some(word) = words.next() {
            if word == "back" {
                if std::mem::replace(&mut is_back, true) {
                    return Err(error(
                        "'back' stands once, before the words for the way back",
                    ));
                }
                continue;
            }
            if let Some(preset) = preset::named(word) {
                let mut of = Self::default();
                of.change(preset.words)?;
                if is_back {
                    changed.back = of.back;
                } else {
                    changed = of;
                }
                continue;
            }
            let mut values = Vec::new();
            while let Some(value) = words.peek().filter(|next| !is_word(next)) {
                values.push(*value);
                words.next();
            }
            if !is_back {
                apply(&mut changed.there, word, &values)?;
            }
            apply(&mut changed.back, word, &values)?;
        }
        Ok(changed)
    }
}

impl FromStr for Words {
    type Err = WordsError;

    fn from_str(text: &str) -> Result<Self, WordsError> {
        let mut link = Self::default();
        link.change(text)?;
        Ok(link)
    }
}

/// Reads a change of a link with its time after the start: `10s rate 500kbit`.
///
/// # Errors
/// If the time or a word of the change is not possible.
pub fn change_at(text: &str) -> Result<(Duration, String), WordsError> {
    let (at, words) = text.trim().split_once(char::is_whitespace).ok_or_else(|| {
        error(format!(
            "'{text}' is not a change: write a time and words, as '10s rate 500kbit'"
        ))
    })?;
    let at = time_of("the time of a change", at)?;
    // Whether it goes together depends on what the link then is.
    Words::default().changed(words)?;
    Ok((at, words.to_owned()))
}

/// Returns whether a word begins something new, and is no value of the word before it.
fn is_word(word: &str) -> bool {
    (WORDS.contains(&word) && word != "random") || preset::named(word).is_some()
}

/// Applies a word with its values to one direction.
fn apply(way: &mut Way, word: &str, values: &[&str]) -> Result<(), WordsError> {
    match (word, values) {
        ("rate", ["none"]) => (way.rate, way.trace) = (None, None),
        ("rate", [rate]) => (way.rate, way.trace) = (Some(rate_of(rate)?), None),
        ("rate", [_, ..]) => {
            return Err(error(
                "rate: one value. What netem adds to each packet is 'overhead 14' here",
            ));
        }
        ("trace", [file]) => (way.rate, way.trace) = (None, Some(trace_of(file)?)),
        ("overhead", ["0"]) => way.overhead = 0,
        ("overhead", [bytes]) => way.overhead = number("overhead", bytes, 65_535)?,
        ("delay" | "latency", [delay]) => {
            (way.delay, way.jitter) = (time_of("delay", delay)?, None);
        }
        ("delay" | "latency", [delay, jitter, rest @ ..]) => {
            let spread = time_of("delay", jitter)?;
            let shape = shape_of(rest)?;
            way.delay = time_of("delay", delay)?;
            way.jitter = (!spread.is_zero()).then_some(Jitter { spread, shape });
        }
        ("loss", values) => way.losses = losses_of(values)?,
        ("duplicate", [share]) => way.duplicate = share_of("duplicate", share)?,
        ("corrupt", [share]) => way.corrupt = share_of("corrupt", share)?,
        ("reorder", [share]) => {
            way.reorder = share_of("reorder", share)?;
            if way.reorder == 0.0 {
                way.gap = 1;
            }
        }
        ("duplicate" | "corrupt" | "reorder", [_, ..]) => return Err(no_correlation(word)),
        ("gap", [gap]) => way.gap = number("gap", gap, 1_000_000)?.max(1),
        ("ecn", []) => way.ecn = true,
        ("ecn", ["off"]) => way.ecn = false,
        ("limit", [packets]) => {
            way.limit = QueueLimit::Packets(number("limit", packets, MOST_PACKETS)?);
            way.longest_wait = None;
        }
        ("queue", [size]) => way.queue(size).map_err(error)?,
        ("droptail", []) => way.discipline = Discipline::DropTail,
        ("codel", []) => way.discipline = Discipline::Codel,
        ("fq_codel", []) => way.discipline = Discipline::FqCodel,
        ("mtu", ["none"]) => way.mtu = None,
        ("mtu", [bytes]) => way.mtu = Some(number("mtu", bytes, 65_535)?),
        ("down", []) => way.is_down = true,
        ("up", []) => way.is_down = false,
        _ => return Err(unknown(word, values)),
    }
    Ok(())
}

/// Returns what is wrong with a word that has no meaning, or not with these values.
fn unknown(word: &str, values: &[&str]) -> WordsError {
    if word == "slot" {
        return error("slot is not modelled: 'trace FILE' gives packets their times");
    }
    if WORDS.contains(&word) {
        let values = values.join(" ");
        return error(format!(
            "'{word} {values}' is not possible: 'fairwire link --help' shows what {word} takes"
        ));
    }
    let names = WORDS
        .into_iter()
        .chain(preset::ALL.iter().map(|one| one.name));
    let hint = nearest(word, names).map_or_else(
        || "'fairwire link --help' lists the words".to_owned(),
        |one| format!("did you mean '{one}'?"),
    );
    error(format!("'{word}' means nothing here: {hint}"))
}

fn no_correlation(word: &str) -> WordsError {
    error(format!(
        "{word}: correlations are not modelled; for losses in bursts write 'loss gemodel 1% 10%'"
    ))
}

/// Reads a distribution of delays: none is the uniform one, as with netem.
fn shape_of(values: &[&str]) -> Result<Shape, WordsError> {
    match values {
        [] | ["distribution", "uniform"] => Ok(Shape::Uniform),
        ["distribution", "normal"] => Ok(Shape::Normal),
        ["distribution", "pareto"] => Ok(Shape::Pareto),
        ["distribution", other] => Err(error(format!(
            "there is no distribution '{other}': write uniform, normal or pareto"
        ))),
        _ => Err(no_correlation("delay")),
    }
}

fn losses_of(values: &[&str]) -> Result<Losses, WordsError> {
    let share = |text| share_of("loss", text);
    match values {
        ["none"] => Ok(Losses::None),
        [one] | ["random", one] => Ok(Losses::Random(share(one)?)),
        ["gemodel", p, rest @ ..] if rest.len() <= 3 => {
            let p = share(p)?;
            let rest = rest.iter().map(|text| share(text));
            let rest = rest.collect::<Result<Vec<f64>, _>>()?;
            // What is not said is as with netem.
            let of = |at: usize, otherwise| rest.get(at).copied().unwrap_or(otherwise);
            Ok(Losses::Bursts {
                good_to_bad: p,
                bad_to_good: of(0, 1.0 - p),
                loss_bad: of(1, 1.0),
                loss_good: of(2, 0.0),
            })
        }
        ["state", ..] => Err(error(
            "loss state is not modelled; two states are 'loss gemodel 1% 10%'",
        )),
        _ => Err(error(
            "loss takes '1%' or 'gemodel 1% 10%'; correlations are not modelled",
        )),
    }
}

/// Reads a share in percent.
fn share_of(word: &str, text: &str) -> Result<f64, WordsError> {
    let number = text
        .strip_suffix('%')
        .and_then(|text| text.parse::<f64>().ok());
    let share = number.filter(|number| (0.0..=100.0).contains(number));
    share.map(|share| share / 100.0).ok_or_else(|| {
        error(format!(
            "{word}: '{text}' is not a share of packets: write 0% to 100%"
        ))
    })
}

fn number(word: &str, text: &str, most: u32) -> Result<u32, WordsError> {
    let number = text
        .parse()
        .ok()
        .filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| error(format!("{word}: '{text}' is not a number from 1 to {most}")))
}

/// Reads a number with one of these units.
fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.to_ascii_lowercase();
    let digits = text.find(|c: char| c != '.' && !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let factor = units.iter().find(|(name, _)| *name == unit)?.1;
    let number: f64 = number.parse().ok()?;
    Some(number * factor)
}

/// Reads a rate with the units of `tc`, in which `bps` is bytes per second.
fn rate_of(text: &str) -> Result<Rate, WordsError> {
    const KI: f64 = 1_024.0;
    let units = [
        ("bit", 1.0),
        ("kbit", 1e3),
        ("mbit", 1e6),
        ("gbit", 1e9),
        ("tbit", 1e12),
        ("kibit", KI),
        ("mibit", KI * KI),
        ("gibit", KI * KI * KI),
        ("bit/s", 1.0),
        ("kbit/s", 1e3),
        ("mbit/s", 1e6),
        ("gbit/s", 1e9),
        ("bps", 8.0),
        ("kbps", 8e3),
        ("mbps", 8e6),
        ("gbps", 8e9),
    ];
    let Some(bits) = with_unit(text, &units) else {
        return Err(error(format!(
            "rate: '{text}' is not a rate: write 500kbit, 2mbit or 1gbit"
        )));
    };
    if !(1.0..=FASTEST as f64).contains(&bits) {
        return Err(error(format!(
            "rate: {text} is not possible: write 1bit to 100gbit, 'down' for a link that carries nothing, or 'rate none'"
        )));
    }
    Ok(Rate::from_bytes_per_s(bits / 8.0))
}

/// Reads a time with the units of `tc`: `20ms`. `word` is what it belongs to, for the error.
///
/// # Errors
/// If it is no time, or more than an hour.
pub fn time_of(word: &str, text: &str) -> Result<Duration, WordsError> {
    let units = [
        ("s", 1.0),
        ("sec", 1.0),
        ("secs", 1.0),
        ("min", 60.0),
        ("ms", 1e-3),
        ("msec", 1e-3),
        ("msecs", 1e-3),
        ("us", 1e-6),
        ("usec", 1e-6),
        ("usecs", 1e-6),
        ("ns", 1e-9),
    ];
    let seconds = with_unit(text, &units).ok_or_else(|| {
        error(format!(
            "{word}: '{text}' is not a time: write 20ms, 500us or 1.5s"
        ))
    })?;
    let time = Duration::try_from_secs_f64(seconds).ok();
    time.filter(|time| *time <= LONGEST)
        .ok_or_else(|| error(format!("{word}: '{text}' is too long: write at most 3600s")))
}

impl Way {
    /// Sets the queue's limit: a size (`64kb`), or what leaves in a time (`200ms`).
    fn queue(&mut self, text: &str) -> Result<(), String> {
        let units = [
            ("b", 1.0),
            ("kb", 1_024.0),
            ("mb", 1_048_576.0),
            ("kib", 1_024.0),
        ];
        if let Some(bytes) = with_unit(text, &units).filter(|bytes| (1.0..=1e12).contains(bytes)) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "from 1 to 10^12"
            )]
            let bytes = Size::new(bytes as u64);
            self.limit = QueueLimit::Bytes(bytes);
            self.longest_wait = None;
            return Ok(());
        }
        match time_of("queue", text) {
            Ok(longest) if !longest.is_zero() => self.longest_wait = Some(longest),
            _ => {
                return Err(format!(
                    "queue: '{text}' is neither a size nor a time: write 64kb or 200ms, or 'limit 50' for packets"
                ));
            }
        }
        Ok(())
    }
}

/// Reads a trace of mahimahi's form.
fn trace_of(file: &str) -> Result<Arc<Trace>, WordsError> {
    let text = std::fs::read_to_string(file)
        .map_err(|problem| error(format!("trace: {file} cannot be read: {problem}")))?;
    let trace = text.parse::<Trace>();
    let trace = trace.map_err(|problem| error(format!("trace: {file}: {problem}")))?;
    Ok(Arc::new(trace))
}
