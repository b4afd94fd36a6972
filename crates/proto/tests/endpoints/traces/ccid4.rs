//! CCID 4 (RFC 5622 and RFC 4828); see `tfrc` for how to read the table.

/// Slow start, losses counted packet by packet, and silence, with datagrams of 100 bytes.
///
/// - The initial rate is that of CCID 3 for these datagrams, 4 x 100 bytes per round trip, and X grows in the same way
///   (RFC 5622, 5). But datagrams are at least 10 ms apart: at most 10,000 bytes are received per second, so X stops at
///   twice that (RFC 5348, 4.3).
/// - The equation has s = 1,460; 100 of 136 bytes of its rate are for data (RFC 5622, 5). With an interval of 10 before
///   the first loss, p = 1/10 gives 25,843 and so 19,003.
/// - The interval from 40 to 49 took 100 ms, less than two round trips, and lost 2 of its 10 packets: its length is
///   10/2 = 5 (RFC 4828, 4.4). The mean with the interval before is 7.5, without the current interval, which is too
///   short to count: 16,988, and so 12,491.
/// - No report arrives for 4R after the one at 800 ms: half of the equation's rate remains (RFC 5348, 4.4).
const RATE: &str = "
    0 | greedy                 |  4000 | inf | 0
  100 | report  1000           |  8000 | inf | 0
  200 | report  4000           | 16000 | inf | 0
  300 | report  8000           | 16000 | inf | 0
  400 | report 10000           | 20000 | inf | 0
  450 | report 10000           | 20000 | inf | 0
  500 | report 10000           | 20000 | inf | 0
  600 | report 10000 from 40*2 | 19003 | 10  | 0
  700 | report 10000 from 40*2 50*2 | 12491 | 7.5 | 0
  800 | report 10000 from 40*2 50*2 | 12491 | 7.5 | 0
 1199 | -                      | 12491 | 7.5 | 0
 1201 | -                      |  6246 | 7.5 | 1
";

#[test]
fn small_packets() {
    super::tfrc::run(RATE, 4, 100, 10);
}
