//! In the steady state most datagrams cost no allocation of their own. On Linux: elsewhere each one arrives alone.

use std::collections::VecDeque;

use fairwire::{Bytes, DccpAddr, Endpoint, Security};
use fairwire_held::thread::calls;

use crate::{SERVICE, alone};

/// Both ends of a flow run on this thread, with their drivers, and allocate at most once for four datagrams: for each
/// call of the application that sends up to 32 of them, for each buffer of datagrams that is lent to the one that reads,
/// and for datagrams that arrive in a short train.
#[test]
fn few_datagrams_cost_an_allocation() {
    const WARM_UP: usize = 20_000;
    const COUNTED: usize = 50_000;
    alone(async {
        let any = "127.0.0.1:0".parse().expect("an address");
        let server = Endpoint::bind(any).expect("a free port");
        let listener = server
            .listen(5_001, &[SERVICE], Security::None)
            .expect("a free port");
        let remote = DccpAddr {
            addr: server.local_addr(),
            dccp_port: 5_001,
        };
        let client = Endpoint::bind(any).expect("a free port");
        let connecting = client.connect(remote, SERVICE, Security::None);
        let (here, there) = tokio::join!(connecting, listener.accept());
        let (here, there) = (here.expect("connected"), there.expect("accepted"));
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
