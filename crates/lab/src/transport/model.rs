//! A protocol with its settings.

use std::fmt;

use fairwire_net::Streams;
use fairwire_units::Instant;

use super::application::Application;
use super::ends::Ends;
use super::peer::Peer;

/// A protocol with its settings, as a flow has them.
pub(crate) trait Transport: fmt::Debug + Send + Sync {
    /// Returns its name, as people write it.
    fn label(&self) -> &'static str;

    /// Returns the bytes between the IP header and the payload of a plain data packet.
    fn header_bytes(&self) -> u32;

    /// Returns the bytes that options may add to a plain data packet at most.
    fn option_room(&self) -> u32 {
        0
    }

    /// Does it carry datagrams, and not a stream of bytes?
    fn has_datagrams(&self) -> bool;

    /// Does it open a connection and hold a source back? Otherwise everything that is offered leaves at once.
    fn is_connected(&self) -> bool {
        true
    }

    /// Does the way back carry data, too?
    fn is_two_way(&self) -> bool {
        false
    }

    /// Returns the setting, as a path below the protocol's table, that cannot be or does not go with the others, and
    /// what would.
    fn problem(&self) -> Option<(&'static str, String)> {
        None
    }

    /// Does the setting `key` change anything, with the others as they are?
    fn reads(&self, key: &str) -> bool {
        let _ = key;
        true
    }

    /// Makes the sender and the receiver of a conversation.
    ///
    /// # Errors
    /// What the protocol refuses in its configuration.
    fn connect(&self, conversation: &Conversation<'_>) -> Result<Peers, String>;
}

/// The sender of a conversation and its receiver.
pub(crate) type Peers = (Box<dyn Peer>, Box<dyn Peer>);

/// A conversation that is to begin: a flow.
pub(crate) struct Conversation<'a> {
    /// Its name, for streams of random numbers and notes.
    pub(crate) name: &'a str,
    /// The sender's view and the receiver's.
    pub(crate) ends: (Ends, Ends),
    /// When it begins.
    pub(crate) start: Instant,
    /// The size of a plain data packet as IP packet, bytes.
    pub(crate) wire_bytes: u32,
    /// Does the sender close the connection when its source has sent everything?
    pub(crate) closes: bool,
    pub(crate) streams: Streams,
    /// Makes the application that sends in the flow of this name: of the conversation's, or of its way back, `NAME/back`.
    pub(crate) application: &'a dyn Fn(&str) -> Application,
}
