//! The names that certificates are checked for.

use std::fmt;
use std::str::FromStr;

use rustls_pki_types::ServerName;

/// A host name or an IP address, as a certificate shows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PeerName(ServerName<'static>);

impl PeerName {
    /// Returns the name as the library that verifies certificates has it.
    pub(crate) const fn as_server_name(&self) -> &ServerName<'static> {
        &self.0
    }
}

impl FromStr for PeerName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match ServerName::try_from(text.to_owned()) {
            Ok(name) => Ok(Self(name)),
            Err(_) => Err(NameError {
                name: text.to_owned(),
            }),
        }
    }
}

impl fmt::Display for PeerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_str())
    }
}

/// A text is neither a host name nor an IP address.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{name:?} is neither a host name nor an IP address (a port does not belong to it)")]
pub struct NameError {
    /// The text.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::PeerName;

    /// Host names and addresses are read; other texts are refused and repeated in the error.
    #[test]
    fn names_and_addresses() {
        for text in ["example.org", "localhost", "192.0.2.1", "2001:db8::1"] {
            let name: PeerName = text.parse().expect("a name");
            assert_eq!(name.to_string(), text);
        }
        for text in ["", "two words", "192.0.2.1:4433", "-.org"] {
            let error = text.parse::<PeerName>().expect_err("not a name");
            assert_eq!(error.name, text);
        }
    }
}
