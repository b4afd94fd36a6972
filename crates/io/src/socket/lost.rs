//! Addresses that the host no longer has.

use std::io;
use std::net::{IpAddr, UdpSocket};

/// Returns whether this host no longer has an address.
pub(super) fn is_lost(ip: IpAddr) -> bool {
    let bound = UdpSocket::bind((ip, 0));
    bound.is_err_and(|error| error.kind() == io::ErrorKind::AddrNotAvailable)
}

#[cfg(test)]
mod tests {
    use super::is_lost;

    /// A host has its loopback address, and not one that is for documentation.
    #[test]
    fn an_address_of_nobody_is_lost() {
        assert!(!is_lost([127, 0, 0, 1].into()));
        assert!(is_lost([192, 0, 2, 1].into()));
    }
}
