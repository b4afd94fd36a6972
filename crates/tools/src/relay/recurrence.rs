//! Finds a relay whose datagrams come back to its own port.
//!
//! A far relay that sends to the near one's UDP port makes a new client there with each session, so that one datagram
//! opens sessions without end. A datagram has no header that would tell. So when many clients of one address begin with
//! the same datagram within a short time, the near relay sends random bytes back to the newest of them. If they arrive
//! on a connection, the client is a far relay, and the loop is certain.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

/// How many clients with the same first datagram are a reason to ask.
const SUSPICIOUS: usize = 8;

/// Within what time.
const WITHIN: Duration = Duration::from_secs(10);

/// How many clients are remembered.
const REMEMBERED: usize = 64;

/// The first datagrams of the newest clients, and the question that was asked.
#[derive(Debug, Default)]
pub(super) struct Recurrence {
    recent: VecDeque<(Instant, IpAddr, Bytes)>,
    question: Option<Bytes>,
}

impl Recurrence {
    /// Notes a new client and its first datagram. Returns what to send back to it if it looks like a loop.
    pub(super) fn began(
        &mut self,
        now: Instant,
        client: SocketAddr,
        first: &Bytes,
    ) -> Option<Bytes> {
        while self.recent.len() >= REMEMBERED
            || (self.recent.front()).is_some_and(|(at, ..)| now.duration_since(*at) > WITHIN)
        {
            self.recent.pop_front();
        }
        let alike = self.recent.iter();
        let alike = alike.filter(|(_, ip, datagram)| *ip == client.ip() && datagram == first);
        let alike = alike.count();
        self.recent.push_back((now, client.ip(), first.clone()));
        (alike >= SUSPICIOUS).then(|| self.question.get_or_insert_with(question).clone())
    }

    /// Returns whether a datagram of a connection is the question.
    pub(super) fn is_question(&self, datagram: &[u8]) -> bool {
        self.question.as_deref() == Some(datagram)
    }
}

/// Returns 16 random bytes.
fn question() -> Bytes {
    let random = || RandomState::new().build_hasher().finish().to_be_bytes();
    Bytes::from([random(), random()].concat())
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::time::Duration;

    use bytes::Bytes;
    use tokio::time::Instant;

    use super::{Recurrence, SUSPICIOUS};

    /// Clients are asked only if many of one address begin alike at about the same time.
    #[test]
    fn only_a_likely_loop_is_asked() {
        let client = |host: u8, port| SocketAddr::from(([192, 0, 2, host], port));
        let start = Instant::now();
        let alike = Bytes::from_static(b"the same");
        let mut recurrence = Recurrence::default();
        let asked: Vec<_> = (0..=SUSPICIOUS)
            .map(|at| recurrence.began(start, client(1, at as u16), &alike))
            .collect();
        assert!(asked[..SUSPICIOUS].iter().all(Option::is_none), "{asked:?}");
        let question = asked[SUSPICIOUS].clone().expect("asked");
        assert!(recurrence.is_question(&question) && !recurrence.is_question(&alike));
        let other = recurrence.began(start, client(2, 1), &alike);
        assert_eq!(other, None, "another address");
        let other = recurrence.began(start, client(1, 99), &Bytes::from_static(b"other"));
        assert_eq!(other, None, "another datagram");
        let later = start + Duration::from_secs(11);
        let other = recurrence.began(later, client(1, 100), &alike);
        assert_eq!(other, None, "later");
    }
}
