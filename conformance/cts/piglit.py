#!/usr/bin/env python3
"""Runs piglit's OpenCL tests on Morgana: ./dev piglit SOURCE_DIR BUILD_DIR [group[:test]...]

SOURCE_DIR is a checkout of piglit, BUILD_DIR holds its bin/cl-* programs and generated_tests/; neither is part of
this project, and neither Waffle nor any graphics library is needed for them. What must come out stands in
piglit_expected.tsv. Exit codes as those of cts.py.
"""
import argparse
import fnmatch
import json
import os
import pathlib
import re
import sys

import cts
import suite

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 60
TESTER = "cl-program-tester"


class Piglit(suite.Front):
    def verdict(self, job, folder, code, output):
        found = re.findall(r'^PIGLIT: *(\{"result".*\})', output, re.M)
        if not found:
            return None
        return {"pass": "pass", "skip": "skip", "warn": "warn"}.get(json.loads(found[-1])["result"], "fail")


def programs(source, build):
    """(group, test, command) of every test, named by where it stands in the profile."""
    for path in sorted((build / "bin").glob("cl-*")):
        kind = re.fullmatch(r"cl-(api|custom|program)-(.*)", path.name)
        if kind and path.name != TESTER:
            yield kind[1], kind[2], (str(path),)
    tester = str(build / "bin" / TESTER)
    for root in (source / "tests/cl/program", build / "generated_tests/cl"):
        for path in sorted(root.rglob("*")):
            if path.suffix in (".cl", ".program_test"):
                place = path.relative_to(root)
                # "build/fail/x.cl" -> group build; generated "builtin/int/x.cl" -> group builtin
                yield place.parts[0], "/".join(place.with_suffix("").parts[1:]), (tester, str(path))


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev piglit", description=__doc__.splitlines()[0])
    parser.add_argument("source", type=pathlib.Path, help="checkout of piglit")
    parser.add_argument("build", type=pathlib.Path, help="its build folder")
    parser.add_argument("groups", nargs="*", help="group[:test pattern]; none: all")
    cts.add_common_options(parser, "build/piglit")
    options = parser.parse_intermixed_args(arguments)
    options.out, options.library = options.out.resolve(), options.library.resolve()
    source, build = options.source.resolve(), options.build.resolve()
    if not options.library.is_file() or not os.access(build / "bin" / TESTER, os.X_OK):
        cts.say(f"piglit: no library at {options.library} or no {TESTER} in {build / 'bin'}")
        return 2
    wanted = [(group, pattern or "*") for group, _, pattern in (text.partition(":") for text in options.groups)]
    jobs = [suite.Job(group, name, command, str(source), options.limit or LIMIT)
            for group, name, command in programs(source, build)
            if not wanted or any(group == g and fnmatch.fnmatchcase(name, p) for g, p in wanted)]
    library, built = suite.digest(options.library), suite.digest(*sorted((build / "bin").glob("cl-*")))
    expected = options.expected or HERE / "piglit_expected.tsv"
    expectation = suite.Expectation(expected.read_text(), expected)
    chosen = wanted or [(group, "*") for group in expectation.groups() | {job.group for job in jobs}]
    return suite.run(Piglit(), jobs, suite.Store(options.out), {job.group: f"{library} {built}" for job in jobs},
                     expectation, cts.environment(options), options.j, options.again, cts.say,
                     expected if options.record else None, cts.missing_sentences(expectation.vanished(jobs, chosen)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
