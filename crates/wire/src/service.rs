//! Service Codes and their text forms.

use std::fmt;
use std::str::FromStr;

/// The service that a client wants: a 32-bit code in addition to the port (RFC 4340, section 8.1.2, and RFC 5595,
/// section 2.2).
///
/// It is printed as `SC:fdpz` if its bytes allow, otherwise as `SC=1717858426`. Both forms can be parsed, and so can
/// `SC=x6664707A`.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ServiceCode(pub u32);

impl ServiceCode {
    /// No meaningful code (RFC 5595, section 2.4). It is allowed, but an application should have its own code.
    pub const NONE: Self = Self(0);
    /// The invalid code, which no Request may carry (RFC 4340, section 8.1.2).
    pub const INVALID: Self = Self(u32::MAX);

    /// Returns the code of four ASCII characters. Pad shorter names with spaces on the right.
    pub const fn from_bytes(name: [u8; 4]) -> Self {
        Self(u32::from_be_bytes(name))
    }

    /// Returns whether a Request may carry this code.
    pub const fn is_valid(self) -> bool {
        self.0 != Self::INVALID.0
    }

    /// Returns the port on which to look for a server of this service if no port is known (RFC 5595, section 2.7).
    ///
    /// It is a dynamic port computed from the code, so two services may share it.
    pub const fn default_port(self) -> u16 {
        let [a, b, c, d] = self.0.to_be_bytes();
        let mixed = (a as u16) << 7 ^ (b as u16) << 5 ^ (c as u16) << 3 ^ d as u16;
        match mixed | 0xC000 {
            0xFFFF => 0xC000,
            port => port,
        }
    }

    /// Returns whether this code is for private use: its first byte is `?` (RFC 5595, section 2.3).
    pub const fn is_private(self) -> bool {
        self.0 >> 24 == b'?' as u32
    }
}

/// Returns whether `byte` is allowed in the `SC:` form (RFC 4340, section 8.1.2).
const fn is_name_byte(byte: u8) -> bool {
    matches!(byte, 42..=43 | 45..=57 | 63..=90 | 95 | 97..=122)
}

#[cfg(feature = "settings")]
mod settings;

impl fmt::Display for ServiceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.to_be_bytes();
        let name = str::from_utf8(&bytes).map(|name| name.trim_end_matches(' '));
        match name {
            Ok(name) if !name.is_empty() && name.bytes().all(is_name_byte) => {
                f.pad(&format!("SC:{name}"))
            }
            _ => f.pad(&format!("SC={}", self.0)),
        }
    }
}

impl fmt::Debug for ServiceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An error from parsing a Service Code.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ParseServiceCodeError {
    /// The text starts with neither `SC:` nor `SC=`.
    #[error("'{text}' is not a service code: write SC:name, SC=number or SC=xhex")]
    Prefix {
        /// The text.
        text: String,
    },
    /// The part after `SC:` is not one to four letters, digits or characters of `-_+.*/?@`.
    #[error("'{name}' is not a service name: one to four letters, digits or any of -_+.*/?@")]
    Name {
        /// The part after `SC:`.
        name: String,
    },
    /// The part after `SC=` is not a decimal number up to 4294967294, or `x` and a hexadecimal one.
    #[error("'{number}' is not a service number: 0 to 4294967294, or x0 to xfffffffe")]
    Number {
        /// The part after `SC=`.
        number: String,
    },
}

impl FromStr for ServiceCode {
    type Err = ParseServiceCodeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(name) = text.strip_prefix("SC:") {
            return from_name(name).ok_or_else(|| ParseServiceCodeError::Name {
                name: name.to_owned(),
            });
        }
        if let Some(number) = text.strip_prefix("SC=") {
            return from_digits(number).ok_or_else(|| ParseServiceCodeError::Number {
                number: number.to_owned(),
            });
        }
        Err(ParseServiceCodeError::Prefix {
            text: text.to_owned(),
        })
    }
}

