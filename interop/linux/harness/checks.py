"""What is asked of a cell. Each check takes what was seen and raises Problem, or adds a note."""

import math

from . import dccp


class Problem(Exception):
    """What is wrong, in one line."""


class Seen:
    """The results of both peers, the packets at the kernel's side of the relay, its counts."""

    def __init__(self, client=None, server=None, **more):
        self.client, self.server, self.more = client, server, more
        self.packets, self.relay, self.notes = [], {}, []

    def results(self):
        return [result for result in (self.client, self.server) if result]


def require(condition, text):
    if not condition:
        raise Problem(text)


def wire_is_sound(seen):
    """Every cell: packets flowed, and every checksum is right."""
    require(seen.packets, "no DCCP packet passed")
    wrong = [packet for packet in seen.packets if not packet.checksum_is_right]
    if wrong:
        first = f"first a {wrong[0].name} from {wrong[0].source}"
        raise Problem(f"{len(wrong)} packets with a wrong checksum, {first}")


def both_content(seen):
    """Both peers did what they were asked to."""
    for result in seen.results():
        why = result.get("error") or result.get("note")
        require(result["status"] == 0, f"the {result['role']} failed at {result['stage']}: {why}")


def ccid_is(ccid):
    """Both halves use this CCID, as both ends see it."""

    def check(seen):
        for result in seen.results():
            agreed = (result["ccid_tx"], result["ccid_rx"])
            require(agreed == (ccid, ccid), f"the {result['role']} has CCIDs {agreed}, not {ccid}")

    return check


def halves_are(client_to_server, server_to_client):
    """Each half has its own CCID."""

    def check(seen):
        client = (seen.client["ccid_tx"], seen.client["ccid_rx"])
        server = (seen.server["ccid_rx"], seen.server["ccid_tx"])
        wanted = (client_to_server, server_to_client)
        text = f"the client sees {client}, the server {server}, not {wanted}"
        require(client == wanted and server == wanted, text)

    return check


def echoed(count):
    """Everything came back."""

    def check(seen):
        back = seen.client["distinct"]
        require(back == count, f"{back} of {count} messages came back")
        seen.notes.append(f"{back} echoed")

    return check


def flow(sender, least_share, at_least=20):
    """A share of what one side sent arrived at the other; nothing arrived that was not sent."""

    def check(seen):
        ends = {"client": seen.client, "server": seen.server}
        sent = ends[sender]["sent"]
        got = ends["server" if sender == "client" else "client"]
        distinct = got["distinct"]
        require(sent >= at_least, f"only {sent} messages were sent")
        require(distinct <= sent, f"{distinct} messages of {sent} arrived")
        enough = distinct >= sent * least_share
        require(enough, f"{distinct} of {sent} messages arrived, less than {least_share:.0%}")
        text = f"{sent} sent, {distinct} arrived"
        for what in ("duplicates", "reordered"):
            if got[what]:
                text += f", {got[what]} {what}"
        seen.notes.append(text)

    return check


def impaired(fate, at_least=3):
    """The relay really did what the cell is about."""

    def check(seen):
        done = sum(way[fate] for way in seen.relay.values())
        require(done >= at_least, f"the relay did '{fate}' to {done} packets only")
        seen.notes.append(f"relay: {done} {fate}")

    return check


def ended_with(types, by):
    """These packet types ended the connection, in this order; `by` sent the first of them."""

    def check(seen):
        wanted = list(types)
        enders = [p for p in seen.packets if p.type in (dccp.CLOSEREQ, dccp.CLOSE, dccp.RESET)]
        names = [packet.name for packet in enders]
        found = iter(enders)
        first = next((packet for packet in found if packet.type == wanted[0]), None)
        require(first, f"no {dccp.TYPES[wanted[0]]}: {names}")
        for kind in wanted[1:]:
            require(any(p.type == kind for p in found), f"no {dccp.TYPES[kind]} after it: {names}")
        port = {"client": first.target_port, "server": first.source_port}[by]
        require(port == seen.more["port"], f"the {first.name} came from the wrong side")
        seen.notes.append(" ".join(dict.fromkeys(names)))

    return check


def reset_with(*codes):
    """The kernel's side of the wire saw a Reset with one of these codes."""

    def check(seen):
        got = [packet.reset_code for packet in seen.packets if packet.type == dccp.RESET]
        right = [code for code in got if code in codes]
        require(right, f"Reset codes {got}, none of {codes}")
        seen.notes.append(f"Reset {right[0]}")

    return check


def refused(seen):
    """The client was told no, and did not hang until its time was up."""
    client = seen.client
    require(client["status"] != 0 and not client["opened"], "the client got a connection")
    require(client["stage"] == "connect", f"it failed at {client['stage']}: {client['error']}")
    seen.notes.append(f"client: {client['error']}")


def equation(s, rtt_s, p):
    """RFC 5348, section 3.1: bytes a second, with t_RTO four round trips and b = 1."""
    root = rtt_s * math.sqrt(2 * p / 3)
    return s / (root + 12 * rtt_s * math.sqrt(3 * p / 8) * p * (1 + 32 * p * p))


def tfrc_ratios(sender, size, judge_x):
    """X against the equation at the sender's own p and RTT; the two sides' p against each other."""

    def check(seen):
        ends = {"client": seen.client, "server": seen.server}
        tx = ends[sender]["tx"]
        rx = ends["server" if sender == "client" else "client"]["rx"]
        require(tx["samples"] and rx["samples"], "one side has no CCID 3 figures")
        require(tx["p"] > 0 and rx["p"] > 0, "no loss was seen")
        require(tx["rtt"] > 0, "the sender has no RTT")
        model = equation(size, tx["rtt"], tx["p"])
        x_ratio, p_ratio = tx["x"] / model, tx["p"] / rx["p"]
        seen.notes.append(
            f"p {tx['p']:.4f}/{rx['p']:.4f} ({p_ratio:.2f}), rtt {tx['rtt'] * 1e3:.1f} ms, "
            f"X {tx['x'] / 1e3:.1f} kB/s = {x_ratio:.2f} of the equation"
        )
        require(0.75 <= p_ratio <= 1.25, f"the two sides' p differ: ratio {p_ratio:.2f}")
        if judge_x:
            require(0.85 <= x_ratio <= 1.15, f"X is {x_ratio:.2f} of the equation")

    return check
