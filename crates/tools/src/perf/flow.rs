//! One flow: runs this end of it and collects the reports of both ends.

use super::file::{Sink, Source};
use super::link::{Incoming, Link};
use super::meter::Meter;
use super::receiver::Receiver;
use super::report::{FlowReport, Role};
use super::sender::Sender;
use super::session::{Params, Stop};

/// One flow, from the agreement to the exchange of reports.
#[derive(Debug)]
pub(crate) struct Flow {
    pub link: Link,
    pub params: Params,
    pub role: Role,
    pub meter: Meter,
    pub stop: Stop,
    /// The name of our window law, which is used if we send under CCID 2.
    pub law: &'static str,
    /// The file to send.
    pub source: Option<Source>,
    /// The file to write.
    pub sink: Option<Sink>,
    /// A message that arrived before the flow started.
    pub early: Option<Incoming>,
}

impl Flow {
    /// Transfers the data and exchanges the reports.
    pub(crate) async fn run(self) -> FlowReport {
        let Self {
            link,
            params,
            role,
            meter,
            stop,
            law,
            source,
            sink,
            early,
        } = self;
        let flow = params.flow;
        let mut report = match role {
            Role::Sender => {
                let report = Sender::new(&link, &params, &meter, stop, law);
                report.run(source).await
            }
            Role::Receiver => {
                Receiver::new(&link, &params, &meter, stop, sink)
                    .run(early)
                    .await
            }
        };
        link.close().await;
        report.flow = flow;
        report
    }
}
