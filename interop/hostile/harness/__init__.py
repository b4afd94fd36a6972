"""Attacks on a Fairwire server while it serves an honest client: see README.md beside this folder."""
