//! Copies of datagrams whose data is made when they leave.

use super::super::deadlines::Numbers;
use super::super::pair::ms;
use super::{Link, copy_of, resending, until};
use crate::{DatagramId, Deferred, Fate};

/// Data that is made when it leaves is made anew for each copy. Such a copy has no option, because whoever makes the
/// data tells the peer what it is.
#[test]
fn deferred_data_is_made_anew() {
    let mut link = Link::new(resending());
    link.lose(0, 2);
    let numbers = std::sync::Arc::new(Numbers {
        next: 0.into(),
        refuses: 100,
    });
    let options = until(link.pair.now + ms(3_000));
    let (now, data) = (link.pair.now, Deferred::new(8, numbers));
    let id = link.pair.ends[0].send_deferred(now, link.client, data, options);
    assert_eq!(id, Ok(DatagramId(0)));
    link.pair.drain();
    link.stream(100);
    link.pair.run_for(ms(2_000));
    assert_eq!(link.told(0), [Fate::Acknowledged]);
    let log = link.pair.log.iter();
    let packets = log.filter(|wire| wire.transmit.id == Some(DatagramId(0)));
    let sent: Vec<_> = packets
        .map(|wire| (wire.transmit.payload.as_slice()[0], copy_of(wire)))
        .collect();
    assert_eq!(sent, [(0, None), (1, None), (2, None)]);
    let read = link.read();
    let arrived: Vec<_> = read.iter().filter(|read| read.payload.len() == 3).collect();
    assert_eq!(arrived.len(), 1);
    assert_eq!(arrived[0].payload.as_slice(), [2; 3]);
}
