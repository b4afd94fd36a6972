//! TCP's parameters: a variant by name, a preset that imitates a simulator or a kernel, and what the
//! scenario says beyond them.

use fairwire_units::Duration;
use serde::{Deserialize, Serialize};

use super::quantity::{MinRto, Packets, text, text_option};

/// TCP's parameters, complete.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent yes-or-no keys of one table"
)]
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(from = "Keys")]
pub struct Tcp {
    /// What it imitates: the values of what is not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// Which TCP: its window law, and its recovery unless that is written or the preset's.
    pub variant: Variant,
    /// What is sent again and when.
    pub recovery: Recovery,
    /// The receiver's window; without bound if it does not say.
    #[serde(with = "text_option", skip_serializing_if = "Option::is_none")]
    pub window: Option<Packets>,
    /// Does the receiver acknowledge every second segment only (RFC 5681, section 4.2)?
    pub delayed_acks: bool,
    /// How long it waits for the second one.
    #[serde(with = "text")]
    pub ack_wait: Duration,
    /// Segments at the beginning that are acknowledged one by one all the same.
    #[serde(with = "text")]
    pub quick_acks: Packets,
    /// Retransmission timeout at least.
    #[serde(with = "text")]
    pub min_rto: MinRto,
    /// Retransmission timeout before the first sample.
    #[serde(with = "text")]
    pub initial_rto: Duration,
    /// Does a fast retransmission start the timer afresh?
    pub rearm: bool,
    /// First window; RFC 3390's if it does not say.
    #[serde(with = "text_option", skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<Packets>,
    /// First slow-start threshold; unlimited if it does not say.
    #[serde(with = "text_option", skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Packets>,
    /// Open with SYN, SYN-ACK and ACK? Without it data leaves at once, as early ns-2 agents do.
    pub handshake: bool,
    /// A new segment on each of the first two duplicate acknowledgements (RFC 3042)?
    pub limited_transmit: bool,
    /// Segments that may leave at once when a recovery ends (RFC 6582, section 6).
    #[serde(with = "text")]
    pub max_burst: Packets,
    /// Does the window grow by the segments acknowledged (RFC 3465) rather than by acknowledgements?
    pub abc: bool,
    /// Vegas: grow with fewer packets in queues than this.
    #[serde(with = "text_option", skip_serializing_if = "Option::is_none")]
    pub alpha: Option<Packets>,
    /// Vegas: come down with more than this; Veno: with as many the queue is full.
    #[serde(with = "text_option", skip_serializing_if = "Option::is_none")]
    pub beta: Option<Packets>,
    /// Vegas: slow start ends with more than this.
    #[serde(with = "text_option", skip_serializing_if = "Option::is_none")]
    pub gamma: Option<Packets>,
}

/// What a preset imitates.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Preset {
    /// The one-way agents of ns-2.35 with the values of its `ns-default.tcl`.
    #[serde(rename = "ns2")]
    Ns2,
    /// Linux 2.6.19 to 2.6.38.
    #[serde(rename = "linux-2.6")]
    Linux26,
    /// What RFCs of today ask for, with Linux's timers.
    #[serde(rename = "modern")]
    Modern,
}

/// A TCP by the name that papers use.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Slow start after each loss (Jacobson 1988).
    Tahoe,
    /// Fast recovery (RFC 2581).
    Reno,
    /// Fast recovery until all is repaired (RFC 6582).
    #[default]
    #[serde(rename = "newreno", alias = "new-reno")]
    NewReno,
    /// Selective acknowledgements (RFC 6675), Reno's law.
    Sack,
    /// Brakmo and Peterson 1995.
    Vegas,
    /// Fu and Liew 2003.
    Veno,
    /// RFC 9438.
    Cubic,
    /// CUBIC as RFC 8312 has it.
    #[serde(rename = "cubic-8312")]
    Cubic8312,
}

