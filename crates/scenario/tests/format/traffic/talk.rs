//! Talk spurts and pauses.

use fairwire_net::Streams;
use fairwire_scenario::traffic::{FlowContext, Offer, PacketShape, TalkSpurts, TrafficModel, When};
use fairwire_units::{Duration, Instant};

/// With mean spurts of 1.004 s and mean pauses of 1.587 s (ITU-T P.59) there is talk for 38.75 % of the time.
/// Within a spurt frames are 20 ms apart, and the last one is sent in full.
#[test]
fn talk_has_its_share() {
    let every = Duration::from_millis(20);
    let spurts = TalkSpurts {
        every: Some(every),
        ..TalkSpurts::default()
    };
    let flow = FlowContext::new("voice", PacketShape::new(172), Streams::new(1));
    let mut talk = spurts.build(&flow);
    talk.begin(Instant::START);
    let (mut frames, mut spurts, mut last) = (0u32, 1u32, Instant::START);
    let end = Instant::START + Duration::from_secs(20_000);
    while let Some(Offer {
        when: When::At(at),
        bytes,
        ..
    }) = talk.next()
    {
        if at >= end {
            break;
        }
        talk.advance();
        assert_eq!(bytes, 172);
        frames += 1;
        if at > last + every {
            spurts += 1;
        }
        last = at;
    }
    // A spurt of length t has 1 + floor(t / 20 ms) frames: 1 / (1 - exp(-0.02 / 1.004)) = 50.7 on average, which
    // last 1.014 s. The pause counts from the end of the talk, so the rest of the last frame shortens it. Spurts
    // come each 2.591 s, except after pauses that are shorter than that rest, 0.03 %.
    let each = 20_000.0 / f64::from(spurts);
    // Four standard errors: 4 * sqrt(1.004^2 + 1.587^2) / sqrt(7719) = 0.086.
    assert!((each - 2.591).abs() < 0.086, "{each}");
    let length = f64::from(frames) / f64::from(spurts);
    // 4 * 50.2 / sqrt(7719) = 2.3.
    assert!((length - 50.7).abs() < 2.3, "{length}");
}
