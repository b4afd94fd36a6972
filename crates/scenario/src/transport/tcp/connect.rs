//! TCP as a transport.

use fairwire_cc::default_law;
use fairwire_proto::ConfigError;
use fairwire_tcp::{Receiver, RecoveryKind, Sender, Source, TIMESTAMPS};

use super::super::model::{Conversation, Peers, Transport};
use super::super::ticks::Ticks;
use super::build;
use super::peers::{TcpSink, TcpSource};
use super::settings::Tcp;

/// The size of a TCP header without options, bytes.
const HEADER: u32 = 20;

impl Transport for Tcp {
    fn label(&self) -> &'static str {
        "TCP"
    }

    fn is_ecn_capable(&self) -> bool {
        self.ecn
    }

    fn header_bytes(&self) -> u32 {
        HEADER + if self.timestamps { TIMESTAMPS } else { 0 }
    }

    fn has_datagrams(&self) -> bool {
        false
    }

    fn check(&self) -> Result<(), ConfigError> {
        let after_loss = self.recovery == RecoveryKind::Tahoe && self.law != default_law();
        if after_loss {
            let message = "recovery = \"tahoe\" goes with law = \"newreno\": a slow start after each loss leaves other laws \
                           nothing to do";
            return Err(ConfigError::new("recovery", message));
        }
        if self.law.counts_marks() && !self.ecn {
            let law = self.law.kind();
            let message = format!(
                "law = \"{law}\" counts marks, and without ECN there are none: write ecn = true"
            );
            return Err(ConfigError::new("ecn", message));
        }
        Ok(())
    }

    fn connect(&self, conversation: &Conversation<'_>) -> Result<Peers, String> {
        let (source, sink) = conversation.ends;
        let mut sending = (conversation.application)(conversation.name);
        sending.begin(conversation.start);
        let config = build::config(self, conversation.wire_bytes);
        let data = match (sending.is_greedy(), sending.left()) {
            (false, _) => Source::Written,
            (true, None) => Source::Greedy,
            (true, Some(total)) => Source::Finite(total),
        };
        let total = sending.left();
        let controller = build::controller(&config, self);
        let sender = Sender::new(config, controller, data, conversation.start);
        let ticks = |side: &str| {
            let every = self.tick?;
            let (streams, name) = (conversation.streams, conversation.name);
            Some(Ticks::new(every, streams, name, side))
        };
        let from =
            TcpSource::new(source, sender, sending, conversation.start).ticking(ticks("sender"));
        let to = TcpSink::new(sink, Receiver::new(config), total).ticking(ticks("receiver"));
        Ok((Box::new(from), Box::new(to)))
    }
}
