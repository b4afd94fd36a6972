//! DCCP packets, options and features as bytes and as values.
//!
//! This crate answers "what does this packet say" and "how is this said in bytes", and nothing
//! else: it knows no time, no connection and no socket. Decoding never allocates, never panics
//! and never reads past the end of what it was given; every refusal is a [`DecodeError`] or an
//! [`OptionError`] with its numbers.
//!
//! A packet crosses every seam as a *head* (the DCCP header with its options, at most
//! [`MAX_HEAD`] bytes) and a payload, of which only the length and sums matter here.
//!
//! - [`Packet::decode`] reads a head; [`Peek`] reads just enough of one to find its connection.
//! - [`Options`] walks the options in order; [`DccpOption`] is what one of them says.
//! - [`Encoder`] writes a head into a [`HeadBuf`], option by option.
//! - [`Seq`] is a 48-bit sequence number on its circle, [`SeqNo`] one as a packet carries it.
//! - [`feature`] knows every feature's rule, initial value, length and range.
//! - [`Ccid`] names a congestion control.
//! - [`checksum`] sums heads, payloads and pseudo-headers in parts.
//! - [`udp`] holds the header rules of DCCP in UDP (RFC 6773).

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
    AckCell, AckCells, CellState, DccpOption, DropBlock, DropBlocks, DropCode, DropCounts,
    LossInterval, LossIntervals, MAX_OPTION_DATA, NO_LOSS, OptionError, OptionIter, Options,
    RTT_TOO_LARGE, RawOption, option_type,
};
pub use packet::Packet;
pub use packet_type::PacketType;
pub use reset::ResetCode;
pub use seq::{Seq, SeqNo};
pub use service::{ParseServiceCodeError, ServiceCode};
