//! The beginning of a conversation: a flow's transport makes its two peers.

use fairwire_net::Streams;
use fairwire_units::{Instant, Size};

use fairwire_scenario::Flow;
use fairwire_scenario::traffic::FlowContext;
use fairwire_scenario::transport::Conversation;
use fairwire_scenario::transport::application::Application;
use fairwire_scenario::transport::ends::Ends;
use fairwire_scenario::transport::model::Peers;

/// A flow of a scenario in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct NamedFlow<'a> {
    pub(super) name: &'a str,
    pub(super) flow: &'a Flow,
    pub(super) streams: Streams,
}

impl NamedFlow<'_> {
    /// Makes the peers of the flow, which begins at `start`.
    pub(super) fn connect(&self, ends: (Ends, Ends), start: Instant) -> Result<Peers, String> {
        let stop = self.flow.stop.map(|stop| Instant::START + stop);
        let application = self.application(stop, self.flow.total.map(Size::bytes));
        self.begin(ends, start, (&application, false))
    }

    /// Makes the peers of a short flow of `bytes` bytes, which begins at `start`. Its connection ends with it.
    pub(super) fn call(
        &self,
        ends: (Ends, Ends),
        start: Instant,
        bytes: u64,
    ) -> Result<Peers, String> {
        let application = self.application(None, Some(bytes));
        self.begin(ends, start, (&application, true))
    }

    /// Returns a function that makes applications that stop at `stop` and send `total` bytes.
    fn application(
        &self,
        stop: Option<Instant>,
        total: Option<u64>,
    ) -> impl Fn(&str) -> Application {
        let packet = self.flow.packet_shape();
        move |name| {
            let context = FlowContext::new(name, packet, self.streams);
            Application::new(self.flow.traffic.build(&context), stop, total)
        }
    }

    fn begin(
        &self,
        ends: (Ends, Ends),
        start: Instant,
        (application, closes): (&dyn Fn(&str) -> Application, bool),
    ) -> Result<Peers, String> {
        let transport = self.flow.transport();
        let conversation = Conversation {
            name: self.name,
            ends,
            start,
            wire_bytes: self.flow.wire_bytes(),
            closes,
            streams: self.streams,
            application,
        };
        let made = transport.connect(&conversation);
        made.map_err(|what| format!("{}: {what}", transport.label()))
    }
}
