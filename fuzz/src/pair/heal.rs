//! The end of a run: the network delivers everything, and both sides agree again.

use fairwire_proto::ConnectionId;
use fairwire_units::Duration;

use super::World;
use crate::content::datagram;

/// The times for the two ends to agree, before and after they probe each other with data.
///
/// Before: a half-open state that an altered Request left behind must end, because it would answer for a connection
/// that is gone. After: keep-alive and idle timeout (45 s), the time of a `close`, a handshake with its timeout, and a
/// data packet at TFRC's lowest rate (64 s).
const AGREED: [Duration; 2] = [Duration::from_secs(540), Duration::from_secs(150)];

impl World {
    /// Delivers every packet from now on. In the end, a connection is open at both ends or at neither.
    pub(super) fn heal(&mut self) {
        self.check();
        for end in &mut self.ends {
            end.releases = true;
            end.release();
        }
        // One minute at a time, because the events of a run are bounded.
        let begun = self.now;
        while self.now < begun + AGREED[0] {
            self.run_until(self.now + Duration::from_secs(60), true);
        }
        // Without keep-alive, an end that only waits learns nothing; it probes the other by sending.
        let mut asking = Vec::new();
        for side in 0..2 {
            for id in self.ends[side].ids() {
                let now = self.now;
                let asks = self.ends[side].send(now, id, datagram(0, 1));
                self.collect(side);
                if asks || self.setups[side].config.keep_alive.is_some() {
                    asking.push((side, id));
                }
            }
        }
        self.run_until(self.now + AGREED[1], true);
        for (side, id) in asking {
            // A datagram that expired in the queue probed nothing.
            let keeps_alive = self.setups[side].config.keep_alive.is_some();
            let asked = keeps_alive || self.ends[side].has_sent_newest(id);
            if asked && self.ends[side].ids().contains(&id) {
                self.check_agreed(side, id);
            }
        }
        self.check();
    }

    /// Checks that the other end knows this connection, too.
    fn check_agreed(&self, side: usize, id: ConnectionId) {
        let (end, other) = (&self.ends[side], &self.ends[1 - side]);
        assert!(
            end.is_open(id),
            "{id:?} of side {side} neither opens nor ends"
        );
        let addresses = end.endpoint().addresses(id);
        let Some((local, remote, _)) = addresses else {
            panic!("an open connection has addresses");
        };
        let found = other.ids().into_iter().find(|&id| {
            let theirs = other.endpoint().addresses(id);
            theirs.is_some_and(|(port, far, _)| (port, far) == (remote, local))
        });
        assert!(
            found.is_some(),
            "{id:?} of side {side} is open, and its peer has none"
        );
    }

    /// Reads everything and checks it.
    pub(super) fn check(&mut self) {
        for side in 0..2 {
            for id in self.ends[side].ids() {
                let (end, account) = (&mut self.ends[side], &mut self.accounts[side]);
                self.applications[side].read_all(end, id, account);
            }
            // `heal` sends datagrams of its own, of one byte each.
            let mut sent = self.accounts[1 - side].sent.clone();
            *sent.entry(datagram(0, 1).to_vec()).or_default() += 64;
            self.accounts[side].check(&sent, self.harm.forged);
        }
    }
}
