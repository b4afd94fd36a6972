//! The video through quinn's datagrams (QUIC, RFC 9221).

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use fairwire::emulated::Host;
use fairwire::{EncoderConfig, EncoderInput, EncoderTarget, Rate};
use quinn::{
    ClientConfig, Connection, Endpoint, EndpointConfig, ServerConfig, TokioRuntime, TransportConfig,
};
use rustls::RootCertStore;
use rustls::pki_types::PrivateKeyDer;
use tokio::time::{interval, sleep};

use crate::FRAME_INTERVAL;
use crate::camera::Camera;
use crate::contender::Buffer;
use crate::quic_socket::QuicSocket;
use crate::trial::Run;

const PORT: u16 = 4_433;
/// Quinn's default buffer, bytes.
const DEFAULT: usize = 1 << 20;
/// What a short buffer holds, as time at the link's rate.
const SHORT: Duration = Duration::from_millis(100);

/// Sends the video of a run; returns how many frames were captured.
pub async fn send(run: &Run, buffer: Buffer, rate: bool) -> Result<u32, Box<dyn Error>> {
    let buffer = match buffer {
        Buffer::Default => DEFAULT,
        Buffer::Short => (run.rate.bytes_per_s() * SHORT.as_secs_f64()) as usize,
    };
    let (here, there) = connect(run, buffer).await?;
    let viewer = run.clone();
    tokio::spawn(async move {
        while let Ok(datagram) = there.read_datagram().await {
            viewer.arrived(&datagram);
        }
    });
    let frames = film(run, &here, buffer, rate).await?;
    sleep(run.playout).await;
    here.close(0_u32.into(), b"");
    Ok(frames)
}

async fn film(
    run: &Run,
    connection: &Connection,
    buffer: usize,
    rate: bool,
) -> Result<u32, quinn::SendDatagramError> {
    let mut camera = Camera::new(run.seed);
    let mut target = EncoderTarget::new(EncoderConfig::default());
    let mut ticks = interval(FRAME_INTERVAL);
    while run.now() < run.length {
        ticks.tick().await;
        let bitrate = target.update(run.now(), input(connection, buffer, rate));
        let captured = u64::try_from(run.now().as_nanos()).unwrap_or(u64::MAX);
        for part in camera.frame(captured, bitrate).parts {
            // If the buffer is full, quinn drops the oldest datagrams in it.
            connection.send_datagram(part)?;
        }
    }
    Ok(camera.frames())
}

/// What the encoder learns from quinn. Quinn reports no rate, and no age of what waits; both can be estimated.
fn input(connection: &Connection, buffer: usize, rate: bool) -> EncoderInput {
    let path = connection.stats().path;
    let mut input = EncoderInput {
        sent: path.sent_packets,
        lost: path.lost_packets,
        ..EncoderInput::default()
    };
    if rate && !path.rtt.is_zero() {
        let bytes_per_s = path.cwnd as f64 / path.rtt.as_secs_f64();
        let waiting = buffer.saturating_sub(connection.datagram_send_buffer_space());
        input.rate = Some(Rate::from_bytes_per_s(bytes_per_s));
        input.queue_age = Duration::from_secs_f64(waiting as f64 / bytes_per_s.max(1.0));
    }
    input
}

/// Connects two hosts of the run's link; returns both ends.
async fn connect(run: &Run, buffer: usize) -> Result<(Connection, Connection), Box<dyn Error>> {
    let (a, b) = run.link.hosts()?;
    let made = rcgen::generate_simple_self_signed(["camera".to_owned()])?;
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let mut transport = TransportConfig::default();
    transport.datagram_send_buffer_size(buffer);
    let transport = Arc::new(transport);
    let mut server = ServerConfig::with_single_cert(vec![certificate.clone()], key)?;
    server.transport_config(Arc::clone(&transport));
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots))?;
    client.transport_config(transport);
    let listening = endpoint(&b, Some(server), run.seed)?;
    let calling = endpoint(&a, None, run.seed)?;
    let there = (b.ip(), PORT).into();
    let connecting = calling.connect_with(client, there, "camera")?;
    let accepting = async {
        match listening.accept().await {
            Some(incoming) => incoming.await,
            None => Err(quinn::ConnectionError::LocallyClosed),
        }
    };
    let (here, there) = tokio::join!(connecting, accepting);
    Ok((here?, there?))
}

fn endpoint(
    host: &Host,
    server: Option<ServerConfig>,
    seed: u64,
) -> Result<Endpoint, Box<dyn Error>> {
    let mut config = EndpointConfig::default();
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_be_bytes());
    config.rng_seed(Some(bytes));
    let socket = QuicSocket::new(host.socket(PORT)?);
    let runtime = Arc::new(TokioRuntime);
    Ok(Endpoint::new_with_abstract_socket(
        config,
        server,
        Arc::new(socket),
        runtime,
    )?)
}
