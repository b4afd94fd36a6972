//! The certificates and keys of the connections that use DTLS.

use std::sync::Arc;

use fairwire_proto::Security;
use fairwire_tls::{ClientConfig, Date, Dtls, Identity, ServerConfig, SimulationSeed, Validity};

use crate::dice::Dice;
use crate::plan::script::Side;

/// The date of all certificates, so that plans do the same every day: in November 2026.
const TODAY: Date = Date::from_unix_seconds(1_795_000_000);

/// What a host needs for its encrypted connections. All servers of a run show the same certificate.
#[derive(Debug)]
pub(super) struct Keys {
    identity: Identity,
    dice: Dice,
}

impl Keys {
    pub(super) fn new(run: u64, host: usize) -> Self {
        let seed = seed(&mut Dice::new(run, "dtls/identity"));
        let identity = Identity::simulated(&[], Validity::days(TODAY, 365), &seed)
            .expect("a certificate without names and with a year of validity can be made");
        Self {
            identity,
            dice: Dice::new(run, &format!("dtls/{host}")),
        }
    }

    /// Returns the encryption of one connection. The client pins the server's certificate.
    pub(super) fn security(&mut self, side: Side) -> Arc<dyn Security> {
        let seed = seed(&mut self.dice);
        match side {
            Side::Client => {
                let config = ClientConfig::pinned([self.identity.fingerprint()]);
                Arc::new(Dtls::client(config.simulated(seed), || TODAY))
            }
            Side::Server => {
                let config = ServerConfig::new(self.identity.clone());
                Arc::new(Dtls::server(config.simulated(seed), || TODAY))
            }
        }
    }
}

fn seed(dice: &mut Dice) -> SimulationSeed {
    SimulationSeed::new(std::array::from_fn(|_| dice.byte()))
}
