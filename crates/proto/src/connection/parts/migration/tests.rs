use super::{
    AMPLIFICATION, DrawKey, Due, Duration, Found, Instant, Migration, Path, PathCheck, Standing,
};
use crate::transmit::Encapsulation;

const RTT: Duration = Duration::from_millis(40);

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

fn path(port: u16) -> Path {
    Path {
        encapsulation: Encapsulation::Udp,
        local: ([127, 0, 0, 1], 1).into(),
        remote: ([127, 0, 0, 1], port).into(),
    }
}

fn server() -> Migration {
    Migration::new(true, true, DrawKey([1, 2]))
}

/// Returns the cookies that leave now: for the address that is checked, and for the one in use.
fn cookies(server: &mut Migration, now: Instant) -> (Vec<[u8; 8]>, Vec<[u8; 8]>) {
    let (mut there, mut here) = (Vec::new(), Vec::new());
    while let Some(due) = server.due(now, 60) {
        let PathCheck::Challenge(cookie) = due.check else {
            panic!("it answers nothing: {due:?}");
        };
        match due.to {
            Some(to) => {
                assert_eq!(to, path(2));
                there.push(cookie);
            }
            None => here.push(cookie),
        }
    }
    (there, here)
}

/// Three challenges leave with back-off, and one for the address in use. No cookie comes twice, and each is answered
/// by itself.
#[test]
fn each_challenge_has_a_cookie_of_its_own() {
    let mut all = Vec::new();
    for answered in 0..3 {
        let mut server = server();
        server.on_packet(at(0), path(2), 1_000, true, RTT);
        let (mut there, here) = cookies(&mut server, at(0));
        assert_eq!((there.len(), here.len()), (1, 1));
        for (ms, sent) in [(99, 1), (100, 2), (299, 2), (300, 3), (1_000, 3)] {
            there.extend(cookies(&mut server, at(ms)).0);
            assert_eq!(there.len(), sent, "{ms}");
        }
        let check = PathCheck::Response(there[answered]);
        let found = server.on_check(at(1_050), check, path(2), path(1));
        let rtt = Duration::from_millis([1_050, 950, 750][answered]);
        assert_eq!(found, Found::There { path: path(2), rtt });
        all = [there, here].concat();
    }
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 4);
}

/// Wrong cookies, answers from elsewhere, and those that come after the end of an attempt count for nothing.
#[test]
fn an_attempt_ends() {
    let mut server = server();
    server.on_packet(at(0), path(2), 1_000, true, RTT);
    let (there, here) = cookies(&mut server, at(0));
    for (cookie, from) in [
        (there[0], path(1)),
        (there[0], path(3)),
        (here[0], path(2)),
        ([0; 8], path(2)),
    ] {
        let found = server.on_check(at(40), PathCheck::Response(cookie), from, path(1));
        assert_eq!(found, Found::Nothing);
    }
    for ms in [100, 300] {
        cookies(&mut server, at(ms));
    }
    server.handle_timeout(at(2_999));
    assert_eq!(server.next_timeout(), Some(at(3_000)));
    server.handle_timeout(at(3_000));
    assert_eq!(server.next_timeout(), None);
    let late = PathCheck::Response(there[0]);
    let found = server.on_check(at(3_001), late, path(2), path(1));
    assert_eq!(found, Found::Nothing);
    assert_eq!(server.standing(at(3_001), path(2)), Standing::Open);
    server.on_packet(at(4_000), path(2), 1_000, true, RTT);
    for ms in [4_000, 4_100, 4_300] {
        cookies(&mut server, at(ms));
    }
    server.handle_timeout(at(7_000));
    for (ms, port, standing) in [
        (7_000, 2, Standing::Unanswered),
        (36_999, 2, Standing::Unanswered),
        (37_000, 2, Standing::Open),
        (7_000, 3, Standing::Open),
    ] {
        assert_eq!(server.standing(at(ms), path(port)), standing, "{ms} {port}");
    }
}

/// An answer from the address of the attempt before counts until that attempt would have ended.
#[test]
fn the_attempt_before_may_be_answered() {
    for (ms, is_there) in [(2_999, true), (3_000, false)] {
        let mut server = server();
        server.on_packet(at(0), path(2), 1_000, true, RTT);
        let (there, _) = cookies(&mut server, at(0));
        server.on_packet(at(1_000), path(3), 1_000, true, RTT);
        let check = PathCheck::Response(there[0]);
        let found = server.on_check(at(ms), check, path(2), path(1));
        assert_eq!(found != Found::Nothing, is_there, "{ms}");
        assert_eq!(server.next_timeout().is_none(), is_there, "{ms}");
    }
}

