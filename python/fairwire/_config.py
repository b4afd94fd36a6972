"""The settings of a connection.

A test in crates/proto/src/config/set.rs writes this file if UPDATE_DOCS=1.
"""

# fmt: off
from __future__ import annotations

from typing import Literal, TypedDict

Keys = TypedDict("Keys", {
    #: The fixed Ack Ratio that we request from the peer: how many of our data packets one of its acknowledgements
    #: covers. It is at most half the window. `None` adapts it to the loss of acknowledgements (RFC 4341, 6.1.2).
    #: Default: none.
    "ccid2.ack_ratio": int | str | None,
    #: What the Ack Ratio adapts to, if it is not fixed. Default: lost-acks.
    "ccid2.ack_ratio_follows": Literal["lost-acks", "window"],
    #: Whether each data packet we send carries an Ack Vector, even if no packet of the peer arrived since the last one.
    #: RFC 4341, section 6, asks for one by the Ack Ratio. More vectors make up for lost acknowledgements and take room
    #: from data. Default: false.
    "ccid2.ack_vector_on_all_data": bool,
    #: Whether acknowledgements of packets sent before a window cut still increase the window. RFC 4341, section 5, does
    #: not let them; ns-2's module and Linux do. Default: false.
    "ccid2.growth_after_cut": bool,
    #: Whether the window grows while the application does not use all of it. RFC 4341, section 5.1, forbids it; ns-2's
    #: module and Linux before 3.4 allow it. Default: false.
    "ccid2.growth_unused": bool,
    #: What happens to the congestion window while it is not used (RFC 4341, 5.1). Default: restart.
    "ccid2.idle": Literal["restart", "halve", "keep"],
    #: Initial slow-start threshold, packets; `None` sets no limit. Default: none.
    "ccid2.initial_ssthresh": int | str | None,
    #: Initial congestion window, packets; `None` follows RFC 3390 for the packet size. Default: none.
    "ccid2.initial_window": int | str | None,
    #: The window law: how the window grows and shrinks. Choose it by name, `config.ccid2.law = law("vegas")?` with
    #: `law`, or build one with [`Chosen::of`]. Default: newreno.
    "ccid2.law": str,
    #: Minimum retransmission timeout. Default: 200ms.
    "ccid2.min_rto": float | str,
    #: How much slow start adds for acknowledged packets. Default: one-for-two.
    "ccid2.slow_start": Literal["one-for-two", "one-for-one"],
    #: Number of packets that one TCP acknowledgement covers, b of the equation. Default: 1.0.
    "ccid3.b": float,
    #: Sender: how large bursts may be. Default: bounded.
    "ccid3.bursts": Literal["bounded", "unbounded"],
    #: How exactly the throughput equation is computed. Default: exact.
    "ccid3.equation": Literal["exact", "table", "table-before-2.6.26"],
    #: Receiver: how often it gives feedback on arriving data: a number of reports per round trip, or the time from one
    #: report to the next (a round trip if that is shorter). There is at most one report per data packet. A loss event
    #: is reported at once, and each report's receive rate covers a whole round trip (RFC 5348, section 6). Default: 1
    #: per rtt.
    "ccid3.feedback": str,
    #: Receiver: the rate from which the interval before the first loss event is computed. Default: largest-rate.
    "ccid3.first_interval": Literal["largest-rate", "latest-rate"],
    #: Receiver: how long that interval counts, if a loss event rate is reported (`reports`). A sender that gets loss
    #: intervals counts them all. Default: pushed-out.
    "ccid3.first_interval_lasts": Literal["pushed-out", "second-event"],
    #: Granularity of the send timer: the lateness that a burst may make up for (RFC 5348, section 4.6). Default: 1ms.
    "ccid3.granularity": float | str,
    #: Whether recent losses weigh less after a long time without loss (RFC 5348, section 5.5). Default: true.
    "ccid3.history_discounting": bool,
    #: Sender: the initial rate, bytes per second, instead of RFC 3390's window per round trip; slow start never goes
    #: below it either. `None` leaves it to `start`. Default: none.
    "ccid3.initial_rate": float | str | None,
    #: Sender: whether the Sequence Window stays as wide as the handshake made it, and does not limit the flight. RFC
    #: 4340, section 7.5.2, widens it with the rate. Linux keeps it: once more than a window of packets leaves in a
    #: round trip, reports are too old to be valid. Sockets refuse it (`Config::check_for_network`). Default: false.
    "ccid3.keep_sequence_window": bool,
    #: Receiver: which losses form one loss event. Default: round-trip.
    "ccid3.loss_events": Literal["round-trip", "each-packet"],
    #: What the mean of the loss intervals is divided by before eight of them are closed. It affects the rate of our
    #: sender and the loss event rate that our receiver reports. Default: known.
    "ccid3.loss_mean": Literal["known", "all-weights", "closed"],
    #: Minimum time of the nofeedback timer. Default: 0s.
    "ccid3.min_nofeedback": float | str,
    #: Whether to reduce oscillations with the square root of the round-trip time (RFC 5348, section 4.5). Default:
    #: true.
    "ccid3.oscillation_reduction": bool,
    #: Sender: from when on oscillations are reduced. Default: first-report.
    "ccid3.oscillation_reduction_from": Literal["first-report", "first-loss"],
    #: Sender: how the reported receive rate limits the sending rate. Default: rfc5348.
    "ccid3.receive_limit": Literal["rfc5348", "rfc3448"],
    #: Receiver: the period over which it measures the receive rate that it reports. Default: round-trip.
    "ccid3.receive_rate": Literal["round-trip", "at-least-round-trip", "since-report", "since-report-but-loss"],
    #: Receiver: how it measures the round trip with the window counters, if the sender does not tell it
    #: (`send_rtt_estimate`). Default: smoothed.
    "ccid3.receiver_rtt": Literal["smoothed", "latest"],
    #: Receiver: what its reports say about losses. CCID 4 always reports intervals. Default: intervals.
    "ccid3.reports": Literal["intervals", "rate"],
    #: Segment size s of the equation under CCID 3: the mean of the packets sent, the largest possible, or a number of
    #: bytes that stands for each packet. CCID 4 uses 1,460 bytes, or what a narrower path leaves to TCP. Default:
    #: mean.
    "ccid3.segment": str,
    #: Sender: the rate before the first report, and the rate that follows from it. Default: handshake.
    "ccid3.start": Literal["handshake", "first-report", "one-packet"],
    #: TCP's retransmission timeout in the equation, in round trips (4 in RFC 5348, section 3.1). Default: 4.0.
    "ccid3.t_rto_rtts": float,
    #: How long a CCID has to stay after it changed in mid-connection (RFC 4340, 10.5: each change restarts congestion
    #: control). Sooner, a change is granted to neither end, and a Mandatory request of the peer ends the connection.
    #: Default: 60s.
    "ccid_change_interval": float | str,
    #: Whether to check the feedback of receivers against what was sent. An impossible receive rate, loss interval or
    #: Elapsed Time is limited to what is possible (RFC 5348, 10). Now and then a sequence number is skipped: no packet
    #: has it, so a receiver that reports it as received hides losses (RFC 4342, 9). Such a receiver is slowed down and
    #: in the end reset with code 11. The only cost to an honest receiver is that its application counts the skipped
    #: numbers as lost datagrams (`Received::lost_before`). Among the first 256 packets no number is skipped. Then one
    #: in 256 is, until eight were reported honestly, and one in 2,048 afterwards. More are skipped while the path
    #: seems to have become shorter (up to one in 32) and under suspicion (one in 8). A CCID 3 receiver that sends no
    #: Loss Intervals, such as Linux, cannot be checked in this way; towards it no number is skipped. Default: true.
    "check_feedback": bool,
    #: Checksum coverage of our data packets (`CsCov`, RFC 4340, 9.2): 0 covers everything, n from 1 to 15 the first 4
    #: (n - 1) bytes of data. It takes effect once the peer agrees to accept it; until then everything is covered.
    #: Default: 0.
    "checksum_coverage": float,
    #: How long the Close is repeated without an answer before the connection is reset (`CloseReason::CloseTimeout`). At
    #: least three Closes leave, with back-off, and the last one has its time to be answered. This takes 14 round
    #: trips, if that is longer than this timeout, but no more than `idle_timeout`. A peer that has owed us an answer
    #: for `idle_timeout` ends the connection earlier; a Close needs an answer, too. So a `close` takes at most
    #: `drain_timeout` plus `close_timeout`, or `drain_timeout` plus `idle_timeout` if the round trip is long. Default:
    #: 5s.
    "close_timeout": float | str,
    #: How long an attempt to connect may take before it fails. Default: 10s.
    "connect_timeout": float | str,
    #: What happens to data that does not match its Data Checksum. Default: drop.
    "damaged_data": Literal["drop", "deliver"],
    #: Whether to send a Data Checksum with each datagram (RFC 4340, 9.3). Received ones are always checked. Default:
    #: off.
    "data_checksum": Literal["off", "on", "required"],
    #: How long `close` lets the send queue drain before it sends the Close. What has not left by then is discarded.
    #: Default: 5s.
    "drain_timeout": float | str,
    #: Whether to send data as ECT(0) and to respond to marks. False also tells the peer that we cannot read marks (RFC
    #: 4340, 12.1). Default: true.
    "ecn": bool,
    #: Whether to send data under CCID 2 as ECT(0) or ECT(1) at random, the ECN nonce (RFC 4340, 12.2), and to check the
    #: peer's echoes. A receiver that hides losses or marks is slowed down and, after some round trips, reset with code
    #: 11. The same happens to an honest receiver behind a path that rewrites ECN fields, and L4S routers (RFC 9331)
    #: give ECT(1) a meaning of their own. It is therefore off by default, as RFC 8311, section 6, recommends. Default:
    #: false.
    "ecn_nonce": bool,
    #: How long a peer may leave a packet unanswered before the connection ends; more than zero. A Close counts as such
    #: a packet. With `keep_alive` there is always one, so a peer that vanished is detected in every state, at the
    #: latest after `keep_alive` plus `idle_timeout`. Default: 30s.
    "idle_timeout": float | str,
    #: Time without sending, or without receiving, after which a Sync is sent, which the peer answers; 15 seconds by
    #: default. It keeps NAT bindings alive and detects that the peer is gone. With `None` a connection that only
    #: receives stays until its application ends it, so the application needs a timer of its own. Default: 15s.
    "keep_alive": float | str | None,
    #: Limit up to which the Sequence Window may be doubled, packets. Default: 1048576 packets.
    "max_sequence_window": int | str,
    #: Minimum checksum coverage of the peer's data (RFC 4340, 9.2.1): 0 takes only data that is covered completely, n
    #: from 1 to 15 takes this `CsCov` and larger ones too. Data with less is dropped and reported as Drop Code 0.
    #: Default: 0.
    "minimum_checksum_coverage": float,
    #: Size of the largest IP packet ever sent, bytes; at least 576. It is also the path MTU assumed until something
    #: shows otherwise (RFC 4340, 14.1: the MTU of the interface, to which sockets lower it). Default: 1.5 kB.
    "path_mtu": int | str,
    #: How a smaller path MTU is discovered. Default: probe.
    "path_mtu_discovery": Literal["off", "icmp", "probe"],
    #: CCIDs for the data we receive, most preferred first. Default: 2, 3.
    "receive_ccids": list[int],
    #: Maximum size of the receive queue in bytes, with [`DATAGRAM_OVERHEAD`] added for each datagram. It must be larger
    #: than [`DATAGRAM_OVERHEAD`], or no datagram fits. Default: 4.194304 MB.
    "receive_queue_bytes": int | str,
    #: Maximum number of datagrams in the receive queue. Datagrams beyond it are dropped and reported to the peer as
    #: Drop Code 2, and the peer slows down (RFC 4340, 11.7.2). A report covers at most the latest 131,072 packets:
    #: what a longer queue drops at its old end is not reported. Default: 4096 packets.
    "receive_queue_packets": int | str,
    #: Which datagram a full receive queue drops. Default: drop-newest.
    "receive_queue_policy": Literal["drop-newest", "drop-oldest"],
    #: Whether to report what became of each datagram (`Event::Fate`). Default: false.
    "report_fates": bool,
    #: Whether lost datagrams may be sent again while they are of use (`SendOptions::resend`), in both directions. It
    #: asks for an experimental feature that only Fairwire knows, so it takes effect only if both ends set it. What may
    #: be sent again is kept in memory: up to `send_queue.bytes` in addition to the send queue, overhead included.
    #: Default: false.
    "resend": bool,
    #: CCIDs for the data we send, most preferred first (feature 1, located here). Default: 2, 3.
    "send_ccids": list[int],
    #: Maximum time in the queue; a datagram that waits longer expires. `None` sets no limit. Default: none.
    "send_queue.age": float | str | None,
    #: Maximum number of bytes. Default: 1.048576 MB.
    "send_queue.bytes": int | str,
    #: Maximum number of datagrams. Default: 256 packets.
    "send_queue.packets": int | str,
    #: What happens when another datagram does not fit. Default: refuse.
    "send_queue.policy": Literal["refuse", "drop-oldest"],
    #: Whether to ask that data of CCID 3 or 4 carries the sender's round-trip time, in both directions (RFC 6323), so
    #: that receivers need not estimate it. A peer's request for it is always granted. Default: false.
    "send_rtt_estimate": bool,
    #: Sequence Window requested in the handshake, packets: 32 to 2^46 - 1 (RFC 4340, 7.5.2). It is widened as the
    #: traffic needs it, except with `ccid3.keep_sequence_window`. Default: 1024 packets.
    "sequence_window": int | str,
    #: Whether to ask for 24-bit sequence numbers on Data, Ack and `DataAck`, and to grant them to a peer that asks (RFC
    #: 4340, 7.6). Headers are then four bytes shorter, or eight with an acknowledgement. In exchange an outsider
    #: guesses a number more easily: once in 16,384 tries at the widest window allowed, 1,024 packets. Numbers are 48
    #: bits again with a wider window or above 65,536 packets a second. Default: false.
    "short_seqnos": bool,
    #: Fill level of the receive queue, in percent, from which Slow Receiver asks the peer not to speed up (RFC 4340,
    #: 11.6). More than 100 never sends it. `Endpoint::set_slow` sends it at any level. Default: 75.
    "slow_receiver_percent": float,
}, total=False)
