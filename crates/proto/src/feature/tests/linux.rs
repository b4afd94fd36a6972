//! The options of handshakes captured from a Linux kernel, replayed against each of our ends.

use super::*;

/// The options of one captured handshake.
struct Capture {
    ccid: u8,
    request: &'static [u8],
    response: &'static [u8],
    /// The kernel client's answers to that Response: all Confirms.
    ack: &'static [u8],
}

const CCID2: Capture = Capture {
    ccid: 2,
    request: &[
        0, 0, 0x29, 6, 0, 8, 0xc8, 0xc8, 0x20, 4, 1, 2, 0x22, 4, 1, 2, 1, 0x20, 4, 2, 0, 1, 0x20,
        4, 4, 1, 1, 0x22, 4, 6, 1, 1, 0x20, 4, 6, 1,
    ],
    response: &[
        0, 0, 0x2a, 8, 0, 8, 0xc8, 0xc8, 0, 2, 0x29, 6, 0, 8, 0xd4, 0x89, 0x21, 5, 1, 2, 2, 0x23,
        5, 1, 2, 2, 1, 0x20, 4, 2, 0, 0x23, 5, 2, 0, 0, 1, 0x20, 4, 4, 1, 0x23, 5, 4, 1, 1, 1,
        0x22, 4, 6, 1, 1, 0x20, 4, 6, 1,
    ],
    ack: &[
        0x23, 5, 2, 0, 0, 0x23, 5, 4, 1, 1, 0x23, 5, 6, 1, 1, 0x21, 5, 6, 1, 1,
    ],
};

const CCID3: Capture = Capture {
    ccid: 3,
    request: &[
        0x29, 6, 0, 0x19, 0x3b, 0x5b, 0x20, 4, 1, 3, 0x22, 4, 1, 3, 1, 0x20, 4, 2, 0, 1, 0x20, 4,
        4, 1, 0x20, 5, 5, 0, 0, 0x22, 4, 6, 0, 0x20, 4, 6, 0, 0x20, 4, 7, 1, 1, 0x22, 4, 7, 1, 1,
        0x22, 4, 0xc0, 1, 1, 0x20, 4, 0xc0, 1,
    ],
    response: &[
        0, 0, 0, 0x2a, 8, 0, 0x19, 0x3b, 0x5b, 0, 3, 0x29, 6, 0, 0x19, 0x47, 0x1c, 0x21, 5, 1, 3,
        3, 0x23, 5, 1, 3, 3, 1, 0x20, 4, 2, 0, 0x23, 5, 2, 0, 0, 1, 0x20, 4, 4, 1, 0x23, 5, 4, 1,
        1, 0x20, 5, 5, 0, 0, 0x23, 5, 5, 0, 0, 0x22, 4, 6, 0, 0x20, 4, 6, 0, 0x20, 4, 7, 1, 1,
        0x22, 4, 7, 1, 1, 0x22, 4, 0xc0, 1, 1, 0x20, 4, 0xc0, 1,
    ],
    ack: &[
        0x23, 5, 2, 0, 0, 0x23, 5, 4, 1, 1, 0x23, 5, 5, 0, 0, 0x23, 5, 6, 0, 0, 0x21, 5, 6, 0, 0,
        0x21, 5, 7, 1, 1, 0x23, 5, 7, 1, 1, 0x23, 5, 0xc0, 1, 1, 0x21, 5, 0xc0, 1, 1,
    ],
};

/// Returns the (option type, feature, chosen value) of each Confirm in `bytes`.
fn confirms(bytes: Options<'_>) -> Vec<(u8, u8, u8)> {
    let mut confirms: Vec<_> = bytes
        .iter()
        .filter(|raw| matches!(raw.option_type, 0x21 | 0x23))
        .map(|raw| {
            // The last byte of a 16-bit value, which is below 256 here.
            let value = if raw.data[0] == 5 {
                raw.data[2]
            } else {
                raw.data[1]
            };
            (raw.option_type, raw.data[0], value)
        })
        .collect();
    confirms.sort_unstable();
    confirms
}

