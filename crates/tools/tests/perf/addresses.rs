//! Addresses, interfaces and names of both ends.

use std::net::UdpSocket;

use fairwire_tools::perf::{Limit, Protocol};

use super::{ALL, Running, options, run};

/// A server on all addresses answers from the address that the client asked, over every protocol, and calls an IPv4
/// client by its IPv4 address.
#[test]
#[cfg(target_os = "linux")]
fn a_server_answers_from_the_address_that_was_asked() {
    for protocol in ALL {
        let server = Running::with(protocol, |options| options.bind = None);
        let mut options = options(server.port, protocol);
        options.host = "127.0.0.5".to_owned();
        options.limit = Some(Limit::Bytes(2_000));
        let (outcome, text) = run(&options);
        assert_eq!(outcome.exit_code(), 0, "{protocol:?}: {text}");
        let (code, served) = server.end();
        assert_eq!(code, 0);
        assert!(served.contains(" from 127.0.0."), "{protocol:?}: {served}");
    }
}

/// A client sends from the address and over the interface that it was told to use, over every protocol.
#[test]
#[cfg(target_os = "linux")]
fn a_client_has_the_address_asked_for() {
    for protocol in ALL {
        for (bind, from) in [
            ("127.0.0.7", "127.0.0.7"),
            ("127.0.0.7%lo", "127.0.0.7"),
            ("%lo", "127.0.0.1"),
        ] {
            let server = Running::start(protocol, None);
            let mut options = options(server.port, protocol);
            options.bind = Some(bind.parse().expect("an address"));
            options.limit = Some(Limit::Bytes(2_000));
            let (outcome, text) = run(&options);
            let (code, served) = server.end();
            let what = format!("{protocol:?} from {bind}: {text}{served}");
            assert_eq!((outcome.exit_code(), code), (0, 0), "{what}");
            assert!(served.contains(&format!(" from {from}:")), "{what}");
            assert!(served.contains(" of 127.0.0.1 ("), "{what}");
        }
    }
    let mut options = options(1, Protocol::Udp);
    options.bind = Some("%nowhere".parse().expect("an interface"));
    for protocol in ALL {
        options.protocol = protocol;
        let error = run(&options).0.error.expect("no such interface");
        assert_eq!(error.kind, "local", "{protocol:?}: {error:?}");
    }
}

/// Interfaces have names in addresses, also where the system needs none and reports none, over every protocol.
#[test]
#[cfg(target_os = "linux")]
fn zones_have_names() {
    if UdpSocket::bind("[::1]:0").is_err() {
        return; // The host has no IPv6.
    }
    for protocol in ALL {
        for (host, bind) in [("::1%lo", "::1"), ("::1", "[::1%lo]")] {
            let server = Running::with(protocol, |options| {
                options.bind = Some(bind.parse().expect("an address"));
            });
            let mut options = options(server.port, protocol);
            options.host = host.to_owned();
            options.limit = Some(Limit::Bytes(2_000));
            let (outcome, text) = run(&options);
            assert_eq!(outcome.exit_code(), 0, "{protocol:?} {host} {bind}: {text}");
            assert_eq!(server.end().0, 0);
        }
    }
}

/// If a name has several addresses, one without a server does not end the attempt, over every protocol.
#[test]
fn a_server_at_one_of_the_addresses_is_found() {
    for protocol in ALL {
        for ip in ["127.0.0.1", "::1"] {
            if UdpSocket::bind((ip, 0)).is_err() {
                continue; // The host has no IPv6.
            }
            let known = std::net::ToSocketAddrs::to_socket_addrs(&("localhost", 1));
            let mut known = known.expect("its name");
            if !known.any(|addr| addr.ip().to_string() == ip) {
                continue;
            }
            let server = Running::with(protocol, |options| {
                options.bind = Some(ip.parse().expect("an address"));
            });
            let mut options = options(server.port, protocol);
            options.host = "localhost".to_owned();
            options.limit = Some(Limit::Bytes(2_000));
            let (outcome, text) = run(&options);
            assert_eq!(outcome.exit_code(), 0, "{protocol:?} at {ip}: {text}");
            assert_eq!(server.end().0, 0);
        }
    }
}
