//! Sessions for worlds with encryption. The handshake goes as that of DTLS does, in three messages and an
//! acknowledgement, each of which may be lost or copied; nothing is hidden, so that a state costs microseconds and its
//! hash shows all of it.

use std::any::Any;
use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use fairwire_units::{Duration, Instant};

use crate::security::{
    Opened, PathFacts, Rest, Security, SecurityError, Session, SessionOutput, SessionStage,
};

/// The first byte of each kind of datagram.
const HELLO: u8 = 1;
const ANSWER: u8 = 2;
const DONE: u8 = 3;
/// The acknowledgement of `DONE`.
const HEARD: u8 = 4;
const DATA: u8 = 5;
const END: u8 = 6;

/// How long the client waits for an answer, twice as long each time, and how often it asks.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const TRIES: u8 = 6;

/// Begins such sessions at one end.
#[derive(Debug)]
pub(super) struct Lock {
    pub(super) is_client: bool,
}

impl Security for Lock {
    fn speaks_first(&self) -> bool {
        self.is_client
    }

    fn handshake_memory(&self) -> usize {
        size_of::<Turns>()
    }

    fn overhead(&self) -> usize {
        1
    }

    fn begin(&self, now: Instant, _: PathFacts) -> Result<Box<dyn Session>, SecurityError> {
        let mut turns = Turns {
            is_client: self.is_client,
            stage: Stage::Silent,
            said: None,
            repeat_at: None,
            tries: 0,
            is_waiting: false,
            is_closed: false,
            outputs: VecDeque::new(),
        };
        if self.is_client {
            turns.ask(now, HELLO);
        }
        Ok(Box::new(turns))
    }
}

/// What this end knows.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Stage {
    /// It has no keys.
    Silent,
    /// It has keys, and does not know whether the peer has them.
    Keyed,
    /// Both have keys.
    Confirmed,
}

#[derive(Debug)]
struct Turns {
    is_client: bool,
    stage: Stage,
    /// What the client repeats until there is an answer.
    said: Option<u8>,
    repeat_at: Option<Instant>,
    tries: u8,
    is_waiting: bool,
    is_closed: bool,
    outputs: VecDeque<SessionOutput>,
}

#[derive(Debug, thiserror::Error)]
#[error("no answer")]
struct NoAnswer;

impl Turns {
    fn say(&mut self, kind: u8) {
        self.outputs
            .push_back(SessionOutput::Send(Bytes::copy_from_slice(&[kind])));
    }

    /// Says something that the peer answers.
    fn ask(&mut self, now: Instant, kind: u8) {
        self.said = Some(kind);
        self.tries = 0;
        self.repeat_at = Some(now + FIRST_WAIT);
        self.say(kind);
    }

    fn confirm(&mut self) {
        self.stage = Stage::Confirmed;
        self.said = None;
        self.repeat_at = None;
    }

    /// Takes what only the peer of an end with keys sends. Returns what remains unread of it: all, or nothing.
    fn reads(&mut self, len: usize) -> Rest {
        if self.stage == Stage::Silent {
            return Rest::Early {
                place: 0..len,
                missed: false,
            };
        }
        self.confirm();
        Rest::Nothing
    }
}

impl Session for Turns {
    fn open(&mut self, now: Instant, datagram: &mut [u8]) -> Result<Opened, SecurityError> {
        let mut opened = Opened {
            data: None,
            rest: Rest::Nothing,
        };
        let len = datagram.len();
        let Some(&kind) = datagram.first() else {
            return Ok(opened);
        };
        match (kind, self.is_client, self.stage) {
            (HELLO, false, Stage::Silent) => self.say(ANSWER),
            (ANSWER, true, Stage::Silent) => {
                self.stage = Stage::Keyed;
                self.outputs.push_back(SessionOutput::Ready);
                self.ask(now, DONE);
            }
            (DONE, false, stage) => {
                if stage == Stage::Silent {
                    self.confirm();
                    self.outputs.push_back(SessionOutput::Ready);
                }
                self.say(HEARD);
            }
            (HEARD, true, _) => opened.rest = self.reads(len),
            (DATA, ..) => {
                opened.rest = self.reads(len);
                opened.data = (opened.rest == Rest::Nothing).then_some(1..len);
            }
            (END, ..) => {
                opened.rest = self.reads(len);
                let end = (opened.rest == Rest::Nothing).then_some(SessionOutput::Closed);
                self.outputs.extend(end);
            }
            _ => {}
        }
        Ok(opened)
    }

    fn forget_early(&mut self) {}

    fn handle_timeout(&mut self, now: Instant) -> Result<(), SecurityError> {
        let Some(kind) = self.said else {
            return Ok(());
        };
        self.tries += 1;
        if self.tries == TRIES {
            return Err(SecurityError::new(NoAnswer));
        }
        self.repeat_at = Some(now + FIRST_WAIT * 2_u64.pow(u32::from(self.tries)));
        self.say(kind);
        Ok(())
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.repeat_at.filter(|_| !self.is_waiting)
    }

    fn poll(&mut self) -> Option<SessionOutput> {
        self.outputs.pop_front()
    }

    fn seal(
        &mut self,
        _: Instant,
        data: &[&[u8]],
        datagrams: &mut BytesMut,
    ) -> Result<(), SecurityError> {
        assert!(self.stage > Stage::Silent, "sealed without keys");
        assert!(!self.is_closed, "sealed after its end was announced");
        datagrams.extend_from_slice(&[DATA]);
        for part in data {
            datagrams.extend_from_slice(part);
        }
        Ok(())
    }

    fn close(&mut self, _: Instant) {
        self.is_closed = true;
        self.say(END);
    }

    fn stage(&self) -> SessionStage {
        match self.stage {
            Stage::Silent => SessionStage::Handshake,
            Stage::Keyed => SessionStage::Accepted,
            Stage::Confirmed => SessionStage::Confirmed,
        }
    }

    fn set_max_datagram(&mut self, _: usize) {}

    fn set_waiting(&mut self, now: Instant, waiting: bool) {
        if self.is_waiting && !waiting && self.said.is_some() {
            self.repeat_at = Some(now + FIRST_WAIT * 2_u64.pow(u32::from(self.tries)));
        }
        self.is_waiting = waiting;
    }

    fn memory(&self) -> usize {
        size_of::<Self>()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
