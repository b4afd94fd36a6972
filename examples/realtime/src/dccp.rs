//! The video through Fairwire, encrypted with DTLS.

use std::error::Error;

use fairwire::{Connection, EncoderConfig, EncoderTarget, SendError, SendOptions, TrySendError};
use tokio::time::{Instant, interval, sleep};

use crate::FRAME_INTERVAL;
use crate::camera::{Camera, Frame};
use crate::contender::Dccp;
use crate::ends;
use crate::trial::Run;

/// Sends the video of a run; returns how many frames were captured.
pub async fn send(run: &Run, how: Dccp) -> Result<u32, Box<dyn Error>> {
    let config = how.config().ok_or("no such law")?;
    let (here, there) = ends::fairwire(&run.link, config).await?;
    let viewer = run.clone();
    tokio::spawn(async move {
        while let Ok(received) = there.recv().await {
            viewer.arrived(&received.data);
        }
    });
    let frames = film(run, &here, how.resend).await?;
    // What is still under way may arrive in time.
    sleep(run.playout).await;
    here.abort();
    Ok(frames)
}

async fn film(run: &Run, connection: &Connection, resend: bool) -> Result<u32, SendError> {
    let mut camera = Camera::new(run.seed);
    let mut target = EncoderTarget::new(EncoderConfig::default());
    let mut ticks = interval(FRAME_INTERVAL);
    while run.now() < run.length {
        ticks.tick().await;
        let bitrate = target.update(run.now(), connection.encoder_input());
        let captured = u64::try_from(run.now().as_nanos()).unwrap_or(u64::MAX);
        let frame = camera.frame(captured, bitrate);
        // A datagram must leave so early that it arrives in time.
        let one_way = connection.stats().srtt.unwrap_or_default() / 2;
        let deadline = Instant::now() + run.playout.saturating_sub(one_way);
        let mut options = SendOptions::new()
            .deadline(deadline)
            .group(frame.number.into());
        if resend {
            options = options.resend(deadline);
        }
        queue(connection, frame, options)?;
    }
    Ok(camera.frames())
}

/// Queues a frame. If a part has no room or comes too late, the rest of the frame is of no use.
fn queue(connection: &Connection, frame: Frame, options: SendOptions) -> Result<(), SendError> {
    for part in frame.parts {
        match connection.try_send_with(part, options) {
            Ok(_) => {}
            Err(TrySendError::Send(error)) if !is_about_the_frame(&error) => return Err(error),
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

/// Returns whether an error concerns a frame rather than the connection.
fn is_about_the_frame(error: &SendError) -> bool {
    matches!(
        error,
        SendError::DeadlinePassed | SendError::GroupBroken { .. }
    )
}
