//! The rate that an encoder can follow.

use fairwire_proto::{CloseReason, EncoderInput, TargetBitrate};
use fairwire_units::Rate;

use super::{Connection, Inner};
use crate::error::ConnectionClosed;
use crate::state::State;
use crate::waiting::Awaited;

/// The rate of live media. docs/rates.md says what each number means and when to use which.
///
/// A sender of video follows the target with an [`EncoderTarget`](crate::EncoderTarget):
///
/// ```no_run
/// use fairwire::{Bytes, Connection, ConnectionClosed, EncoderConfig, EncoderTarget, LimitedBy, Rate};
/// use std::time::{Duration, Instant};
///
/// # struct Encoder;
/// # impl Encoder {
/// #     fn set_bitrate(&mut self, _: Rate) {}
/// #     fn next_frame(&mut self) -> Vec<Bytes> { Vec::new() }
/// # }
/// async fn stream(connection: &Connection, mut encoder: Encoder) -> Result<(), ConnectionClosed> {
///     let mut target = EncoderTarget::new(EncoderConfig::default());
///     let mut frames = tokio::time::interval(Duration::from_millis(40));
///     let start = Instant::now();
///     loop {
///         tokio::select! {
///             changed = connection.rate_changed() => {
///                 let changed = changed?;
///                 if changed.limit == LimitedBy::Network {
///                     println!("the network carries {}", changed.rate);
///                 }
///             }
///             _ = frames.tick() => {
///                 // Before the frame is queued: what waits now is left from earlier frames.
///                 encoder.set_bitrate(target.update(start.elapsed(), connection.encoder_input()));
///                 for datagram in encoder.next_frame() {
///                     let _ = connection.try_send(datagram); // what has no room is not worth a wait
///                 }
///             }
///         }
///     }
/// }
/// ```
impl Connection {
    /// Returns the rate that the application's data can keep up, and what limits it.
    ///
    /// It is in bits per second of datagrams, without any headers; with DTLS, the datagrams are those that leave, 22
    /// bytes longer than the application's. It changes at most once in a round trip and in 50 ms. While data waits in
    /// the send queue, it is what got through in the last four of these. While the application sends less than it may,
    /// it is at most twice what arrived in the last seconds. `None` until a round-trip time is known.
    pub fn target_bitrate(&self) -> Option<TargetBitrate> {
        let Inner { handle, id } = &*self.inner;
        handle.lock().proto.target_bitrate(*id)
    }

    /// Waits until the target bitrate has changed enough to matter, and returns it.
    ///
    /// It matters when the rate is more than 5 % lower or more than 10 % higher than the one that this method returned
    /// last, or when something else limits it ([`TargetBitrate::has_left`]). The first call returns as soon as there
    /// is a rate. A wait is woken at most once in a round trip and in 50 ms.
    ///
    /// Cancelling loses no change. If several tasks wait, each change goes to one of them.
    ///
    /// # Errors
    /// [`ConnectionClosed`] once the connection is over.
    pub async fn rate_changed(&self) -> Result<TargetBitrate, ConnectionClosed> {
        let Inner { handle, id } = &*self.inner;
        let changed = |state: &mut State| {
            let Some(connection) = state.connections.get(id) else {
                return Some(Err(CloseReason::Aborted));
            };
            match &connection.closed {
                Some(reason) => Some(Err(reason.clone())),
                None => state.proto.take_target_change(*id).map(Ok),
            }
        };
        let changed = handle.wait(Awaited::Rate(*id), changed).await;
        changed.map_err(|reason| self.closed_for(reason))
    }

    /// Sets the most application data that leaves from now on, whatever congestion control allows;
    /// [`Config::max_rate`](crate::Config::max_rate) does so from the start. At least 1 bit/s; `None` for no cap.
    ///
    /// What waits meanwhile fills the send queue, and the target bitrate never exceeds the cap. A part of a path that
    /// others should have, or a limit of the service, is a use for it.
    pub fn set_max_rate(&self, rate: Option<Rate>) {
        self.with_proto(|proto, now, id| proto.set_max_rate(now, id, rate));
    }

    /// Returns what an [`EncoderTarget`](crate::EncoderTarget) needs to know: the target bitrate, the age of the send
    /// queue, and how many datagrams were sent, lost and expired.
    ///
    /// Call it before a frame is queued. CCID 3 and 4 do not report single losses.
    pub fn encoder_input(&self) -> EncoderInput {
        let Inner { handle, id } = &*self.inner;
        let now = handle.clock.now();
        let input = handle.lock().proto.encoder_input(now, *id);
        input.unwrap_or_default()
    }
}
