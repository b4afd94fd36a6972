//! The pace of sources. With equal packets it is a rate, the time between two packets, or the interval of a codec.

use fairwire_units::{Duration, Rate};

use super::model::PacketShape;

/// Returns the packets per second of a source that sends one packet per `interval`, rounded down.
pub(super) fn packets_per_second(interval: Duration) -> u64 {
    1_000_000_000 / interval.as_nanos().max(1)
}

/// Returns the packets per second of a source of frames, rounded up: each frame adds one packet to those that the rate
/// fills.
pub(super) fn packets_per_second_of_frames(
    rate: Rate,
    frames_per_second: f64,
    packet: &PacketShape,
) -> u64 {
    let media = f64::from(packet.media().max(1));
    let packets = rate.bytes_per_s() / media + frames_per_second;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rates are above zero, and the cast saturates"
    )]
    let packets = packets.ceil() as u64;
    packets
}

/// Returns the time between two packets of a source with these settings; `None` if they do not determine it.
pub(super) fn interval(
    rate: Option<Rate>,
    every: Option<Duration>,
    packet: &PacketShape,
) -> Option<Duration> {
    let of_rate = || Some(rate?.time_for(packet.counted?));
    every.or_else(of_rate).or(packet.codec_frame)
}

/// Returns the first setting that is invalid, with a message.
pub(super) fn problem(
    rate: Option<Rate>,
    every: Option<Duration>,
    packet: &PacketShape,
) -> Option<(&'static str, String)> {
    let twice = rate.is_some() && every.is_some();
    if twice || (rate.is_none() && every.is_none() && packet.codec_frame.is_none()) {
        let message = "state the pace of this source exactly once: rate = \"2 Mbit/s\" or every = \"20 ms\" beside its kind";
        return Some(("kind", message.to_owned()));
    }
    if rate.is_some() && packet.counted.is_none() {
        let message = "a rate needs a packet size: write 'wire' or 'payload' in the flow";
        return Some(("rate", message.to_owned()));
    }
    let key = if rate.is_some() { "rate" } else { "every" };
    let sends = rate.is_none_or(|rate| rate > Rate::ZERO)
        && interval(rate, every, packet).is_some_and(|interval| !interval.is_zero());
    (!sends).then(|| {
        let message =
            "a source needs a rate above zero and a time between packets of at least 1 ns";
        (key, message.to_owned())
    })
}
