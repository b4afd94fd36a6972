//! Certificates and keys: made, written and read.

use std::fmt::Write;

use fairwire_tls::{
    ClientConfig, Date, Fingerprint, Identity, IdentityError, ServerConfig, Session, StartError,
    Validity,
};
use fairwire_units::{Duration, Instant};
use rcgen::{CertificateParams, CustomExtension, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};

use crate::net::{Net, TODAY, identity};

/// An identity that is written and read again is the same, and works.
#[test]
fn an_identity_is_read_back() {
    let made = identity();
    let (certificate, key) = (made.certificate_to_pem(), made.key_to_pem());
    assert!(certificate.starts_with("-----BEGIN CERTIFICATE-----\n"));
    assert!(key.starts_with("-----BEGIN PRIVATE KEY-----\n"));
    let read = Identity::from_pem(&certificate, &key).expect("its own text");
    assert_eq!(read.fingerprint(), made.fingerprint());
    assert_eq!(*read.key_to_pem(), *key);
    assert_eq!(Fingerprint::of(read.certificate()), made.fingerprint());
    let both = format!("# both in one file\n{}{certificate}", *key);
    let read = Identity::from_pem(&both, &both).expect("one file");
    let client = ClientConfig::pinned([made.fingerprint()]);
    let mut net = Net::new(&client, &ServerConfig::new(read));
    net.run_for(Duration::from_secs(1));
    net.expect_connected();
}

/// A key on P-384 works, too.
#[test]
fn a_key_on_p384_works() {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).expect("a key");
    let parameters = CertificateParams::new(["example.org".to_owned()]).expect("a name");
    let certificate = parameters.self_signed(&key).expect("a certificate");
    let identity = Identity::from_pem(&certificate.pem(), &key.serialize_pem()).expect("read");
    let client = ClientConfig::pinned([identity.fingerprint()]);
    let mut net = Net::new(&client, &ServerConfig::new(identity));
    net.run_for(Duration::from_secs(1));
    net.expect_connected();
}

/// Keys as `openssl ecparam -genkey` writes them are read, with the parameters before them.
#[test]
fn keys_of_openssl_are_read() {
    // Made with `openssl ecparam -name prime256v1 -genkey` and `openssl req -x509`.
    let key = include_str!("openssl.key");
    let certificate = include_str!("openssl.crt");
    let identity = Identity::from_pem(certificate, key).expect("openssl's files");
    let client = ClientConfig::pinned([identity.fingerprint()]);
    let mut net = Net::new(&client, &ServerConfig::new(identity));
    net.run_for(Duration::from_secs(1));
    net.expect_connected();
}

/// Names that no certificate can have, and validities that end before they begin, are refused and repeated.
#[test]
fn impossible_certificates_are_refused() {
    let validity = Validity::days(TODAY, 1);
    for name in [
        "not a name",
        "",
        "example.org:4433",
        "*",
        "*.192.0.2.1",
        "*.lan",
        "example.org.",
        "a.*.org",
    ] {
        let error = Identity::generate(&["example.org", name], validity).expect_err(name);
        let name = name.to_owned();
        assert_eq!(error, IdentityError::Name { name });
    }
    let (early, late) = (
        Date::from_unix_seconds(5),
        Date::from_unix_seconds(u64::MAX),
    );
    for validity in [
        Validity {
            from: TODAY,
            until: early,
        },
        Validity {
            from: TODAY,
            until: late,
        },
    ] {
        let error = Identity::generate(&[], validity).expect_err("impossible");
        assert_eq!(error, IdentityError::Validity { validity });
        assert!(error.to_string().contains("2026-11-18"), "{error}");
    }
}