fn from_name(name: &str) -> Option<ServiceCode> {
    let name = name.as_bytes();
    if name.is_empty() || !name.iter().copied().all(is_name_byte) {
        return None;
    }
    let mut padded = [b' '; 4];
    padded.get_mut(..name.len())?.copy_from_slice(name);
    Some(ServiceCode::from_bytes(padded))
}

fn from_digits(number: &str) -> Option<ServiceCode> {
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(hex) => (hex, 16),
        None => (number, 10),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None; // `from_str_radix` would accept a sign.
    }
    let code = ServiceCode(u32::from_str_radix(digits, radix).ok()?);
    // RFC 4340, 8.1.2: values above 4294967294 are illegal in every form.
    code.is_valid().then_some(code)
}

#[cfg(test)]
mod tests {
    use super::{ParseServiceCodeError, ServiceCode};

    /// RFC 4340, 8.1.2: one code can be written in three forms.
    #[test]
    fn three_forms_of_one_code() {
        let code = ServiceCode(1_717_858_426);
        for text in ["SC:fdpz", "SC=1717858426", "SC=x6664707A", "SC=X6664707a"] {
            assert_eq!(text.parse(), Ok(code), "{text}");
        }
        assert_eq!(code.to_string(), "SC:fdpz");
        assert_eq!("SC:AB".parse(), Ok(ServiceCode::from_bytes(*b"AB  ")));
    }

    /// RFC 5595, 2.7: the examples give the ports of the text; all ports are dynamic ones, and 65535 is excluded.
    ///
    /// The text writes "Fooo" and "Foop", but computes with lower-case letters.
    #[test]
    fn default_ports() {
        let port = |name: &[u8; 4]| ServiceCode::from_bytes(*name).default_port();
        assert_eq!(port(b"fdpz"), 64_634);
        assert_eq!((port(b"fooo"), port(b"foop")), (65_015, 65_000));
        // 0x7F << 7 is 0x3F80; the low byte is 0x7F.
        assert_eq!(ServiceCode(0x7F00_007F).default_port(), 0xC000);
        assert_eq!(ServiceCode(0x7F00_007E).default_port(), 0xFFFE);
        assert_eq!(ServiceCode::NONE.default_port(), 0xC000);
    }

    /// Parsing a printed code gives the same code, whatever its bytes.
    #[test]
    fn printed_codes_are_read_back() {
        let tabs = 0x4142_0909;
        for code in [
            0,
            42,
            tabs,
            0x2020_2020,
            0x4120_4220,
            0x5254_5041,
            u32::MAX - 1,
        ] {
            let code = ServiceCode(code);
            assert_eq!(code.to_string().parse(), Ok(code), "{code}");
        }
        assert_eq!(ServiceCode(42).to_string(), "SC=42");
        assert_eq!(ServiceCode(0x4120_4220).to_string(), "SC=1092633120");
    }

    /// Any other text is refused, the invalid code included, and the error has the part that is wrong.
    #[test]
    fn other_texts_are_refused() {
        for text in ["", "42", "sc:DISC"] {
            let error = text.parse::<ServiceCode>().expect_err(text);
            assert!(matches!(error, ParseServiceCodeError::Prefix { .. }));
        }
        for text in ["SC:", "SC:fives", "SC:a b", "SC:né"] {
            let error = text.parse::<ServiceCode>().expect_err(text);
            assert!(matches!(error, ParseServiceCodeError::Name { .. }));
        }
        for text in ["SC=", "SC=x", "SC=+1", "SC=4294967295", "SC=xffffffff"] {
            let error = text.parse::<ServiceCode>().expect_err(text);
            assert!(matches!(error, ParseServiceCodeError::Number { .. }));
        }
        assert!(!ServiceCode::INVALID.is_valid());
    }

    /// RFC 5595, 2.3: a code is for private use if and only if it begins with a question mark.
    #[test]
    fn private_codes_begin_with_a_question_mark() {
        for first in 0..=u8::MAX {
            let code = ServiceCode::from_bytes([first, b'?', b'a', b'b']);
            assert_eq!(code.is_private(), first == b'?', "{first}");
        }
    }
}
