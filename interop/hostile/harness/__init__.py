"""Attacks on a Fairwire server while it serves an honest client: see README.md beside this folder."""

import sys
from pathlib import Path

# `dccp_bytes`, which both harnesses read packets with, stands beside them.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
