//! In the steady state most datagrams cost no allocation of their own. On Linux: elsewhere each one arrives alone.

use std::collections::VecDeque;

use fairwire::Bytes;
use fairwire_held::thread::calls;

use crate::{alone, connected};

/// Both ends of a flow run on this thread, with their drivers, and allocate at most once for four datagrams: for each
/// call of the application that sends up to 32 of them, for each buffer of datagrams that is lent to the one that reads,
/// and for datagrams that arrive in a short train.
#[test]
fn few_datagrams_cost_an_allocation() {
    const WARM_UP: usize = 20_000;
    const COUNTED: usize = 50_000;
    alone(async {
        let (_, here, there) = connected().await;
        let sending = tokio::spawn(async move {
            let datagram = Bytes::from(vec![0; 1_200]);
            let mut queue = VecDeque::new();
            loop {
                queue.resize(32, datagram.clone());
                here.send_many(&mut queue).await.expect("sent");
            }
        });
        let mut inbox = Vec::new();
        let (mut received, mut before) = (0, 0);
        while received < WARM_UP + COUNTED {
            if received < WARM_UP {
                before = calls();
            }
            received += there.recv_many(&mut inbox, 32).await.expect("data");
            inbox.clear();
        }
        let made = calls() - before;
        sending.abort();
        assert!(made <= COUNTED as u64 / 4, "{made} for {COUNTED} datagrams");
    });
}
