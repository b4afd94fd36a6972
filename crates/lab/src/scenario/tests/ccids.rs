//! Parameters of CCIDs, well and badly.

use super::{GOOD, refusal};

/// What only another CCID reads is refused, with the CCID that reads it; so is what no CCID can do.
#[test]
fn keys_of_another_ccid_are_refused() {
    for (value, hint) in [
        (
            "ccid = 4, ccid3 = { segment = \"mps\" }",
            "'ccid3.segment' is for CCID 3,",
        ),
        (
            "ccid = 4, ccid2.initial_window = \"4 packets\"",
            "'ccid2' is for CCID 2,",
        ),
        ("ccid = 3, ecn_nonce = true", "'ecn_nonce' is for CCID 2,"),
        (
            "ccid = 2, ccid3.segment = \"1460 B\"",
            "'ccid3.segment' is for CCID 3,",
        ),
        (
            "ccid = 2, ccid3 = { b = 2.0 }",
            "'ccid3' is for CCID 3 and 4,",
        ),
        (
            "ccid = 2, send_rtt_estimate = true",
            "'send_rtt_estimate' is for CCID 3 and 4,",
        ),
        (
            "ccid = 3, feedback = \"10 per rtt\"",
            "now written inside its CCID: ccid3 = { feedback",
        ),
        (
            "ccid = 3, ccid3.segment = \"0 B\"",
            "is neither \"mean\", \"mps\" nor a size",
        ),
        ("ccid = 3, ccid3.b = 0.5", "b is at least one packet"),
        (
            "ccid = 3, ccid3.t_rto_rtts = 0.0",
            "t_rto_rtts is more than zero round trips",
        ),
        (
            "ccid = 2, ccid2.initial_ssthresh = \"1 packet\"",
            "use at least 2 packets",
        ),
    ] {
        let message = refusal(&GOOD.replacen("ccid = 2", value, 1));
        assert!(message.contains(hint), "{value}: {message}");
        assert!(message.contains(":32"), "{value}: {message}");
    }
}
