//! The rate that an encoder follows, on loopback.

use std::net::SocketAddr;
use std::time::Duration;

use fairwire::{
    CloseReason, Connection, EncoderConfig, EncoderTarget, Endpoint, Listener, Security,
};
use tokio::time::timeout;

use crate::{SERVICE, in_time};

async fn pair() -> (Endpoint, Listener, Connection, Connection) {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = fairwire::listen(any, &[SERVICE], Security::None).expect("bound");
    let client = Endpoint::bind(any).expect("bound");
    let connecting = client.connect(listener.local_addr(), SERVICE, Security::None);
    let (here, there) = in_time(async { tokio::join!(connecting, listener.accept()) }).await;
    let (here, there) = (here.expect("connected"), there.expect("accepted"));
    (client, listener, here, there)
}

/// The first rate is there at once. The next one differs from it, and comes only after data has shown it; the end of
/// the connection ends the wait.
#[tokio::test]
async fn changes_of_the_rate_are_awaited() {
    let (_client, _listener, here, there) = pair().await;
    let first = in_time(here.rate_changed()).await.expect("open");
    assert_eq!(Some(first), here.target_bitrate());
    let mut waiting = Box::pin(here.rate_changed());
    let early = timeout(Duration::from_millis(20), &mut waiting).await;
    assert!(early.is_err(), "no data was sent: {early:?}");
    let reading = tokio::spawn(async move { while there.recv().await.is_ok() {} });
    let sending = async {
        while here.send(vec![0; 1_000]).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let second = in_time(async {
        tokio::select! {
            changed = waiting => changed.expect("open"),
            () = sending => panic!("the connection is open"),
        }
    })
    .await;
    assert!(second.has_left(&first), "{first:?}, {second:?}");
    let last = here.clone();
    let ends = tokio::spawn(async move {
        loop {
            if let Err(closed) = last.rate_changed().await {
                return closed;
            }
        }
    });
    here.abort();
    let closed = in_time(ends).await.expect("no panic");
    assert_eq!(closed.reason, CloseReason::Aborted);
    in_time(reading).await.expect("no panic");
}

/// What a connection reports gives an encoder a bitrate below its rate: nothing waits and nothing is lost.
#[tokio::test]
async fn a_connection_feeds_an_encoder() {
    let (_client, _listener, here, _there) = pair().await;
    let mut encoder = EncoderTarget::new(EncoderConfig::default());
    let input = here.encoder_input();
    assert_eq!(input.rate, here.target_bitrate().map(|target| target.rate));
    assert_eq!(
        (input.queue_age, input.lost, input.expired),
        (Duration::ZERO, 0, 0)
    );
    let bitrate = encoder.update(Duration::ZERO, input);
    assert!(
        bitrate < input.rate.expect("a round trip is known"),
        "{bitrate}"
    );
}
