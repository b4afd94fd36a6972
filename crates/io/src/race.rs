//! Connecting to a server that has several addresses (Happy Eyeballs, RFC 8305).
//!
//! This module resolves no names: it gets the addresses, in the order in which the system prefers them.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::Poll;

use fairwire_units::Duration;

use crate::address::DccpAddr;
use crate::clock::Clock;
use crate::error::ConnectError;
use crate::timer::Timer;

/// The time until the next attempt starts, while this one goes on (RFC 8305, 5).
const HEAD_START: Duration = Duration::from_millis(250);

/// The largest number of addresses tried. A name may have thousands, and each attempt costs a socket and sends packets
/// to a host.
pub(crate) const MAX_ADDRESSES: usize = 16;

/// Connects to each of `remotes` with `attempt` until one succeeds; the others are dropped, which ends them.
///
/// The next attempt starts when one fails or when the head start has passed, by `clock`.
pub(crate) async fn race<T, F>(
    clock: Clock,
    remotes: &[DccpAddr],
    attempt: impl Fn(DccpAddr) -> F,
) -> Result<T, ConnectError>
where
    F: Future<Output = Result<T, ConnectError>>,
{
    let mut waiting = interleaved(remotes).into_iter();
    let mut running: Vec<(SocketAddr, Pin<Box<F>>)> = Vec::new();
    let mut tried = Vec::new();
    loop {
        if let Some(remote) = waiting.next() {
            running.push((remote.user_addr(), Box::pin(attempt(remote))));
        } else if running.is_empty() {
            return Err(failure(tried));
        }
        let mut timer = Timer::coarse();
        if waiting.len() > 0 {
            let now = clock.now();
            timer.set(now, Some(now + HEAD_START));
        }
        let mut head_start = pin!(timer.fired());
        let ended = poll_fn(|context| {
            for (i, (_, attempt)) in running.iter_mut().enumerate() {
                if let Poll::Ready(ended) = attempt.as_mut().poll(context) {
                    return Poll::Ready(Some((i, ended)));
                }
            }
            head_start.as_mut().poll(context).map(|()| None)
        });
        match ended.await {
            Some((_, Ok(connection))) => return Ok(connection),
            Some((_, Err(error))) if error.is_local() => return Err(error),
            Some((i, Err(error))) => tried.push((running.remove(i).0, error)),
            None => {}
        }
    }
}

/// Returns the error when every attempt has failed: for one address its own error.
fn failure(mut tried: Vec<(SocketAddr, ConnectError)>) -> ConnectError {
    match (tried.pop(), tried.is_empty()) {
        (None, _) => ConnectError::NoAddress,
        (Some((_, error)), true) => error,
        (Some(last), false) => {
            tried.push(last);
            ConnectError::All { host: None, tried }
        }
    }
}

/// Returns each remote once, at most [`MAX_ADDRESSES`], with the families in turn (RFC 8305, 4).
///
/// The family of the first remote goes first. A family that does not work then costs only one head start.
fn interleaved(remotes: &[DccpAddr]) -> Vec<DccpAddr> {
    let first_is_ipv4 = remotes.first().is_some_and(|remote| remote.addr.is_ipv4());
    let of = |is_ipv4| {
        let mut chosen: Vec<DccpAddr> = Vec::new();
        for remote in remotes {
            if chosen.len() == MAX_ADDRESSES {
                break;
            }
            if remote.addr.is_ipv4() == is_ipv4 && !chosen.contains(remote) {
                chosen.push(*remote);
            }
        }
        chosen.into_iter()
    };
    let (mut preferred, mut others) = (of(first_is_ipv4), of(!first_is_ipv4));
    let mut mixed = Vec::new();
    loop {
        let turn = [preferred.next(), others.next()];
        if turn == [None, None] {
            break;
        }
        mixed.extend(turn.into_iter().flatten());
    }
    mixed.truncate(MAX_ADDRESSES);
    mixed
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::{pending, ready};
    use std::net::Ipv4Addr;

    use super::{Clock, ConnectError, DccpAddr, MAX_ADDRESSES, interleaved, race};

    fn remotes(addrs: &[&str]) -> Vec<DccpAddr> {
        let parse = |addr: &&str| DccpAddr::same_ports(addr.parse().expect("an address"));
        addrs.iter().map(parse).collect()
    }

    /// RFC 8305, 4: the families take turns, the preferred one first, each in the given order.
    #[test]
    fn families_take_turns() {
        for (given, expected) in [
            (&[][..], &[][..]),
            (
                &["[::1]:1", "[::2]:1", "[::3]:1", "1.0.0.1:1", "1.0.0.2:1"],
                &["[::1]:1", "1.0.0.1:1", "[::2]:1", "1.0.0.2:1", "[::3]:1"],
            ),
            (
                &["1.0.0.1:1", "1.0.0.2:1", "[::1]:1", "1.0.0.1:1"],
                &["1.0.0.1:1", "[::1]:1", "1.0.0.2:1"],
            ),
        ] {
            assert_eq!(interleaved(&remotes(given)), remotes(expected));
        }
    }

    /// If a name has thousands of addresses, only 16 of them are tried.
    #[tokio::test]
    async fn finding_23_a_hostile_name_has_sixteen_addresses() {
        let many: Vec<_> = (0..5_000_u32)
            .map(|i| DccpAddr::same_ports((Ipv4Addr::from_bits(0x0A00_0000 + i), 1).into()))
            .collect();
        let count = RefCell::new(0);
        let error = race::<(), _>(Clock::start(), &many, |remote| {
            *count.borrow_mut() += 1;
            let remote = remote.addr;
            ready(Err(ConnectError::NoDccpPort { remote }))
        });
        let error = error.await.expect_err("all fail");
        let ConnectError::All { tried, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(
            (tried.len(), count.into_inner()),
            (MAX_ADDRESSES, MAX_ADDRESSES)
        );
    }

    /// A failure starts the next attempt at once; an error whose cause is on this side ends the race.
    #[tokio::test]
    async fn failures_are_told_apart() {
        let both = remotes(&["[::1]:1", "1.0.0.1:1"]);
        let order = RefCell::new(Vec::new());
        let raced = race(Clock::start(), &both, |remote| {
            order.borrow_mut().push(remote);
            let remote = remote.addr;
            ready(if remote.is_ipv6() {
                Err(ConnectError::NoDccpPort { remote })
            } else {
                Ok(remote)
            })
        });
        assert_eq!(raced.await.expect("the second"), both[1].addr);
        assert_eq!(order.into_inner(), both);
        let raced = race::<(), _>(Clock::start(), &both, |_| {
            ready(Err(ConnectError::EndpointClosed))
        });
        let error = raced.await.expect_err("the endpoint is gone");
        assert!(matches!(error, ConnectError::EndpointClosed), "{error}");
        let raced = race::<(), _>(Clock::start(), &[], |_| pending());
        let error = raced.await.expect_err("nothing to try");
        assert!(matches!(error, ConnectError::NoAddress), "{error}");
    }
}
