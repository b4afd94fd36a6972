//! A session that is connected without a handshake: for the fuzz target of records, which has its keys.

use fairwire_units::Instant;

use super::{Role, Session, State};
use crate::channel::Channel;
use crate::config::ServerConfig;
use crate::date::Date;
use crate::provider::{Secrets, Split};
use crate::record::{Secret, Suite};

/// The numbers of the first messages after the handshake: a client's and a server's.
pub const FIRST_MESSAGES: [u16; 2] = [5, 3];

impl Session {
    /// Makes a session with these secrets: those of a client's handshake (epoch 2), and of a client's and a server's
    /// first data (epoch 3). The suite is 0 for AES-128-GCM, 1 for AES-256-GCM, and 2 for ChaCha20-Poly1305.
    ///
    /// # Panics
    /// Panics if there is no such suite.
    pub fn keyed(config: &ServerConfig, is_client: bool, suite: u8, secrets: [&[u8]; 3]) -> Self {
        let suites = [Suite::Aes128, Suite::Aes256, Suite::ChaCha20];
        let [of_handshake, of_client, of_server] = secrets;
        let split = |secret: &[u8]| {
            Some(Split {
                of_session: Secret::new(secret),
                of_library: Secret::new(secret),
            })
        };
        let begun = Self::server(config, 1_400, Instant::START, Date::from_unix_seconds(0));
        let mut session = begun.expect("a certificate that fits");
        session.secrets = Secrets {
            is_client,
            suite: Some(suites[usize::from(suite)]),
            of_handshake: Some(Secret::new(of_handshake)),
            of_client: split(of_client),
            of_server: split(of_server),
        };
        if is_client {
            session.role = Role::Client { name: None };
        }
        let channel = Channel::new(&mut session.secrets, session.records_per_key);
        let mut channel = channel.expect("all secrets are there");
        let [client, server] = FIRST_MESSAGES;
        let (own, peer) = if is_client {
            (client, server)
        } else {
            (server, client)
        };
        channel.sending.begin(own);
        channel.receiving.begin(peer);
        session.channel = Some(Box::new(channel));
        session.release_library();
        session.is_confirmed = true;
        session.state = State::Open { sends: true };
        session
    }
}
