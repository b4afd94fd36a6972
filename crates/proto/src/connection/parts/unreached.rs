//! Errors of the network about the packets of a connection, and what they prove together.

use fairwire_units::Instant;
use fairwire_wire::Seq;

use crate::event::CloseReason;
use crate::transmit::Unreachable;

/// What the network has said against the connection.
#[derive(Debug, Default)]
pub(crate) struct Unreached {
    /// The last error that an attempt to connect met.
    pub(crate) said: Option<Unreachable>,
    /// When an error came that needs another to confirm it, and GSS at that time.
    doubt: Option<(Instant, Seq)>,
}

impl Unreached {
    /// Why an attempt to connect that nobody answered is over.
    pub(crate) fn timeout_reason(&self) -> CloseReason {
        match self.said {
            Some(why) => CloseReason::Unreachable { why },
            None => CloseReason::ConnectTimeout,
        }
    }

    /// Is an error about packet `seq` the second, about a packet that left after the first came,
    /// with nothing heard since? If there was no first, it is that.
    pub(crate) fn confirms(
        &mut self,
        now: Instant,
        seq: Seq,
        gss: Seq,
        heard_at: Option<Instant>,
    ) -> bool {
        let doubt = self.doubt.filter(|&(since, _)| heard_at < Some(since));
        if let Some((_, sent)) = doubt {
            return seq.is_after(sent);
        }
        self.doubt = Some((now, gss));
        false
    }
}
