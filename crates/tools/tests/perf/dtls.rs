//! The options and files of encrypted measurements.

use fairwire_tools::identity::{self, Fingerprint};
use fairwire_tools::perf::{ClientOptions, Dtls, Limit, Protocol, Server, ServerOptions, client};

use super::{Captured, Running, identity as new_identity};

/// A private key that others may read is refused, and so is an identity that would overwrite another.
#[cfg(unix)]
#[test]
fn keys_are_kept_private() {
    use std::os::unix::fs::PermissionsExt;

    let (directory, id, _) = new_identity();
    let again = identity::generate(&id, &["localhost".to_owned()], identity::valid_for(1));
    let text = again.expect_err("there is one").to_string();
    assert!(text.contains("exists"), "{text}");
    let key = directory.path().join("id.key");
    let mode = |bits| std::fs::Permissions::from_mode(bits);
    assert_eq!(
        std::fs::metadata(&key).expect("there").permissions().mode() & 0o777,
        0o600
    );
    identity::load(&id).expect("private");
    std::fs::set_permissions(&key, mode(0o640)).expect("ours");
    let text = identity::load(&id)
        .expect_err("others may read it")
        .to_string();
    assert!(text.contains("chmod 600") && text.contains("640"), "{text}");
}

/// A name that would give files with surprising names is refused, and so is one in a directory that does not exist.
#[test]
fn names_of_identities_are_checked() {
    let (directory, id, fingerprint) = new_identity();
    let refused = |name: &str| {
        let id = directory.path().join(name);
        let made = identity::generate(&id, &["localhost".to_owned()], identity::valid_for(1));
        made.expect_err("refused").to_string()
    };
    let text = refused("");
    assert!(text.contains("add one, as in"), "{text}");
    let text = refused("new.key");
    assert!(
        text.contains("without .key") && text.ends_with("new"),
        "{text}"
    );
    let text = refused("nowhere/id");
    assert!(
        text.contains("there is no directory") && text.contains("nowhere"),
        "{text}"
    );
    let files = std::fs::read_dir(directory.path()).expect("ours");
    assert_eq!(files.count(), 2, "nothing was left behind");
    let (_, certificate) = identity::files(&id);
    assert_eq!(
        identity::load(&id).expect("ours").fingerprint(),
        fingerprint
    );
    let text = identity::load(&directory.path().join("id.key"));
    let text = text.expect_err("a file of it").to_string();
    assert!(text.contains("without .key"), "{text}");
    std::fs::write(&certificate, [0x30, 0x82, 0xff]).expect("ours");
    let text = identity::load(&id).expect_err("not PEM").to_string();
    assert!(text.contains("PEM") && text.contains("id.crt"), "{text}");
    std::fs::remove_file(&certificate).expect("ours");
    let text = identity::load(&id).expect_err("half of it").to_string();
    assert!(text.contains("needs both files"), "{text}");
}

/// A server that serves only clients that it knows tells the others what to give.
#[test]
fn unknown_clients_are_told_what_to_give() {
    let (_server_files, id, fingerprint) = new_identity();
    let (_known_files, known, known_fingerprint) = new_identity();
    let (_other_files, other, _) = new_identity();
    let server = Running::with(Protocol::Dccp, |options| {
        options.dtls.identity = Some(id);
        options.dtls.pins = vec![known_fingerprint];
    });
    let mut options = ClientOptions::new("127.0.0.1", server.port);
    options.limit = Some(Limit::Bytes(100));
    options.dtls.pins = vec![fingerprint];
    let captured = Captured::default();
    for (identity, advice) in [
        (None, Some("give --dtls ID")),
        (Some(other), Some("keygen --show ID")),
        (Some(known), None),
    ] {
        options.dtls.identity = identity;
        let outcome = client(&options, &mut captured.console(false));
        let message = outcome.error.map(|error| error.message);
        match (message, advice) {
            (Some(message), Some(advice)) => assert!(message.contains(advice), "{message}"),
            (message, advice) => assert_eq!(message.is_some(), advice.is_some(), "{message:?}"),
        }
    }
    let said = server.captured.clone();
    assert_eq!(server.thread.join().expect("no panic"), 0);
    let said = said.text();
    assert!(
        said.contains("It serves only clients that it trusts"),
        "{said}"
    );
}

