//! An end that has the keys of its session and sends records with any content and of any length.

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
static CONFIG: LazyLock<Arc<Config>> = LazyLock::new(|| config(1 << 23));

/// Replaces its key after each record.
static RENEWING: LazyLock<Arc<Config>> = LazyLock::new(|| config(1));

fn config(records_per_key: u64) -> Arc<Config> {
    let provider = CryptoProvider {
        dtls13_cipher_suites: &[&Forging],
        ..aws_lc_rs::default_provider()
    };
    let config = Config::builder()
        .with_crypto_provider(provider)
        // It goes on and on with what is not answered.
        .flight_start_rto(time::Duration::from_nanos(1))
        .flight_retries(REPEATS)
        .handshake_timeout(LONG)
        .require_client_certificate(false)
        .aead_encryption_limit(records_per_key)
        .build();
    Arc::new(config.expect("a configuration"))
}

/// How often a flight can be sent again: each time takes twice as long as the last one, from a nanosecond on.
const REPEATS: usize = 56;
/// Longer than that. It is the library's limit.
const LONG: time::Duration = time::Duration::from_secs(3_650 * 86_400);

thread_local! {
    /// What the next records contain instead of what the library writes: content, type, zeros.
    static FORGED: RefCell<VecDeque<Vec<u8>>> = const { RefCell::new(VecDeque::new()) };
    /// A record that is longer than the library's, and whose number is not protected yet.
    static LONGER: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
    /// Such records that have not left.
    static MADE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// An end on another library than a session has around it: nothing checks what it sends.
pub(crate) struct Keyed {
    dtls: Dtls,
    now: time::Instant,
}

impl Keyed {
    pub(crate) fn client() -> Self {
        Self::client_with(&CONFIG)
    }

    fn client_with(config: &Arc<Config>) -> Self {
        let mut client = Self::begin(config, certificate());
        client.dtls.set_active(true);
        client.dtls.handle_timeout(client.now).expect("it begins");
        client
    }

    /// A server that shows this certificate.
    pub(crate) fn server(certificate: DtlsCertificate) -> Self {
        Self::server_with(&CONFIG, certificate)
    }

    fn server_with(config: &Arc<Config>, certificate: DtlsCertificate) -> Self {
        let mut server = Self::begin(config, certificate);
        server.dtls.handle_timeout(server.now).expect("it begins");
        server
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "that library's clock; no time passes in these tests"
    )]
    fn begin(config: &Arc<Config>, certificate: DtlsCertificate) -> Self {
        MADE.take();
        let now = time::Instant::now();
        let dtls = Dtls::new_13(Arc::clone(config), certificate, now);
        Self { dtls, now }
    }

    /// Returns the next datagram that it sends.
    pub(crate) fn poll(&mut self) -> Option<Vec<u8>> {
        let mut buffer = vec![0; 20_000];
        loop {
            match self.dtls.poll_output(&mut buffer) {
                // The library's records that longer ones replace have the same numbers, and count as copies.
                dimpl::Output::Packet(datagram) => {
                    return Some([&MADE.take(), datagram].concat());
                }
                dimpl::Output::BufferTooSmall { needed } => buffer = vec![0; needed],
                dimpl::Output::Timeout(_) => return None,
                _ => {}
            }
        }
    }

    /// Takes what its peer sends. What it cannot read it drops.
    pub(crate) fn hear(&mut self, datagram: &[u8]) {
        let _ = self.dtls.handle_packet(datagram);
    }

    /// Puts these contents in place of those of the next records that an end of this thread protects, one after the other.
    pub(crate) fn forge(contents: Vec<Vec<u8>>) {
        FORGED.set(contents.into());
    }

    /// Exchanges datagrams until both rest. The first `forged` replace what its own protected records have.
    pub(crate) fn connect(&mut self, peer: &mut Session, forged: Vec<Vec<u8>>) {
        Self::forge(forged);
        loop {
            let mut is_any = false;
            loop {
                match peer.poll() {
                    Output::Idle => break,
                    Output::Send(datagram) => {
                        is_any = true;
                        self.hear(&datagram);
                    }
                    _ => {}
                }
            }
            while let Some(datagram) = self.poll() {
                is_any = true;
                let _ = peer.handle_datagram(Instant::START, &datagram);
            }
            if !is_any {
                Self::forge(Vec::new());
                return;
            }
        }
    }

    /// Sends its last flight once more, with this in place of its first record, and returns its datagrams.
    pub(crate) fn repeat(&mut self, forged: Vec<u8>) -> Vec<Vec<u8>> {
        self.repeat_with(vec![forged])
    }

    /// The same, as it was.
    pub(crate) fn repeat_all(&mut self) -> Vec<Vec<u8>> {
        self.repeat_with(Vec::new())
    }

    fn repeat_with(&mut self, forged: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let mut buffer = vec![0; 20_000];
        if let dimpl::Output::Timeout(at) = self.dtls.poll_output(&mut buffer)
            && at < self.now + LONG
        {
            self.now = self.now.max(at);
        }
        Self::forge(forged);
        let _ = self.dtls.handle_timeout(self.now);
        Self::forge(Vec::new());
        std::iter::from_fn(|| self.poll()).collect()
    }

    /// Seals any content of this type in a record.
    pub(crate) fn seal(&mut self, kind: u8, content: &[u8]) -> Vec<u8> {
        self.try_seal(kind, content).expect("it is connected")
    }

    /// The same, unless its own handshake is not complete or it has ended.
    pub(crate) fn try_seal(&mut self, kind: u8, content: &[u8]) -> Option<Vec<u8>> {
        Self::forge(vec![[content, &[kind]].concat()]);
        let sealed = self.dtls.send_application_data(content);
        Self::forge(Vec::new());
        sealed.ok()?;
        self.poll()
    }

    /// A client and a server whose keys are replaced each time that [`renew`](Self::renew) says so.
    pub(crate) fn renewing_client() -> Self {
        Self::client_with(&RENEWING)
    }

    pub(crate) fn renewing_server(certificate: DtlsCertificate) -> Self {
        Self::server_with(&RENEWING, certificate)
    }

    /// Sends data, and these messages in place of the one that announces a new key; returns both records. It uses that
    /// key once its peer has acknowledged the second one, and announces no other before.
    pub(crate) fn renew(&mut self, messages: &[u8]) -> Option<Vec<u8>> {
        let mut records = self.seal(23, b"data");
        Self::forge(vec![[messages, &[22]].concat()]);
        self.dtls.handle_timeout(self.now).expect("it goes on");
        Self::forge(Vec::new());
        let sealed = self.poll()?;
        // Behind a longer record is the one that it replaces.
        let length = HEADER + usize::from(u16::from_be_bytes([sealed[3], sealed[4]]));
        records.extend_from_slice(&sealed[..length]);
        Some(records)
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

/// The header of a protected record, and its tag.
const HEADER: usize = 5;
const TAG: usize = 16;

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
        if let Some(mut record) = LONGER.take()
            && let Some(sample) = record[HEADER..].first_chunk()
        {
            let mask = Self::inner().encrypt_sn(key, sample);
            record[1] ^= mask[0];
            record[2] ^= mask[1];
            MADE.with_borrow_mut(|made| made.extend_from_slice(&record));
        }
        Self::inner().encrypt_sn(key, sample)
    }
}

