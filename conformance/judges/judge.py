#!/usr/bin/env python3
"""Runs cases whose faults are known under Morgana's checks: ./dev judge NAME DIR [case pattern...]

DIR has the cases of the suite NAME (compute_sanitizer, gpuverify, indigo, oclgrind, rocjitsu, scor: a checkout of it); they are no part
of this project. A case of indigo runs in many orders (indigo.py), one of scor on two targets (scor.py), one of
compute_sanitizer as -O0 and -O3 compile it, one of rocjitsu once, one of the others by default and with -cl-opt-disable. `right`: what its authors
say is found in one of the runs, or nothing in any where they say nothing; else `missed` or `false alarm`. What must come out
stands in NAME.tsv, where all that is not right has its reason; --record writes new verdicts there. Exits 1 when a verdict is
another, 2 when a case could not be run."""
import argparse
import fnmatch
import functools
import pathlib
import subprocess
import sys

import compute_sanitizer
import gpuverify
import indigo
import oclgrind
import rocjitsu
import scor
from checked import CHECKS, kinds_found

HERE = pathlib.Path(__file__).resolve().parent
SUITES = {"compute_sanitizer": compute_sanitizer, "gpuverify": gpuverify, "indigo": indigo, "oclgrind": oclgrind, "rocjitsu": rocjitsu, "scor": scor}


def found_by_checks(module, path, library, device):
    checks = module.checks(path) if hasattr(module, "checks") else CHECKS
    found = set().union(*(kinds_found([sys.executable, module.__file__, str(path), options], library, device, checks)
                          for options in ("", "-cl-opt-disable")))
    return found & module.claimed(path) if hasattr(module, "claimed") else found


def verdict(wanted, found):
    """`wanted`: sets of kinds of which one each must be among `found`."""
    if any(not kinds & found for kinds in wanted):
        return "missed"
    return "false alarm" if found and not wanted else "right"


def read_table(path):
    lines = path.read_text().splitlines()[1:] if path.exists() else []
    return {cells[0]: cells for cells in (line.split("\t") for line in lines)}


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev judge", description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(SUITES))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("patterns", nargs="*", help="of cases; none: all")
    parser.add_argument("--library", type=pathlib.Path, default=HERE.parents[1] / "build/release/lib/libmorgana.so")
    parser.add_argument("--device")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args(arguments)
    module, table = SUITES[options.name], HERE / f"{options.name}.tsv"
    expected, wrong, failed, counts = read_table(table), 0, 0, {}
    chosen = [case for case in module.cases(options.folder.resolve())
              if not options.patterns or any(fnmatch.fnmatch(case[0], pattern) for pattern in options.patterns)]
    if not options.library.is_file() or not chosen:
        print(f"judge: no library at {options.library} or no such cases in {options.folder}", file=sys.stderr)
        return 2
    for name, path, wanted in chosen:
        try:
            finds = getattr(module, "found", None) or functools.partial(found_by_checks, module)
            found = finds(path, options.library.resolve(), options.device or module.DEVICE)
            result = verdict(wanted, found)
        except (RuntimeError, subprocess.SubprocessError) as error:
            print(f"{name}: could not be run\n{error}", file=sys.stderr)
            failed += 1
            continue
        names = "; ".join("/".join(sorted(kinds)) for kinds in wanted) or "nothing"
        before = expected.get(name, [name, "", "", "right", ""])
        as_expected = result == before[3]
        wrong += not as_expected
        group = counts.setdefault(name.partition("/")[0], {})
        group[result] = group.get(result, 0) + 1
        print(f"{name}\t{result}{'' if as_expected else ' (table: ' + before[3] + ')'}\t{', '.join(sorted(found))}", flush=True)
        expected[name] = [name, names, ", ".join(sorted(found)) or "nothing", result, before[4] if as_expected else ""]
    for group, verdicts in counts.items():
        print(f"{group}: " + ", ".join(f"{count} {result}" for result, count in sorted(verdicts.items())))
    if options.record:
        rows = [["case", "wanted", "found", "verdict", "reason"], *(expected[name] for name in sorted(expected))]
        table.write_text("".join("\t".join(row) + "\n" for row in rows))
    return 2 if failed else 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
