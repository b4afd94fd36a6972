//! Traffic sources: when applications send, and how much.
//!
//! A [`Source`](offer::Source) knows no transport, and a transport knows no kind of source: it works with an
//! [`Application`], which ends a source in time. Another kind is one more file here and a line in [`application`].

mod application;
mod cbr;
mod greedy;
mod offer;
mod talk;

use fairwire_net::Streams;
use fairwire_units::{Duration, Instant, Size};

pub(crate) use application::Application;

use crate::scenario::{Flow, Traffic};
use cbr::Cbr;
use greedy::Greedy;
use talk::Talk;

/// The application that sends in `flow`. What is random in it draws from a stream of its kind, such as
/// `talk/NAME`.
pub(crate) fn application(name: &str, flow: &Flow, streams: Streams) -> Application {
    let stop = flow.stop.map(|stop| Instant::START + stop);
    let total = flow.total.map(Size::bytes);
    let bytes = flow.payload_bytes();
    let interval = flow.interval().unwrap_or(Duration::MAX);
    match flow.traffic {
        Traffic::Greedy => Application::new(Greedy { bytes }, stop, total),
        Traffic::Cbr => Application::new(Cbr::new(interval, bytes), stop, total),
        Traffic::TalkSpurts => {
            let stream = streams.stream(&format!("talk/{name}"));
            let spurts = flow.spurts.unwrap_or_default();
            Application::new(Talk::new(spurts, stream, interval, bytes), stop, total)
        }
    }
}
