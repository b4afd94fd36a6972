//! Settings for kinds of traffic.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use fairwire_cc::law;
use fairwire_units::registry::nearest;

use super::{AckRatioFollows, Config, WindowCounts};
use crate::error::ConfigError;

/// A kind of traffic, with the settings that suit it.
///
/// `docs/which-control.md` has the measurements behind each of them.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Profile {
    /// The RFCs as they stand: [`Config::default`].
    Rfc,
    /// Few or small datagrams at a pace of their own, as of games, telemetry and voice. It suits everything else, too, so
    /// it is the default of sockets.
    #[default]
    Interactive,
    /// Media whose encoder follows the rate: a queue in the network is noticed before it loses packets.
    Live,
    /// As much as the path carries.
    Bulk,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 4] = [Self::Rfc, Self::Interactive, Self::Live, Self::Bulk];

    /// Returns the name, for commands and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rfc => "rfc",
            Self::Interactive => "interactive",
            Self::Live => "live",
            Self::Bulk => "bulk",
        }
    }

    /// Returns what it is for, in a few words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Rfc => "the RFCs as they stand",
            Self::Interactive => "few or small datagrams: games, telemetry, voice",
            Self::Live => "media whose encoder follows the rate",
            Self::Bulk => "as much as the path carries",
        }
    }

    /// Returns the settings.
    pub fn config(self) -> Config {
        match self {
            Self::Rfc => Config::default(),
            Self::Interactive => Config::interactive(),
            Self::Live => Config::live(),
            Self::Bulk => Config::bulk(),
        }
    }
}

impl Config {
    /// Returns the settings for few or small datagrams at a pace of their own ([`Profile::Interactive`]).
    ///
    /// CCID 2 as QUIC has its window (RFC 9002): it counts bytes, so that small datagrams are not held back by a window of
    /// large packets, begins with ten segments (RFC 6928) and grows by CUBIC (RFC 9438); a loss is found by time as well
    /// as by later arrivals; a flow that sends less than four datagrams in a round trip has each acknowledged; and while
    /// the path carries nothing, a datagram in a round trip looks for its return.
    pub fn interactive() -> Self {
        let mut config = Self::bulk();
        config.ccid2.ack_ratio_follows = AckRatioFollows::Use;
        config.ccid2.probe_outages = true;
        config
    }

    /// Returns the settings for media whose encoder follows the rate ([`Profile::Live`]): those of
    /// [`interactive`](Self::interactive) with a window that Vegas keeps from filling queues.
    pub fn live() -> Self {
        let mut config = Self::interactive();
        config.ccid2.law = built_in("vegas");
        config
    }

    /// Returns the settings for as much as the path carries ([`Profile::Bulk`]).
    pub fn bulk() -> Self {
        let mut config = Self::default();
        config.ccid2.window_counts = WindowCounts::Bytes;
        config.ccid2.law = built_in("cubic");
        config.ccid2.losses_by_time = true;
        config.request_timeout = Duration::from_millis(250);
        config
    }
}

/// Returns a law that comes with Fairwire.
fn built_in(name: &str) -> fairwire_units::registry::Chosen<dyn fairwire_cc::Law> {
    law(name).expect("the law is one of ours")
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = ConfigError;

    fn from_str(name: &str) -> Result<Self, ConfigError> {
        let found = Self::ALL.into_iter().find(|profile| profile.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let problem = match nearest(name, names.into_iter()) {
                Some(one) => format!("no profile is called '{name}': did you mean '{one}'?"),
                None => format!(
                    "no profile is called '{name}': there are {}",
                    names.join(", ")
                ),
            };
            ConfigError::new("profile", problem)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Profile;
    use crate::Config;

    /// Each profile can be had by its name, and is valid on a network; a misspelt one is told.
    #[test]
    fn profiles_have_names() {
        for profile in Profile::ALL {
            assert_eq!(profile.name().parse(), Ok(profile));
            assert_eq!(profile.config().check_for_network(), Ok(()));
        }
        assert_eq!(Profile::Rfc.config(), Config::default());
        let laws = Profile::ALL.map(|profile| profile.config().ccid2.law.kind().to_owned());
        assert_eq!(laws, ["newreno", "cubic", "vegas", "cubic"]);
        let probes = Profile::ALL.map(|profile| profile.config().ccid2.probe_outages);
        assert_eq!(probes, [false, true, true, false]);
        let counts = Profile::ALL.map(|profile| profile.config().ccid2.window_counts);
        let bytes = crate::WindowCounts::Bytes;
        assert_eq!(counts, [crate::WindowCounts::Packets, bytes, bytes, bytes]);
        let error = "interactiv".parse::<Profile>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "profile: no profile is called 'interactiv': did you mean 'interactive'?"
        );
    }
}
