//! The state machine on paths with a given MTU.

use super::{BASE, COMMON, Duration, Instant, MAX_PROBES, Phase, RAISE, Search, below};

const TIMER: Duration = Duration::from_secs(1);

/// A path that takes packets of up to `takes` bytes, with the time and the probes of its search.
struct Run {
    search: Search,
    now: Instant,
    takes: u16,
    probes: Vec<u16>,
}

impl Run {
    fn new(floor: u16, max: u16, takes: u16) -> Self {
        Self {
            search: Search::new(floor, max),
            now: Instant::START,
            takes,
            probes: Vec::new(),
        }
    }

    /// Sends probes and answers those that pass, until no probe is wanted.
    fn settle(&mut self) {
        while let Some(size) = self.search.wanted() {
            self.probes.push(size);
            assert!(self.probes.len() < 200, "it ends: {:?}", self.search);
            self.now += Duration::from_millis(100);
            let deadline = self.now + TIMER;
            self.search.on_sent(deadline);
            if size <= self.takes {
                self.search.on_acked(self.now, size);
            } else {
                self.now = deadline;
                self.search.on_timeout(self.now);
            }
        }
    }

    fn begin(&mut self) {
        self.search.on_large(self.now);
        self.settle();
    }
}

/// The usual path needs two probes: the base, and the size of the interface, which data uses meanwhile.
#[test]
fn a_good_path_takes_two_probes() {
    let mut run = Run::new(576, 1_500, 1_500);
    assert_eq!(run.search.phase(), Phase::Disabled);
    assert_eq!(run.search.wanted(), None, "nothing large has left");
    run.begin();
    assert_eq!(run.probes, [1_280, 1_500]);
    assert_eq!(run.search.phase(), Phase::Complete);
    assert_eq!(run.search.in_use(), 1_500);
    run.now += RAISE * 2;
    run.begin();
    assert_eq!(run.probes.len(), 2, "there is nothing more to find");
}

/// With a black hole below the interface's size, the size falls to the base as soon as that is answered, and rises to
/// the largest common size that passes. RFC 8899, 5.2: three losses give a size up.
#[test]
fn a_black_hole_is_searched() {
    let mut run = Run::new(576, 1_500, 1_400);
    run.begin();
    // Base, then 1,500 three times; the base again; above 1,280 the middle of 1,340 to 1,492 is 1,440.
    let expected = [
        1_280, 1_500, 1_500, 1_500, 1_280, 1_440, 1_440, 1_440, 1_400, 1_420, 1_420, 1_420,
    ];
    assert_eq!(run.probes, expected);
    assert_eq!(run.search.in_use(), 1_400);
    assert_eq!(run.search.phase(), Phase::Complete);
}

/// For every path the size found passes, and the next common size does not.
#[test]
fn every_path_is_found() {
    for floor in [576, 1_280] {
        for max in [floor, 1_300, 1_500, 9_000, u16::MAX] {
            let takes = COMMON
                .into_iter()
                .chain([1_279, 1_281, 1_471, 8_999, 65_534]);
            for takes in takes.filter(|&takes| takes >= floor) {
                let mut run = Run::new(floor, max, takes);
                run.begin();
                let found = run.search.in_use();
                assert_eq!(run.search.phase(), Phase::Complete, "{floor} {max} {takes}");
                if takes >= max {
                    assert_eq!(found, max);
                } else {
                    assert!(found <= takes, "{floor} {max} {takes}: {found}");
                    assert!(found >= below(takes + 1).max(floor), "{takes}: {found}");
                }
            }
        }
    }
}

/// A path that does not take the base enters ERROR first, and then finds the size that passes.
#[test]
fn a_path_below_the_base() {
    let mut run = Run::new(576, 1_500, 1_006);
    run.search.on_large(run.now);
    for _ in 0..MAX_PROBES {
        assert_eq!(run.search.wanted(), Some(BASE));
        run.search.on_sent(run.now + TIMER);
        run.now += TIMER;
        run.search.on_timeout(run.now);
    }
    assert_eq!(run.search.phase(), Phase::Error);
    assert_eq!(run.search.in_use(), 1_500, "nothing was answered so far");
    run.settle();
    assert_eq!(run.search.in_use(), 1_006);
}

/// Silence alone lowers nothing: after an outage the path is as good as before.
#[test]
fn a_dead_path_changes_nothing() {
    for floor in [576, 1_280] {
        let mut run = Run::new(floor, 1_500, 1_500);
        run.begin();
        run.takes = 0;
        run.search.doubt();
        run.settle();
        assert_eq!(run.search.phase(), Phase::Disabled);
        assert_eq!(run.search.in_use(), 1_500);
        let probes = run.probes.len();
        run.begin();
        assert_eq!(run.probes.len(), probes, "large packets do not wake it");
        run.takes = 1_500;
        run.search.doubt();
        run.settle();
        assert_eq!(run.search.in_use(), 1_500);
        assert_eq!(run.search.phase(), Phase::Complete);
    }
}