/// Only so many packets from an address that is checked cost nothing, and none from elsewhere.
#[test]
fn few_packets_are_free() {
    let mut server = server();
    assert!(!server.is_free(path(2)));
    server.on_packet(at(0), path(2), 1_000, true, RTT);
    let free = (0..100).filter(|_| server.is_free(path(2))).count();
    assert_eq!((free, server.is_free(path(3))), (64, false));
}

/// Packets without a record make it ask once, there only, but neither take an attempt away nor count as failures of the peer.
#[test]
fn what_proves_nothing_ends_nothing() {
    let mut server = server();
    for ms in [0, 10_000, 20_000] {
        server.on_packet(at(ms), path(2), 1_000, false, RTT);
        let sent = [0, 100, 300, 700].map(|later| {
            let (there, here) = cookies(&mut server, at(ms + later));
            (there.len(), here.len())
        });
        assert_eq!(sent, [(1, 0), (0, 0), (0, 0), (0, 0)]);
        server.on_packet(at(ms + 800), path(3), 1_000, false, RTT);
        server.handle_timeout(at(ms + 9_000));
        let standing = server.standing(at(ms + 9_000), path(2));
        assert_eq!((standing, server.next_timeout()), (Standing::Open, None));
    }
}

/// An address gets at most three times what came from there, also if that is next to nothing.
#[test]
fn an_address_gets_three_times_what_it_sent() {
    for (bytes, most) in [(1, 0), (19, 0), (20, 1), (40, 2), (60, 3), (1_000, 3)] {
        let mut server = server();
        server.on_packet(at(0), path(2), bytes, true, RTT);
        let times = [0, 100, 300, 700, 1_299];
        let sent = times.map(|ms| cookies(&mut server, at(ms)).0.len());
        let sent: usize = sent.iter().sum();
        assert_eq!(sent, most, "{bytes}");
        assert!((sent * 60) as u64 <= bytes as u64 * AMPLIFICATION);
    }
}

/// If the peer answers at the address in use first, it stays there. Attempts are rare after the first four.
#[test]
fn an_answer_from_the_old_address_ends_an_attempt() {
    let mut server = server();
    let mut begun = 0;
    for ms in 0..3_000 {
        server.on_packet(at(ms), path(2), 1_000, true, RTT);
        let (there, here) = cookies(&mut server, at(ms));
        let (Some(there), Some(here)) = (there.first(), here.first()) else {
            continue;
        };
        begun += 1;
        for (cookie, from) in [(*here, path(1)), (*there, path(2))] {
            let check = PathCheck::Response(cookie);
            let found = server.on_check(at(ms), check, from, path(1));
            assert_eq!(found, Found::Nothing);
        }
    }
    assert!((4..=7).contains(&begun), "{begun}");
}

/// Each challenge that comes on the path in use is answered once, and no other. An end that does not take part says
/// so.
#[test]
fn challenges_are_answered_once() {
    for answers in [true, false] {
        let mut client = Migration::new(false, answers, DrawKey([1, 2]));
        for (cookie, from) in [([1; 8], path(1)), ([2; 8], path(2)), ([3; 8], path(1))] {
            client.on_check(at(0), PathCheck::Challenge(cookie), from, path(1));
        }
        let due = std::iter::from_fn(|| client.due(at(0), 60));
        let due: Vec<_> = due.map(|due| (due.check, due.to)).collect();
        let answer = if answers {
            PathCheck::Response
        } else {
            PathCheck::Drop
        };
        assert_eq!(due, [(answer([1; 8]), None), (answer([3; 8]), None)]);
        client.on_packet(at(0), path(2), 1_000, true, RTT);
        assert_eq!(client.next_timeout(), None, "it follows nobody");
    }
}

/// An end that goes elsewhere asks there three times, and not where it was. It answers there, drops what it leaves, and
/// says nothing on a path that is neither. Silence is no failure of the peer.
#[test]
fn an_end_that_goes_elsewhere_asks_there() {
    let (here, there, other) = (path(1), path(2), path(3));
    for is_lost in [false, true] {
        let mut client = Migration::new(false, true, DrawKey([1, 2]));
        client.probe(at(0), there, is_lost.then_some(here), RTT);
        assert!(client.probes(there) && !client.probes(here));
        let mut cookies = Vec::new();
        for ms in 0..1_000 {
            while let Some(due) = client.due(at(ms), 60) {
                let PathCheck::Challenge(cookie) = due.check else {
                    panic!("it answers nothing: {due:?}");
                };
                assert_eq!(due.to, Some(there));
                cookies.push(cookie);
            }
        }
        assert_eq!(cookies.len(), 3);
        let in_use = if is_lost { there } else { here };
        for from in [here, there, other] {
            client.on_check(at(1_000), PathCheck::Challenge([7; 8]), from, in_use);
        }
        let (response, drop) = (PathCheck::Response([7; 8]), PathCheck::Drop([7; 8]));
        let due = std::iter::from_fn(|| client.due(at(1_000), 60));
        let due: Vec<_> = due.map(|due| (due.check, due.to)).collect();
        let answers = if is_lost {
            [(drop, Some(here)), (response, None)]
        } else {
            [(drop, None), (response, Some(there))]
        };
        assert_eq!(due, answers);
        let check = PathCheck::Response(cookies[1]);
        let found = client.on_check(at(1_050), check, there, in_use);
        let rtt = Duration::from_millis(950);
        assert_eq!(found, Found::There { path: there, rtt });
        client.probe(at(2_000), there, None, RTT);
        client.handle_timeout(at(60_000));
        assert_eq!(client.standing(at(60_000), there), Standing::Open);
    }
}

