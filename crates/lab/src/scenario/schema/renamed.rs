//! Keys that are written in another way by now.

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
    ("Tcp", "variant", OF_VARIANT),
    ("Tcp", "alpha", OF_VEGAS),
    ("Tcp", "beta", OF_VEGAS),
    ("Tcp", "gamma", OF_VEGAS),
];

const OF_THRESHOLD_WINDOW: &str =
    "inside the law: law = { kind = \"threshold-window\", cut = \"50 %\" }";
const OF_VARIANT: &str = "as a window law and a recovery, as in law = \"cubic\" and recovery = \"sack\"; Tahoe, Reno and \
                          SACK are recoveries";
const OF_VEGAS: &str = "inside the law: law = { kind = \"vegas\", alpha = \"1 packet\" }";

/// How the old key `key` of `table` is written now.
pub(super) fn renamed(table: &str, key: &str) -> Option<&'static str> {
    let known = RENAMED
        .iter()
        .find(|(in_table, old, _)| *in_table == table && *old == key);
    known.map(|(_, _, now)| *now)
}
