//! Whom the ends accept, and what they say about others.

use fairwire_tls::{
    Alert, Authorities, AuthoritiesError, CertificateError, ClientConfig, Date, Fingerprint,
    Identity, Output, ServerConfig, SessionError, Trust, Validity,
};
use fairwire_units::Duration;
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

use crate::net::{CLIENT, DELAY, Net, SERVER, TODAY, connected_peer, identity};

/// An authority that signs certificates.
struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut parameters = CertificateParams::new([]).expect("no names");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let certificate = parameters.self_signed(&key).expect("a certificate").pem();
        Self {
            certificate,
            issuer: Issuer::new(parameters, key),
        }
    }

    fn sign(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let mut parameters = CertificateParams::new([name.to_owned()]).expect("a name");
        parameters.not_before = date_time_ymd(2026, 1, 1);
        parameters.not_after = date_time_ymd(2027, 1, 1);
        change(&mut parameters);
        let certificate = parameters
            .signed_by(&key, &self.issuer)
            .expect("a certificate");
        Identity::from_pem(&certificate.pem(), &key.serialize_pem()).expect("an identity")
    }

    fn trusted(&self) -> Authorities {
        Authorities::from_pem(&self.certificate).expect("a certificate")
    }
}

fn verified(authority: &Authority, name: &str) -> ClientConfig {
    ClientConfig::verified(authority.trusted(), name.parse().expect("a name"))
}

/// Runs a handshake to its end, and returns the client's reason to refuse the server's certificate.
fn refusal(client: &ClientConfig, server: &Identity) -> CertificateError {
    let mut net = Net::new(client, &ServerConfig::new(server.clone()));
    net.run_for(Duration::from_secs(1));
    let SessionError::Certificate(error) = net.error(CLIENT) else {
        panic!("{:?}", net.error(CLIENT));
    };
    assert_eq!(error.shown(), server.fingerprint());
    assert!(
        error
            .to_string()
            .contains(&server.fingerprint().to_string())
    );
    assert!(net.done.iter().all(Vec::is_empty), "nobody is connected");
    *error.clone()
}

/// A client checks the whole of a server's certificate that comes in parts, of any size and in any order: it connects to
/// the one that it knows, and refuses another of that length.
///
/// RFC 9147, section 5.5: a message may be cut anywhere, and is put together again.
#[test]
fn a_certificate_in_parts_is_checked() {
    // As many names as fit into a handshake with datagrams of that size.
    for (names, max) in [(50, 600), (100, 900), (190, 1_400)] {
        let names: Vec<String> = (0..names)
            .map(|n| format!("host-{n}.a.long.example.org"))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let [own, other] = [(); 2]
            .map(|()| Identity::generate(&names, Validity::days(TODAY, 1)).expect("an identity"));
        let length = own.certificate().len();
        for is_reversed in [false, true] {
            for known in [own.fingerprint(), other.fingerprint()] {
                let client = ClientConfig::pinned([known]);
                let mut net = Net::with_datagrams(&client, &ServerConfig::new(own.clone()), max);
                let mut later = DELAY * 2;
                net.path = Box::new(move |from, _| {
                    if from == CLIENT || !is_reversed {
                        return vec![DELAY];
                    }
                    later = later.saturating_sub(Duration::from_micros(100));
                    vec![later]
                });
                // Parts that overtake many others are sent again, a second later.
                net.run_for(Duration::from_secs(10));
                let case = format!("{max} bytes, reversed {is_reversed}");
                let parts = net.sent.iter().filter(|(from, _)| *from == SERVER).count();
                assert!(parts > length / max, "{case}: {parts} parts");
                if known == own.fingerprint() {
                    net.expect_connected();
                    assert_eq!(net.ends[CLIENT].peer(), Some(known), "{case}");
                } else {
                    let refused = CertificateError::OtherFingerprint {
                        expected: vec![known],
                        shown: own.fingerprint(),
                    };
                    let refused = SessionError::Certificate(Box::new(refused));
                    assert_eq!(*net.error(CLIENT), refused, "{case}");
                    assert!(net.done.iter().all(Vec::is_empty), "nobody is connected");
                }
            }
        }
    }
}

