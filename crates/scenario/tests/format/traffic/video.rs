//! Video of frames in groups.

use fairwire_net::Streams;
use fairwire_scenario::traffic::{FlowContext, PacketShape, TrafficModel, Video, When};
use fairwire_units::{Duration, Instant, Percent, Rate};

/// Returns the sizes of the first `frames` frames, and checks that every packet of a frame but the last is full.
fn sizes(video: Video, mut packet: PacketShape, rtp: u32, frames: usize) -> Vec<f64> {
    packet.rtp = rtp;
    let flow = FlowContext::new("clip", packet, Streams::new(1));
    let mut source = video.build(&flow);
    source.begin(Instant::START);
    let mut sizes: Vec<f64> = Vec::new();
    let mut current = None;
    let mut was_full = true;
    loop {
        let offer = source.next().expect("video goes on");
        let When::At(at) = offer.when else {
            panic!("frames have moments");
        };
        if current == Some(at) {
            assert!(was_full, "only the last packet of a frame is shorter");
            *sizes.last_mut().expect("begun") += f64::from(offer.bytes - rtp);
        } else {
            if sizes.len() == frames {
                return sizes;
            }
            assert!(current.is_none_or(|before: Instant| at == before + Duration::from_millis(40)));
            current = Some(at);
            sizes.push(f64::from(offer.bytes - rtp));
        }
        assert!(offer.bytes <= packet.payload);
        was_full = offer.bytes == packet.payload;
        source.advance();
    }
}

fn video() -> Video {
    Video {
        rate: Rate::from_bits_per_s(1_000_000),
        frames_per_second: 25.0,
        group: 10,
        i_ratio: 3.0,
        variation: Percent::of(0.4),
    }
}

/// The stream has the stated rate. I frames have the stated ratio, and each kind of frame the stated variation.
#[test]
fn frames_have_their_means_and_spreads() {
    let all = sizes(video(), PacketShape::new(1_000), 12, 50_000);
    // 1 Mbit/s in 25 frames a second are 5000 bytes. 10 of them equal 3 + 9 of the others: 4166.7 bytes, and I
    // frames 12500.
    for (place, mean, what) in [
        (0, 12_500.0, "I"),
        (1, 4_166.7, "second"),
        (9, 4_166.7, "last"),
    ] {
        let of_place: Vec<f64> = all.iter().skip(place).step_by(10).copied().collect();
        let count = of_place.len() as f64;
        let found = of_place.iter().sum::<f64>() / count;
        let spread = of_place
            .iter()
            .map(|size| (size - found) * (size - found))
            .sum::<f64>();
        let spread = (spread / (count - 1.0)).sqrt() / found;
        // Four standard errors of 5000 frames: 4 * 0.4 / sqrt(5000) = 2.3 %.
        assert!((found / mean - 1.0).abs() < 0.023, "{what}: {found}");
        // Skewness 1.26 and kurtosis 5.97 give the ratio the variance 0.4^2 (4.97 / 4 + 0.4^2 - 0.4 * 1.26) / 5000:
        // four standard errors are 0.021.
        assert!((spread - 0.4).abs() < 0.022, "{what}: {spread}");
    }
}

/// Without variation every frame has the mean size of its kind, and nothing is random.
#[test]
fn frames_without_variation_are_alike() {
    let even = Video {
        variation: Percent::NONE,
        ..video()
    };
    assert!(!even.is_random() && video().is_random());
    let all = sizes(even, PacketShape::new(1_000), 0, 21);
    assert_eq!(all[..3], [12_500.0, 4_167.0, 4_167.0]);
    assert_eq!(all[10], 12_500.0);
    assert_eq!(all[20], 12_500.0);
}

/// The estimate for the size of a run is not less than the offered packets.
#[test]
fn packets_per_second_are_enough() {
    let video = Video {
        variation: Percent::NONE,
        ..video()
    };
    let packet = PacketShape::new(1_000);
    // In a group of 0.4 s: 13 packets of the I frame, 5 of each of the nine others.
    let offered = f64::from(13 + 9 * 5) / 0.4;
    let reckoned = video.packets_per_second(&packet).expect("it has a rate") as f64;
    assert!(
        offered <= reckoned && reckoned <= 1.1 * offered,
        "{offered} {reckoned}"
    );
}
