//! What a packet is, with the fields that only its type has.

use crate::{PacketType, ResetCode, SeqNo, ServiceCode};

/// A packet's type with the fields that follow from it (RFC 4340, sections 5.1 to 5.7, and
/// RFC 5596, section 2.2.1).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    /// A client asks for a connection.
    Request {
        /// The service it wants.
        service: ServiceCode,
    },
    /// A server grants it.
    Response {
        /// The Request it answers.
        ack: SeqNo,
        /// The service, as in the Request.
        service: ServiceCode,
    },
    /// Application data.
    Data,
    /// Acknowledgement.
    Ack {
        /// Usually the greatest sequence number received.
        ack: SeqNo,
    },
    /// Application data with an acknowledgement.
    DataAck {
        /// Usually the greatest sequence number received.
        ack: SeqNo,
    },
    /// The server asks the client to close.
    CloseReq {
        /// The greatest sequence number received.
        ack: SeqNo,
    },
    /// The connection ends.
    Close {
        /// The greatest sequence number received.
        ack: SeqNo,
    },
    /// The connection is gone.
    Reset {
        /// The packet that led to it, or the greatest received.
        ack: SeqNo,
        /// Why.
        code: ResetCode,
        /// Data 1, 2 and 3; their meaning depends on the code.
        data: [u8; 3],
    },
    /// Are we still in step?
    Sync {
        /// The packet that raised the question; it need not have been processed.
        ack: SeqNo,
    },
    /// We are.
    SyncAck {
        /// The Sync it answers.
        ack: SeqNo,
    },
    /// A server behind a NAT opens the way for a client.
    Listen {
        /// The service it offers.
        service: ServiceCode,
    },
}

impl Kind {
    /// The bare type.
    #[inline]
    pub const fn packet_type(&self) -> PacketType {
        match self {
            Self::Request { .. } => PacketType::Request,
            Self::Response { .. } => PacketType::Response,
            Self::Data => PacketType::Data,
            Self::Ack { .. } => PacketType::Ack,
            Self::DataAck { .. } => PacketType::DataAck,
            Self::CloseReq { .. } => PacketType::CloseReq,
            Self::Close { .. } => PacketType::Close,
            Self::Reset { .. } => PacketType::Reset,
            Self::Sync { .. } => PacketType::Sync,
            Self::SyncAck { .. } => PacketType::SyncAck,
            Self::Listen { .. } => PacketType::Listen,
        }
    }

    /// The Acknowledgement Number, on the types that have one.
    #[inline]
    pub const fn ack(&self) -> Option<SeqNo> {
        match *self {
            Self::Request { .. } | Self::Data | Self::Listen { .. } => None,
            Self::Response { ack, .. }
            | Self::Ack { ack }
            | Self::DataAck { ack }
            | Self::CloseReq { ack }
            | Self::Close { ack }
            | Self::Reset { ack, .. }
            | Self::Sync { ack }
            | Self::SyncAck { ack } => Some(ack),
        }
    }

    /// The Service Code, on the types that have one.
    pub const fn service(&self) -> Option<ServiceCode> {
        match *self {
            Self::Request { service }
            | Self::Response { service, .. }
            | Self::Listen { service } => Some(service),
            _ => None,
        }
    }

    /// See [`PacketType::has_ack`].
    pub const fn has_ack(&self) -> bool {
        self.packet_type().has_ack()
    }

    /// See [`PacketType::carries_data`].
    pub const fn carries_data(&self) -> bool {
        self.packet_type().carries_data()
    }
}
