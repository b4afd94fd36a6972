//! Addresses that the host no longer has, and what a socket takes from the system's refusal to send from them.

use std::io;
use std::net::{IpAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// For how long it is known whether an address is lost, and the shortest time between two renewals. Both cost system
/// calls, and an address that is gone has each of its datagrams refused.
const PAUSE: Duration = Duration::from_millis(20);

/// Returns whether this host no longer has an address.
pub(super) fn is_lost(ip: IpAddr) -> bool {
    let bound = UdpSocket::bind((ip, 0));
    bound.is_err_and(|error| error.kind() == io::ErrorKind::AddrNotAvailable)
}

/// What refused datagrams have done to a socket. `quinn_udp` takes an address that is gone for a system without ECN marks
/// and segmentation.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    has_spoilt: AtomicBool,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The address that was refused last, whether it is lost, and until when that is known.
    asked: Option<(IpAddr, bool, Instant)>,
    /// When the state was renewed last.
    renewed: Option<Instant>,
}

impl Refusals {
    /// Returns whether what the socket knows of its system is spoilt.
    #[inline]
    pub(super) fn has_spoilt(&self) -> bool {
        self.has_spoilt.load(Ordering::Relaxed)
    }

    /// Notes that a datagram from `ip` was refused. `is_lost` is asked at most once in [`PAUSE`].
    pub(super) fn note(&self, now: Instant, ip: IpAddr, is_lost: impl FnOnce(IpAddr) -> bool) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = known
            .asked
            .filter(|&(asked, _, until)| asked == ip && now < until);
        let lost = asked.map_or_else(|| is_lost(ip), |(_, lost, _)| lost);
        if asked.is_none() {
            known.asked = Some((ip, lost, now + PAUSE));
        }
        if lost {
            self.has_spoilt.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether the state is renewed before a datagram leaves from `ip`: not for the lost address, which would
    /// spoil it again, and at most once in [`PAUSE`]. Then it is spoilt no longer.
    pub(super) fn may_renew(&self, now: Instant, ip: Option<IpAddr>) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_lost = known
            .asked
            .is_some_and(|(asked, lost, until)| lost && Some(asked) == ip && now < until);
        let is_early = known.renewed.is_some_and(|renewed| now < renewed + PAUSE);
        let may = !is_lost && !is_early;
        if may {
            known.renewed = Some(now);
            self.has_spoilt.store(false, Ordering::Relaxed);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, IpAddr, Refusals, is_lost};

    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn gone() -> IpAddr {
        [192, 0, 2, 1].into()
    }

    /// A host has its loopback address, and not one that is for documentation.
    #[test]
    fn an_address_of_nobody_is_lost() {
        assert!(!is_lost(OTHER));
        assert!(is_lost(gone()));
    }

    /// However many datagrams from a lost address are refused, the system is asked and the state renewed at most 50 times
    /// per second, and only for a datagram from another address.
    #[test]
    fn refused_datagrams_cost_little() {
        let (refusals, start) = (Refusals::default(), Instant::now());
        let (mut asked, mut renewed) = (0, 0);
        for ms in 0..100 {
            let now = start + Duration::from_millis(ms);
            for _ in 0..10 {
                refusals.note(now, gone(), |_| {
                    asked += 1;
                    true
                });
                assert!(refusals.has_spoilt());
                assert!(!refusals.may_renew(now, Some(gone())));
            }
            renewed += usize::from(refusals.may_renew(now, Some(OTHER)));
        }
        assert_eq!((asked, renewed), (5, 5));
        assert!(refusals.may_renew(start + Duration::from_millis(200), None));
        assert!(!refusals.has_spoilt());
    }

    /// What is refused for another reason spoils nothing, and does not make each datagram ask again.
    #[test]
    fn an_address_that_is_there_spoils_nothing() {
        let (refusals, now) = (Refusals::default(), Instant::now());
        let mut asked = 0;
        for _ in 0..10 {
            refusals.note(now, OTHER, |_| {
                asked += 1;
                false
            });
        }
        assert_eq!((asked, refusals.has_spoilt()), (1, false));
    }
}
