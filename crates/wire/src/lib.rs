//! The codec of DCCP packets, options and features.
//!
//! This crate decodes and encodes packets and does nothing else: it has no time, no connection and no socket. Decoding
//! never allocates, never panics and never reads past the end of its input. Every refusal is a [`DecodeError`] or an
//! [`OptionError`] that carries the numbers concerned.
//!
//! Every interface splits a packet into a *head* and a payload. The head is the DCCP header with its options, at most
//! [`MAX_HEAD`] bytes. Of the payload only the length and the checksum matter here.
//!
//! - [`Packet::decode`] decodes a head; [`Peek`] decodes only what finds its connection.
//! - [`Options`] iterates over the options in order; [`DccpOption`] is one of them, decoded.
//! - [`Encoder`] writes a head into a [`HeadBuf`], option by option.
//! - [`Seq`] is a 48-bit sequence number, compared modulo 2^48; [`SeqNo`] is one in the form that a packet carries.
//! - [`feature`] has every feature's rule, initial value, length and range.
//! - [`Ccid`] identifies a congestion control.
//! - [`checksum`] sums heads, payloads and pseudo-headers in parts.
//! - [`udp`] has the header rules of DCCP in UDP (RFC 6773).

mod ccid;
mod encode;
mod error;
mod header;
mod kind;
mod option;
mod packet;
mod packet_type;
mod reset;
mod seq;
mod service;

pub mod checksum;
pub mod data_checksum;
pub mod feature;
pub mod udp;

pub use ccid::Ccid;
pub use encode::{Encoder, HeadBuf, Mark, NoRoom};
pub use error::DecodeError;
pub use header::{MAX_HEAD, Peek, Ports};
pub use kind::Kind;
pub use option::{
    AckEntries, AckEntry, DccpOption, DropBlock, DropBlocks, DropCode, DropCounts, EntryState,
    LossInterval, LossIntervals, MAX_OPTION_DATA, NO_LOSS, OptionError, OptionIter, Options,
    RTT_TOO_LARGE, RawOption, option_type,
};
pub use packet::Packet;
pub use packet_type::PacketType;
pub use reset::ResetCode;
pub use seq::{Seq, SeqNo};
pub use service::{ParseServiceCodeError, ServiceCode};
