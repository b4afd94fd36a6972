"""What the runs with and without an attack say of it."""

from statistics import median

from .measure import FIGURES, memory, middle

# What an attack may change.
LEAST_RATE = 0.95
LONGEST_GAP_MS = 50
# What an endpoint may use for its connections (EndpointConfig::max_memory: 256 MiB).
MOST_MEMORY_MB = 268
# A newcomer's answer takes two round trips: the handshake of DCCP, and its ClientHello.
LONGEST_WAIT_MS = 2 * LONGEST_GAP_MS

# Exit statuses; the last one says that nothing can be said.
PASSED, FAILED, NOISY = 0, 1, 77


def fits(runs, settings):
    """Returns what is wrong with the runs without attack, or None."""
    failed = [made.failure for made in runs if made.failure]
    if failed:
        return failed[0]
    rate, *gaps = [middle(runs, figure) for figure in FIGURES]
    if rate < LEAST_RATE * settings.rate_bits:
        return f"{rate / 1e6:.2f} Mbit/s instead of {settings.rate_bits / 1e6:.2f}"
    if max(gaps) > LONGEST_GAP_MS:
        return f"a gap of {max(gaps):.0f} ms, more than {LONGEST_GAP_MS}"
    return None


def judge(plain, attacked, settings):
    """Returns the exit status that an attack stands for, and the reasons."""
    wrong = fits(plain, settings)
    failed = [made.failure for made in attacked if made.failure]
    rate, *gaps = [middle(attacked, figure) for figure in FIGURES]
    share, longest = rate / (middle(plain, "rate") or settings.rate_bits), max(gaps)
    found = f"rate {100 * share:.1f} %, longest gap {longest:.1f} ms"
    more = memory(attacked) - (memory(plain) or 0) if memory(attacked) else 0
    found += f", {more:+.0f} MB"
    waits = [wait for made in attacked for wait in made.newcomers_ms or []]
    lonely = sum(wait is None for wait in waits)
    typical = median([wait for wait in waits if wait is not None] or [0])
    found += f", {len(waits) - lonely} of {len(waits)} newcomers answered, mostly in {typical:.1f} ms" if waits else ""
    # That a server hangs is no noise; unless it does so by itself.
    if failed and not any(made.failure for made in plain):
        return FAILED, f"{found}; {len(failed)} of {len(attacked)} runs not served to the end: {failed[0]}"
    if wrong:
        return NOISY, f"the machine is too noisy: without attack {wrong}"
    if share < LEAST_RATE or longest > LONGEST_GAP_MS or more > MOST_MEMORY_MB:
        allowed = f"{100 * LEAST_RATE:.0f} % at least, {LONGEST_GAP_MS} ms and {MOST_MEMORY_MB} MB at most"
        return FAILED, f"{found}; allowed are {allowed}"
    if lonely or typical > LONGEST_WAIT_MS:
        return FAILED, f"{found}; every newcomer must be answered, mostly within {LONGEST_WAIT_MS} ms"
    return PASSED, found
