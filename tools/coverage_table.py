#!/usr/bin/env python3
"""Line coverage of each file from `llvm-cov export -format=lcov` on standard input: a line counts as covered when any
instantiation executed it. The argument is the least percentage that all files together must reach; exits 1 below it."""
import os
import sys

least = float(sys.argv[1])
files = {}
for record in sys.stdin:
    kind, _, value = record.strip().partition(":")
    if kind == "SF":
        lines = files.setdefault(os.path.relpath(value), {})
    elif kind == "DA":
        number, count = value.split(",")[:2]
        lines[number] = max(lines.get(number, 0), int(count))
total = covered = 0
for name, lines in sorted(files.items()):
    hit = sum(count > 0 for count in lines.values())
    missing = " ".join(n for n, count in lines.items() if count == 0)
    print(f"{100 * hit / len(lines):6.2f} %  {hit:5} of {len(lines):5} lines  {name}" + (f"  not: {missing}" if missing else ""))
    total, covered = total + len(lines), covered + hit
print(f"{100 * covered / total:6.2f} %  {covered:5} of {total:5} lines")
sys.exit(100 * covered / total < least)
