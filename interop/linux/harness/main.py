"""The command line: prepare outside, run the matrix inside a network namespace of its own."""

import argparse
import fnmatch
import os
import signal
import sys
from pathlib import Path

from . import cells, prepare, runner
from .places import RESULTS

SKIPPED = 77


def arguments(argv):
    parser = argparse.ArgumentParser(
        prog="interop/linux/run",
        description="Fairwire against the DCCP of Linux 6.1, booted under qemu.",
        epilog="Exit status: 0 all passed, 1 a cell failed, 2 wrong usage, 77 skipped "
        "(1 with FAIRWIRE_NO_SKIP=1), or our programs are not built (--no-build).",
    )
    add = parser.add_argument
    add("--cell", action="append", metavar="NAME", help="only these: a name's beginning or a pattern")
    add("--list", action="store_true", help="list the cells")
    add("--rehearsal", action="store_true", help="the kernel plays our side too")
    add("--deb", metavar="FILE", help="Debian's linux-image-6.1.*-amd64 package")
    add("--refresh", action="store_true", help="take the newest kernel package again")
    add("--accel", choices=("kvm", "tcg"), help="only this way of running the guest")
    add("--seed", type=int, default=1, help="of the relay's draws [1]")
    add("--results", type=Path, default=RESULTS, metavar="DIR", help="captures and what was said")
    add("--no-build", action="store_true", help="take our programs as they are, built or not")
    add("--boot-only", action="store_true", help="boot, say how long it took, end")
    add("--inside", nargs=2, metavar=("KERNEL", "INITRAMFS"), help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def chosen(patterns):
    found = [
        cell
        for cell in cells.matrix()
        if not patterns or any(fnmatch.fnmatch(cell.name, f"{pattern}*") for pattern in patterns)
    ]
    if not found:
        raise SystemExit("interop/linux/run: no such cell; --list names them")
    return found


def outside(options, argv):
    """Prepares, then becomes `inside` in a new namespace, which ends with us."""
    kernel, image = prepare.build(options.deb, options.refresh)
    if not (options.no_build or options.rehearsal or options.boot_only):
        prepare.programs()
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    prepare.command(*unshare, "true", limit_s=10)
    script = str(Path(__file__).resolve().parent.parent / "run")
    again = [*unshare, sys.executable, script, "--inside", str(kernel), str(image), *argv]
    os.execvp(again[0], again)


def inside(options):
    accelerators = {"kvm": ("kvm",), "tcg": ("tcg,thread=single",)}
    ways = accelerators.get(options.accel, ("kvm", "tcg,thread=single"))
    # Ctrl-C and kill end the guest and the relay too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    run = runner.Runner(
        *map(Path, options.inside), options.results.resolve(), options.seed, options.rehearsal, ways
    )
    try:
        run.boot()
        if options.boot_only:
            return 0
        return runner.table(run.run(chosen(options.cell)))
    finally:
        run.close()


def main(argv):
    options = arguments(argv)
    if options.list:
        print("\n".join(cell.name for cell in cells.matrix()))
        return 0
    chosen(options.cell)
    try:
        return inside(options) if options.inside else outside(options, argv)
    except prepare.Skipped as why:
        print(f"interop/linux/run: skipped: {why}", file=sys.stderr)
        return 1 if os.environ.get("FAIRWIRE_NO_SKIP") == "1" else SKIPPED