/// A client refuses a server with another certificate than the pinned one, tells both fingerprints, and connects to the
/// right one of several, whatever names and dates it has.
#[test]
fn a_pin_decides_alone() {
    let (right, wrong) = (identity(), identity());
    let pinned = ClientConfig::pinned([right.fingerprint()]);
    let expected = CertificateError::OtherFingerprint {
        expected: vec![right.fingerprint()],
        shown: wrong.fingerprint(),
    };
    assert_eq!(refusal(&pinned, &wrong), expected);
    assert!(
        expected
            .to_string()
            .contains(&right.fingerprint().to_string())
    );
    let none = ClientConfig::pinned([]);
    assert!(
        refusal(&none, &wrong)
            .to_string()
            .contains("no fingerprint is accepted")
    );

    let long_ago = Validity::days(Date::from_unix_seconds(0), 1);
    let expired = Identity::generate(&[], long_ago).expect("an identity");
    let pinned = ClientConfig::pinned([right.fingerprint(), expired.fingerprint()]);
    let mut net = Net::new(&pinned, &ServerConfig::new(expired));
    net.run_for(Duration::from_secs(1));
    net.expect_connected();
}

/// A client that refuses its server sends nothing of its own: above all not its certificate.
#[test]
fn a_client_shows_nothing_to_a_server_that_it_refuses() {
    let (own, other) = (identity(), identity());
    let client = ClientConfig::pinned([own.fingerprint()]).identity(own.clone());
    let server = ServerConfig::new(other).clients(Trust::Fingerprints(vec![own.fingerprint()]));
    let mut net = Net::new(&client, &server);
    net.run_for(Duration::from_secs(1));
    assert!(net.failed[CLIENT].is_some());
    let from_client = net.sent.iter().filter(|(from, _)| *from == CLIENT);
    assert_eq!(from_client.count(), 2, "two hellos, and nothing after them");
}

/// A client accepts a server whose certificate is from its authority, for the host, and valid today.
#[test]
fn a_verified_server_connects() {
    let authority = Authority::new();
    for name in ["example.org", "192.0.2.7", "2001:db8::7"] {
        let server = authority.sign(name, |_| {});
        let mut net = Net::new(
            &verified(&authority, name),
            &ServerConfig::new(server.clone()),
        );
        net.run_for(Duration::from_secs(1));
        net.expect_connected();
        assert_eq!(
            connected_peer(&net.done[CLIENT]),
            Some(server.fingerprint())
        );
    }
    let own = Identity::generate(&["*.example.org"], Validity::days(TODAY, 1)).expect("a wildcard");
    let itself = Authorities::from_pem(&own.certificate_to_pem()).expect("a certificate");
    for (trusted, server) in [
        (authority.trusted(), authority.sign("*.example.org", |_| {})),
        (itself, own),
    ] {
        let name = "www.example.org".parse().expect("a name");
        let client = ClientConfig::verified(trusted, name);
        let mut net = Net::new(&client, &ServerConfig::new(server));
        net.run_for(Duration::from_secs(1));
        net.expect_connected();
    }
}

