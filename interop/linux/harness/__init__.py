"""Interop with the Linux kernel's DCCP: fetch it, boot it, talk to it, judge.

`prepare` gets tools, kernel and initramfs; `guest` boots and runs programs in it; `relay` is the
wire between the two sides; `peers` starts both ends of a cell; `cells` is the matrix, `checks` and
`dccp` what is asked of it; `runner` goes through it and prints the table.
"""

import sys
from pathlib import Path

# `dccp_bytes`, which both harnesses read packets with, stands beside them.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
