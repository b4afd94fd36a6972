//! DTLS 1.3 sessions (RFC 9147) without I/O, for DCCP connections (RFC 5238).
//!
//! A [`Session`] is one end. It gets the datagrams that arrive, the data to send and the time, and returns datagrams to
//! send, data that arrived and when to wake it. It opens no socket and reads no clock.
//!
//! - [`Identity`]: an end's own certificate and private key, made here or read from PEM.
//! - [`Trust`]: whom an end accepts, by [`Fingerprint`] or by [`Authorities`].
//! - [`ClientConfig`] and [`ServerConfig`]: how the ends are set up.
//! - [`SessionError`]: every way a session can fail, with a sentence for the user.
//!
//! # A session over DCCP
//!
//! 1. When the DCCP connection is established, both ends make their session. (RFC 5238, section 3.2, allows the first
//!    messages to travel in the Request and the Response. This crate does not use that, so its retransmission timer
//!    never runs beside that of DCCP.)
//! 2. After each call, poll the session until it is [`Output::Idle`]. Send each datagram as one DCCP packet, and call
//!    [`Session::handle_timeout`] at [`Session::next_timeout`].
//! 3. While datagrams of the session wait in the send queue of DCCP, say so ([`Session::set_waiting`]), so that they
//!    are not sent again before they were sent once (RFC 5238, section 3.3).
//! 4. When the maximum packet size changes, say so ([`Session::set_max_datagram`]; RFC 5238, section 3.5).
//! 5. A session ends with its connection. If it fails, send what [`Session::poll`] still returns, and reset the
//!    connection.
//!
//! ```
//! use fairwire_tls::{ClientConfig, Date, Identity, Output, ServerConfig, Session, Validity};
//! use fairwire_units::Instant;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (now, date) = (Instant::START, Date::from_unix_seconds(1_790_000_000));
//! let identity = Identity::generate(&["example.org"], Validity::days(date, 365))?;
//! let pinned = ClientConfig::pinned([identity.fingerprint()]);
//! let mut client = Session::client(&pinned, 1_200, now, date)?;
//! let mut server = Session::server(&ServerConfig::new(identity), 1_200, now, date)?;
//! let mut connected = 0;
//! while connected < 2 {
//!     for (from, to) in [(0, 1), (1, 0)] {
//!         let mut ends = [&mut client, &mut server];
//!         match ends[from].poll() {
//!             Output::Send(datagram) => ends[to].handle_datagram(now, &datagram)?,
//!             Output::Connected { .. } => connected += 1,
//!             _ => {}
//!         }
//!     }
//! }
//! let datagram = client.seal(b"hello")?;
//! server.handle_datagram(now, &datagram)?;
//! assert!(std::iter::repeat_with(|| server.poll()).take(2).any(|out| out == Output::Data("hello".into())));
//! # Ok(())
//! # }
//! ```
//!
//! # What the protocol has, and what there is of it here
//!
//! The handshake is that of the library `dimpl`. What follows it is here: records of data, their keys, and the messages
//! about them. There is:
//!
//! - DTLS 1.3 with AES-GCM and ChaCha20-Poly1305, X25519, P-256 and P-384, and certificates with ECDSA. There is no
//!   DTLS 1.2.
//! - Fragmentation, retransmission and acknowledgement of handshakes, cookies, protection against replays.
//! - Key updates (RFC 9147, section 8): keys are replaced before the limit of their cipher, and when the peer asks for
//!   it. There is no call for it, because nobody else knows when it is needed.
//! - A window of 4,096 records against replays.
//!
//! There is not, because the library has none: resumption and 0-RTT (each connection makes a full handshake),
//! connection identifiers (a DCCP connection identifies its session; [`Session::look_into`] lets it recognise a peer
//! that has another address), exporters, the name of the server in the client's hello, chains of certificates (an end
//! shows only its own), and alerts that say why a certificate was refused.
//!
//! # Secrets
//!
//! The private key stays in the cryptographic library, which overwrites it in the end. So do the keys of data; their
//! secrets lie in one place each, and are overwritten here. `dimpl` has the secrets of the handshake, from which those of
//! data follow, and frees their memory without overwriting it. `Debug` shows no secrets.
//!
//! With the feature `seeded`, which is for simulations only, an end can be given a `SimulationSeed`, from which all its
//! keys and random numbers follow. No other end is affected by the feature.

mod acknowledgement;
mod alert;
mod channel;
mod check;
mod clear;
mod clock;
mod config;
mod date;
mod error;
mod fingerprint;
mod gate;
mod head;
mod identity;
mod key;
mod memory;
mod name;
mod provider;
mod reason;
mod record;
mod refusal;
mod security;
#[cfg(feature = "seeded")]
mod seeded;
mod session;
mod trust;
mod words;

pub use alert::Alert;
pub use config::{ClientConfig, ServerConfig};
pub use date::{Date, Validity};
pub use error::{SealError, SessionError, StartError};
pub use fingerprint::{Fingerprint, ParseFingerprintError};
pub use identity::{Identity, IdentityError};
pub use name::{NameError, PeerName};
pub use refusal::DtlsRefusal;
pub use security::Dtls;
#[cfg(feature = "seeded")]
pub use seeded::SimulationSeed;
#[cfg(feature = "fuzz")]
pub use session::FIRST_MESSAGES;
pub use session::{MIN_DATAGRAM, OVERHEAD, Output, Session, Stats};
pub use trust::{Authorities, AuthoritiesError, CertificateError, Trust};
