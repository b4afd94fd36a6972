//! What stands for DTLS where the crate is built without its feature `dtls`: types of which there are no values.
//!
//! So `Security::None` is the only [`Security`](crate::Security), signatures are those of a build with DTLS, and the
//! compiler removes what can never run.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use fairwire_proto::{self as proto, PathFacts, SecurityError};
use fairwire_units::Instant;

macro_rules! nothing {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum $name {}
    )*};
}

nothing! {
    /// What a client needs for DTLS.
    ClientConfig;
    /// What a server needs for DTLS.
    ServerConfig;
    /// Begins DTLS sessions.
    Dtls;
    /// One end of a DTLS session.
    Session;
    /// Why a DTLS session failed.
    SessionError;
    /// Why a DTLS session cannot begin.
    StartError;
    /// The fingerprint of a certificate.
    Fingerprint;
    /// What a DTLS session has counted.
    Stats;
    /// Why a peer refused this end when DTLS was set up.
    DtlsRefusal;
}

impl Dtls {
    pub(crate) fn client(config: Arc<ClientConfig>, _: fn()) -> Self {
        match *config {}
    }

    pub(crate) fn server(config: Arc<ServerConfig>, _: fn()) -> Self {
        match *config {}
    }
}

impl ServerConfig {
    pub(crate) fn handshake_memory(&self) -> usize {
        match *self {}
    }
}

impl Session {
    pub(crate) fn peer(&self) -> Option<Fingerprint> {
        match *self {}
    }

    pub(crate) fn stats(&self) -> Stats {
        match *self {}
    }

    pub(crate) fn is_confirmed(&self) -> bool {
        match *self {}
    }
}

impl DtlsRefusal {
    pub(crate) fn told(_: &str) -> Option<Self> {
        None
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl Error for SessionError {}
impl Error for StartError {}

impl proto::Security for Dtls {
    fn speaks_first(&self) -> bool {
        match *self {}
    }

    fn handshake_memory(&self) -> usize {
        match *self {}
    }

    fn overhead(&self) -> usize {
        match *self {}
    }

    fn begin(&self, _: Instant, _: PathFacts) -> Result<Box<dyn proto::Session>, SecurityError> {
        match *self {}
    }
}
