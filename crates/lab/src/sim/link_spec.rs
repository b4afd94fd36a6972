//! From the description of a link to a link of the network.

use fairwire_net::{
    Bernoulli, BitErrors, Bursts, Codel, CodelConfig, DelayVariation, Distribution, DropTail,
    GilbertElliott, LinkSpec, Oversize, Red, RedConfig, Streams, Verdict, every,
};
use fairwire_units::Size;

use crate::scenario::{self, Link, Packets, QueueCounts, QueueLimit};

/// `link`, which results call `name`; what is random in it draws from `name/loss`, `name/delay` and
/// `name/red`.
pub(crate) fn spec(link: &Link, name: &str, streams: Streams) -> LinkSpec {
    let framing = u32::try_from(link.framing_bytes()).unwrap_or(u32::MAX);
    let spec = LinkSpec::new(link.rate, link.delay).framing(framing);
    let mut spec = queue(spec, link, name, streams);
    if let Some(varies) = link.delay_variation {
        spec = spec.variation(variation(varies, name, streams));
    }
    if let Some(mtu) = link.mtu {
        let mtu = u32::try_from(mtu.bytes()).unwrap_or(u32::MAX);
        spec = spec.loss(Oversize::new(mtu));
    }
    losses(spec, link, (name, framing), streams)
}

fn losses(spec: LinkSpec, link: &Link, (name, framing): (&str, u32), streams: Streams) -> LinkSpec {
    let stream = || streams.stream(&format!("{name}/loss"));
    if let Some(Packets(period)) = link.loss_every
        && period > 0
    {
        return spec.loss(every(u64::from(period), Verdict::Drop));
    }
    if let Some(bursts) = link.burst_loss {
        let bursts = Bursts {
            good_to_bad: bursts.good_to_bad.fraction(),
            bad_to_good: bursts.bad_to_good.fraction(),
            loss_good: bursts.loss_good.fraction(),
            loss_bad: bursts.loss_bad.fraction(),
        };
        return spec.loss(GilbertElliott::new(bursts, stream()));
    }
    if let Some(rate) = link.bit_errors.filter(|rate| *rate > 0.0) {
        return spec.loss(BitErrors::new(rate, framing, stream()));
    }
    match link.loss {
        Some(loss) if loss.fraction() > 0.0 => spec.loss(Bernoulli::new(loss.fraction(), stream())),
        _ => spec,
    }
}

fn variation(varies: scenario::DelayVariation, name: &str, streams: Streams) -> DelayVariation {
    let distribution = match varies.distribution {
        scenario::Distribution::Normal => Distribution::Normal,
        scenario::Distribution::Uniform => Distribution::Uniform,
        scenario::Distribution::Pareto => Distribution::Pareto,
    };
    let stream = streams.stream(&format!("{name}/delay"));
    let variation = DelayVariation::new(distribution, varies.deviation, stream);
    let variation = variation.holding(varies.hold.unwrap_or_default());
    if varies.reorders {
        variation.reordering()
    } else {
        variation
    }
}

fn queue(spec: LinkSpec, link: &Link, name: &str, streams: Streams) -> LinkSpec {
    if let Some(red) = link.red {
        let stream = streams.stream(&format!("{name}/red"));
        return spec.queue(Red::new(red_config(link, red), stream));
    }
    if let Some(codel) = link.codel {
        return spec.queue(Codel::new(CodelConfig {
            target: codel.target,
            interval: codel.interval,
            mtu: codel.keeps,
            ecn: codel.ecn,
            limit: packets(link.queue),
        }));
    }
    let queue = match link.queue {
        QueueLimit::Packets(packets) => DropTail::packets(packets),
        QueueLimit::Bytes(size) => DropTail::bytes(size),
    };
    spec.queue(match link.queue_counts {
        QueueCounts::Waiting => queue,
        QueueCounts::Transmission => queue.counting_transmission(),
    })
}

fn red_config(link: &Link, red: scenario::Red) -> RedConfig {
    RedConfig {
        min_th: f64::from(red.min.0),
        max_th: f64::from(red.max.0),
        max_p: red.max_p.fraction(),
        weight: red.weight,
        gentle: red.gentle,
        ecn: red.ecn,
        limit: packets(link.queue),
        rate: link.rate,
        mean_packet: Size::new(red.mean_packet.bytes() + link.framing_bytes()),
    }
}

/// The limit of a queue that manages itself, which a checked scenario gives in packets.
fn packets(limit: QueueLimit) -> u32 {
    match limit {
        QueueLimit::Packets(packets) => packets,
        QueueLimit::Bytes(_) => u32::MAX,
    }
}
