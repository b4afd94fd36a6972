//! A client that has the keys of its session and sends records with any content.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};
use std::time;

use dimpl::crypto::{
    Aad, Buf, Cipher, CryptoProvider, Dtls13CipherSuite, HashAlgorithm, Nonce,
    SupportedDtls13CipherSuite, TmpBuf, aws_lc_rs,
};
use dimpl::{Config, CryptoError, Dtls, DtlsCertificate};
use fairwire_tls::{Output, Session, SessionError};
use fairwire_units::Instant;
use rcgen::{CertificateParams, KeyPair};

/// The library tests all its cryptography when it makes one.
static CONFIG: LazyLock<Arc<Config>> = LazyLock::new(|| {
    let provider = CryptoProvider {
        dtls13_cipher_suites: &[&Forging],
        ..aws_lc_rs::default_provider()
    };
    let config = Config::builder().with_crypto_provider(provider).build();
    Arc::new(config.expect("a configuration"))
});

thread_local! {
    /// What the next records contain instead of what the library writes: content, type, zeros.
    static FORGED: RefCell<VecDeque<Vec<u8>>> = const { RefCell::new(VecDeque::new()) };
}

/// A client on another library than a session has around it: nothing checks what it sends.
pub(crate) struct Keyed {
    library: Dtls,
    now: time::Instant,
}

impl Keyed {
    #[expect(
        clippy::disallowed_methods,
        reason = "that library's clock; no time passes in these tests"
    )]
    pub(crate) fn client() -> Self {
        let now = time::Instant::now();
        let mut library = Dtls::new_13(Arc::clone(&CONFIG), certificate(), now);
        library.set_active(true);
        library.handle_timeout(now).expect("it begins");
        Self { library, now }
    }

    /// Returns the next datagram that it sends.
    pub(crate) fn poll(&mut self) -> Option<Vec<u8>> {
        let mut buffer = vec![0; 20_000];
        loop {
            match self.library.poll_output(&mut buffer) {
                dimpl::Output::Packet(datagram) => return Some(datagram.to_vec()),
                dimpl::Output::Timeout(_) => return None,
                _ => {}
            }
        }
    }

    /// Takes what a server sends, and returns whether it was anything.
    pub(crate) fn take(&mut self, server: &mut Session) -> bool {
        let mut is_any = false;
        loop {
            match server.poll() {
                Output::Idle => return is_any,
                Output::Send(datagram) => {
                    is_any = true;
                    self.library
                        .handle_packet(&datagram)
                        .expect("a good server");
                }
                _ => {}
            }
        }
    }

    /// Exchanges datagrams until both rest. The first `forged` replace what its own protected records have.
    pub(crate) fn connect(&mut self, server: &mut Session, forged: Vec<Vec<u8>>) {
        FORGED.set(forged.into());
        loop {
            let mut is_any = false;
            while let Some(datagram) = self.poll() {
                is_any = true;
                let _ = server.handle_datagram(Instant::START, &datagram);
            }
            if !self.take(server) && !is_any {
                FORGED.take();
                return;
            }
        }
    }

    /// Sends its last flight once more, and returns its datagrams.
    pub(crate) fn repeat(&mut self, forged: Vec<u8>) -> Vec<Vec<u8>> {
        self.now += time::Duration::from_secs(300);
        FORGED.set([forged].into());
        let _ = self.library.handle_timeout(self.now);
        FORGED.take();
        std::iter::from_fn(|| self.poll()).collect()
    }

    /// Seals any content of this type in a record.
    pub(crate) fn seal(&mut self, kind: u8, content: &[u8]) -> Vec<u8> {
        FORGED.set([[content, &[kind]].concat()].into());
        let sealed = self.library.send_application_data(content);
        sealed.expect("it is connected");
        self.poll().expect("a record")
    }

    /// Connects to a server, which accepts it.
    pub(crate) fn connected(server: &mut Session) -> Result<Self, SessionError> {
        let mut client = Self::client();
        client.connect(server, Vec::new());
        assert!(server.is_connected(), "{server:?}");
        server.handle_datagram(Instant::START, &client.seal(23, b"first"))?;
        Ok(client)
    }
}

/// Returns a part of a handshake message.
pub(crate) fn part(kind: u8, number: u16, length: u8, offset: u8, body: &[u8]) -> Vec<u8> {
    let own = u8::try_from(body.len()).expect("short");
    let [high, low] = number.to_be_bytes();
    let header = [kind, 0, 0, length, high, low, 0, 0, offset, 0, 0, own];
    [&header[..], body].concat()
}

/// Returns a record in the clear.
pub(crate) fn plain(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).expect("short");
    let header = [kind, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 7];
    [&header[..], &length.to_be_bytes(), content].concat()
}

#[derive(Debug)]
struct Forging;

impl Forging {
    fn inner() -> &'static dyn SupportedDtls13CipherSuite {
        aws_lc_rs::default_provider().dtls13_cipher_suites[0]
    }
}

impl SupportedDtls13CipherSuite for Forging {
    fn suite(&self) -> Dtls13CipherSuite {
        Self::inner().suite()
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        Self::inner().hash_algorithm()
    }

    fn key_len(&self) -> usize {
        Self::inner().key_len()
    }

    fn iv_len(&self) -> usize {
        Self::inner().iv_len()
    }

    fn tag_len(&self) -> usize {
        Self::inner().tag_len()
    }

    fn create_cipher(&self, key: &[u8]) -> Result<Box<dyn Cipher>, CryptoError> {
        Ok(Box::new(ForgingCipher(Self::inner().create_cipher(key)?)))
    }

    fn encrypt_sn(&self, key: &[u8], sample: &[u8; 16]) -> [u8; 16] {
        Self::inner().encrypt_sn(key, sample)
    }
}

#[derive(Debug)]
struct ForgingCipher(Box<dyn Cipher>);

impl Cipher for ForgingCipher {
    fn encrypt(&mut self, text: &mut Buf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        if let Some(mut forged) = FORGED.with_borrow_mut(VecDeque::pop_front) {
            // The header with the length is written already.
            forged.resize(text.len(), 0);
            text.copy_from_slice(&forged);
        }
        self.0.encrypt(text, aad, nonce)
    }

    fn decrypt(&mut self, text: &mut TmpBuf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        self.0.decrypt(text, aad, nonce)
    }
}

/// Returns a new certificate for an end that is the library itself.
pub(crate) fn certificate() -> DtlsCertificate {
    let key = KeyPair::generate().expect("a key");
    let parameters = CertificateParams::new([]).expect("no names");
    let certificate = parameters.self_signed(&key).expect("a certificate");
    DtlsCertificate {
        certificate: certificate.der().to_vec(),
        private_key: key.serialize_der(),
    }
}
