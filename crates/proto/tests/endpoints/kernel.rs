//! The first packet of a Linux kernel, as captured, with its checksum.

use fairwire_kit::{Draft, SERVICE, plain};
use fairwire_units::Instant;
use fairwire_wire::{Ccid, DccpOption, HeadBuf, Kind, Packet, PacketType};

use fairwire_proto::{Config, Encapsulation, Endpoint, EndpointConfig, Event, Path, Payload};

const CCID2: &str = "e68413890e006d200100364a728b3d3b0000002a000029060008c8c82004010222040102\
    0120040200012004040101220406010120040601";

const CCID3: &str = "840413891300025c0100dac932d517c20000002a290600193b5b2004010322040103012\
    0040200012004040120050500002204060020040600200407010122040701012204c001012004c001";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] * 16 + pair[1]) as u8)
        .collect()
}

/// A Request of a Linux kernel with CCID 2 or CCID 3 is accepted.
///
/// Each of its Changes is answered by the rules of its feature, and the connection opens with the CCID of the Request.
#[test]
fn a_kernel_s_request_is_granted() {
    for (ccid, hex) in [(2, CCID2), (3, CCID3)] {
        let mut head = bytes(hex);
        head.truncate(usize::from(head[4]) * 4);
        let now = Instant::START;
        let mut end = Endpoint::new(EndpointConfig::default(), [3; 32]);
        end.listen(5_001, &[SERVICE], Config::default()).unwrap();
        let path = Path {
            encapsulation: Encapsulation::Native,
            local: ([10, 0, 3, 2], 0).into(),
            remote: ([10, 0, 1, 2], 0).into(),
        };
        let meta = plain(path);
        end.handle_datagram(now, meta, &head, Payload::EMPTY);
        assert_eq!(end.endpoint_stats().checksum_errors, 0);
        let mut out = HeadBuf::new();
        end.poll_transmit(now, &mut out).expect("a Response");
        let response = Packet::decode(out.as_slice()).unwrap();
        assert_eq!(response.packet_type(), PacketType::Response);
        let options: Vec<_> = response
            .options
            .iter()
            .map(|raw| raw.decode().unwrap())
            .collect();
        // The first value of each Confirm.
        let confirms: Vec<_> = options
            .iter()
            .filter_map(|option| match *option {
                DccpOption::ConfirmL { feature, value } => Some(('L', feature, value[0])),
                DccpOption::ConfirmR { feature, value } => Some(('R', feature, value[0])),
                _ => None,
            })
            .collect();
        for confirm in [('R', 1, ccid), ('L', 1, ccid), ('R', 2, 0), ('R', 4, 1)] {
            assert!(confirms.contains(&confirm), "{confirm:?}: {options:?}");
        }
        let echoes = options
            .iter()
            .any(|o| matches!(o, DccpOption::TimestampEcho { .. }));
        assert!(echoes, "{options:?}");

        let request = Packet::decode(&head).unwrap();
        let ports = request.ports;
        let seq = request.seq.long().unwrap().next();
        let kind = Kind::Ack { ack: response.seq };
        let ack = Draft::new(ports, seq, kind).head(&path, |_| {});
        end.handle_datagram(now, meta, &ack, Payload::EMPTY);
        let (id, event) = end.poll_event().unwrap();
        assert_eq!(event, Event::Accepted { port: 5_001 });
        let stats = end.stats(id).unwrap();
        assert_eq!(
            (stats.send_ccid, stats.receive_ccid),
            (Some(Ccid::new(ccid)), Some(Ccid::new(ccid)))
        );
    }
}
