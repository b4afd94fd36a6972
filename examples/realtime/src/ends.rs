//! Both ends of a connection over an emulated link, encrypted: Fairwire's and quinn's.

use std::error::Error;
use std::future::Future;
use std::sync::Arc;

use fairwire::emulated::{Host, Link};
use fairwire::tls::{ClientConfig, Date, Identity, ServerConfig, Validity};
use fairwire::{
    AcceptError, Config, ConnectError, ConnectOptions, Connection, DccpAddr, ListenOptions,
    Security, ServiceCode,
};
use quinn::{Endpoint, EndpointConfig, TokioRuntime, TransportConfig};
use rustls::RootCertStore;
use rustls::pki_types::PrivateKeyDer;

use crate::quic_socket::QuicSocket;

const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"real");
const DCCP_PORT: u16 = 5_001;
const QUIC_PORT: u16 = 4_433;

/// Connects with Fairwire; returns the client's end and the server's.
pub async fn fairwire(
    link: &Link,
    config: Config,
) -> Result<(Connection, Connection), Box<dyn Error>> {
    let (calling, accepting) = fairwire_halves(link, config)?;
    let (here, there) = tokio::join!(calling, accepting);
    Ok((here?, there?))
}

/// Connects with quinn, which has a buffer of so many bytes for datagrams; returns the client's end and the server's.
pub async fn quinn(
    link: &Link,
    seed: u64,
    buffer: usize,
) -> Result<(quinn::Connection, quinn::Connection), Box<dyn Error>> {
    let (calling, accepting) = quinn_halves(link, seed, buffer)?;
    let (here, there) = tokio::join!(calling, accepting);
    Ok((here?, there?))
}

/// Returns what connects, and what accepts.
pub fn fairwire_halves(
    link: &Link,
    config: Config,
) -> Result<
    (
        impl Future<Output = Result<Connection, ConnectError>> + use<>,
        impl Future<Output = Result<Connection, AcceptError>> + Send + use<>,
    ),
    Box<dyn Error>,
> {
    let (client, server) = link.join()?;
    let identity = Identity::generate(
        &["server"],
        Validity::days(Date::from_unix_seconds(0), 40_000),
    )?;
    let trusted = Security::dtls(ClientConfig::pinned([identity.fingerprint()]));
    let shown = Security::dtls(ServerConfig::new(identity));
    let options = ListenOptions::new().config(config.clone());
    let listener = server.listen_with(DCCP_PORT, &[SERVICE], shown, options)?;
    let remote = DccpAddr {
        addr: server.local_addr(),
        dccp_port: DCCP_PORT,
    };
    let options = ConnectOptions::new().config(config);
    let calling = async move { client.connect_with(remote, SERVICE, trusted, options).await };
    Ok((calling, async move { listener.accept().await }))
}

/// Returns what connects, and what accepts.
pub fn quinn_halves(
    link: &Link,
    seed: u64,
    buffer: usize,
) -> Result<
    (
        impl Future<Output = Result<quinn::Connection, quinn::ConnectionError>> + use<>,
        impl Future<Output = Result<quinn::Connection, quinn::ConnectionError>> + Send + use<>,
    ),
    Box<dyn Error>,
> {
    let (a, b) = link.hosts()?;
    let made = rcgen::generate_simple_self_signed(["server".to_owned()])?;
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let mut transport = TransportConfig::default();
    transport.datagram_send_buffer_size(buffer);
    let transport = Arc::new(transport);
    let mut server = quinn::ServerConfig::with_single_cert(vec![certificate.clone()], key)?;
    server.transport_config(Arc::clone(&transport));
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let mut client = quinn::ClientConfig::with_root_certificates(Arc::new(roots))?;
    client.transport_config(transport);
    let listening = endpoint(&b, Some(server), seed)?;
    let calling = endpoint(&a, None, seed)?;
    let there = (b.ip(), QUIC_PORT).into();
    let connecting = calling.connect_with(client, there, "server")?;
    let calling = async move {
        let connected = connecting.await;
        drop(calling);
        connected
    };
    let accepting = async move {
        match listening.accept().await {
            Some(incoming) => incoming.await,
            None => Err(quinn::ConnectionError::LocallyClosed),
        }
    };
    Ok((calling, accepting))
}

fn endpoint(
    host: &Host,
    server: Option<quinn::ServerConfig>,
    seed: u64,
) -> Result<Endpoint, Box<dyn Error>> {
    let mut config = EndpointConfig::default();
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_be_bytes());
    config.rng_seed(Some(bytes));
    let socket = QuicSocket::new(host.socket(QUIC_PORT)?);
    let runtime = Arc::new(TokioRuntime);
    Ok(Endpoint::new_with_abstract_socket(
        config,
        server,
        Arc::new(socket),
        runtime,
    )?)
}
