//! The options and files of encrypted measurements.

use fairwire_tools::identity::{self, Fingerprint};
use fairwire_tools::perf::{ClientOptions, Dtls, Protocol, Server, ServerOptions};

use super::identity as new_identity;

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
