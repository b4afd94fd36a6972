//! The registry of congestion control identifiers.
//!
//! A [`CcidProfile`] is all that distinguishes one CCID from another: its number and name, its kind of feedback, its
//! controller, and the settings that it reads. The kind of feedback implies the two halves of a connection, and with
//! them the options, the features and the use of `CCVal`. There are two kinds: Ack Vectors, which report each packet
//! (RFC 4340, section 11.4), and TFRC's reports of loss event rates (RFC 4342, section 8).
//!
//! - [`profile`]: the profile of a CCID, and how it makes the halves of a connection.
//! - [`built_in`]: the profiles that Fairwire comes with.
//! - [`registry`]: all profiles by number. A program adds its own ([`register_ccid`]): a controller with Ack Vectors.
//!   Negotiation, settings, scenarios and commands then know its number.

mod built_in;
mod profile;
mod registry;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use profile::Setup;
pub use profile::{CcidProfile, ControllerSetup};
pub use registry::{RegisterCcidError, ccid_profile, ccid_profiles, list_ccids, register_ccid};
