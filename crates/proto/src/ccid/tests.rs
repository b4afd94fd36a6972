//! A CCID of these tests by rate, and the registry.

use fairwire_cc::{Controller, Feedback, Flight, Gauges, Limit, Permit, RateSample};
use fairwire_units::{Duration, Instant};
use fairwire_wire::Ccid;

use super::{
    CcidProfile, ControllerSetup, RegisterCcidError, ccid_profile, ccid_profiles, list_ccids,
    register_ccid,
};

/// A CCID by rate that only these tests have.
pub(crate) const BY_RATE: Ccid = Ccid::new(254);

/// Returns all CCIDs: the built-in ones and [`BY_RATE`].
pub(crate) fn all() -> Vec<Ccid> {
    register();
    ccid_profiles().map(CcidProfile::ccid).collect()
}

/// Registers [`BY_RATE`], unless another test has done so.
fn register() {
    // The only error is that it exists already.
    let _ = register_ccid(CcidProfile::with_ack_vectors(
        BY_RATE,
        "by rate",
        "Twice the delivery rate.",
        |setup| Box::new(ByRate::new(setup)),
    ));
}

/// Sends at twice the newest delivery rate, at first one packet in 10 ms, and at most 32 packets in flight.
#[derive(Debug)]
struct ByRate {
    bytes_per_s: f64,
    next: Instant,
}

impl ByRate {
    fn new(setup: ControllerSetup<'_>) -> Self {
        Self {
            bytes_per_s: f64::from(setup.max_datagram) * 100.0,
            next: Instant::START,
        }
    }
}

impl Controller for ByRate {
    fn permit(&self, now: Instant, flight: Flight, _size: u32) -> Permit {
        if flight.packets >= 32 {
            Permit::AwaitFeedback
        } else if now < self.next {
            Permit::At(self.next)
        } else {
            Permit::Now
        }
    }

    fn on_sent(&mut self, now: Instant, _flight: Flight, size: u32) {
        let apart = f64::from(size) / self.bytes_per_s;
        self.next = now.max(self.next) + Duration::from_secs_f64(apart);
    }

    fn on_feedback(&mut self, _now: Instant, _flight: Flight, feedback: &Feedback) {
        let faster = |sample: &RateSample| !sample.app_limited || sample.bytes_per_s > 1e4;
        if let Some(sample) = feedback.rate.filter(faster) {
            self.bytes_per_s = (2.0 * sample.bytes_per_s).max(1e4);
        }
    }

    fn reset(&mut self, now: Instant) {
        self.next = now;
    }

    fn limit(&self) -> Limit {
        Limit::Rate(self.bytes_per_s)
    }

    fn wants_delivery_rate(&self) -> bool {
        true
    }

    fn gauges(&self) -> Gauges {
        Gauges {
            rate_bytes_per_s: Some(self.bytes_per_s),
            ..Gauges::default()
        }
    }
}

/// RFC 4340, 19.5: numbers from 248 on are for experiments. A number is registered once and then known everywhere;
/// reserved numbers are not for use.
#[test]
fn a_number_is_registered_once() {
    assert_eq!(all(), [2, 3, 4, 254].map(Ccid::new));
    let again = |number| {
        let make = |setup: ControllerSetup<'_>| -> Box<dyn Controller> { setup.window() };
        let profile = CcidProfile::with_ack_vectors(Ccid::new(number), "again", "Again.", make);
        register_ccid(profile)
    };
    for number in [2, 254] {
        let ccid = Ccid::new(number);
        assert_eq!(again(number), Err(RegisterCcidError::Taken { ccid }));
    }
    for number in [0, 1, 255] {
        let ccid = Ccid::new(number);
        assert_eq!(again(number), Err(RegisterCcidError::Reserved { ccid }));
        assert!(ccid_profile(ccid).is_none());
    }
    let built_in = |profile: &CcidProfile| profile.ccid().number() < 248;
    assert_eq!(
        list_ccids("or", built_in),
        "2 (TCP-like), 3 (TFRC) or 4 (TFRC for small packets)"
    );
    assert_eq!(list_ccids("or", |_| false), "");
}

/// A setting belongs to the CCIDs that read it, or a key in it; a setting that every CCID reads belongs to none.
#[test]
fn settings_belong_to_ccids() {
    let read_by = |setting: &str| -> Vec<u8> {
        let all = all().into_iter();
        all.filter(|&ccid| ccid_profile(ccid).is_some_and(|profile| profile.reads(setting)))
            .map(Ccid::number)
            .collect()
    };
    for (setting, readers) in [
        ("ccid2", vec![2, 254]),
        ("ccid2.law", vec![2]),
        ("ccid2.law.cut", vec![2]),
        ("ccid2.min_rto", vec![2, 254]),
        ("ecn_nonce", vec![2, 254]),
        ("ccid3", vec![3, 4]),
        ("ccid3.segment", vec![3]),
        ("ccid3.b", vec![3, 4]),
        ("ccid33", vec![]),
        ("ecn", vec![]),
    ] {
        assert_eq!(read_by(setting), readers, "{setting}");
    }
}