#[derive(Debug)]
struct ForgingCipher(Box<dyn Cipher>);

impl Cipher for ForgingCipher {
    fn encrypt(&mut self, text: &mut Buf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        let forged = FORGED.with_borrow_mut(VecDeque::pop_front);
        if let Some(mut forged) = forged {
            if forged.len() > text.len() {
                LONGER.set(Some(self.longer(&forged, aad.clone(), nonce)?));
            } else {
                // The header with the length is written already.
                forged.resize(text.len(), 0);
                text.copy_from_slice(&forged);
            }
        }
        self.0.encrypt(text, aad, nonce)
    }

    fn decrypt(&mut self, text: &mut TmpBuf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        self.0.decrypt(text, aad, nonce)
    }
}

impl ForgingCipher {
    /// Returns a record with this content and the number of the library's record that has this header (RFC 9147,
    /// section 4): flags, number, length.
    fn longer(
        &mut self,
        content: &[u8],
        mut aad: Aad,
        nonce: Nonce,
    ) -> Result<Vec<u8>, CryptoError> {
        let length = u16::try_from(content.len() + TAG).expect("short");
        aad.0[HEADER - 2..].copy_from_slice(&length.to_be_bytes());
        let mut text = Buf::new();
        text.extend_from_slice(content);
        self.0.encrypt(&mut text, aad.clone(), nonce)?;
        Ok([&aad.0[..], &text].concat())
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