/// What is sent again and when.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Slow start from the first segment outstanding.
    Tahoe,
    /// Until the first acknowledgement of something new.
    Reno,
    /// The same, once per window: a second loss waits for the timeout.
    RenoOnce,
    /// Until all that was outstanding is acknowledged.
    #[serde(rename = "newreno", alias = "new-reno")]
    NewReno,
    /// By selective acknowledgements.
    Sack,
    /// Reno's with Vegas's clock.
    Vegas,
}

/// The keys as they are written, and what a preset puts in their place.
macro_rules! keys {
    ($($(#[$attribute:meta])* $name:ident: $kind:ty,)*) => {
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        struct Keys {
            $($(#[$attribute])* $name: Option<$kind>,)*
        }

        impl Keys {
            /// These, and `other` for what is not among them.
            fn or(self, other: Self) -> Self {
                Self { $($name: self.$name.or(other.$name),)* }
            }

            /// The names of those that are there.
            fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
                let names = [$((self.$name.is_some(), stringify!($name)),)*];
                names.into_iter().filter(|(given, _)| *given).map(|(_, name)| name)
            }
        }
    };
}

keys! {
    preset: Preset,
    variant: Variant,
    recovery: Recovery,
    #[serde(with = "text_option")]
    window: Packets,
    delayed_acks: bool,
    #[serde(with = "text_option")]
    ack_wait: Duration,
    #[serde(with = "text_option")]
    quick_acks: Packets,
    #[serde(with = "text_option")]
    min_rto: MinRto,
    #[serde(with = "text_option")]
    initial_rto: Duration,
    rearm: bool,
    #[serde(with = "text_option")]
    initial_window: Packets,
    #[serde(with = "text_option")]
    initial_ssthresh: Packets,
    handshake: bool,
    limited_transmit: bool,
    #[serde(with = "text_option")]
    max_burst: Packets,
    abc: bool,
    #[serde(with = "text_option")]
    alpha: Packets,
    #[serde(with = "text_option")]
    beta: Packets,
    #[serde(with = "text_option")]
    gamma: Packets,
}

impl From<Keys> for Tcp {
    fn from(stated: Keys) -> Self {
        let preset = stated.preset;
        let given = stated.variant;
        let keys = match preset {
            Some(preset) => stated.or(preset.keys(given)),
            None => stated,
        };
        let variant = keys.variant.unwrap_or_default();
        Self {
            preset,
            variant,
            recovery: keys.recovery.unwrap_or_else(|| variant.recovery()),
            window: keys.window,
            delayed_acks: keys.delayed_acks.unwrap_or(true),
            ack_wait: keys.ack_wait.unwrap_or(Duration::from_millis(200)),
            quick_acks: keys.quick_acks.unwrap_or(Packets(0)),
            min_rto: keys
                .min_rto
                .unwrap_or(MinRto::Time(Duration::from_millis(200))),
            initial_rto: keys.initial_rto.unwrap_or(Duration::from_secs(1)),
            rearm: keys.rearm.unwrap_or(false),
            initial_window: keys.initial_window,
            initial_ssthresh: keys.initial_ssthresh,
            handshake: keys.handshake.unwrap_or(true),
            limited_transmit: keys.limited_transmit.unwrap_or(true),
            max_burst: keys.max_burst.unwrap_or(Packets(4)),
            // RFC 9438, 4.3, counts segments.
            abc: keys.abc.unwrap_or(variant == Variant::Cubic),
            alpha: keys.alpha,
            beta: keys.beta,
            gamma: keys.gamma,
        }
    }
}

impl Variant {
    /// The recovery that its name stands for.
    fn recovery(self) -> Recovery {
        match self {
            Self::Tahoe => Recovery::Tahoe,
            Self::Reno => Recovery::Reno,
            Self::NewReno | Self::Veno => Recovery::NewReno,
            Self::Sack | Self::Cubic | Self::Cubic8312 => Recovery::Sack,
            Self::Vegas => Recovery::Vegas,
        }
    }
}

impl Preset {
    /// What it sets for a flow that names `variant`, or none.
    fn keys(self, variant: Option<Variant>) -> Keys {
        let milliseconds = |ms| Some(MinRto::Time(Duration::from_millis(ms)));
        match self {
            Self::Ns2 => Keys {
                // `bugFix_`; each of its agents has a recovery of its own.
                recovery: match variant.unwrap_or_default() {
                    Variant::Reno => Some(Recovery::RenoOnce),
                    other => Some(other.recovery()),
                },
                window: Some(Packets(20)),
                delayed_acks: Some(false),
                min_rto: milliseconds(200),
                initial_rto: Some(Duration::from_secs(3)),
                rearm: Some(true),
                initial_window: Some(Packets(2)),
                // Its first threshold is `window_`.
                initial_ssthresh: Some(Packets(20)),
                handshake: Some(true),
                // `singledup_`, which Vegas has no place for.
                limited_transmit: Some(variant != Some(Variant::Vegas)),
                // `maxburst_` 0 is no limit.
                max_burst: Some(Packets(1_000)),
                abc: Some(false),
                ..Keys::default()
            },
            Self::Linux26 | Self::Modern => {
                let is_modern = self == Self::Modern;
                let cubic = if is_modern {
                    Variant::Cubic
                } else {
                    Variant::Cubic8312
                };
                Keys {
                    variant: Some(cubic),
                    // A kernel recovers in one way, whatever its window law.
                    recovery: (variant != Some(Variant::Tahoe)).then_some(Recovery::Sack),
                    delayed_acks: Some(true),
                    ack_wait: Some(Duration::from_millis(40)),
                    quick_acks: Some(Packets(16)),
                    min_rto: milliseconds(200),
                    initial_rto: Some(Duration::from_secs(if is_modern { 1 } else { 3 })),
                    rearm: Some(true),
                    initial_window: is_modern.then_some(Packets(10)),
                    handshake: Some(true),
                    limited_transmit: Some(true),
                    max_burst: Some(Packets(if is_modern { 10 } else { 3 })),
                    abc: Some(is_modern),
                    ..Keys::default()
                }
            }
        }
    }
}

impl Tcp {
    /// Is the value of `key` the preset's, if nobody states another?
    pub(super) fn is_of_preset(&self, key: &str) -> bool {
        let preset = self.preset.map(|preset| preset.keys(Some(self.variant)));
        preset.is_some_and(|keys| keys.names().any(|name| name == key))
    }

    /// What does not belong together: the key, and what is wrong with it.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        let of = |key, variants: &[Variant], given: bool, who: &str| {
            let misplaced = given && !variants.contains(&self.variant);
            misplaced.then(|| {
                (
                    key,
                    format!("'{key}' is {who}'s: write variant = \"vegas\""),
                )
            })
        };
        let vegas = [Variant::Vegas];
        let both = [Variant::Vegas, Variant::Veno];
        of("alpha", &vegas, self.alpha.is_some(), "Vegas")
            .or_else(|| of("gamma", &vegas, self.gamma.is_some(), "Vegas"))
            .or_else(|| of("beta", &both, self.beta.is_some(), "Vegas's or Veno"))
            .or_else(|| {
                let (alpha, beta) = (self.alpha.unwrap_or(Packets(1)), self.beta?);
                let crossed = self.variant == Variant::Vegas && alpha > beta;
                let message = format!("Vegas grows below alpha ({alpha}) and shrinks above beta: beta is at least that");
                crossed.then_some(("beta", message))
            })
            .or_else(|| {
                let tahoe = self.variant == Variant::Tahoe;
                let mixed = tahoe != (self.recovery == Recovery::Tahoe);
                let message = "variant = \"tahoe\" and recovery = \"tahoe\" belong together: a slow start after \
                               each loss leaves other laws nothing to do";
                mixed.then(|| ("recovery", message.to_owned()))
            })
    }
}
