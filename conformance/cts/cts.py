#!/usr/bin/env python3
"""Runs a build of the OpenCL conformance suite on Morgana: ./dev cts BUILD_DIR [binary[:subtest]...]

BUILD_DIR is the CMake build folder of OpenCL-CTS, which is no part of this project. Subtests may be patterns. Which
arguments make a binary's run reduced, and what it may take, stands in binaries.tsv; what must come out, in
expected.tsv. Exit code 0: every subtest that was chosen gave what is expected; 1: some did not, or are not there;
2: there is nothing to run with.
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
            # A binary that gives up while initialising writes no file, but says what became of its tests, or why.
            if code == 0 and re.search(r"^SKIPPED \d+ of \d+ tests?\.|^\S+ is not supported on this device\. Skipping test\.$", output, re.M):
                return "skip"
            return "fail" if re.search(r"^FAILED \d+ of \d+ tests?\.", output, re.M) else None
        verdict = results.get(job.name)
        # The exit code has the last word: a pass that ends badly is none.
        return "fail" if verdict in ("pass", "skip") and code != 0 else verdict


def list_subtests(path, arguments):
    """What the binary says it has; nothing when it does not say."""
    try:
        done = subprocess.run([str(path), *arguments, "--list"], cwd=path.parent, capture_output=True, timeout=60, text=True,
                              env={**os.environ, "OCL_ICD_VENDORS": "/nonexistent", "OCL_ICD_FILENAMES": "/nonexistent"})
    except (OSError, subprocess.TimeoutExpired):
        return []
    return re.findall(r"^\t(\S+)$", done.stdout, re.M) if done.returncode == 0 else []


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
    """The jobs, the binaries' paths, and sentences about binaries that cannot be run."""
    jobs, paths, absent = {}, {}, {}
    for name, pattern in chosen:
        binary = binaries[name]
        path = build / "test_conformance" / binary.folder / name
        if not os.access(path, os.X_OK):
            absent[name] = f"the build has no {name}"
            continue
        arguments = binary.arguments[mode]
        subtests = list_subtests(path, arguments)
        if not subtests:
            absent[name] = f"{name} does not list its subtests"
            continue
        paths[name] = path
        for subtest in subtests:
            if fnmatch.fnmatchcase(subtest, pattern):
                jobs[name, subtest] = suite.Job(
                    name, subtest, (str(path), *arguments, *([] if binary.unnamed else [subtest])), str(path.parent), limit or binary.limits[mode],
                    binary.is_hollow(mode, subtest))
    return list(jobs.values()), paths, list(absent.values())


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


def missing_sentences(vanished):
    return [f"{group} {name}: expected, but the suite's build has no such subtest" for group, name in vanished]


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
    chosen = select(binaries, options.binaries)
    jobs, paths, absent = make_jobs(options.build.resolve(), binaries, chosen, mode, options.limit)
    expected = options.expected or HERE / "expected.tsv"
    expectation = suite.Expectation(expected.read_text(), expected)
    missing = absent + missing_sentences(expectation.vanished(jobs, chosen))
    library = suite.digest(options.library)
    fingerprints = {name: f"{library} {suite.digest(path)} {' '.join(binaries[name].arguments[mode])}"
                    for name, path in paths.items()}
    more = {} if options.full else {"CL_WIMPY_MODE": "1"}
    return suite.run(Cts(), jobs, suite.Store(options.out), fingerprints, expectation, environment(options, **more),
                     options.j, options.again, say, expected if options.record else None, missing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
