use super::{Bernoulli, Loss, Verdict, every, nth};
use crate::{FlowId, Handle, NodeId, Packet, Streams};
use fairwire_units::{Ecn, Instant};

fn packet(flow: u32) -> Packet {
    Packet {
        source: NodeId(0),
        destination: NodeId(1),
        flow: FlowId(flow),
        wire_len: 100,
        ecn: Ecn::NotEct,
        handle: Handle(0),
    }
}

fn touched(loss: &mut impl Loss, flows: impl IntoIterator<Item = u32>) -> Vec<usize> {
    flows
        .into_iter()
        .map(|flow| loss.verdict(Instant::START, &packet(flow)))
        .zip(1..)
        .filter(|(verdict, _)| *verdict != Verdict::Pass)
        .map(|(_, number)| number)
        .collect()
}

/// A rule affects exactly the packets that it names, in whatever order it names them.
#[test]
fn nth_touches_exactly_those() {
    let mut rule = nth([28, 14, 26, 14, 0], Verdict::Drop);
    assert_eq!(touched(&mut rule, [0; 100]), [14, 26, 28]);
}

/// A rule for one flow neither counts nor affects the packets of others.
#[test]
fn nth_of_a_flow() {
    let mut rule = nth([1, 3], Verdict::Mark).of(FlowId(5));
    assert_eq!(touched(&mut rule, [4, 5, 4, 5, 4, 5, 5]), [2, 6]);
}

/// The number of losses, and the number of losses that directly follow a loss, are binomially distributed.
#[test]
fn bernoulli_is_binomial() {
    let n = 100_000;
    for seed in 0..5 {
        let mut loss = Bernoulli::new(0.01, Streams::new(seed).stream("loss"));
        let lost = touched(&mut loss, vec![0; n]);
        // Four standard deviations: 4 * sqrt(n p (1 - p)) = 126.
        assert!(
            lost.len().abs_diff(1_000) < 126,
            "seed {seed}: {}",
            lost.len()
        );
        let pairs = lost.windows(2).filter(|pair| pair[1] == pair[0] + 1);
        // n p^2 = 10 expected; the probability of more than 25 is below 2e-5.
        assert!(pairs.count() <= 25, "seed {seed}");
    }
}

/// A period of three drops every third packet and no other; a period of zero drops none.
#[test]
fn every_third() {
    let mut rule = every(3, Verdict::Drop);
    assert_eq!(touched(&mut rule, [4; 10]), [3, 6, 9]);
    assert_eq!(touched(&mut every(0, Verdict::Drop), [4; 10]), [0; 0]);
}
