//! Alerts (RFC 8446, section 6).

use std::fmt;

/// The description of an alert: why a peer ends a session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Alert(u8);

impl Alert {
    /// The sender sends nothing more.
    pub(crate) const CLOSE_NOTIFY: Self = Self(0);
    /// The two ends have no parameters in common that both accept.
    pub const HANDSHAKE_FAILURE: Self = Self(40);
    /// The peer's versions of DTLS are not spoken here.
    pub const PROTOCOL_VERSION: Self = Self(70);
    /// An application gave up. It ends no session; an alert that does follows.
    pub(crate) const USER_CANCELED: Self = Self(90);
    /// The peer showed no certificate, but has to.
    pub const CERTIFICATE_REQUIRED: Self = Self(116);

    /// Creates the alert with a number of the TLS Alerts registry.
    pub const fn from_number(number: u8) -> Self {
        Self(number)
    }

    /// Returns the alert's number in the TLS Alerts registry.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the alert's name in the TLS Alerts registry, if it has one.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "close_notify",
            10 => "unexpected_message",
            20 => "bad_record_mac",
            21 => "decryption_failed",
            22 => "record_overflow",
            30 => "decompression_failure",
            40 => "handshake_failure",
            41 => "no_certificate",
            42 => "bad_certificate",
            43 => "unsupported_certificate",
            44 => "certificate_revoked",
            45 => "certificate_expired",
            46 => "certificate_unknown",
            47 => "illegal_parameter",
            48 => "unknown_ca",
            49 => "access_denied",
            50 => "decode_error",
            51 => "decrypt_error",
            52 => "too_many_cids_requested",
            60 => "export_restriction",
            70 => "protocol_version",
            71 => "insufficient_security",
            80 => "internal_error",
            86 => "inappropriate_fallback",
            90 => "user_canceled",
            100 => "no_renegotiation",
            109 => "missing_extension",
            110 => "unsupported_extension",
            111 => "certificate_unobtainable",
            112 => "unrecognized_name",
            113 => "bad_certificate_status_response",
            114 => "bad_certificate_hash_value",
            115 => "unknown_psk_identity",
            116 => "certificate_required",
            117 => "general_error",
            120 => "no_application_protocol",
            121 => "ech_required",
            _ => return None,
        })
    }

    /// Returns a datagram with this alert as a fatal one, not protected.
    ///
    /// Only a handshake that fails before it has keys may send it. The sequence number is the last of the epoch, so
    /// that it differs from those of the handshake's records.
    pub(crate) const fn in_the_clear(self) -> [u8; 15] {
        const FATAL: u8 = 2;
        let [s0, s1, s2, s3, s4, s5] = [0xff; 6];
        [
            21, 0xfe, 0xfd, 0, 0, s0, s1, s2, s3, s4, s5, 0, 2, FATAL, self.0,
        ]
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "alert {}", self.0),
        }
    }
}
