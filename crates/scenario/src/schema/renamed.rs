//! Keys that have been renamed or moved.

/// The table, the old key, and how it is written now.
const RENAMED: &[(&str, &str, &str)] = &[
    ("Link", "loss_every", "loss = { kind = \"every\", n = 100 }"),
    (
        "Link",
        "burst_loss",
        "loss = { kind = \"gilbert-elliott\", good_to_bad = ..., bad_to_good = ... }",
    ),
    (
        "Link",
        "bit_errors",
        "loss = { kind = \"bit-errors\", rate = 1e-6 }",
    ),
    (
        "Link",
        "red",
        "queue = { kind = \"red\", min = ..., max = ..., limit = ... }",
    ),
    ("Link", "codel", "queue = { kind = \"codel\", limit = ... }"),
    (
        "Link",
        "queue_counts",
        "queue = { kind = \"droptail\", limit = ..., counts = ... }",
    ),
    (
        "Flow",
        "rate",
        "inside the traffic: traffic = { kind = \"cbr\", rate = \"2 Mbit/s\" }",
    ),
    (
        "Flow",
        "every",
        "inside the traffic: traffic = { kind = \"cbr\", every = \"20 ms\" }",
    ),
    (
        "Flow",
        "spurts",
        "inside the traffic: traffic = { kind = \"talk-spurts\", talk = ..., pause = ... }",
    ),
    ("Dccp", "cut", OF_THRESHOLD_WINDOW),
    ("Ccid2Config", "cut", OF_THRESHOLD_WINDOW),
    (
        "Dccp",
        "law",
        "in the table of CCID 2: ccid2 = { law = \"vegas\" }",
    ),
    (
        "Dccp",
        "initial_ssthresh",
        "in the table of CCID 2: ccid2 = { initial_ssthresh = \"20 packets\" }",
    ),
    (
        "Dccp",
        "initial_window",
        "in the table of CCID 2: ccid2 = { initial_window = \"2 packets\" }",
    ),
    (
        "Dccp",
        "min_rto",
        "in the table of CCID 2: ccid2 = { min_rto = \"200 ms\" }",
    ),
    (
        "Dccp",
        "idle",
        "in the table of CCID 2: ccid2 = { idle = \"keep\" }",
    ),
    (
        "Dccp",
        "segment",
        "in the table of CCID 3: ccid3 = { segment = \"mps\" }",
    ),
    (
        "Dccp",
        "b",
        "in the table of CCID 3 and 4: ccid3 = { b = 2.0 }",
    ),
    (
        "Dccp",
        "t_rto_rtts",
        "in the table of CCID 3 and 4: ccid3 = { t_rto_rtts = 4.0 }",
    ),
    (
        "Dccp",
        "oscillation_reduction",
        "in the table of CCID 3 and 4: ccid3 = { oscillation_reduction = false }",
    ),
    (
        "Dccp",
        "history_discounting",
        "in the table of CCID 3 and 4: ccid3 = { history_discounting = false }",
    ),
    (
        "Dccp",
        "loss_mean",
        "in the table of CCID 3 and 4: ccid3 = { loss_mean = \"all-weights\" }",
    ),
    (
        "Dccp",
        "first_interval",
        "in the table of CCID 3 and 4: ccid3 = { first_interval = \"latest-rate\" }",
    ),
    (
        "Dccp",
        "feedback",
        "in the table of CCID 3 and 4: ccid3 = { feedback = \"10 per rtt\" }",
    ),
    (
        "Dccp",
        "granularity",
        "in the table of CCID 3 and 4: ccid3 = { granularity = \"1 ms\" }",
    ),
    ("Tcp", "variant", OF_VARIANT),
    ("Tcp", "alpha", OF_VEGAS),
    ("Tcp", "beta", OF_VEGAS),
    ("Tcp", "gamma", OF_VEGAS),
];

const OF_THRESHOLD_WINDOW: &str =
    "inside the law: ccid2 = { law = { kind = \"threshold-window\", cut = \"50 %\" } }";
const OF_VARIANT: &str = "as a window law and a recovery, as in law = \"cubic\" and recovery = \"sack\"; Tahoe, Reno and \
                          SACK are recoveries";
const OF_VEGAS: &str = "inside the law: law = { kind = \"vegas\", alpha = \"1 packet\" }";

/// Returns how the old `key` of `table` is written now.
pub(super) fn renamed(table: &str, key: &str) -> Option<&'static str> {
    let known = RENAMED
        .iter()
        .find(|(in_table, old, _)| *in_table == table && *old == key);
    known.map(|(_, _, now)| *now)
}
