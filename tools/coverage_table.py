#!/usr/bin/env python3
"""Line coverage of each file from `llvm-cov export -summary-only` on standard input. The argument is the least
percentage that all files together must reach; exits 1 below it."""
import json
import os
import sys

least = float(sys.argv[1])
lines = covered = 0
for file in sorted(json.load(sys.stdin)["data"][0]["files"], key=lambda f: f["filename"]):
    count = file["summary"]["lines"]
    lines += count["count"]
    covered += count["covered"]
    print(f"{count['percent']:6.2f} %  {count['covered']:5} of {count['count']:5} lines  {os.path.relpath(file['filename'])}")
percent = 100 * covered / lines
print(f"{percent:6.2f} %  {covered:5} of {lines:5} lines")
sys.exit(percent < least)
