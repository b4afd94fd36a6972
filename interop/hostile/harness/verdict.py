"""What the runs with and without an attack say of it."""

from .measure import FIGURES, middle

# What an attack may change.
LEAST_RATE = 0.95
LONGEST_GAP_MS = 50

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
    # That a server hangs is no noise; unless it does so by itself.
    if failed and not any(made.failure for made in plain):
        return FAILED, f"{found}; {len(failed)} of {len(attacked)} runs not served to the end: {failed[0]}"
    if wrong:
        return NOISY, f"the machine is too noisy: without attack {wrong}"
    if share < LEAST_RATE or longest > LONGEST_GAP_MS:
        return FAILED, f"{found}; allowed are {100 * LEAST_RATE:.0f} % at least, {LONGEST_GAP_MS} ms at most"
    return PASSED, found