/// An end that still works where it was goes elsewhere when it answers a challenge there: the server hears it.
#[test]
fn a_challenge_there_says_that_the_peer_hears() {
    let (here, there) = (path(1), path(2));
    let mut client = Migration::new(false, true, DrawKey([1, 2]));
    client.probe(at(0), there, None, RTT);
    let challenge = PathCheck::Challenge([7; 8]);
    let found = client.on_check(at(40), challenge, here, here);
    assert_eq!(found, Found::Nothing);
    let found = client.on_check(at(40), challenge, there, here);
    assert_eq!(found, Found::Heard { path: there });
}

/// Who drops the path that it has left is not answered there, rather than refused; who drops another one is.
#[test]
fn what_the_peer_has_left_is_not_refused() {
    for (has_left, standing) in [(true, Standing::Unanswered), (false, Standing::Refused)] {
        let mut server = server();
        if has_left {
            server.on_move(path(2), true);
        }
        server.on_packet(at(0), path(2), 1_000, true, RTT);
        let (there, _) = cookies(&mut server, at(0));
        server.on_check(at(40), PathCheck::Drop(there[0]), path(1), path(1));
        assert_eq!(server.standing(at(40), path(2)), standing);
    }
}

/// A record that drops the path on which it came does not say that the peer is there.
#[test]
fn a_drop_begins_nothing() {
    let mut server = server();
    server.on_check(at(0), PathCheck::Drop([7; 8]), path(2), path(1));
    server.on_record(at(0), path(2), 1_000, true, RTT);
    assert_eq!(server.next_timeout(), None);
    server.on_record(at(1), path(2), 1_000, true, RTT);
    assert!(server.next_timeout().is_some());
}

/// A late record with a challenge is answered within the limit and begins an attempt, but takes none from another
/// address. One without says nothing.
#[test]
fn a_late_challenge_counts() {
    for (bytes, is_answered) in [(19, false), (60, true)] {
        for other in [None, Some(path(3))] {
            let mut server = server();
            if let Some(other) = other {
                server.on_record(at(0), other, 1_000, true, RTT);
            }
            server.on_record(at(0), path(2), 60, false, RTT);
            server.on_check(at(0), PathCheck::Challenge([7; 8]), path(2), path(1));
            server.on_record(at(0), path(2), bytes, false, RTT);
            let due: Vec<_> = std::iter::from_fn(|| server.due(at(0), 60)).collect();
            let there: Vec<_> = due.iter().filter(|due| due.to == Some(path(2))).collect();
            let is_answer = |due: &&&Due| due.check == PathCheck::Response([7; 8]);
            let answers = there.iter().filter(is_answer).count();
            let asked = there.len() - answers;
            assert_eq!(answers, usize::from(is_answered), "{bytes} {other:?}");
            let asks = is_answered && other.is_none();
            assert_eq!(asked, usize::from(asks), "{bytes} {other:?}");
        }
    }
}

/// A challenge from the address that is checked is answered there, once, if so much may go there.
#[test]
fn a_challenge_from_elsewhere_is_answered_within_the_limit() {
    for (bytes, most) in [(19, 0), (20, 1), (40, 2), (1_000, 2)] {
        // Before this end's own challenge.
        let mut server = server();
        server.on_check(at(0), PathCheck::Challenge([7; 8]), path(2), path(1));
        server.on_packet(at(0), path(2), bytes, true, RTT);
        let due = std::iter::from_fn(|| server.due(at(0), 60));
        let there: Vec<_> = due.filter(|due| due.to == Some(path(2))).collect();
        assert_eq!(there.len(), most, "{bytes}");
        let answers = there
            .iter()
            .filter(|due| due.check == PathCheck::Response([7; 8]));
        assert_eq!(answers.count(), most.min(1), "{bytes}");
    }
}
