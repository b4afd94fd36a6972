//! Epochs and messages that both directions know.

/// The epochs of the handshake and of the first data (RFC 9147, section 6.1).
pub(crate) const HANDSHAKE_EPOCH: u64 = 2;
pub(crate) const FIRST_EPOCH: u64 = 3;

/// Types of messages (RFC 8446, section 4).
pub(super) const NEW_SESSION_TICKET: u8 = 4;
pub(super) const KEY_UPDATE: u8 = 24;

/// What a new key asks of the other end (RFC 8446, section 4.6.3).
pub(super) const UPDATE_NOT_REQUESTED: u8 = 0;
pub(super) const UPDATE_REQUESTED: u8 = 1;
