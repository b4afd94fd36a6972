"""The command: options, the order of runs, the table and the verdicts."""

import argparse
import os
import re
import signal
import sys
import tempfile
from pathlib import Path
from statistics import median

from . import hello, selftest
from .attacks import ATTACKS, DTLS_ATTACKS, named
from .measure import FIGURES, memory, middle
from .runs import GRACE_S, Broken, Dtls, Settings, run
from .verdict import FAILED, NOISY, PASSED, judge

ROOT = Path(__file__).resolve().parents[3]
FACTORS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}
HEADING = f"{'attack':<12}{'':<10}{'rate':>8}{'reported':>10}{'server gap':>12}{'client gap':>12}{'memory':>9}"
UNITS = f"{'':<12}{'':<10}{'Mbit/s':>8}{'Mbit/s':>10}{'ms':>12}{'ms':>12}{'MB':>9}"


def options(argv):
    parser = argparse.ArgumentParser(
        prog="interop/hostile/run",
        description="Attacks a Fairwire server on 127.0.0.1 while an honest client sends to it, and measures "
        "whether the client suffers. Exit status: 0 no attack disturbed it, 1 one did, 2 wrong usage, "
        "77 nothing could be judged by these runs, most likely because the machine is busy.",
    )
    parser.add_argument(
        "binary", nargs="?", default=ROOT / "target/release/fairwire", help="the program [target/release/fairwire]"
    )
    parser.add_argument("--dtls", action="store_true", help="encrypt, and add the attacks on DTLS")
    parser.add_argument("--both", action="store_true", help="first without, then with --dtls")
    parser.add_argument("--attack", action="append", metavar="NAME", help="this attack only; may be repeated")
    parser.add_argument("--list", action="store_true", help="print the attacks, then end")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs with and without each attack [5]")
    parser.add_argument("--seconds", type=float, default=4.0, metavar="S", help="how long the client sends [4]")
    parser.add_argument("--rate", default="20M", metavar="BITS", help="how much it sends, bits per second [20M]")
    parser.add_argument("--selftest", action="store_true", help="check what the program writes and reads, then end")
    chosen = parser.parse_args(argv)
    chosen.offered = ATTACKS + DTLS_ATTACKS if chosen.dtls else ATTACKS
    names = [attack.name for attack in chosen.offered]
    for name in chosen.attack or []:
        if name not in names:
            parser.error(f"there is no attack {name}: use {', '.join(names)}")
    rate = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?)", chosen.rate)
    if not rate or float(rate[1]) == 0:
        parser.error(f"--rate {chosen.rate} is no rate: write bits per second, as 20M")
    chosen.rate_bits = float(rate[1]) * FACTORS[rate[2]]
    if chosen.runs < 1 or not 3 <= chosen.seconds <= 60:
        parser.error("--runs is at least 1, --seconds 3 to 60")
    if not (chosen.list or chosen.selftest) and not os.access(chosen.binary, os.X_OK):
        parser.error(f"{chosen.binary} is not there: run `cargo build --release --locked`")
    return chosen


def row(name, label, rate, reported, server_gap_ms, client_gap_ms, memory_mb):
    def number(value, digits, factor=1.0):
        return "-" if value is None else f"{value * factor:.{digits}f}"

    return (
        f"{name:<12}{label:<10}{number(rate, 2, 1e-6):>8}{number(reported, 2, 1e-6):>10}"
        f"{number(server_gap_ms, 1):>12}{number(client_gap_ms, 1):>12}{number(memory_mb, 1):>9}"
    )


def attempt(settings, attack, name, label):
    """Makes a run and prints its line."""
    made = run(settings, attack)
    shown = made.measured
    line = row(name, label, shown.rate, made.reported, shown.server_gap_ms, shown.client_gap_ms, made.memory_mb)
    print(line + (f"  {made.failure}" if made.failure else ""), flush=True)
    return made


def compare(attack, settings, count):
    """Makes the runs with and without one attack, in turn. Returns both, and why there are no more."""
    print(f"{attack.name}: {attack.what}", flush=True)
    plain, attacked = [], []
    try:
        for number in range(1, count + 1):
            plain.append(attempt(settings, None, attack.name, f"plain {number}"))
            attacked.append(attempt(settings, attack, attack.name, f"attack {number}"))
    except Broken as broken:
        print(f"  a run could not be made: {broken}", flush=True)
        return plain, attacked, str(broken)
    print(f"  {attacked[-1].attack}", flush=True)
    return plain, attacked, None


def summary(name, label, runs):
    reported = [made.reported for made in runs if made.reported is not None]
    figures = [middle(runs, figure) for figure in FIGURES]
    return row(name, label, figures[0], median(reported) if reported else None, *figures[1:], memory(runs))


def conclude(made, settings):
    """Prints the table of medians and the verdicts. Returns the exit status."""
    statuses = []
    for attack, plain, attacked, broken in made:
        print(summary(attack.name, "plain", plain))
        print(summary("", "attack", attacked))
        status, reason = (NOISY, broken) if broken else judge(plain, attacked, settings)
        word = {PASSED: "passed", FAILED: "FAILED", NOISY: "NOT JUDGED"}[status]
        print(f"{'':<12}{word}: {reason}", flush=True)
        statuses.append(status)
    return next((status for status in (FAILED, NOISY) if status in statuses), PASSED)


def main(argv):
    chosen = options(argv)
    if chosen.selftest:
        return selftest.main()
    attacks = [named(name) for name in chosen.attack] if chosen.attack else chosen.offered
    if chosen.both:
        argv = [argument for argument in argv if argument != "--both"]
        statuses = [main(argv), main([*argv, "--dtls"])]
        return next((status for status in (130, FAILED, NOISY) if status in statuses), PASSED)
    if chosen.list:
        for attack in attacks:
            print(f"{attack.name:<12}{attack.what}")
        return PASSED
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="fairwire-hostile-") as folder:
        settings = Settings(str(chosen.binary), chosen.rate, chosen.rate_bits, chosen.seconds)
        try:
            settings.dtls = encrypted(settings.binary, folder) if chosen.dtls else None
        except hello.NoHello as error:
            print(f"no run can be made: {error}", file=sys.stderr)
            return NOISY
        return judge_all(attacks, settings, chosen)


def encrypted(binary, folder):
    """Makes an identity for the server, and catches a ClientHello."""
    identity, pin = hello.identity(binary, folder)
    return Dtls(identity, pin, hello.catch(binary, pin))


def judge_all(attacks, settings, chosen):
    """Makes all runs and prints what they say. Returns the exit status."""
    least = len(attacks) * chosen.runs * (2 * chosen.seconds + 1)
    print("with DTLS 1.3" if settings.dtls else "without DTLS", end=": ")
    print(f"{len(attacks)} attacks, {chosen.runs} runs with and without each: about {least / 60:.0f} minutes,")
    print(f"and {GRACE_S} seconds more for each run whose server hangs\n")
    print(f"{HEADING}\n{UNITS}", flush=True)
    try:
        made = [(attack, *compare(attack, settings, chosen.runs)) for attack in attacks]
    except KeyboardInterrupt:
        print("interrupted: every process is ended", file=sys.stderr)
        return 130
    print(f"\nMedians of {chosen.runs}\n{HEADING}\n{UNITS}")
    return conclude(made, settings)
