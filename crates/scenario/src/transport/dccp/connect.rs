//! DCCP as a transport.

use fairwire_proto::{ConfigError, Endpoint, EndpointConfig};
use fairwire_units::{Duration, Instant};
use fairwire_wire::Ccid;

use super::super::ends::port;
use super::super::model::{Conversation, Peers, Transport};
use super::super::ticks::Ticks;
use super::check;
use super::config::{OPTION_ROOM, config};
use super::peer::{DccpPeer, SERVICE};
use super::settings::Dccp;

/// The header of a DCCP Data packet without options, with 48-bit sequence numbers, bytes.
const DATA_HEAD: u32 = 16;
/// The same with 24-bit sequence numbers, bytes.
const SHORT_DATA_HEAD: u32 = 12;

/// The time for which a closing connection may send what is in its queue: in practice no limit.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(86_400);

impl Transport for Dccp {
    fn label(&self) -> &'static str {
        "DCCP"
    }

    fn is_ecn_capable(&self) -> bool {
        self.config.ecn
    }

    fn header_bytes(&self) -> u32 {
        let head = if self.config.short_seqnos {
            SHORT_DATA_HEAD
        } else {
            DATA_HEAD
        };
        head + u32::from(self.encapsulation.overhead()) + self.security.overhead()
    }

    fn option_room(&self) -> u32 {
        OPTION_ROOM
    }

    fn has_datagrams(&self) -> bool {
        true
    }

    fn is_two_way(&self) -> bool {
        self.back_ccid.is_some()
    }

    fn probes_path_mtu(&self) -> bool {
        self.probe_path_mtu
    }

    fn check(&self) -> Result<(), ConfigError> {
        check::check(self)
    }

    fn needs_frames(&self) -> Option<&'static str> {
        self.send.needs_frames()
    }

    fn reads(&self, key: &str) -> bool {
        check::is_read(self, key)
    }

    fn connect(&self, conversation: &Conversation<'_>) -> Result<Peers, String> {
        let (source, sink) = conversation.ends;
        let (name, bytes) = (conversation.name, conversation.wire_bytes);
        let sending = (conversation.application)(name);
        let encapsulation = self.encapsulation;
        let back_ccid = self.back_ccid.unwrap_or(self.ccid);
        let endpoint = |side: &str| {
            let secret = conversation.secret(&format!("secret/{name}/{side}"));
            let mut config = EndpointConfig::default();
            // Synthetic payloads take no memory, however many are queued.
            config.max_memory = usize::MAX;
            Endpoint::new(config, secret)
        };
        let ticks = |side: &str| {
            let every = self.tick?;
            Some(Ticks::new(every, conversation.streams, name, side))
        };
        let (at_client, at_server) = match self.security.ends(conversation)? {
            Some([client, server]) => (Some(client), Some(server)),
            None => (None, None),
        };
        let service = self.service.unwrap_or(SERVICE);
        let mut client_config = config(self, bytes, self.ccid, back_ccid);
        if conversation.closes {
            client_config.drain_timeout = DRAIN_TIMEOUT.into();
        }
        let mut server_config = config(self, bytes, back_ccid, self.ccid);
        let changes = self.ccid_changes.iter();
        server_config
            .receive_ccids
            .extend(changes.clone().map(|change| Ccid::new(change.ccid)));
        let client = DccpPeer::client(
            (source, name.to_owned()),
            endpoint("sender"),
            encapsulation,
            (conversation.start, service, client_config),
            Some(sending),
        )
        .sending(self.send)
        .encrypting(at_client)
        .with_ccid_changes(changes.map(|change| (Instant::START + change.at, change.ccid)))
        .reading(self.receive.every)
        .ticking(ticks("sender"))
        .closing(conversation.closes);
        let mut listening = endpoint("receiver");
        listening
            .listen(port(sink.incoming), &[service], server_config)
            .map_err(|error| error.to_string())?;
        let back = || (conversation.application)(&format!("{name}/back"));
        let answer = self.back_ccid.map(|_| back());
        let server = DccpPeer::server((sink, name.to_owned()), listening, encapsulation, answer)
            .sending(self.send)
            .encrypting(at_server)
            .reading(self.receive.every)
            .ticking(ticks("receiver"))
            .closing(conversation.closes);
        Ok((Box::new(client), Box::new(server)))
    }
}
