//! The paper queue-size: packet sizes, and the claims that its published numbers decide.

use fairwire_paper::Verdict;

use crate::{Verdicts, quick};

/// The claims of the paper, those of single rates, and those derived from its numbers.
const CLAIMS: &[&str] = &[
    "S3-C1",
    "S3-C2",
    "S3-C3",
    "S3-C4",
    "S3-C4-96",
    "S3-C4-512",
    "S3-C4-2048",
    "S3-C4-5096",
    "S3-C5",
    "S3-C6",
    "S3-C7",
    "S3-C8",
    "S3-C9",
    "S3-C10",
    "S3-C11",
    "S3-C11-96",
    "S3-C11-512",
    "S3-C11-2048",
    "S3-C11-5096",
    "S3-C12",
    "S3-D1",
    "S3-D2",
    "S3-D4",
];

/// All claims have a verdict.
///
/// Contradictions of the paper are found in its numbers without a run, and a claim about cells that were not run is not
/// judged.
#[test]
fn every_claim_has_a_verdict() {
    let paper = quick("queue-size");
    let verdicts = Verdicts::after(&paper, &["96k-q10", "96k-q20"]);
    verdicts.are_of(CLAIMS);
    for id in ["S3-C1", "S3-C3", "S3-C7", "S3-C8"] {
        assert_eq!(*verdicts.of(id), Verdict::Contradiction, "{id}");
    }
    for id in ["S3-C9", "S3-D2"] {
        assert_eq!(*verdicts.of(id), Verdict::NotRun, "{id}");
    }
}

/// A packet has 160 bytes of speech, 12 of RTP, 16 of DCCP and 20 of IP, and the link adds 3: 211 bytes.
#[test]
fn a_packet_is_made_of_real_headers() {
    for cell in &quick("queue-size").cells {
        let mut flows = cell.scenario.enabled_flows();
        let Some((_, flow)) = flows.find(|(_, flow)| flow.rtp) else {
            assert!(cell.name.starts_with("two-tcp"), "{}", cell.name);
            continue;
        };
        let (_, link) = cell.scenario.topology.links()[0];
        assert_eq!(flow.payload_bytes(), 160 + 12, "{}", cell.name);
        assert_eq!(
            u64::from(flow.wire_bytes()) + link.framing_bytes(),
            211,
            "{}",
            cell.name
        );
    }
}
