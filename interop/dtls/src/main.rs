//! DTLS 1.3 over DCCP with BoringSSL as the peer, in both directions, on loopback.
//!
//! One end is ours with `Security::dtls`. The other is BoringSSL on a DCCP connection in clear text: the adapter in `wire`
//! carries its datagrams. Each run sends data both ways, ends with `close_notify`, and prints a line. Exit status: 0 if all
//! passed.

mod wire;

use std::error::Error;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::time::Duration;

use boring::pkey::PKey;
use boring::ssl::{Ssl, SslContext, SslContextBuilder, SslMethod, SslVerifyMode, SslVersion};
use boring::x509::X509;
use fairwire::tls::{ClientConfig, Date, Identity, ServerConfig, Trust, Validity};
use fairwire::{Connection, DccpAddr, Endpoint, Security, ServiceCode};
use tokio::time::timeout;

use wire::{Boring, Queues};

/// Whatever goes wrong.
pub type Failure = Box<dyn Error + Send + Sync>;

const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"?dtl");
const PORT: u16 = 5_004;
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest datagram that BoringSSL makes, bytes.
const MTU: u32 = 1_200;
/// Datagrams sent in each direction.
const ROUNDS: usize = 200;
/// How many records our keys protect. Each new one of ours asks for one of BoringSSL.
const RECORDS_PER_KEY: u64 = 30;

fn identity() -> Result<Identity, Failure> {
    let validity = Validity::days(Date::from_unix_seconds(0), 40_000);
    Ok(Identity::generate(&["dtls.test"], validity)?)
}

/// BoringSSL's context, for DTLS 1.3 only, with an identity that our side made.
fn context(identity: &Identity) -> Result<SslContextBuilder, Failure> {
    let mut context = SslContext::builder(SslMethod::dtls())?;
    context.set_min_proto_version(Some(SslVersion::DTLS1_3))?;
    context.set_max_proto_version(Some(SslVersion::DTLS1_3))?;
    let certificate = X509::from_pem(identity.certificate_to_pem().as_bytes())?;
    let key = PKey::private_key_from_pem(identity.key_to_pem().as_bytes())?;
    context.set_certificate(&certificate)?;
    context.set_private_key(&key)?;
    Ok(context)
}

fn session(context: SslContextBuilder) -> Result<Ssl, Failure> {
    let mut ssl = Ssl::new(&context.build())?;
    ssl.set_mtu(MTU)?;
    Ok(ssl)
}

/// Sends data from ours to theirs and back, of growing sizes.
async fn exchange(ours: &Connection, theirs: &mut Boring) -> Result<(), Failure> {
    for round in 0..ROUNDS {
        let data = vec![u8::try_from(round % 251)?; 1 + round * 5];
        ours.send(data.clone()).await?;
        if theirs.recv().await?.as_deref() != Some(&data[..]) {
            return Err(format!("round {round}: BoringSSL got other data").into());
        }
        theirs.send(&data).await?;
        if ours.recv().await?.data != data {
            return Err(format!("round {round}: we got other data").into());
        }
    }
    Ok(())
}

/// BoringSSL connects to our server, which knows it by its certificate if `mutual`.
async fn their_client(mutual: bool) -> Result<String, Failure> {
    let (server, client) = (identity()?, identity()?);
    let mut config = ServerConfig::new(server.clone()).records_per_key(RECORDS_PER_KEY);
    if mutual {
        config = config.clients(Trust::Fingerprints(vec![client.fingerprint()]));
    }
    let here = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let listener = here.listen(PORT, &[SERVICE], Security::dtls(config))?;
    let remote = DccpAddr {
        addr: here.local_addr(),
        dccp_port: PORT,
    };
    let there = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let theirs = async {
        let carrier = there.connect(remote, SERVICE, Security::None).await?;
        let mut context = context(&client)?;
        context.set_verify(SslVerifyMode::NONE);
        let handshake = session(context)?.setup_connect(Queues::default());
        Boring::shake_hands(carrier, handshake).await
    };
    let (ours, theirs) = tokio::join!(listener.accept(), theirs);
    let (ours, mut theirs) = (ours?, theirs?);
    if mutual && ours.peer_fingerprint() != Some(client.fingerprint()) {
        return Err("our server does not know the client".into());
    }
    exchange(&ours, &mut theirs).await?;
    let words = theirs.words();
    let (closed, end) = tokio::join!(theirs.close(), ours.recv());
    closed?;
    match end {
        Err(end) if end.is_orderly() && end.is_authenticated => Ok(words),
        end => Err(format!("no authenticated end: {end:?}").into()),
    }
}

/// We connect to a server by BoringSSL.
async fn their_server() -> Result<String, Failure> {
    let server = identity()?;
    let there = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let listener = there.listen(PORT, &[SERVICE], Security::None)?;
    let remote = DccpAddr {
        addr: there.local_addr(),
        dccp_port: PORT,
    };
    let theirs = async {
        let carrier = listener.accept().await?;
        let handshake = session(context(&server)?)?.setup_accept(Queues::default());
        Boring::shake_hands(carrier, handshake).await
    };
    let here = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let config = ClientConfig::pinned([server.fingerprint()]);
    let security = Security::dtls(config.records_per_key(RECORDS_PER_KEY));
    let (ours, theirs) = tokio::join!(here.connect(remote, SERVICE, security), theirs);
    let (ours, mut theirs) = (ours?, theirs?);
    exchange(&ours, &mut theirs).await?;
    let words = theirs.words();
    let (closed, end) = tokio::join!(ours.close(), theirs.recv());
    closed?;
    match end? {
        None => Ok(words),
        Some(data) => Err(format!("{} bytes instead of the end", data.len()).into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut failed = 0;
    for (name, run) in [
        (
            "BoringSSL's client, our server",
            timeout(PATIENCE, their_client(false)).await,
        ),
        (
            "the same, client known by its certificate",
            timeout(PATIENCE, their_client(true)).await,
        ),
        (
            "our client, BoringSSL's server",
            timeout(PATIENCE, their_server()).await,
        ),
    ] {
        match run {
            Ok(Ok(words)) => println!("pass  {name}: {words}, {ROUNDS} datagrams each way"),
            Ok(Err(error)) => {
                failed += 1;
                println!("FAIL  {name}: {error}");
            }
            Err(_) => {
                failed += 1;
                println!("FAIL  {name}: not done after {} s", PATIENCE.as_secs());
            }
        }
    }
    ExitCode::from(u8::from(failed > 0))
}