/// RFC 8899, 4.3: one probe of the size in use settles a doubt, or else the size is lowered.
#[test]
fn doubts_are_settled_by_a_probe() {
    let mut run = Run::new(576, 1_500, 1_500);
    run.begin();
    run.probes.clear();
    run.search.doubt();
    run.settle();
    assert_eq!(run.probes, [1_500]);
    run.takes = 1_480;
    run.search.doubt();
    run.settle();
    assert_eq!(run.search.in_use(), 1_480);
}

/// One or two lost probes are repeated and no size is given up.
#[test]
fn a_lost_probe_is_repeated() {
    let mut run = Run::new(576, 1_500, 1_500);
    run.search.on_large(run.now);
    for lost in 1..MAX_PROBES {
        run.search.on_sent(run.now + TIMER);
        run.now += TIMER;
        assert!(!run.search.on_timeout(run.now), "{lost}");
        assert_eq!(run.search.wanted(), Some(BASE));
    }
    run.settle();
    assert_eq!(run.search.in_use(), 1_500);
}

/// An answer that comes after its probe was given up still shows that the size passes.
#[test]
fn a_late_answer_counts() {
    let mut run = Run::new(576, 1_500, 1_400);
    run.begin();
    run.search.on_acked(run.now, 1_500);
    assert_eq!(run.search.in_use(), 1_500);
}

/// RFC 8899, 5.1.1: after ten minutes, when large data leaves, larger sizes are tried.
#[test]
fn raised_after_ten_minutes() {
    let mut run = Run::new(576, 1_500, 1_400);
    run.begin();
    let found_at = run.now;
    run.takes = 1_500;
    run.probes.clear();
    run.now = found_at + (RAISE - Duration::from_nanos(1));
    run.begin();
    assert_eq!(run.probes, [0_u16; 0]);
    run.now = found_at + RAISE;
    run.begin();
    assert_eq!(run.probes, [1_500]);
    assert_eq!(run.search.in_use(), 1_500);
}

/// RFC 4340, 14.1, and RFC 8899, 4.6.2: a Too Big lowers the size at once, and the next probe confirms it. The same
/// size or more has no effect, nor has one below the floor.
#[test]
fn too_big_lowers_and_is_confirmed() {
    let mut run = Run::new(576, 1_500, 1_372);
    run.begin();
    let mut run = Run::new(576, 1_500, 1_372);
    run.search.on_large(run.now);
    for mtu in [0, 575, 1_500, 1_501, u16::MAX] {
        assert!(!run.search.on_too_big(run.now, mtu), "{mtu}");
        assert_eq!(run.search.in_use(), 1_500);
    }
    assert!(run.search.on_too_big(run.now, 1_372));
    assert_eq!(run.search.in_use(), 1_372);
    run.settle();
    assert_eq!(run.probes, [1_372], "exactly, and nothing above it");
    assert_eq!(run.search.phase(), Phase::Complete);
    assert!(!run.search.on_too_big(run.now, 1_372));
    assert!(run.search.on_too_big(run.now, 576));
    assert_eq!(run.search.in_use(), 576);
}

/// A Too Big about a probe larger than the size in use leaves that size unchanged and is tried next.
#[test]
fn too_big_about_a_probe_guides_the_search() {
    let mut run = Run::new(576, 9_000, 4_000);
    run.search.begin_at(1_500);
    run.search.on_large(run.now);
    for expected in [1_280, 1_500] {
        assert_eq!(run.search.wanted(), Some(expected));
        run.search.on_acked(run.now, expected);
    }
    assert_eq!(run.search.wanted(), Some(9_000));
    run.search.on_sent(run.now + TIMER);
    assert!(run.search.on_too_big(run.now, 4_000));
    assert_eq!(run.search.in_use(), 1_500);
    run.settle();
    assert_eq!(run.search.in_use(), 4_000);
    assert_eq!(run.probes, [4_000]);
}

/// A Too Big with a false, low size is corrected: its size is confirmed, and ten minutes later a larger one.
#[test]
fn a_false_too_big_lasts_ten_minutes() {
    let mut run = Run::new(1_280, 1_500, 1_500);
    run.begin();
    assert!(!run.search.on_too_big(run.now, 1_279), "RFC 8201, 4");
    assert!(run.search.on_too_big(run.now, 1_280));
    run.settle();
    assert_eq!(run.search.in_use(), 1_280);
    run.now += RAISE;
    run.begin();
    assert_eq!(run.search.in_use(), 1_500);
}
