//! New keys on paths that are slower than the first repeat, that lose datagrams, and while both ends announce one.

use std::cell::RefCell;
use std::rc::Rc;

use fairwire_units::Duration;

use crate::net::{CLIENT, Net, Random, SERVER, pinned};

/// How many data each end sends, 20 a second. An end gives up a key that is not acknowledged after some seven minutes.
const SENT: usize = 12_000;

/// New keys that both ends announce all the time cross on the path. All data that it does not lose arrive, and no end
/// waits for an acknowledgement in vain.
///
/// RFC 9147, section 8, and RFC 8446, section 4.6.3: an end that is asked for a new key, and is about to replace its own
/// for its age, announces one.
#[test]
fn new_keys_of_both_ends_cross() {
    for records_per_key in [16, 50] {
        for share in [0, 10] {
            let what = format!("{records_per_key} records, {share} % lost");
            let (client, server) = pinned();
            // The first repeat comes after 50 ms, and an acknowledgement after 400.
            let rtt = Duration::from_millis(20);
            let client = client.round_trip(rtt).records_per_key(records_per_key);
            let server = server.round_trip(rtt).records_per_key(records_per_key);
            let mut net = Net::new(&client, &server);
            net.run_for(Duration::from_secs(2));
            net.expect_connected();
            let lost = Rc::new(RefCell::new([0, 0]));
            let (count, mut random) = (Rc::clone(&lost), Random::new(7));
            net.path = Box::new(move |from, _| {
                if random.below(100) < share {
                    count.borrow_mut()[from] += 1;
                    return Vec::new();
                }
                vec![Duration::from_millis(200)]
            });
            for _ in 0..SENT {
                for end in [CLIENT, SERVER] {
                    net.send(end, b"data");
                }
                net.run_for(Duration::from_millis(50));
                assert_eq!(net.failed, [None, None], "{what}");
            }
            net.run_for(Duration::from_secs(1));
            for end in [CLIENT, SERVER] {
                let least = SENT - lost.borrow()[1 - end];
                assert!(net.data(end).len() >= least, "{what}");
            }
        }
    }
}
