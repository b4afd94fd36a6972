//! Encryption of a flow.

use std::sync::Arc;

use fairwire_proto::Security;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::model::Conversation;

/// The encryption of a flow.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Encryption {
    /// None.
    #[default]
    None,
    /// DTLS 1.3 over DCCP (RFC 5238).
    Dtls,
}

/// The bytes that a record of DTLS adds to a datagram.
pub(super) const RECORD: u32 = 22;

impl Encryption {
    /// Returns the bytes that it adds to a datagram.
    pub(super) const fn overhead(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Dtls => RECORD,
        }
    }

    /// Returns why a build, with or without DTLS, cannot simulate it, if it cannot.
    pub const fn missing(self, has_dtls: bool) -> Option<&'static str> {
        match self {
            Self::Dtls if !has_dtls => Some(
                "this build of fairwire has no DTLS: build it with its feature 'dtls', which is on by default (cargo \
                 build without --no-default-features, or with --features dtls)",
            ),
            Self::None | Self::Dtls => None,
        }
    }

    /// Returns what encrypts at the sender and at the receiver, if anything does. All keys follow from the run's random
    /// numbers.
    pub(super) fn ends(self, of: &Conversation<'_>) -> Result<Option<Ends>, String> {
        match self {
            Self::None => Ok(None),
            Self::Dtls => dtls(of).map(Some),
        }
    }
}

/// What encrypts at the sender and at the receiver.
pub(super) type Ends = [Arc<dyn Security>; 2];

#[cfg(not(feature = "dtls"))]
fn dtls(_: &Conversation<'_>) -> Result<Ends, String> {
    Err(Encryption::Dtls
        .missing(false)
        .unwrap_or_default()
        .to_owned())
}

/// The client knows the server by its fingerprint, and shows no certificate itself.
#[cfg(feature = "dtls")]
fn dtls(of: &Conversation<'_>) -> Result<Ends, String> {
    use fairwire_tls::{
        ClientConfig, Date, Dtls, Identity, ServerConfig, SimulationSeed, Validity,
    };

    /// What every simulation takes for the date, so that certificates do not differ from day to day: in November 2026.
    const TODAY: Date = Date::from_unix_seconds(1_795_000_000);

    let seed = |purpose: &str| {
        let stream = format!("dtls/{}/{purpose}", of.name);
        SimulationSeed::new(of.secret(&stream))
    };
    let identity = Identity::simulated(&[], Validity::days(TODAY, 365), &seed("identity"))
        .map_err(|error| error.to_string())?;
    let client = ClientConfig::pinned([identity.fingerprint()]).simulated(seed("sender"));
    let server = ServerConfig::new(identity).simulated(seed("receiver"));
    Ok([
        Arc::new(Dtls::client(client, || TODAY)),
        Arc::new(Dtls::server(server, || TODAY)),
    ])
}
