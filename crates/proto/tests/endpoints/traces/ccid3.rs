//! CCID 3 (RFC 4342, and RFC 5348 for the rate); see `tfrc` for how to read the table.

/// Slow start, two loss events, silence, a pause, and an application that limits the rate.
///
/// - Initial rate (RFC 5348, 4.2): min(4s, max(2s, 4380)) = 4,000 bytes per round trip.
/// - Without losses X doubles once per round trip (4.3), so not at 450 ms, and stays below twice the largest receive
///   rate of the last two round trips: 2 x 80,000 at 300 ms. Until then the set of receive rates contains the initial
///   value, infinity.
/// - The equation (3.1) with s = 1,000, R = 0.1 s, b = 1 and `t_RTO` = 4R gives 112,332 at p = 1/100. The second event
///   closes an interval of 145 - 70 = 75. The mean of 75 and 100 is 87.5; the new interval would only lower it and is
///   left out (5.4). The equation then gives 103,839.
/// - The nofeedback timer (4.3, 4.4) is max(4R, 2s/X) = 400 ms, plus the few microseconds by which Elapsed Time is
///   rounded. At 1,200 ms twice the receive rate is above the equation's rate, so half of the latter remains. The set
///   then holds a quarter of it, which is the limit at 1,600 ms, so a quarter remains.
/// - At 1,700 ms a receive rate of 40,000 allows twice as much.
/// - At 2,100 ms the timer expires: 2 x 40,000 is below the equation's rate and is halved. At 2,500 ms nothing has been
///   sent since the timer was set, and the receive rate, now 20,000, is below the recover rate of 40,000: nothing
///   changes (4.4).
/// - At 3,100 ms the report covers a round trip without data to send, so the earlier receive rate still allows 2 x
///   20,000 (4.3). At 3,200 ms the application does not limit the rate: 2 x 40,000.
/// - From 5,000 ms on the application sends 10,000 bytes per second of the 40,000 allowed, which stay allowed. A loss
///   in this time halves the 20,000 in the set to 10,000. That is more than 0.85 x 10,000, and becomes the limit
///   without being doubled (4.3). The open interval has become long and counts now, but X does not depend on it here,
///   so p is left out.
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