/// Every fault of a certificate or key in PEM has its own error.
#[test]
fn faults_of_files_are_told() {
    let (one, other) = (identity(), identity());
    let (certificate, key) = (one.certificate_to_pem(), one.key_to_pem());
    let read =
        |certificate: &str, key: &str| Identity::from_pem(certificate, key).expect_err("a fault");

    let missing = |what, section| IdentityError::Missing { what, section };
    assert_eq!(read("", &key), missing("certificate", "CERTIFICATE"));
    assert_eq!(read(&key, &key), missing("certificate", "CERTIFICATE"));
    assert_eq!(
        read(&certificate, "key"),
        missing("private key", "PRIVATE KEY")
    );
    assert_eq!(
        read(&certificate, &certificate),
        missing("private key", "PRIVATE KEY")
    );

    let error = read(&certificate[..100], &key);
    assert!(
        matches!(
            error,
            IdentityError::NotPem {
                what: "certificate",
                ..
            }
        ),
        "{error}"
    );
    let error = read(&certificate, &key.replace('M', "!"));
    assert!(
        matches!(
            error,
            IdentityError::NotPem {
                what: "private key",
                ..
            }
        ),
        "{error}"
    );

    let chain = certificate.clone() + &other.certificate_to_pem();
    assert_eq!(read(&chain, &key), IdentityError::Chain { count: 2 });
    assert_eq!(
        read(&certificate, &other.key_to_pem()),
        IdentityError::OtherKey
    );

    let junk = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert!(matches!(read(junk, &key), IdentityError::Malformed { .. }));
    let junk = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    assert_eq!(read(&certificate, junk), IdentityError::OtherAlgorithm);
    let ed25519 = KeyPair::generate_for(&PKCS_ED25519)
        .expect("a key")
        .serialize_pem();
    assert_eq!(read(&certificate, &ed25519), IdentityError::OtherAlgorithm);
    let rsa = junk.replace("PRIVATE", "RSA PRIVATE");
    assert_eq!(read(&certificate, &rsa), IdentityError::OtherAlgorithm);
    let encrypted = junk.replace("PRIVATE", "ENCRYPTED PRIVATE");
    assert_eq!(read(&certificate, &encrypted), IdentityError::Encrypted);
    // As `openssl ec -aes256` writes it.
    let encrypted = "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END EC PRIVATE KEY-----\n";
    let error = read(&certificate, encrypted);
    assert_eq!(error, IdentityError::Encrypted);
    assert!(error.is_about_key());
}

/// A certificate works up to the length that a session names as its limit, and a longer one is refused.
#[test]
fn a_certificate_has_room_up_to_the_limit() {
    for max_datagram in [256, 300, 500, 1_200, 9_000] {
        let (mut low, mut high) = (padded(0), padded(8_000));
        let (mut fits, mut exceeds) = (0, 8_000);
        while fits + 1 < exceeds {
            let middle = usize::midpoint(fits, exceeds);
            let identity = padded(middle);
            if starts(&identity, max_datagram).is_ok() {
                (low, fits) = (identity, middle);
            } else {
                (high, exceeds) = (identity, middle);
            }
        }
        let Err(StartError::CertificateTooLarge { length, max, .. }) = starts(&high, max_datagram)
        else {
            panic!("it does not fit");
        };
        assert!(length > max && length < max + 10, "{length} and {max}");
        let longest = low;
        let client = ClientConfig::pinned([longest.fingerprint()]).identity(longest.clone());
        let trust = fairwire_tls::Trust::Fingerprints(vec![longest.fingerprint()]);
        let server = ServerConfig::new(longest).clients(trust);
        let mut net = Net::with_datagrams(&client, &server, max_datagram);
        net.run_for(Duration::from_secs(5));
        net.expect_connected();
    }
}

fn starts(identity: &Identity, max_datagram: usize) -> Result<(), StartError> {
    let config = ServerConfig::new(identity.clone());
    Session::server(&config, max_datagram, Instant::START, TODAY).map(|_| ())
}

/// Returns an identity whose certificate has an extension of `length` bytes.
fn padded(length: usize) -> Identity {
    let key = KeyPair::generate().expect("a key");
    let mut parameters = CertificateParams::new([]).expect("no names");
    let extension = CustomExtension::from_oid_content(&[1, 2, 3], vec![5; length]);
    parameters.custom_extensions.push(extension);
    let certificate = parameters.self_signed(&key).expect("a certificate");
    Identity::from_pem(&certificate.pem(), &key.serialize_pem()).expect("an identity")
}

/// Fingerprints print as tools print them.
#[test]
fn fingerprints_look_like_those_of_other_tools() {
    let identity = Identity::from_pem(include_str!("openssl.crt"), include_str!("openssl.key"));
    let fingerprint = identity.expect("openssl's files").fingerprint();
    let mut text = String::new();
    write!(text, "{fingerprint}").expect("a text");
    assert_eq!(
        text.to_uppercase(),
        include_str!("openssl.fingerprint").trim()
    );
}
