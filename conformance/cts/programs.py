#!/usr/bin/env python3
"""Runs foreign test programs on Morgana: ./dev programs SUITE FOLDER [program pattern...]

Every program in FOLDER is one test of SUITE, whatever it was built from: it passes when it ends with exit code 0 (and
says what programs.tsv wants to see), and is skipped when it ends with 77. What must come out stands in
programs_expected.tsv. Python files are run by pytest, a job a file: passed when all that ran passed, skipped when
nothing ran. Exit codes as those of cts.py.
"""
import argparse
import fnmatch
import os
import pathlib
import re
import sys

import cts
import suite

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 600
SKIPPED = 77


class Programs(suite.Front):
    def __init__(self, wanted_output):
        self.wanted_output = wanted_output

    def verdict(self, job, folder, code, output):
        if code == SKIPPED:
            return "skip"
        if code == 0 and "pytest" in job.command and not re.search(r"\b\d+ passed\b", output):
            return "skip"
        pattern = self.wanted_output.get((job.group, job.name), "")
        return "pass" if code == 0 and re.search(pattern, output) else "fail"


def read_rows(path=HERE / "programs.tsv"):
    """By (suite, program): the runs that it has, as (suffix of the name, arguments), and what its output must match."""
    runs, outputs = {}, {}
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        group, program, arguments, pattern = (line.split("\t") + ["", ""])[:4]
        name = "_".join([program, *arguments.split()])
        runs.setdefault((group, program), []).append((name, arguments.split()))
        if pattern:
            outputs[group, name] = pattern
    return runs, outputs


def programs_in(folder):
    return [path for path in sorted(folder.iterdir()) if path.is_file() and
            (path.name.startswith("test_") if path.suffix == ".py" else not path.suffix and os.access(path, os.X_OK))]


def make_jobs(group, folder, runs, limit, python=sys.executable):
    jobs = []
    for path in programs_in(folder):
        if path.suffix == ".py":
            command = (python, "-m", "pytest", "-q", "-p", "no:cacheprovider", path.name)
            jobs.append(suite.Job(group, path.stem, command, str(folder), limit))
        else:
            for name, arguments in runs.get((group, path.name), [(path.name, [])]):
                jobs.append(suite.Job(group, name, (str(path), *arguments), str(folder), limit))
    return jobs


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev programs", description=__doc__.splitlines()[0])
    parser.add_argument("suite", help="name of the suite in the tables")
    parser.add_argument("folder", type=pathlib.Path, help="where its programs are")
    parser.add_argument("patterns", nargs="*", help="program patterns; none: all")
    parser.add_argument("--python", default=sys.executable, help="runs the Python files, and has pytest")
    cts.add_common_options(parser, "build/programs")
    options = parser.parse_intermixed_args(arguments)
    options.out, options.library = options.out.resolve(), options.library.resolve()
    folder, patterns = options.folder.resolve(), options.patterns or ["*"]
    if not options.library.is_file() or not folder.is_dir():
        cts.say(f"programs: no library at {options.library} or no folder {folder}")
        return 2
    runs, outputs = read_rows()
    jobs = [job for job in make_jobs(options.suite, folder, runs, options.limit or LIMIT, options.python)
            if any(fnmatch.fnmatchcase(job.name, pattern) for pattern in patterns)]
    expected = options.expected or HERE / "programs_expected.tsv"
    expectation = suite.Expectation(expected.read_text(), expected)
    missing = cts.missing_sentences(expectation.vanished(jobs, [(options.suite, pattern) for pattern in patterns]))
    fingerprint = suite.digest(options.library, *programs_in(folder))
    return suite.run(Programs(outputs), jobs, suite.Store(options.out), {options.suite: fingerprint}, expectation,
                     cts.environment(options), options.j, options.again, cts.say,
                     expected if options.record else None, missing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
