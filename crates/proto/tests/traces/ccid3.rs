//! CCID 3 (RFC 4342, and RFC 5348 for the rate); `tfrc` says how to read the table.

/// Slow start, two loss events, silence, a pause, and an application that is the limit.
///
/// - Initial rate (RFC 5348, 4.2): min(4s, max(2s, 4380)) = 4,000 bytes per round trip.
/// - Without losses X doubles once per round trip (4.3), so not at 450 ms, and stays below twice the
///   largest receive rate of the last two round trips: 2 x 80,000 at 300 ms. Until then the
///   infinity of the start stands in the set.
/// - The equation (3.1) at s = 1,000, R = 0.1 s, b = 1 and `t_RTO` = 4R gives 112,332 at p = 1/100. The
///   second event closes an interval of 145 - 70 = 75: the mean of 75 and 100 is 87.5, as the one
///   that has just begun would only lower it (5.4), and the equation gives 103,839.
/// - The nofeedback timer (4.3, 4.4) is max(4R, 2s/X) = 400 ms and the few
///   microseconds by which Elapsed Time is rounded. At 1,200 ms twice the receive rate
///   is above the equation's, so half of the latter is left; the set then holds a quarter, and
///   at 1,600 ms that is what limits, so that a quarter is left.
/// - At 1,700 ms a receive rate of 40,000 permits twice as much.
/// - At 2,100 ms the timer expires: 2 x 40,000 is below the equation's rate and is halved. At 2,500 ms
///   nothing was sent since the timer was set, and what was received, 20,000 by now, is below the
///   recover rate of 40,000: nothing changes any more (4.4).
/// - At 3,100 ms the report covers a round trip without data to send: what was once received stays
///   allowed, 2 x 20,000 (4.3). At 3,200 ms the application is not the limit: 2 x 40,000.
/// - From 5,000 ms on the application sends 10,000 bytes per second of 40,000 allowed, which stay
///   allowed. A loss in this halves the 20,000 in the set to 10,000, which is more than 0.85 x
///   10,000, and is the limit without being doubled (4.3). (The interval that is open counts by now, as
///   it has become long; X does not depend on it here, so p is left out.)
const RATE: &str = "
    0 | greedy                            |  40000 | inf  | 0
  100 | report  10000                     |  80000 | inf  | 0
  200 | report  40000                     | 160000 | inf  | 0
  300 | report  80000                     | 160000 | inf  | 0
  400 | report 160000                     | 320000 | inf  | 0
  450 | report 160000                     | 320000 | inf  | 0
  500 | report 320000                     | 640000 | inf  | 0
  600 | report 320000 from 70             | 112332 | 100  | 0
  700 | report 112000 from 70             | 112332 | 100  | 0
  800 | report 112000 from 70 145         | 103839 | 87.5 | 0
 1199 | -                                 | 103839 | 87.5 | 0
 1201 | -                                 |  51920 | 87.5 | 1
 1599 | -                                 |  51920 | 87.5 | 1
 1601 | -                                 |  25960 | 87.5 | 2
 1700 | report  40000 from 70 145         |  80000 | 87.5 | 2
 1750 | idle                              |  80000 | 87.5 | 2
 2099 | -                                 |  80000 | 87.5 | 2
 2101 | -                                 |  40000 | 87.5 | 3
 2500 | -                                 |  40000 | 87.5 | 3
 3000 | greedy                            |  40000 | 87.5 | 3
 3100 | report  10000 from 70 145         |  40000 | 87.5 | 3
 3200 | report  40000 from 70 145         |  80000 | 87.5 | 3
 3250 | idle                              |  80000 | 87.5 | 3
 3601 | -                                 |  40000 | 87.5 | 4
 5000 | one                               |  40000 | -    | 4
 5100 | one                               |  40000 | -    | 4
 5100 | report  10000 from 70 145         |  40000 | -    | 4
 5200 | one                               |  40000 | -    | 4
 5200 | report  10000 from 70 145         |  40000 | -    | 4
 5300 | report  10000 from 70 145 new     |  10000 | -    | 4
";

#[test]
fn ten_reports_a_pause_and_silence() {
    super::tfrc::run(RATE, 3, 1_000, 100);
}
