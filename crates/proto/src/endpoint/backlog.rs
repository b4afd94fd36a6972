//! Half-open connections: those in RESPOND, which anybody can begin with a forged address.

use std::net::IpAddr;

use fairwire_units::Instant;

use super::source::{Source, SourceCounts};

const NOWHERE: usize = usize::MAX;

/// A set of half-open connections from which a random one can be drawn.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    entries: Vec<Entry>,
    /// Index into `entries` for each slot.
    place: Vec<usize>,
    by_source: SourceCounts,
}

/// One half-open connection.
#[derive(Clone, Copy, Debug)]
struct Entry {
    slot: usize,
    since: Instant,
    source: Source,
}

impl Backlog {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the smallest network of `ip` that has `max` entries or more, measured by what such a network may have.
    pub(super) fn crowded(&self, ip: IpAddr, max: usize) -> Option<(usize, Source)> {
        self.by_source.crowded(Source::of(ip), max)
    }

    /// Returns the number of entries of each source.
    pub(super) fn by_source(&self) -> &SourceCounts {
        &self.by_source
    }

    pub(super) fn insert(&mut self, now: Instant, slot: usize, ip: IpAddr) {
        if slot >= self.place.len() {
            self.place.resize(slot + 1, NOWHERE);
        }
        debug_assert_eq!(
            self.place[slot], NOWHERE,
            "a connection enters the backlog once"
        );
        self.place[slot] = self.entries.len();
        let source = Source::of(ip);
        self.entries.push(Entry {
            slot,
            since: now,
            source,
        });
        self.by_source.add(source);
    }

    /// Restarts the age of `slot` at `now`, if it is half open.
    pub(super) fn restart_age(&mut self, now: Instant, slot: usize) {
        let place = self.place.get(slot).copied().unwrap_or(NOWHERE);
        if let Some(entry) = self.entries.get_mut(place) {
            entry.since = now;
        }
    }

    /// Returns whether `slot` is half open.
    pub(super) fn contains(&self, slot: usize) -> bool {
        self.place.get(slot).is_some_and(|&place| place != NOWHERE)
    }

    /// Removes `slot`, if it is half open.
    pub(super) fn remove(&mut self, slot: usize) {
        let Some(place) = self.place.get_mut(slot) else {
            return;
        };
        let place = std::mem::replace(place, NOWHERE);
        if place == NOWHERE {
            return;
        }
        let Entry { source, .. } = self.entries.swap_remove(place);
        if let Some(moved) = self.entries.get(place) {
            self.place[moved.slot] = place;
        }
        self.by_source.remove(source);
    }

    /// Returns the entry that `draw` selects and since when it is half open, if it comes from this network.
    pub(super) fn draw_from(
        &self,
        network: (usize, Source),
        draw: u64,
    ) -> Option<(usize, Instant)> {
        let (slot, since) = self.draw(draw)?;
        let entry = self.entries.get(*self.place.get(slot)?)?;
        let is_within = entry.source.networks().any(|own| own == network);
        is_within.then_some((slot, since))
    }

    /// Returns the entry that `draw` selects and since when it is half open.
    pub(super) fn draw(&self, draw: u64) -> Option<(usize, Instant)> {
        let len = self.entries.len() as u64;
        let at = draw.checked_rem(len)?;
        let entry = self.entries.get(usize::try_from(at).ok()?)?;
        Some((entry.slot, entry.since))
    }
}

#[cfg(test)]
mod tests {
    use super::Backlog;
    use fairwire_units::Instant;
    use std::collections::BTreeSet;
    use std::net::IpAddr;

    /// After any sequence of insertions and removals the counts are right, and only members are drawn.
    #[test]
    fn agrees_with_a_set() {
        let mut backlog = Backlog::default();
        let mut model: BTreeSet<usize> = BTreeSet::new();
        let ip = |slot: usize| IpAddr::from([192, 0, 2, u8::try_from(slot % 3).unwrap()]);
        let mut x = 4_321u64;
        for _ in 0..20_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let slot = (x >> 33) as usize % 40;
            if x >> 63 == 0 {
                backlog.remove(slot);
                model.remove(&slot);
            } else if model.insert(slot) {
                backlog.insert(Instant::START, slot, ip(slot));
            }
            assert_eq!(backlog.len(), model.len());
            for residue in 0..3 {
                let count = model.iter().filter(|&&slot| slot % 3 == residue).count();
                assert!(backlog.crowded(ip(residue), count + 1).is_none());
                assert!(backlog.crowded(ip(residue), count).is_some());
            }
            match backlog.draw(x >> 7) {
                Some((slot, _)) => assert!(model.contains(&slot)),
                None => assert!(model.is_empty()),
            }
        }
    }

    /// All IPv6 addresses of one /64 count as one source; so do the two forms of an IPv4 address. What is drawn is of
    /// the network that is crowded: the /64, or a site.
    #[test]
    fn a_source_is_what_one_host_has() {
        let mut backlog = Backlog::default();
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        backlog.insert(Instant::START, 0, ip("2001:db8::1"));
        backlog.insert(Instant::START, 1, ip("192.0.2.1"));
        let crowded = |backlog: &Backlog, text| backlog.crowded(ip(text), 1);
        let slot = |backlog: &Backlog, text, draw| {
            let network = crowded(backlog, text).unwrap();
            backlog.draw_from(network, draw).map(|(slot, _)| slot)
        };
        assert_eq!(slot(&backlog, "2001:db8::ffff:0:0:9", 0), Some(0));
        assert_eq!(slot(&backlog, "::ffff:192.0.2.1", 0), None);
        assert_eq!(slot(&backlog, "::ffff:192.0.2.1", 1), Some(1));
        assert!(crowded(&backlog, "2001:db8:0:1::1").is_none());
        // A /56 may have twice as much.
        backlog.insert(Instant::START, 2, ip("2001:db8:0:2::1"));
        assert_eq!(slot(&backlog, "2001:db8:0:1::1", 0), Some(0));
        assert_eq!(slot(&backlog, "2001:db8:0:1::1", 1), None);
        assert_eq!(slot(&backlog, "2001:db8:0:1::1", 2), Some(2));
        assert!(crowded(&backlog, "2001:db8:0:100::1").is_none());
        assert!(crowded(&backlog, "192.0.2.2").is_none());
    }
}
