//! ICMP errors about the packets of a connection, and what they prove together.

use fairwire_units::{Duration, Instant};
use fairwire_wire::Seq;

use crate::event::CloseReason;
use crate::transmit::Unreachable;

/// The ICMP errors about one connection.
#[derive(Debug, Default)]
pub(crate) struct IcmpErrors {
    /// The last error that an attempt to connect met.
    pub(crate) last: Option<Unreachable>,
    /// When an error came that needs a second one to confirm it, and GSS at that time.
    doubt: Option<(Instant, Seq)>,
}

impl IcmpErrors {
    /// Returns why an attempt to connect that timed out is over.
    pub(crate) fn timeout_reason(&self) -> CloseReason {
        match self.last {
            Some(why) => CloseReason::Unreachable { why },
            None => CloseReason::ConnectTimeout,
        }
    }

    /// Returns whether an error about packet `seq` confirms an earlier one: its packet left after the first error came,
    /// and nothing was received since. Without a first error, this one is recorded as the first. It counts once `patience`
    /// has passed.
    pub(crate) fn confirms(
        &mut self,
        now: Instant,
        seq: Seq,
        gss: Seq,
        heard_at: Option<Instant>,
        patience: Duration,
    ) -> bool {
        let doubt = self.doubt.filter(|&(since, _)| heard_at < Some(since));
        if let Some((since, sent)) = doubt {
            return seq.is_after(sent) && now >= since + patience;
        }
        self.doubt = Some((now, gss));
        false
    }
}
