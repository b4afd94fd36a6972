//! The video through quinn's datagrams (QUIC, RFC 9221).

use std::error::Error;
use std::time::Duration;

use fairwire::{EncoderConfig, EncoderInput, EncoderTarget, Rate};
use quinn::Connection;
use tokio::time::{interval, sleep};

use crate::FRAME_INTERVAL;
use crate::camera::Camera;
use crate::contender::Buffer;
use crate::ends;
use crate::trial::Run;

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
    let (here, there) = ends::quinn(&run.link, run.seed, buffer).await?;
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
