#!/usr/bin/env python3
"""Checks that no object of one interpreter level defines a symbol the linker could merge into another level's code.

Usage: check_isolation.py NM LEVEL OBJECT...
Every weak (COMDAT) definition must carry the level's namespace; an inline function of the standard library compiled
for AVX-512 could otherwise become the only copy in the program.
"""
import subprocess
import sys


def main():
    nm, level, objects = sys.argv[1], sys.argv[2], sys.argv[3:]
    inside = f"{len(level)}{level}"  # how the namespace is spelt in a mangled name
    bad = []
    for path in objects:
        for line in subprocess.run([nm, path], check=True, capture_output=True, text=True).stdout.splitlines():
            fields = line.split()
            if len(fields) == 3 and fields[1] in "VWu" and f"6device{inside}" not in fields[2]:
                bad.append(f"{path}: {fields[2]}")
    print("\n".join(bad) or f"{len(objects)} objects define nothing outside morgana::device::{level}")
    return 1 if bad or not objects else 0


if __name__ == "__main__":
    sys.exit(main())
