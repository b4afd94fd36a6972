//! Datagrams that are sent again over a lossy link, in clear text and within DTLS (`docs/resend.md`).

mod relay;

use std::collections::BTreeMap;

use fairwire::emulated::Link;
use fairwire::{
    Ccid, Config, ConnectOptions, Connection, DccpAddr, Fate, ListenOptions, Rate, Received,
    Security, SendError, SendOptions, TrySendError,
};
use tokio::time::sleep;

use crate::{PORT, SERVICE, dtls, ms};

fn resending() -> Config {
    let mut config = Config::default();
    config.resend = true;
    config.report_fates = true;
    config
}

/// Connects over a link of 4 Mbit/s and 20 ms with this loss. Returns the client's end and the server's.
async fn connected(encrypted: bool, loss: f64, configs: [Config; 2]) -> (Connection, Connection) {
    let link = Link::new(Rate::from_bits_per_s(4_000_000), ms(20));
    let (a, b) = link.loss(loss).seed(5).join().expect("a link");
    let (mut client, mut server) = (Security::None, Security::None);
    if encrypted {
        let (ours, theirs) = dtls();
        client = Security::dtls(ours);
        server = Security::dtls(theirs);
    }
    let [here, there] = configs;
    let options = ListenOptions::new().config(there);
    let listener = b.listen_with(PORT, &[SERVICE], server, options);
    let listener = listener.expect("a free port");
    let remote = DccpAddr {
        addr: b.local_addr(),
        dccp_port: PORT,
    };
    let options = ConnectOptions::new().config(here);
    let connecting = a.connect_with(remote, SERVICE, client, options);
    let (here, there) = tokio::join!(connecting, listener.accept());
    (here.expect("it answers"), there.expect("it connects"))
}

fn number(read: &Received) -> u32 {
    u32::from_be_bytes(*read.data.first_chunk().expect("numbered"))
}

/// With 5 % loss, at a rate that CCID 2 sustains, datagrams that may be sent again arrive, each once; a copy says that
/// it is one, and overtakes nothing. Each has one fate, and what has arrived is acknowledged. Others are lost as ever.
#[tokio::test(start_paused = true)]
async fn what_is_of_use_arrives_once() {
    const COUNT: u32 = 1_000;
    for encrypted in [false, true] {
        let (here, there) = connected(encrypted, 0.05, [resending(), resending()]).await;
        assert_eq!(here.is_encrypted(), encrypted);
        let sending = async {
            let mut ids = BTreeMap::new();
            for count in 0..COUNT {
                let mut options = SendOptions::new();
                if count % 2 == 0 {
                    options = options.resend_within(ms(3_000));
                }
                let mut data = vec![7; 300];
                data[..4].copy_from_slice(&count.to_be_bytes());
                let sent = here.send_with(data, options).await;
                ids.insert(sent.expect("there is room"), count);
                sleep(ms(20)).await;
            }
            sleep(ms(4_000)).await;
            ids
        };
        let mut read = Vec::new();
        let reading = async {
            while let Ok(received) = there.recv().await {
                assert_eq!(received.data.len(), 300);
                read.push(received);
            }
        };
        let ids = tokio::select! {
            ids = sending => ids,
            () = reading => panic!("it stays open"),
        };
        let numbers: Vec<u32> = read.iter().map(number).collect();
        let mut once = numbers.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), numbers.len(), "{encrypted}: read twice");
        let of_use = once.iter().filter(|&&count| count % 2 == 0).count();
        let others = once.len() - of_use;
        // A datagram is lost three times with a chance of 1 in 8,000.
        assert!(of_use >= 495, "{encrypted}: {of_use} of 500");
        assert!(
            (440..=499).contains(&others),
            "{encrypted}: {others} of 500"
        );
        let copies: Vec<u32> = read.iter().filter(|one| one.resent).map(number).collect();
        assert!(copies.len() > 10, "{encrypted}: {} copies", copies.len());
        assert!(copies.iter().all(|count| count % 2 == 0), "{encrypted}");
        let stats = here.stats();
        assert!(stats.resent >= copies.len() as u64);
        // What a copy brought is not missing. Lost packets of DTLS and lost acknowledgements are, a few.
        let missing: u64 = read.iter().map(|one| one.lost_before).sum();
        let recovered = copies.len() as u64;
        assert!(
            missing + recovered <= stats.lost + 12,
            "{encrypted}: {missing} missing, {recovered} recovered, {} lost",
            stats.lost
        );
        let mut told = BTreeMap::new();
        while told.len() < ids.len() {
            let (id, fate) = here.fate().await.expect("it is open");
            let count = ids.get(&id).expect("it was sent");
            assert!(told.insert(id, fate).is_none(), "{encrypted}: {id:?} twice");
            let arrived = matches!(fate, Fate::Acknowledged | Fate::Marked);
            assert!(!arrived || numbers.contains(count), "{encrypted}: {id:?}");
        }
        here.close().await.expect("it closes");
    }
}

