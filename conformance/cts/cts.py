#!/usr/bin/env python3
"""Runs a build of the OpenCL conformance suite on Morgana: ./dev cts BUILD_DIR [binary[:subtest]...]

BUILD_DIR is the CMake build folder of OpenCL-CTS, which is no part of this project. Subtests may be patterns. Which
arguments make a binary's run reduced, and what it may take, stands in binaries.tsv; what must come out, in
expected.tsv. Exit code 0: every subtest gave what is expected; 1: some did not; 2: nothing could be run.
"""
import argparse
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys

import suite

HERE = pathlib.Path(__file__).resolve().parent


class Binary:
    """A row of binaries.tsv: binary, folder, reduced arguments, full arguments, seconds, hollow subtests, unnamed."""

    def __init__(self, fields):
        self.name, self.folder, reduced, full, limit, hollow = fields[:6]
        self.arguments = {"reduced": reduced.split(), "full": full.split()}
        self.limits = dict(zip(("reduced", "full"), (float(part) for part in limit.split("/"))))
        self.hollow = hollow.split()
        self.unnamed = fields[6:] == ["unnamed"]

    def is_hollow(self, mode, subtest):
        if mode != "reduced":
            return False
        matches = [p for p in self.hollow if fnmatch.fnmatchcase(subtest, p.lstrip("!"))]
        return bool(matches) and not matches[-1].startswith("!")


def read_binaries(path=HERE / "binaries.tsv"):
    rows = [line.split("\t") for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return {row[0]: Binary(row) for row in rows}


class Cts(suite.Front):
    def environment(self, job, folder):
        return {"CL_CONFORMANCE_RESULTS_FILENAME": os.path.join(folder, "results.json")}

    def verdict(self, job, folder, code, output):
        try:
            with open(os.path.join(folder, "results.json")) as file:
                results = json.load(file)["results"]
        except (FileNotFoundError, json.JSONDecodeError, KeyError):
            # A binary that gives up while initialising writes no file, but says what became of its tests.
            if code == 0 and re.search(r"^SKIPPED \d+ of \d+ tests?\.", output, re.M):
                return "skip"
            return "fail" if re.search(r"^FAILED \d+ of \d+ tests?\.", output, re.M) else None
        verdict = results.get(job.name)
        # The exit code has the last word: a pass that ends badly is none.
        return "fail" if verdict in ("pass", "skip") and code != 0 else verdict


def list_subtests(path, arguments):
    """What the binary says it has."""
    done = subprocess.run([str(path), *arguments, "--list"], cwd=path.parent, capture_output=True, timeout=60, text=True,
                          env={**os.environ, "OCL_ICD_VENDORS": "/nonexistent", "OCL_ICD_FILENAMES": "/nonexistent"})
    names = re.findall(r"^\t(\S+)$", done.stdout, re.M)
    return names


def select(binaries, wanted):
    """(binary, subtest pattern) for every argument; without arguments everything."""
    if not wanted:
        return [(name, "*") for name in binaries]
    chosen = []
    for text in wanted:
        name, _, pattern = text.partition(":")
        found = next((n for n in (name, f"test_{name}") if n in binaries), None)
        if found is None:
            raise SystemExit(f"cts: no binary '{name}' in {HERE / 'binaries.tsv'}")
        chosen.append((found, pattern or "*"))
    return chosen


def make_jobs(build, binaries, chosen, mode, limit=None):
    """The jobs, the binaries' paths, and the names of binaries that the build lacks."""
    jobs, paths, absent = {}, {}, []
    for name, pattern in chosen:
        binary = binaries[name]
        path = build / "test_conformance" / binary.folder / name
        if not os.access(path, os.X_OK):
            absent.append(name)
            continue
        paths[name] = path
        arguments = binary.arguments[mode]
        for subtest in list_subtests(path, arguments):
            if fnmatch.fnmatchcase(subtest, pattern):
                jobs[name, subtest] = suite.Job(
                    name, subtest, (str(path), *arguments, *([] if binary.unnamed else [subtest])), str(path.parent), limit or binary.limits[mode],
                    binary.is_hollow(mode, subtest))
    return list(jobs.values()), paths, absent


def add_common_options(parser, out):
    root = HERE.parent.parent
    parser.add_argument("-j", type=int, default=1, metavar="N", help="subtests at a time (1)")
    parser.add_argument("--library", type=pathlib.Path, default=root / "build/release/lib/libmorgana.so")
    parser.add_argument("--loader", help="folder of the libOpenCL.so.1 to use, if not the one the programs were linked with")
    parser.add_argument("--out", type=pathlib.Path, default=root / out, help=f"where results are kept ({out})")
    parser.add_argument("--again", nargs="?", const="all", default="", choices=("all", "bad"),
                        help="run again what has a result: all, or only what was not as expected")
    parser.add_argument("--limit", type=float, help="seconds of processor time for each subtest")
    parser.add_argument("--expected", type=pathlib.Path, help="another file of expectations")
    parser.add_argument("--record", action="store_true", help="write what came out into that file, for reasons to be added")


def environment(options, **more):
    env = {**os.environ, "OCL_ICD_VENDORS": str(options.library), "OCL_ICD_FILENAMES": str(options.library), **more}
    env.setdefault("MORGANA_CACHE_DIR", str(options.out / "cache"))
    if options.loader:
        env["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [options.loader, env.get("LD_LIBRARY_PATH")]))
    return env


def say(text):
    print(text, flush=True)


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev cts", description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="build folder of OpenCL-CTS")
    parser.add_argument("binaries", nargs="*", help="binary[:subtest pattern]; none: all")
    parser.add_argument("--full", action="store_true", help="everything the suite has; reduced (wimpy) without it")
    add_common_options(parser, "build/cts")
    options = parser.parse_intermixed_args(arguments)
    mode = "full" if options.full else "reduced"
    options.out = options.out.resolve() / mode
    options.library = options.library.resolve()
    if not options.library.is_file():
        say(f"cts: no library at {options.library}")
        return 2

    binaries = read_binaries()
    jobs, paths, absent = make_jobs(options.build.resolve(), binaries, select(binaries, options.binaries), mode, options.limit)
    for name in absent:
        say(f"the build has no {name}")
    if not jobs:
        say("cts: nothing to run")
        return 2
    expected = options.expected or HERE / "expected.tsv"
    expectation = suite.Expectation(expected.read_text(), expected)
    vanished = [] if any(":" in b for b in options.binaries) else expectation.vanished(jobs)
    for group, name in vanished:
        say(f"WRONG {group} {name}: expected, but the suite has no such subtest")
    library = suite.digest(options.library)
    fingerprints = {name: f"{library} {suite.digest(path)} {' '.join(binaries[name].arguments[mode])}"
                    for name, path in paths.items()}
    more = {} if options.full else {"CL_WIMPY_MODE": "1"}
    code = suite.run(Cts(), jobs, suite.Store(options.out), fingerprints, expectation, environment(options, **more),
                     options.j, options.again, say, expected if options.record else None)
    return 1 if vanished else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