/// Each fault of a certificate has its own error, with the names and dates.
#[test]
fn faults_of_certificates_are_told() {
    let authority = Authority::new();
    let client = verified(&authority, "example.org");

    let error = refusal(&client, &authority.sign("example.com", |_| {}));
    assert!(
        matches!(error, CertificateError::OtherName { .. }),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("not for example.org, but for the host name example.com ("),
        "{text}"
    );

    let error = refusal(
        &client,
        &authority.sign("example.org", |p| p.not_after = date_time_ymd(2026, 3, 1)),
    );
    assert!(
        matches!(error, CertificateError::Expired { now: TODAY, .. }),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("2026-03-01 00:00:00 UTC") && text.contains("2026-11-18"),
        "{text}"
    );

    let error = refusal(
        &client,
        &authority.sign("example.org", |p| p.not_before = date_time_ymd(2026, 12, 1)),
    );
    assert!(
        matches!(error, CertificateError::NotYetValid { now: TODAY, .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("2026-12-01 00:00:00 UTC"),
        "{error}"
    );

    let error = refusal(&client, &Authority::new().sign("example.org", |_| {}));
    assert!(
        matches!(error, CertificateError::UnknownIssuer { .. }),
        "{error}"
    );
    let error = refusal(&client, &identity());
    assert!(
        matches!(error, CertificateError::UnknownIssuer { .. }),
        "{error}"
    );

    let only_clients = |p: &mut CertificateParams| {
        p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    };
    let error = refusal(&client, &authority.sign("example.org", only_clients));
    assert!(matches!(error, CertificateError::Invalid { .. }), "{error}");
}

/// A server that requires clients' certificates accepts the right ones, by fingerprint or by authority, and learns
/// which.
#[test]
fn clients_with_the_right_certificate_connect() {
    let authority = Authority::new();
    let server = identity();
    let by_authority = authority.sign("client.example.org", |_| {});
    let by_pin = identity();
    let cases = [
        (by_authority, Trust::Authorities(authority.trusted())),
        (
            by_pin.clone(),
            Trust::Fingerprints(vec![by_pin.fingerprint()]),
        ),
    ];
    for (own, trust) in cases {
        let client = ClientConfig::pinned([server.fingerprint()]).identity(own.clone());
        let mut net = Net::new(&client, &ServerConfig::new(server.clone()).clients(trust));
        net.run_for(Duration::from_secs(1));
        net.expect_connected();
        assert_eq!(connected_peer(&net.done[SERVER]), Some(own.fingerprint()));
        assert_eq!(net.ends[SERVER].peer(), Some(own.fingerprint()));
    }
}

/// A client without a certificate is refused by a server that requires one, and learns why: its own handshake was
/// complete, so this arrives as an alert after it.
#[test]
fn a_client_without_certificate_is_refused() {
    let server = identity();
    let client = ClientConfig::pinned([server.fingerprint()]);
    let trust = Trust::Fingerprints(vec![server.fingerprint()]);
    let mut net = Net::new(&client, &ServerConfig::new(server).clients(trust));
    net.run_for(Duration::from_secs(1));
    assert_eq!(*net.error(SERVER), SessionError::NoCertificate);
    assert!(net.done[SERVER].is_empty());
    assert_eq!(
        *net.error(CLIENT),
        SessionError::Alert(Alert::CERTIFICATE_REQUIRED)
    );
    assert!(
        net.error(CLIENT)
            .to_string()
            .contains("certificate_required (116)")
    );
}

/// A client with an unknown certificate is refused; it sees that the server closes.
#[test]
fn an_unknown_client_is_refused() {
    let (server, own) = (identity(), identity());
    let client = ClientConfig::pinned([server.fingerprint()]).identity(own.clone());
    let expected = vec![Fingerprint::of(b"somebody else")];
    let config = ServerConfig::new(server).clients(Trust::Fingerprints(expected.clone()));
    let mut net = Net::new(&client, &config);
    net.run_for(Duration::from_secs(1));
    let error = CertificateError::OtherFingerprint {
        expected,
        shown: own.fingerprint(),
    };
    assert_eq!(
        *net.error(SERVER),
        SessionError::Certificate(Box::new(error))
    );
    assert!(net.done[SERVER].is_empty(), "no data reach the application");
    assert_eq!(net.done[CLIENT].last(), Some(&Output::Closed));
    assert_eq!(net.ends[SERVER].peer(), None);
}

/// A server that does not ask for certificates does not learn the client's.
#[test]
fn nobody_asked_for_a_certificate() {
    let (server, own) = (identity(), identity());
    let client = ClientConfig::pinned([server.fingerprint()]).identity(own);
    let mut net = Net::new(&client, &ServerConfig::new(server));
    net.run_for(Duration::from_secs(1));
    net.expect_connected();
    assert_eq!(connected_peer(&net.done[SERVER]), None);
}

/// Texts without a certificate, with a broken one, or with broken PEM are refused, and the error says which it is.
#[test]
fn authorities_are_checked_when_they_are_read() {
    assert_eq!(
        Authorities::from_pem("").err(),
        Some(AuthoritiesError::Empty)
    );
    assert_eq!(
        Authorities::from_der([]).err(),
        Some(AuthoritiesError::Empty)
    );
    let good = identity();
    let error = Authorities::from_der([good.certificate(), b"junk"]).expect_err("junk");
    assert!(
        matches!(error, AuthoritiesError::Malformed { place: 2, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("number 2"), "{error}");
    let cut = &good.certificate_to_pem()[..200];
    let error = Authorities::from_pem(cut).expect_err("cut off");
    assert!(matches!(error, AuthoritiesError::NotPem { .. }), "{error}");
    let two = Authority::new().certificate + &Authority::new().certificate;
    assert!(Authorities::from_pem(&two).is_ok());
}
