#!/usr/bin/env python3
"""Counts what the negative tests were refused, by entry point and code, and compares it with refusals.tsv.

refusals.py [--list] TEST_PROGRAM...   runs each with MORGANA_LOG=debug, which tells the result of every call.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

TABLE = pathlib.Path(__file__).resolve().with_name("refusals.tsv")
ENTRIES = TABLE.with_name("entries.def")


def read_table():
    conditions = {}
    for line in TABLE.read_text().splitlines():
        if line.startswith("#"):
            continue
        entry, code, *count = line.split("\t")
        conditions[entry, code] = int(count[0]) if count else 0
    return conditions


def refused_by(program):
    run = subprocess.run([program], env={**os.environ, "MORGANA_LOG": "debug"}, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    calls = re.findall(r"^morgana: debug: (cl\w+) -> (CL_\w+)$", run.stdout, re.MULTILINE)
    return run.returncode, collections.Counter(call for call in calls if call[1] != "CL_SUCCESS")


def main(arguments):
    show = "--list" in arguments
    conditions = read_table()
    refused = collections.Counter()
    wrong = []
    for program in (a for a in arguments if a != "--list"):
        code, counts = refused_by(program)
        refused += counts
        if code != 0:
            wrong.append(f"{program} ends with {code}")
    entries = re.findall(r"^(?:ENTRY|EXTRA)\((\w+)\)", ENTRIES.read_text(), re.MULTILINE)
    listed = {entry for entry, _ in conditions}
    wrong += [f"{entry} has no row" for entry in entries if entry not in listed]
    wrong += [f"{entry} is no entry point" for entry in sorted(listed - set(entries))]
    for (entry, code), count in conditions.items():
        if show:
            print(f"{entry}\t{code}\t{count}\t{refused[entry, code]}")
        if refused[entry, code] < count:
            wrong.append(f"{entry}: {count} conditions of {code}, {refused[entry, code]} calls")
    wrong += [f"{entry} returned {code}, which has no row" for entry, code in refused if (entry, code) not in conditions]
    for line in wrong:
        print("refusals:", line)
    with_errors = {entry for entry, code in conditions if code != "none"}
    print(f"refusals: {sum(conditions.values())} conditions of {len(with_errors)} entry points, "
          f"{sum(refused.values())} calls refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