/// Unless both ends are willing and losses are reported one by one, such datagrams are refused with the reason. All
/// others cross unchanged, whatever they begin with.
#[tokio::test(start_paused = true)]
async fn without_agreement_it_is_refused() {
    for encrypted in [false, true] {
        for (willing, ccid) in [([true, false], 2), ([false, true], 2), ([true, true], 3)] {
            let configs = willing.map(|willing| {
                let mut config = resending();
                config.resend = willing;
                config.send_ccids = vec![Ccid::new(ccid)];
                config.receive_ccids = vec![Ccid::new(ccid)];
                config
            });
            let (here, there) = connected(encrypted, 0.0, configs).await;
            let options = SendOptions::new().resend_within(ms(1_000));
            for end in [&here, &there] {
                let refused = end.try_send_with("data", options);
                let ccid = Ccid::new(ccid);
                let expected = match willing {
                    [true, true] => SendError::ResendWithoutLosses { ccid },
                    _ => SendError::ResendNotAgreed,
                };
                assert_eq!(refused, Err(TrySendError::Send(expected)), "{encrypted}");
            }
            here.send(vec![0xE7; 25]).await.expect("there is room");
            let read = there.recv().await.expect("it arrives");
            assert_eq!((read.data.as_ref(), read.resent), (&[0xE7; 25][..], false));
        }
    }
}

/// The largest datagram may be sent again, too.
#[tokio::test(start_paused = true)]
async fn the_largest_datagram_fits() {
    for encrypted in [false, true] {
        let (here, there) = connected(encrypted, 0.0, [resending(), resending()]).await;
        let max = here.max_datagram_size();
        let options = SendOptions::new().resend_within(ms(1_000));
        let sent = here.send_with(vec![1; max], options).await;
        sent.expect("it fits");
        let read = there.recv().await.expect("it arrives");
        assert_eq!(read.data.len(), max);
        let refused = here.send_with(vec![1; max + 1], options).await;
        let size = max + 1;
        assert_eq!(
            refused,
            Err(SendError::TooLarge { size, max }),
            "{encrypted}"
        );
    }
}

/// A close sends what is queued, in every order of leaving, and ends the session only then.
#[tokio::test(start_paused = true)]
async fn a_close_sends_what_is_queued() {
    const COUNT: u32 = 60;
    for encrypted in [false, true] {
        let (here, there) = connected(encrypted, 0.0, [resending(), resending()]).await;
        for count in 0..COUNT {
            let priority = [0, 3, -3][count as usize % 3];
            let options = SendOptions::new().priority(priority);
            let mut data = vec![7; 900];
            data[..4].copy_from_slice(&count.to_be_bytes());
            here.send_with(data, options).await.expect("there is room");
        }
        assert!(here.stats().queued_packets > 20, "some are still queued");
        let reading = async {
            let mut read = Vec::new();
            loop {
                match there.recv().await {
                    Ok(received) => read.push(number(&received)),
                    Err(end) => return (read, end),
                }
            }
        };
        let (closed, (mut read, end)) = tokio::join!(here.close(), reading);
        closed.expect("it closes");
        read.sort_unstable();
        assert_eq!(read, (0..COUNT).collect::<Vec<_>>(), "{encrypted}");
        assert_eq!((end.is_orderly(), end.is_authenticated), (true, encrypted));
    }
}
