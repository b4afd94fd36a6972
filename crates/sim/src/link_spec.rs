//! Conversion of a scenario's link to a link of the network.

use std::sync::Arc;

use fairwire_net::{BlackHole, LinkContext, LinkSpec, Streams};

use fairwire_units::Instant;

use fairwire_scenario::{Link, TraceFile};

/// Returns the network's form of `link`. `name` is its name in results and the prefix of its random streams.
pub(crate) fn spec(link: &Link, name: &str, streams: Streams) -> LinkSpec {
    let framing = u32::try_from(link.framing_bytes()).unwrap_or(u32::MAX);
    let context = LinkContext {
        name,
        rate: link.mean_rate(),
        framing,
        streams,
    };
    let mut spec = LinkSpec::new(link.mean_rate(), link.delay)
        .framing(framing)
        .boxed_queue(link.queue.build(&context));
    for change in &link.rate_changes {
        spec = spec.rate_from(Instant::START + change.at, change.rate);
    }
    if let Some(trace) = link.trace.as_ref().and_then(TraceFile::trace) {
        spec = spec.trace(Arc::clone(trace));
    }
    if let Some(variation) = &link.delay_variation {
        spec = spec.variation(variation.build(&context));
    }
    if let Some(mtu) = link.mtu {
        let mtu = u32::try_from(mtu.bytes()).unwrap_or(u32::MAX);
        spec = spec.loss(BlackHole::new(mtu));
    }
    match link.loss.as_ref().and_then(|loss| loss.build(&context)) {
        Some(loss) => spec.boxed_loss(loss),
        None => spec,
    }
}
