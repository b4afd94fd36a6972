//! The actions of an application on its connections, as an input selects them.

use arbitrary::Unstructured;
use bytes::Bytes;
use fairwire_proto::{ConnectionId, Direction};
use fairwire_units::Instant;
use fairwire_wire::{DropCode, Seq};

use crate::content::datagram;
use crate::setup::{byte, ccids_of, pick};
use crate::watched::{Read, Watched};

/// The port of every listener.
pub(crate) const PORT: u16 = 5_001;

/// Lengths of datagrams, bytes.
const LENGTHS: [usize; 8] = [100, 1, 0, 20, 500, 1_300, 1_460, 8_000];

/// An account of what an application sends and reads.
pub(crate) trait Ledger {
    /// Records a datagram that was given to the endpoint to send.
    fn sent(&mut self, id: ConnectionId, payload: &Bytes);
    /// Records a datagram that was read.
    fn read(&mut self, read: &Read);
}

/// One application.
#[derive(Debug, Default)]
pub(crate) struct Application {
    datagrams: u64,
    last_read: Option<(ConnectionId, Seq)>,
}

impl Application {
    /// Performs one action on one connection. Two bytes select the action and the connection; some actions take more
    /// bytes.
    pub(crate) fn act(
        &mut self,
        end: &mut Watched,
        now: Instant,
        u: &mut Unstructured<'_>,
        ledger: &mut impl Ledger,
    ) {
        let (what, how) = (byte(u), byte(u));
        let Some(id) = end.id(what >> 4) else {
            return;
        };
        match what & 15 {
            0 | 1 => self.send(end, now, id, how, ledger),
            2 | 3 => self.read_all(end, id, ledger),
            4 => end.call(now, |end| end.close(now, id)),
            5 => end.call(now, |end| end.abort(now, id)),
            6 => end.call(now, |end| end.discard(now, id)),
            7 => end.call(now, |end| end.abandon(now, id)),
            8 => change_ccid(end, now, id, how),
            9 => end.call(now, |end| end.stop_reading(now, id)),
            10 => end.call(now, |end| end.set_slow(now, id, how & 1 == 0)),
            11 => self.report(end, now, how),
            12 => end.call(now, |end| end.path_changed(now, id)),
            13 if how & 1 == 0 => {
                let mtu = pick(
                    &[0, 576, 1_000, 1_280, 1_499, 1_500, 9_000, u16::MAX],
                    how >> 1,
                );
                end.call(now, |end| end.limit_path_mtu(now, id, mtu));
            }
            13 => end.call(now, |end| {
                end.rediscover_path_mtu(now, id);
            }),
            14 => end.releases = how & 1 == 0,
            _ => room(end, now, how),
        }
    }

    /// Sends some datagrams of one length.
    fn send(
        &mut self,
        end: &mut Watched,
        now: Instant,
        id: ConnectionId,
        how: u8,
        ledger: &mut impl Ledger,
    ) {
        for _ in 0..pick(&[1, 2, 5, 17, 40, 300, 1, 3], how >> 3) {
            self.datagrams += 1;
            let payload = datagram(self.datagrams, pick(&LENGTHS, how));
            ledger.sent(id, &payload);
            if !end.send(now, id, payload) {
                break;
            }
        }
    }

    /// Reads all datagrams that wait.
    pub(crate) fn read_all(
        &mut self,
        end: &mut Watched,
        id: ConnectionId,
        ledger: &mut impl Ledger,
    ) {
        while let Some(read) = end.read(id) {
            self.last_read = Some((id, read.seq));
            ledger.read(&read);
        }
    }

    /// Reports the datagram that was read last, or one just before it, as dropped.
    fn report(&self, end: &mut Watched, now: Instant, how: u8) {
        let Some((id, seq)) = self.last_read else {
            return;
        };
        let code = DropCode::from_number(how & 7);
        let seq = seq.sub(u64::from(how >> 3 & 3));
        end.call(now, |end| {
            end.report_dropped(now, id, seq, code);
        });
    }
}

fn change_ccid(end: &mut Watched, now: Instant, id: ConnectionId, how: u8) {
    let direction = match how & 1 {
        0 => Direction::Send,
        _ => Direction::Receive,
    };
    let numbers: &[u8] = pick(
        &[&[3], &[2], &[4], &[2, 3], &[4, 2], &[3, 2], &[], &[7]],
        how >> 1,
    );
    let ccids = ccids_of(numbers);
    end.call(now, |end| {
        let _ = end.change_ccid(now, id, direction, &ccids);
    });
}

/// Changes the accept queue, or removes the listener.
fn room(end: &mut Watched, now: Instant, how: u8) {
    end.call(now, |end| match how & 3 {
        0 => end.set_accept_places(PORT, usize::from(how >> 2)),
        1 | 2 => end.free_place(now, PORT),
        _ => end.unlisten(PORT),
    });
}
