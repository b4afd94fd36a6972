//! The trait of transports.

use std::fmt;

use fairwire_net::Streams;
use fairwire_proto::ConfigError;
use fairwire_units::Instant;

use super::application::Application;
use super::ends::Ends;
use super::peer::Peer;

/// A protocol with its settings in a flow.
pub trait Transport: fmt::Debug + Send + Sync {
    /// Returns its name, as people write it.
    fn label(&self) -> &'static str;

    /// Returns the bytes between the IP header and the payload of a plain data packet.
    fn header_bytes(&self) -> u32;

    /// Returns the most bytes that options add to a plain data packet.
    fn option_room(&self) -> u32 {
        0
    }

    /// Returns whether it carries datagrams rather than a stream of bytes.
    fn has_datagrams(&self) -> bool;

    /// Returns whether it opens a connection and controls congestion. Otherwise everything that is offered leaves at
    /// once.
    fn is_connected(&self) -> bool {
        true
    }

    /// Returns whether its packets can be marked (ECN).
    fn is_ecn_capable(&self) -> bool {
        false
    }

    /// Returns whether the way back also carries data.
    fn is_two_way(&self) -> bool {
        false
    }

    /// Returns whether it looks for the path MTU and makes its packets as small.
    fn probes_path_mtu(&self) -> bool {
        false
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// Names the first setting that is invalid or conflicts with others, as a path below the protocol's table.
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Returns a setting that has an effect only on traffic with frames, if one is set.
    fn needs_frames(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether the setting `key` has an effect, given the other settings.
    fn reads(&self, key: &str) -> bool {
        let _ = key;
        true
    }

    /// Makes the sender and the receiver of a conversation.
    ///
    /// # Errors
    /// If the protocol refuses its configuration.
    fn connect(&self, conversation: &Conversation<'_>) -> Result<Peers, String>;
}

/// The sender and the receiver of a conversation.
pub type Peers = (Box<dyn Peer>, Box<dyn Peer>);

/// The parameters of a conversation that is to begin.
pub struct Conversation<'a> {
    /// Its name, for random streams and notes.
    pub name: &'a str,
    /// The sender's ends and the receiver's.
    pub ends: (Ends, Ends),
    /// The time at which it begins.
    pub start: Instant,
    /// The size of a plain data packet as IP packet, bytes.
    pub wire_bytes: u32,
    /// Whether the sender closes the connection when its source has sent everything.
    pub closes: bool,
    /// The run's random numbers.
    pub streams: Streams,
    /// Makes the application for a flow of this name: the conversation's own, or `NAME/back` for its way back.
    pub application: &'a dyn Fn(&str) -> Application,
}

impl Conversation<'_> {
    /// Returns 32 random bytes from the beginning of a stream.
    pub(crate) fn secret(&self, stream: &str) -> [u8; 32] {
        let mut draw = self.streams.stream(stream);
        let mut secret = [0; 32];
        for part in secret.chunks_exact_mut(8) {
            part.copy_from_slice(&draw.bits().to_le_bytes());
        }
        secret
    }
}
