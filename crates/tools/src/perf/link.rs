//! DCCP, UDP and TCP with one set of calls, which send and receive whole messages.
//!
//! Every call may be cancelled: no message is then lost or split.

mod dccp;
mod error;
mod tcp;
mod udp;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use fairwire::ccids::{CcidProfile, ccid_profiles};
use fairwire::laws::{Chosen, Law};
use fairwire::{
    Ccid, Config, ConnectOptions, Connection, Ecn, Endpoint, Profile, SendError, Stats,
};

use super::PerfError;
use super::defaults::PATIENCE;
use super::options::{ClientOptions, Protocol, ServerOptions};

pub(crate) use dccp::{builder, native_endpoint};
pub(crate) use error::{LinkError, refused as refused_by_dtls};
pub(crate) use tcp::Tcp;
#[cfg(feature = "fuzz")]
pub(super) use tcp::next_frame;
pub(crate) use udp::{Udp, UdpListener};

/// The connection of one flow to the peer.
#[derive(Debug)]
pub(crate) enum Link {
    Dccp(Connection),
    Udp(Udp),
    Tcp(Tcp),
}

/// A message that arrived.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub bytes: Bytes,
    /// Whether a router marked it (ECN).
    pub marked: bool,
}

impl Link {
    /// Connects to the first of the server's addresses that answers; natively through `native`, which all flows share.
    /// Over plain UDP nothing is sent yet, so the first address is taken.
    pub(crate) async fn connect(
        client: &ClientOptions,
        addrs: &[SocketAddr],
        native: Option<Endpoint>,
    ) -> Result<Self, PerfError> {
        let target = client.target();
        let local = client.bind.as_ref();
        match client.protocol {
            Protocol::Dccp => {
                let options = ConnectOptions::new().config(client_config(client));
                let security = client.dtls.client(&client.host)?;
                let (to, through) = ((target.as_str(), addrs), (native, local));
                let connecting = dccp::connect(to, client.service, security, options, through);
                Ok(Self::Dccp(connecting.await?))
            }
            Protocol::Udp => {
                let none = || io::ErrorKind::NotFound.into();
                let addr = addrs.first().copied().ok_or_else(none);
                let connected = match addr {
                    Ok(addr) => Udp::connect(addr, local).await,
                    Err(error) => Err(error),
                };
                let connected = connected.map_err(|error| error::failed(&target, &error));
                Ok(Self::Udp(connected?))
            }
            Protocol::Tcp => Ok(Self::Tcp(Tcp::connect(&target, addrs, local).await?)),
        }
    }

    /// Sends a message, waiting until there is room.
    pub(crate) async fn send(&self, bytes: Bytes) -> Result<(), LinkError> {
        match self {
            Self::Dccp(connection) => match connection.send(bytes).await {
                // The path has just turned out to carry less. This message is lost, as it would be on the path.
                Ok(_) | Err(SendError::TooLarge { .. }) => Ok(()),
                Err(error) => Err(LinkError(error.to_string())),
            },
            Self::Udp(udp) => udp.send(&bytes).await,
            Self::Tcp(tcp) => tcp.send(&bytes).await,
        }
    }

    /// Receives the next message.
    pub(crate) async fn recv(&self) -> Result<Incoming, LinkError> {
        let bytes = match self {
            Self::Dccp(connection) => {
                return match connection.recv().await {
                    Ok(received) => Ok(Incoming {
                        marked: received.ecn == Ecn::Ce,
                        bytes: received.data,
                    }),
                    Err(lost) => Err(LinkError::closed(connection, &lost)),
                };
            }
            Self::Udp(udp) => udp.recv().await?,
            Self::Tcp(tcp) => tcp.recv().await?,
        };
        Ok(Incoming {
            bytes,
            marked: false,
        })
    }

    /// Returns the size of the longest message, bytes.
    pub(crate) fn max_message(&self) -> usize {
        match self {
            Self::Dccp(connection) => connection.max_datagram_size(),
            Self::Udp(_) => 65_507,
            Self::Tcp(_) => super::message::MAX_FRAME as usize,
        }
    }

