//! Finds a relay whose datagrams come back to its own port.
//!
//! A far relay that sends to the near one's UDP port makes a new client there with each session, so that one datagram
//! opens sessions without end. A datagram has no header that would tell. So when many clients of one address begin with
//! the same datagram within a short time, and none of them has had an answer, the near relay sends random bytes back to
//! the newest of them. If they arrive on a connection, the client is a far relay, and the loop is certain. Programs
//! that begin alike, such as iperf3, have answers, and those that never have any do not wait for one.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

/// How many clients with the same first datagram are a reason to ask.
const SUSPICIOUS: usize = 16;

/// Within what time.
const WITHIN: Duration = Duration::from_secs(10);

/// How long nobody is asked after a client has shown that it reads what it is asked.
const QUIET: Duration = Duration::from_secs(60);

/// How many clients are remembered.
const REMEMBERED: usize = 64;

/// The newest clients, and the question that was asked.
#[derive(Debug, Default)]
pub(super) struct Recurrence {
    recent: VecDeque<Client>,
    question: Option<Bytes>,
    quiet_until: Option<Instant>,
}

#[derive(Debug)]
struct Client {
    at: Instant,
    ip: IpAddr,
    first: Bytes,
    answered: Arc<AtomicBool>,
}

impl Recurrence {
    /// Notes a new client, its first datagram, and where it is noted that it had an answer. Returns what to send back
    /// to it if it looks like a loop.
    pub(super) fn began(
        &mut self,
        at: Instant,
        client: SocketAddr,
        first: &Bytes,
        answered: Arc<AtomicBool>,
    ) -> Option<Bytes> {
        while self.recent.len() >= REMEMBERED
            || (self.recent.front()).is_some_and(|old| at.duration_since(old.at) > WITHIN)
        {
            self.recent.pop_front();
        }
        let ip = client.ip();
        let alike = || (self.recent.iter()).filter(|old| old.ip == ip && old.first == first);
        let has_answers = alike().any(|old| old.answered.load(Ordering::Relaxed));
        let looks_like_loop = alike().count() >= SUSPICIOUS && !has_answers;
        self.recent.push_back(Client {
            at,
            ip,
            first: first.clone(),
            answered,
        });
        let may_ask = self.quiet_until.is_none_or(|until| at >= until);
        (looks_like_loop && may_ask).then(|| self.question.get_or_insert_with(question).clone())
    }

    /// Takes the question back if a client sends it: it has read it, and so is a program and no relay. In a loop the
    /// question arrives on a connection first, and goes no further.
    pub(super) fn came_from_a_client(&mut self, at: Instant, datagram: &[u8]) {
        if self.is_question(datagram) {
            self.question = None;
            self.quiet_until = Some(at + QUIET);
        }
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use bytes::Bytes;
    use tokio::time::Instant;

    use super::{Recurrence, SUSPICIOUS};

    /// Clients are asked only if many of one address begin alike at about the same time, and have no answers.
    #[test]
    fn only_a_likely_loop_is_asked() {
        let client = |host: u8, port| SocketAddr::from(([192, 0, 2, host], port));
        let start = Instant::now();
        let alike = Bytes::from_static(b"the same");
        let mut recurrence = Recurrence::default();
        let answered = Arc::new(AtomicBool::new(false));
        let asked: Vec<_> = (0..)
            .take(SUSPICIOUS + 1)
            .map(|at| recurrence.began(start, client(1, at), &alike, answered.clone()))
            .collect();
        assert!(asked[..SUSPICIOUS].iter().all(Option::is_none), "{asked:?}");
        let question = asked[SUSPICIOUS].clone().expect("asked");
        assert!(recurrence.is_question(&question) && !recurrence.is_question(&alike));
        let mut began = |at, client, first| recurrence.began(at, client, first, answered.clone());
        assert_eq!(began(start, client(2, 1), &alike), None, "another address");
        let other = Bytes::from_static(b"other");
        assert_eq!(
            began(start, client(1, 99), &other),
            None,
            "another datagram"
        );
        answered.store(true, Ordering::Relaxed);
        assert_eq!(
            began(start, client(1, 98), &alike),
            None,
            "one had an answer"
        );
        answered.store(false, Ordering::Relaxed);
        assert!(began(start, client(1, 97), &alike).is_some(), "none had");
        recurrence.came_from_a_client(start, &question);
        assert!(!recurrence.is_question(&question), "it is worth nothing");
        let mut began = |at, client, first| recurrence.began(at, client, first, answered.clone());
        assert_eq!(began(start, client(1, 96), &alike), None, "it was no loop");
        let later = start + Duration::from_secs(11);
        assert_eq!(began(later, client(1, 100), &alike), None, "later");
    }
}
