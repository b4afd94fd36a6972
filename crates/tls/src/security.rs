//! DTLS as the encryption of a DCCP connection: what the protocol knows of a session.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use bytes::BytesMut;
use fairwire_proto::{
    self as proto, Look, NoMemory, Opened, PathCheck, PathFacts, Security, SecurityError,
    SessionOutput, SessionStage,
};
use fairwire_units::Instant;

use crate::config::{ClientConfig, ServerConfig};
use crate::date::Date;
use crate::error::{SessionError, StartError};
use crate::head::LONGEST_CONTENT;
use crate::refusal::DtlsRefusal;
use crate::session::{OVERHEAD, Output, Session};

/// DTLS 1.3 for connections of one kind ([`fairwire_proto::Endpoint::secure`]).
#[derive(Clone)]
pub struct Dtls {
    end: End,
    today: fn() -> Date,
}

#[derive(Clone)]
enum End {
    Client(Arc<ClientConfig>),
    Server(Arc<ServerConfig>),
}

impl Dtls {
    /// Encrypts the connections of a client. `today` tells the date, for the validity of certificates.
    pub fn client(config: impl Into<Arc<ClientConfig>>, today: fn() -> Date) -> Self {
        let end = End::Client(config.into());
        Self { end, today }
    }

    /// Encrypts the connections of a server; see [`Dtls::client`].
    ///
    /// Handshakes exchange no cookie ([`ServerConfig::without_cookies`]): before one begins, the handshake of DCCP has
    /// shown that the client receives what is sent to its address.
    pub fn server(config: impl Into<Arc<ServerConfig>>, today: fn() -> Date) -> Self {
        let config = ServerConfig::clone(&config.into()).without_cookies();
        let end = End::Server(Arc::new(config));
        Self { end, today }
    }
}

impl fmt::Debug for Dtls {
    /// Shows no part of the configuration, which holds a private key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dtls")
    }
}

impl Security for Dtls {
    fn speaks_first(&self) -> bool {
        matches!(self.end, End::Client(_))
    }

    fn handshake_memory(&self) -> usize {
        match &self.end {
            End::Client(config) => config.handshake_memory(),
            End::Server(config) => config.handshake_memory(),
        }
    }

    fn overhead(&self) -> usize {
        OVERHEAD
    }

    fn max_data(&self, max_datagram: usize) -> usize {
        max_datagram.saturating_sub(OVERHEAD).min(LONGEST_CONTENT)
    }

    fn begin(
        &self,
        now: Instant,
        facts: PathFacts,
    ) -> Result<Box<dyn proto::Session>, SecurityError> {
        let (max, today) = (facts.max_datagram, (self.today)());
        let begun = match (&self.end, facts.rtt) {
            (End::Client(config), None) => Session::client(config, max, now, today),
            (End::Client(config), Some(rtt)) => Session::client(
                &ClientConfig::clone(config).round_trip(rtt),
                max,
                now,
                today,
            ),
            (End::Server(config), None) => Session::server(config, max, now, today),
            (End::Server(config), Some(rtt)) => Session::server(
                &ServerConfig::clone(config).round_trip(rtt),
                max,
                now,
                today,
            ),
        };
        let session: Box<dyn proto::Session> = Box::new(begun.map_err(SecurityError::new)?);
        Ok(session)
    }

    fn for_peer(&self, error: &SecurityError) -> String {
        if let Some(error) = error.downcast_ref::<SessionError>() {
            return DtlsRefusal::of(error).map_or_else(
                || format!("DTLS: {error}"),
                |refusal| refusal.text().to_owned(),
            );
        }
        if error.downcast_ref::<NoMemory>().is_some() {
            return "DTLS: the other end has no memory for another handshake; try again later"
                .to_owned();
        }
        match error.downcast_ref::<StartError>() {
            Some(error) => format!("DTLS cannot begin at the other end: {error}"),
            None => format!("DTLS: {error}"),
        }
    }
}

impl proto::Session for Session {
    fn open(&mut self, now: Instant, datagram: &mut [u8]) -> Result<Opened, SecurityError> {
        self.tell_time(now);
        Self::open(self, now, datagram).map_err(SecurityError::new)
    }

    fn forget_early(&mut self) {
        Self::forget_early(self);
    }

    fn handle_timeout(&mut self, now: Instant) -> Result<(), SecurityError> {
        Self::handle_timeout(self, now).map_err(SecurityError::new)
    }

    fn next_timeout(&self) -> Option<Instant> {
        Self::next_timeout(self)
    }

    fn poll(&mut self) -> Option<SessionOutput> {
        Some(match Self::poll(self) {
            Output::Send(datagram) => SessionOutput::Send(datagram),
            Output::Connected { .. } => SessionOutput::Ready,
            Output::Data(data) => SessionOutput::Data(data),
            Output::Check(check) => SessionOutput::Check(check),
            Output::Closed => SessionOutput::Closed,
            Output::Idle => return None,
        })
    }

    fn seal(
        &mut self,
        now: Instant,
        data: &[&[u8]],
        datagrams: &mut BytesMut,
    ) -> Result<(), SecurityError> {
        self.tell_time(now);
        self.append(data, datagrams).map_err(|error| match error {
            crate::SealError::Failed(error) => SecurityError::new(error),
            error => SecurityError::new(error),
        })
    }

    fn look_into(&mut self, datagram: &mut [u8]) -> Look {
        Self::look_into(self, datagram)
    }

    fn seal_check(&mut self, now: Instant, check: PathCheck, datagrams: &mut BytesMut) -> bool {
        self.tell_time(now);
        self.append_check(check, datagrams)
    }

    fn close(&mut self, now: Instant) {
        self.tell_time(now);
        Self::close(self);
    }

    fn stage(&self) -> SessionStage {
        Self::stage(self)
    }

    fn set_max_datagram(&mut self, max_datagram: usize) {
        Self::set_max_datagram(self, max_datagram);
    }

    fn set_waiting(&mut self, now: Instant, waiting: bool) {
        Self::set_waiting(self, now, waiting);
    }

    fn memory(&self) -> usize {
        Self::memory(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