/// A client and a server of which only one encrypts part without a timeout, and each says what to do.
#[test]
fn who_encrypts_alone_is_told_at_once() {
    let (_directory, id, fingerprint) = new_identity();
    for encrypted in [false, true] {
        let server = Running::with(Protocol::Dccp, |options| {
            options.dtls.identity = encrypted.then(|| id.clone());
        });
        let mut options = ClientOptions::new("127.0.0.1", server.port);
        options.limit = Some(Limit::Bytes(100));
        options.dtls.pins = if encrypted {
            Vec::new()
        } else {
            vec![fingerprint]
        };
        let captured = Captured::default();
        let refused = client(&options, &mut captured.console(false));
        let message = refused.error.expect("refused").message;
        let address = format!("127.0.0.1:{}", server.port);
        assert!(message.contains(&address), "{message}");
        let (here, there) = if encrypted {
            ("give --dtls-pin", "it does not encrypt")
        } else {
            ("start the server with --dtls ID", "--dtls ID")
        };
        assert!(message.contains(here), "{message}");
        // The right client is served, so that the server ends.
        options.dtls.pins = if encrypted {
            vec![fingerprint]
        } else {
            Vec::new()
        };
        let served = client(&options, &mut captured.console(false));
        assert!(served.error.is_none(), "{:?}", served.error);
        let said = server.captured.clone();
        assert_eq!(server.thread.join().expect("no panic"), 0);
        let said = said.text();
        assert!(said.contains("refused 127.0.0.1"), "{said}");
        assert!(said.contains(there), "{said}");
        let announced = said.contains(&format!("--dtls-pin {fingerprint}"));
        assert_eq!(announced, encrypted, "{said}");
    }
}

/// A server names the file that is wrong, not its port, also where it would listen on every address.
#[tokio::test]
async fn a_server_tells_what_is_wrong_with_its_files() {
    let (directory, id, _) = new_identity();
    let bind = |dtls: Dtls| {
        let mut options = ServerOptions::new(0);
        options.dtls = dtls;
        Server::bind(options).expect_err("refused").to_string()
    };
    let missing = directory.path().join("nosuch");
    let mut dtls = Dtls::default();
    dtls.identity = Some(missing.clone());
    let text = bind(dtls.clone());
    assert!(
        text.contains("nosuch.key") && text.contains("keygen"),
        "{text}"
    );
    dtls.identity = Some(id);
    dtls.authorities = Some(missing);
    let text = bind(dtls);
    assert!(
        text.contains("nosuch: ") && !text.contains("keygen"),
        "{text}"
    );
}

/// Options that do not fit together are refused before anything is sent, with what to do.
#[test]
fn encryption_needs_an_identity_and_a_trusted_server() {
    let mut server = ServerOptions::new(7_001);
    server.dtls.pins = vec![Fingerprint::of(b"a client")];
    let text = server.check().expect_err("no identity").to_string();
    assert!(text.contains("keygen"), "{text}");
    let mut options = ClientOptions::new("127.0.0.1", 7_001);
    options.dtls.identity = Some("id".into());
    let text = options.check().expect_err("no server to trust").to_string();
    assert!(text.contains("--dtls-pin"), "{text}");
    options.dtls.pins = vec![Fingerprint::of(b"a server")];
    options.check().expect("complete");
    options.protocol = Protocol::Tcp;
    let text = options.check().expect_err("not for TCP").to_string();
    assert!(text.contains("--proto dccp"), "{text}");
}
