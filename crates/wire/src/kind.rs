//! A packet's type with the fields that only this type has.

use crate::{PacketType, ResetCode, SeqNo, ServiceCode};

/// A packet type with its own fields (RFC 4340, sections 5.1 to 5.7, and RFC 5596, section 2.2.1).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    /// A client's request for a connection.
    Request {
        /// The service that the client wants.
        service: ServiceCode,
    },
    /// A server's answer that accepts a Request.
    Response {
        /// The sequence number of the Request.
        ack: SeqNo,
        /// The service, as in the Request.
        service: ServiceCode,
    },
    /// Application data.
    Data,
    /// An acknowledgement.
    Ack {
        /// Usually the greatest sequence number received.
        ack: SeqNo,
    },
    /// Application data with an acknowledgement.
    DataAck {
        /// Usually the greatest sequence number received.
        ack: SeqNo,
    },
    /// A server's request that the client close the connection.
    CloseReq {
        /// The greatest sequence number received.
        ack: SeqNo,
    },
    /// The close of the connection.
    Close {
        /// The greatest sequence number received.
        ack: SeqNo,
    },
    /// The abrupt end of the connection.
    Reset {
        /// The packet that caused the Reset, or the greatest sequence number received.
        ack: SeqNo,
        /// The reason.
        code: ResetCode,
        /// Data 1, 2 and 3. Their meaning depends on the code.
        data: [u8; 3],
    },
    /// A request to resynchronise sequence numbers after an invalid packet or a burst of losses.
    Sync {
        /// The packet that caused the Sync. It need not have been processed.
        ack: SeqNo,
    },
    /// The answer to a Sync.
    SyncAck {
        /// The sequence number of the Sync.
        ack: SeqNo,
    },
    /// A packet with which a server behind a NAT opens the NAT for a client.
    Listen {
        /// The service that the server offers.
        service: ServiceCode,
    },
}

impl Kind {
    /// Returns the packet type.
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

    /// Returns the Acknowledgement Number, if the type has one.
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

    /// Returns the Service Code, if the type has one.
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
