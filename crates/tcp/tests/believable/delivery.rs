//! Complete delivery under heavy loss.

use fairwire_cc::NewReno;
use fairwire_tcp::{Config, Receiver, RecoveryKind, SackAfterTimeout, Sender, Source};
use fairwire_units::{Duration, Instant, Rate};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::path::{Path, Run};

const RECOVERIES: [RecoveryKind; 7] = [
    RecoveryKind::Tahoe,
    RecoveryKind::Reno,
    RecoveryKind::RenoOnce,
    RecoveryKind::NewReno,
    RecoveryKind::NewRenoSteady,
    RecoveryKind::Sack,
    RecoveryKind::Vegas,
];

/// A transfer of 150 kB delivers each byte once, with any recovery, although a quarter of all segments is lost: SYNs,
/// data and acknowledgements.
#[test]
fn every_byte_arrives_through_heavy_loss() {
    for (seed, recovery) in (0..150).zip(RECOVERIES.into_iter().cycle()) {
        let config = Config {
            recovery,
            sample_every_ack: seed % 4 < 2,
            fast_retransmit_restarts_timer: seed % 8 < 4,
            sack_after_timeout: if seed % 3 == 0 {
                SackAfterTimeout::Keep
            } else {
                SackAfterTimeout::Forget
            },
            timestamps: seed % 5 < 2,
            hystart: seed % 6 < 3,
            frto: seed % 7 < 4,
            tick: (seed % 10 < 3).then_some(Duration::from_millis(10)),
            ..Config::default()
        };
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let path = Path {
            rate: Some(Rate::from_bits_per_s(2_000_000)),
            delay: Duration::from_millis(20),
            buffer: 10,
            drop: Box::new(move |_| random.next_u32() % 4 == 0),
        };
        let controller = Box::new(config.window(NewReno));
        let source = Source::Finite(150_000);
        let sender = Sender::new(config, controller, source, Instant::START);
        let mut run = Run::new(sender, Receiver::new(config), path);
        // A segment takes at most two or three timeouts of at most a minute.
        run.until(Instant::START + Duration::from_secs(10_000));
        assert!(
            run.sender.is_done(),
            "seed {seed}: {:?}",
            run.sender.stats()
        );
        assert_eq!(run.receiver.stats().bytes_delivered, 150_000, "seed {seed}");
        assert_eq!(run.sender.stats().bytes_acked, 150_000, "seed {seed}");
        assert_eq!(
            run.sender.next_timeout(),
            None,
            "seed {seed}: it falls silent"
        );
    }
}
