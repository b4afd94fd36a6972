//! Configurations as differences from the defaults, so that a shrunk plan shows what matters.

use fairwire_proto::{Config, EndpointConfig, InitCookies};
use fairwire_wire::Ccid;
use serde::{Deserialize, Serialize};

/// All built-in window laws, as [`Config::set`] takes them.
pub(super) const LAWS: [&str; 7] = [
    "newreno",
    r#"{"kind":"threshold-window","cut":"12.5 %"}"#,
    "vegas",
    "veno",
    "cubic",
    "cubic-8312",
    "dctcp",
];

/// Returns the CCIDs with these numbers.
pub fn ccids_of(numbers: &[u8]) -> Vec<Ccid> {
    numbers.iter().copied().map(Ccid::new).collect()
}

/// Returns the default configuration with these differences, each as [`Config::apply`] takes it.
pub(crate) fn config(settings: &[String]) -> Config {
    let mut config = Config::default();
    for setting in settings {
        config.apply(setting).expect("plans are checked");
    }
    config
}

/// One difference from the default [`EndpointConfig`].
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub enum EndpointSetting {
    /// `max_connections`.
    Connections(usize),
    /// `max_memory`, bytes.
    Memory(usize),
    /// `max_connections_per_source`.
    ConnectionsPerSource(usize),
    /// `max_half_open`.
    HalfOpen(usize),
    /// `max_half_open_per_source`.
    HalfOpenPerSource(usize),
    /// Each Request is answered with an Init Cookie.
    CookiesAlways,
    /// No Request is answered with an Init Cookie.
    CookiesNever,
    /// Requests are answered with Init Cookies while at least this many connections are half open.
    CookiesWhenBusy(usize),
    /// `max_resets_per_s`.
    Resets(u32),
    /// `max_answers_per_source_per_s`.
    AnswersPerSource(u32),
    /// Packets for unbound ports are not answered.
    SilentPorts,
}

/// Returns the default configuration with these differences.
pub fn endpoint_config(settings: &[EndpointSetting]) -> EndpointConfig {
    use EndpointSetting as E;
    let mut config = EndpointConfig::default();
    for setting in settings {
        match *setting {
            E::Connections(n) => config.max_connections = n,
            E::Memory(bytes) => config.max_memory = bytes,
            E::ConnectionsPerSource(n) => config.max_connections_per_source = n,
            E::HalfOpen(n) => config.max_half_open = n,
            E::HalfOpenPerSource(n) => config.max_half_open_per_source = n,
            E::CookiesAlways => config.init_cookies = InitCookies::Always,
            E::CookiesNever => config.init_cookies = InitCookies::Never,
            E::CookiesWhenBusy(half_open) => {
                config.init_cookies = InitCookies::WhenBusy { half_open };
            }
            E::Resets(n) => config.max_resets_per_s = n,
            E::AnswersPerSource(n) => config.max_answers_per_source_per_s = n,
            E::SilentPorts => config.answer_unbound_ports = false,
        }
    }
    config
}