/// As a server: each Change of the kernel's Request gets a Confirm, with the values that the kernel's own server chose
/// or confirmed later. Both CCIDs are agreed on at once.
#[test]
fn a_kernel_client_gets_its_answers_on_the_response() {
    for capture in [CCID2, CCID3] {
        let what = format!("CCID {}", capture.ccid);
        let mut server = End::new(Role::Server, &Config::default());
        let request = Options::new(capture.request);
        server
            .receive_options(PacketType::Request, Seq::new(500), None, request)
            .unwrap_or_else(|fatal| panic!("{what}: {fatal:?}"));
        let changes = request
            .iter()
            .filter(|raw| matches!(raw.option_type, 0x20 | 0x22))
            .count();
        let response = server.send(at(0), PacketType::Response);
        let packet = Packet::decode(&response).unwrap();
        let told = confirms(packet.options);
        assert_eq!(told.len(), changes, "{what}: one Confirm per Change");
        // The kernel's two ends want the same, so what its client confirmed to its server is what its server would have
        // confirmed to it.
        for confirm in confirms(Options::new(capture.ack)) {
            assert!(told.contains(&confirm), "{what}: {confirm:?} in {told:?}");
        }
        for location in Location::BOTH {
            assert_eq!(
                server.negotiation.ccid(location),
                Some(Ccid::new(capture.ccid)),
                "{what}"
            );
        }
        assert_eq!(
            server.current(Feature::EcnIncapable, Location::Remote),
            1,
            "{what}"
        );
        assert!(server.negotiation.may_send_data(), "{what}");
    }
}

/// As a client: the kernel's Response, whose Changes cross ours, settles everything except what the captured kernel was
/// not asked. Our Ack carries the same answers as that of the kernel's own client, and so does every packet until the
/// handshake is known to be over.
#[test]
fn a_kernel_server_gets_its_answers_on_every_packet_of_partopen() {
    for capture in [CCID2, CCID3] {
        let what = format!("CCID {}", capture.ccid);
        let ccids = [capture.ccid];
        let mut client = End::new(Role::Client, &config(&ccids, &ccids));
        client.send(at(0), PacketType::Request);
        client
            .receive_options(
                PacketType::Response,
                Seq::new(7_000),
                Some(client.gss),
                Options::new(capture.response),
            )
            .unwrap_or_else(|fatal| panic!("{what}: {fatal:?}"));
        assert!(client.negotiation.may_send_data(), "{what}");
        for packet_type in [PacketType::Ack, PacketType::DataAck, PacketType::DataAck] {
            let head = client.send(at(60), packet_type);
            let packet = Packet::decode(&head).unwrap();
            let expected = confirms(Options::new(capture.ack));
            assert_eq!(
                confirms(packet.options),
                expected,
                "{what}: on {packet_type}"
            );
        }
        client.negotiation.on_open();
        let head = client.send(at(61), PacketType::DataAck);
        let packet = Packet::decode(&head).unwrap();
        assert_eq!(
            confirms(packet.options),
            [],
            "{what}: not after the handshake"
        );
    }
}

/// The kernel's client confirms to us what it confirmed to its own server. None of these Confirms is an error, although
/// we may not have asked for it.
#[test]
fn unexpected_confirms_of_a_kernel_are_ignored() {
    for capture in [CCID2, CCID3] {
        let mut server = End::new(Role::Server, &Config::default());
        server
            .receive_options(
                PacketType::Request,
                Seq::new(500),
                None,
                Options::new(capture.request),
            )
            .unwrap();
        server.send(at(0), PacketType::Response);
        let handled = server.receive_bytes(capture.ack).unwrap();
        assert!(handled.iter().all(|&handled| handled == Handled::Ignored));
    }
}
