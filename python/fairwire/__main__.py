"""The command `fairwire`: `python -m fairwire run scenarios/dumbbell.toml`."""

import signal
import sys

from fairwire._fairwire import command


def main() -> int:
    """Runs the command with the arguments of the process."""
    # The command has its own answer to Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command(["fairwire", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
