//! Fields of the header, and a server's answers to Requests.

use super::*;

/// Delivers a packet to the server from a port without a connection, and returns the answers.
fn stranger(pair: &mut Pair, port: u16, kind: &Kind, ccval: u8) -> Vec<Kind> {
    let ports = Ports {
        source: 40_000,
        destination: port,
    };
    knock(pair, ports, Seq::new(1_000), kind, ccval)
}

/// Delivers a packet to the server, and returns its immediate answers.
fn knock(pair: &mut Pair, ports: Ports, seq: Seq, kind: &Kind, ccval: u8) -> Vec<Kind> {
    let mut draft = Draft::new(ports, seq, *kind).with(Payload::from(vec![7; 10]));
    draft.ccval = ccval;
    let answers = pair.answers_to(&pair.make(CLIENT, draft, |_| {}));
    answers.iter().map(|sent| sent.packet().kind).collect()
}

fn code(answers: &[Kind]) -> Option<ResetCode> {
    match answers {
        [Kind::Reset { code, .. }] => Some(*code),
        _ => None,
    }
}

/// RFC 4340, 8.1.3, and RFC 5595, 3.3.1: a Request to a port without a listener gets Reset 7.
#[test]
fn a_port_without_a_listener_refuses() {
    let mut pair = open(2);
    let request = Kind::Request { service: SERVICE };
    let answers = stranger(&mut pair, PORT + 1, &request, 0);
    assert_eq!(code(&answers), Some(ResetCode::ConnectionRefused));
}

/// RFC 4340, 8.1.2, and RFC 5595, 3.3.1 and 3.3.3: a service that the port does not offer gets Reset 8; one that it
/// offers gets a Response with the same code.
#[test]
fn a_port_refuses_other_services() {
    let mut pair = open(2);
    let request = Kind::Request {
        service: ServiceCode(3),
    };
    let answers = stranger(&mut pair, PORT, &request, 0);
    assert_eq!(code(&answers), Some(ResetCode::BadServiceCode));
    let request = Kind::Request {
        service: OTHER_SERVICE,
    };
    let answers = stranger(&mut pair, PORT, &request, 0);
    assert!(matches!(
        answers[..],
        [Kind::Response {
            service: OTHER_SERVICE,
            ..
        }]
    ));
}

/// RFC 4340, 8.1.2, and RFC 5595, 2.5: the invalid Service Code gets Reset 8, and neither end may be created with it.
#[test]
fn the_invalid_service_is_refused() {
    let mut pair = open(2);
    let service = ServiceCode::INVALID;
    let answers = stranger(&mut pair, PORT, &Kind::Request { service }, 0);
    assert_eq!(code(&answers), Some(ResetCode::BadServiceCode));
    let listening = pair.ends[SERVER].listen(PORT + 1, &[SERVICE, service], config(2));
    assert!(listening.is_err());
    let (now, path) = (pair.now, pair.path(CLIENT));
    let connected = pair.ends[CLIENT].connect(now, path, None, PORT, service, config(2));
    assert!(connected.is_err());
}

/// RFC 5595, 3.3: a port belongs to one server, whatever services it offers.
#[test]
fn a_port_belongs_to_one_server() {
    let mut pair = open(2);
    for service in [SERVICE, ServiceCode(3)] {
        let again = pair.ends[SERVER].listen(PORT, &[service], config(2));
        assert!(again.is_err(), "{service}");
    }
}

/// RFC 4340, 5.1: CCID 2 does not use `CCVal`, so data arrives whatever its value.
#[test]
fn ccval_is_not_looked_at() {
    for ccval in [0, 1, 15] {
        let mut pair = open(2);
        let (source, destination, _) = pair.ends[CLIENT]
            .addresses(pair.client.expect("begun"))
            .expect("open");
        let (seq, ack) = next_numbers(&pair, CLIENT);
        let ports = Ports {
            source,
            destination,
        };
        let data = Kind::DataAck { ack: ack.into() };
        knock(&mut pair, ports, seq, &data, ccval);
        let server = pair.server.expect("open");
        let received = pair.ends[SERVER].recv(server);
        assert_eq!(received.map(|r| r.payload.len()), Some(10), "CCVal {ccval}");
    }
}

/// RFC 4340, 5.6: Reset 0 has no meaning, so we never send it.
#[test]
fn no_reset_is_unspecified() {
    let ack = Seq::new(5).into();
    let invalid = ServiceCode::INVALID;
    let (request, stray) = (Kind::Request { service: invalid }, Kind::Ack { ack });
    let mut resets = 0;
    for case in 0..6 {
        let mut pair = open(2);
        let (now, [client, server]) = (pair.now, pair.ids());
        match case {
            0 => drop(stranger(&mut pair, PORT, &request, 0)),
            1 => drop(stranger(&mut pair, PORT + 1, &stray, 0)),
            2 => pair.ends[CLIENT].abort(now, client),
            3 => pair.ends[CLIENT].close(now, client),
            4 => pair.ends[SERVER].close(now, server),
            _ => {
                let (seq, ack) = next_numbers(&pair, CLIENT);
                inject(
                    &mut pair,
                    CLIENT,
                    seq,
                    &Kind::Ack { ack: ack.into() },
                    |encoder| {
                        encoder.raw_option(1, &[]).expect("there is room");
                        encoder.raw_option(99, &[]).expect("there is room");
                    },
                );
            }
        }
        pair.run_for(Duration::from_secs(1));
        for sent in &pair.log {
            if let Kind::Reset { code, .. } = sent.packet().kind {
                resets += 1;
                assert_ne!(code, ResetCode::Unspecified, "case {case}");
            }
        }
    }
    assert!(resets >= 6, "each case ends in a Reset: {resets}");
}
