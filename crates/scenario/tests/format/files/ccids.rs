//! Valid and invalid parameters of CCIDs.

use super::super::refusal;
use super::GOOD;

/// A key that only another CCID reads is refused, and the error names that CCID. Impossible values are refused as well.
#[test]
fn keys_of_another_ccid_are_refused() {
    for (value, hint) in [
        (
            "ccid = 4, ccid3 = { segment = \"mps\" }",
            "'ccid3.segment' is for CCID 3,",
        ),
        (
            "ccid = 4, ccid2.initial_window = \"4 packets\"",
            "'ccid2.initial_window' is for CCID 2, and this flow has CCID 4: write ccid = 2, or leave out ",
        ),
        ("ccid = 3, ecn_nonce = true", "'ecn_nonce' is for CCID 2,"),
        (
            "ccid = 2, ccid3.segment = \"1460 B\"",
            "'ccid3.segment' is for CCID 3,",
        ),
        (
            "ccid = 2, ccid3 = { b = 2.0 }",
            "'ccid3.b' is for CCID 3 and 4, and this flow has CCID 2: write ccid = 3 or 4, or leave out",
        ),
        (
            "ccid = 2, send_rtt_estimate = true",
            "'send_rtt_estimate' is for CCID 3 and 4,",
        ),
        (
            "ccid = 2, ecn = false, ecn_nonce = true",
            "nonces are sent in ECN-capable packets, and this flow has ecn = false",
        ),
        (
            "ccid = 3, feedback = \"10 per rtt\"",
            "now written in the table of CCID 3 and 4: ccid3 = { feedback",
        ),
        (
            "ccid = 3, granularity = \"1 ms\"",
            "now written in the table of CCID 3 and 4: ccid3 = { granularity",
        ),
        (
            "ccid = 2, law = \"vegas\"",
            "now written in the table of CCID 2: ccid2 = { law",
        ),
        (
            "ccid = 2, ecn = false, ccid2.law = \"dctcp\"",
            "law = \"dctcp\" counts marks, and without ECN there are none",
        ),
        ("ccid = 3, ccid3.b = 1e300", "at most 100"),
        ("ccid = 3, ccid3.t_rto_rtts = 1e300", "at most 1000"),
        ("ccid = 3, ccid3.granularity = \"1 h\"", "at most 1 s"),
        (
            "ccid = 2, ccid2.min_rto = \"0 s\"",
            "at least 1 ms and at most 60 s",
        ),
        (
            "ccid = 3, ccid3.segment = \"0 B\"",
            "is neither \"mean\", \"mps\" nor a size",
        ),
        ("ccid = 3, ccid3.b = 0.5", "must be at least 1.0"),
        ("ccid = 3, ccid3.t_rto_rtts = 0.0", "must be above 0.0"),
        (
            "ccid = 2, ccid2.initial_ssthresh = \"1 packet\"",
            "must be at least 2 packets",
        ),
    ] {
        let message = refusal(&GOOD.replacen("ccid = 2", value, 1));
        assert!(message.contains(hint), "{value}: {message}");
        assert!(message.contains(":32"), "{value}: {message}");
    }
}