    /// Returns whether the protocol has no handshake: the address may then be forged, and a peer that is gone is not
    /// reported.
    pub(crate) fn is_forgeable(&self) -> bool {
        matches!(self, Self::Udp(_))
    }

    /// Returns what the protocol knows about the path; DCCP only.
    pub(crate) fn stats(&self) -> Option<Stats> {
        match self {
            Self::Dccp(connection) => Some(connection.stats()),
            _ => None,
        }
    }

    /// Returns the number of messages that wait to be sent.
    pub(crate) fn queued(&self) -> usize {
        self.stats().map_or(0, |stats| stats.queued_packets)
    }

    /// Returns the peer's address; that of an IPv4 peer as such, also at a socket for both families.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        let peer = match self {
            Self::Dccp(connection) => connection.remote()?.user_addr(),
            Self::Udp(udp) => udp.peer()?,
            Self::Tcp(tcp) => tcp.peer()?,
        };
        Some(match peer.ip().to_canonical() {
            IpAddr::V4(ip) => SocketAddr::new(ip.into(), peer.port()),
            IpAddr::V6(_) => peer,
        })
    }

    /// Drops the messages that wait to be sent; DCCP only.
    pub(crate) fn discard_queue(&self) {
        if let Self::Dccp(connection) = self {
            connection.purge();
        }
    }

    /// Ends the flow at once, and tells the peer why; DCCP only.
    pub(crate) fn abort(&self, why: &str) {
        if let Self::Dccp(connection) = self {
            connection.abort_with(why);
        }
    }

    /// Closes the flow properly, within two seconds.
    pub(crate) async fn close(&self) {
        let closing = async {
            match self {
                Self::Dccp(connection) => drop(connection.close().await),
                Self::Udp(_) => {}
                Self::Tcp(tcp) => tcp.close().await,
            }
        };
        // A peer that does not answer must not delay the command.
        let _ = tokio::time::timeout(Duration::from_secs(2), closing).await;
    }
}

/// Returns the DCCP parameters of a measurement.
fn config(
    profile: Option<Profile>,
    ccids: Option<&[Ccid]>,
    law: Option<&Chosen<dyn Law>>,
    patience: Duration,
) -> Config {
    let mut config = profile.unwrap_or_default().config();
    if let Some(ccids) = ccids {
        config.send_ccids = ccids.to_vec();
        config.receive_ccids = ccids.to_vec();
    }
    if let Some(law) = law {
        config.ccid2.law = law.clone();
    }
    // Both sides detect a peer that vanished, also a side that only receives.
    config.keep_alive = Some(patience / 3);
    config.idle_timeout = patience;
    config.connect_timeout = patience;
    config.drain_timeout = Duration::from_secs(1);
    config.close_timeout = Duration::from_secs(1);
    config.receive_queue_packets = 16_384;
    config.receive_queue_bytes = 32 << 20;
    config
}

/// Changes what the user set; the options were checked before.
fn with_settings(mut config: Config, settings: &[String]) -> Config {
    for setting in settings {
        let set = config.apply(setting);
        debug_assert!(set.is_ok(), "{set:?}");
    }
    config
}

/// Returns the client's parameters.
pub(crate) fn client_config(client: &ClientOptions) -> Config {
    let ccid = client.ccid.map(|ccid| [Ccid::new(ccid)]);
    let ccids = ccid.as_ref().map(|ccid| &ccid[..]);
    let mut config = config(client.profile, ccids, client.law.as_ref(), client.patience);
    if client.law.is_some() {
        config.send_ccids = ccids_with(CcidProfile::has_window_law);
    }
    with_settings(config, &client.settings)
}

/// Returns the CCIDs with a property.
fn ccids_with(has: impl Fn(&CcidProfile) -> bool) -> Vec<Ccid> {
    let all = ccid_profiles().filter(|profile| has(profile));
    all.map(CcidProfile::ccid).collect()
}

/// Returns the server's parameters, which allow the client to choose the CCID.
pub(crate) fn server_config(server: &ServerOptions) -> Config {
    let all = ccids_with(|_| true);
    let config = config(server.profile, Some(&all), server.law.as_ref(), PATIENCE);
    with_settings(config, &server.settings)
}
