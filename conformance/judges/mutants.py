#!/usr/bin/env python3
"""Takes one barrier, bound or store at a time out of the kernels of the samples and of bench, and looks whether the checks
find it: ./dev judge mutants [case pattern...]

Each program runs unmodified, with another source in the place of its own (shim/). What the host reads of the first launches' results
is compared between runs that a right kernel cannot tell apart (RUNS): a mutant is `broken` when they differ, or a kernel
faults, does not end, or writes beside a buffer. Where none differ there is no fault: the mutant does what the kernel did
(`equal`), or something else, but the same every time (`other result`), which no check could know to be wrong. Of what is
broken the checks must find 95 of 100. What they find besides is in the table with the reason. A program as it is must be
clean, and alike in all the runs.

The table is mutants.tsv; --record writes it. Exits 1 when a verdict is another or fewer are found, 2 when a case could not be run."""
import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import subprocess
import sys
import tempfile

import mutations
from checked import CHECKS, kinds_found
from judge import read_table

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "shim"))
import program_list

DEVICE = "gfx950"
LIMIT = 600  # seconds of a run
FAULTED = 78  # what the shim ends with
# Kernels that do nothing, or that a sample (mfma_bf16) has, too.
NOT_JUDGED = {"launch", "command_buffer", "build", "saxpy", "sgemm_tiled", "mfma_fp8", "nbody", "mandelbrot"}
# In which a launch takes what one of the same kernel has left.
TWICE = {"samples/nbody", "samples/life", "bench/bitonic", "bench/radix_sort"}
# What differs from the first: what lies around buffers and local arrays and what they begin with, the order of groups and
# waves, what the compiler makes of values that there are not.
RUNS = {
    "usual": {"MORGANA_SHIM_FILL": "0"},
    "memory": {"MORGANA_SHIM_FILL": "0xc5"},
    "unoptimized": {"MORGANA_SHIM_FILL": "0", "options": "-cl-opt-disable"},
    "reverse": {"MORGANA_SHIM_FILL": "0", "MORGANA_SCHEDULE": "reverse"},
    "seed:1": {"MORGANA_SHIM_FILL": "0", "MORGANA_SCHEDULE": "seed:1"},
}


class Program:
    def __init__(self, name, command, judge):
        self.name, self.judge = name, judge
        self.command = [word.format(out=judge.folder) for word in command]
        self.folder = judge.folder / name.replace("/", "-")
        self.folder.mkdir()
        self.source = self.dumped_source()
        self.instead_of = self.folder / "original.cl"
        self.instead_of.write_text(self.source)

    def environment(self, **variables):
        return {**os.environ, "MORGANA_DEVICES": DEVICE, "OCL_ICD_VENDORS": str(self.judge.library), "PYOPENCL_NO_CACHE": "1",
                "OCL_ICD_FILENAMES": str(self.judge.library), "MORGANA_WATCHDOG": "60", "MORGANA_CACHE": "0", "MORGANA_FAULT_REPORT": "0", **variables}

    def dumped_source(self):
        """The text that the program builds; each has one."""
        dump = self.folder / "dump"
        run = subprocess.run(self.command, env=self.environment(MORGANA_DUMP_DIR=str(dump)), capture_output=True, text=True, timeout=LIMIT)
        texts = {path.read_text() for path in dump.glob("*.cl")}
        if run.returncode or len(texts) != 1:
            raise RuntimeError(f"{self.name}: {len(texts)} sources, status {run.returncode}\n{run.stderr}")
        return texts.pop()

    def preloaded(self, source, number):
        path = self.folder / f"{number}.cl"
        path.write_text(source)
        return {"LD_PRELOAD": str(self.judge.shim), "MORGANA_SHIM_SOURCE": str(path), "MORGANA_SHIM_INSTEAD_OF": str(self.instead_of),
                "MORGANA_SHIM_EACH": "2" if self.name in TWICE else "1"}

    def outcome(self, source, number, options="", **variables):
        """What the first launches leave, or how they end."""
        fill = f"-DLOCAL_FILL={int(variables['MORGANA_SHIM_FILL'], 0) * 0x1010101:#x}"
        log = self.folder / f"{number}.log"
        log.unlink(missing_ok=True)
        environment = self.environment(MORGANA_SHIM_LOG=str(log), MORGANA_BUILD_OPTIONS_APPEND=f"{fill} {options}",
                                       **self.preloaded(mutations.with_filled_locals(source), number), **variables)
        try:
            run = subprocess.run(self.command, env=environment, capture_output=True, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return ("no end",)
        if "error:" in run.stderr:
            raise RuntimeError(run.stderr)
        lines = log.read_text().splitlines() if log.exists() else []
        return (*lines, *(("fault",) if run.returncode == FAULTED or run.returncode < 0 else ()))

    def found(self, source, number):
        """The kinds of findings, whatever the program makes of its results."""
        return kinds_found(self.command, self.judge.library, DEVICE, CHECKS, statuses=range(-64, 256), limit=LIMIT, **self.preloaded(source, number))


def is_fault(outcome):
    return outcome[-1:] in (("fault",), ("no end",)) or any(line.endswith("margin") for line in outcome)


def shown_by(program, source, number, runs):
    """(the usual outcome, the first run that differs from it, or "fault", or "")."""
    usual = program.outcome(source, number, **runs["usual"])
    if is_fault(usual):
        return usual, "fault"
    for name, settings in runs.items():
        if name != "usual" and program.outcome(source, number, **settings) != usual:
            return usual, name
    return usual, ""


def verdict(shown, is_changed, found):
    if shown:
        return "found" if found else "missed"
    return "found alone" if found else "other result" if is_changed else "equal"


class Judge:
    def __init__(self, arguments, folder):
        self.library, self.shim, self.folder = arguments.library.resolve(), arguments.shim.resolve(), folder
        self.bin, self.patterns = arguments.bin.resolve(), arguments.patterns

    def programs(self):
        yield from ((f"samples/{name}", command) for name, command in program_list.samples(self.bin))
        yield "samples/life", ["/usr/bin/python3", str(program_list.SOURCE / "samples/life.py")]
        yield from ((f"bench/{name}", command) for name, command in program_list.bench_cases(self.bin) if name not in NOT_JUDGED)

    def is_chosen(self, case):
        return not self.patterns or any(fnmatch.fnmatch(case, pattern) for pattern in self.patterns)

    def judge_mutant(self, program, case, number, mutant, original):
        try:
            usual, shown = shown_by(program, mutant.source, number, RUNS)
            found = program.found(mutant.source, number)
        except (RuntimeError, subprocess.SubprocessError) as error:
            print(f"{case}: could not be run\n{error}", file=sys.stderr)
            return [case, mutant.what, "", "", "not run"]
        return [case, mutant.what, shown or "nothing", ", ".join(sorted(found)) or "nothing", verdict(shown, usual != original, found)]

    def rows(self, pool):
        """(case, text changed, what shows it, kinds found, verdict) of every mutant that is chosen."""
        for name, command in self.programs():
            if self.patterns and not any(fnmatch.fnmatch(name, pattern.rpartition("/")[0] or pattern) or pattern.startswith(name) for pattern in self.patterns):
                continue
            program = Program(name, command, self)
            counts, chosen = {}, []
            for mutant in mutations.mutants_of(program.source):
                place = f"{name}/{mutant.function}-{mutant.kind}"
                counts[place] = counts.get(place, 0) + 1
                case = f"{place}-{counts[place]}"
                if self.is_chosen(case):
                    chosen.append((case, mutant))
            if not chosen:
                continue
            original, shown = shown_by(program, program.source, "own", RUNS)
            found = program.found(program.source, "own")
            yield [name, "as it is", shown or "nothing", ", ".join(sorted(found)) or "nothing", "not clean" if shown or found else "clean"]
            jobs = [pool.submit(self.judge_mutant, program, case, number, mutant, original) for number, (case, mutant) in enumerate(chosen)]
            yield from (job.result() for job in jobs)


def write_table(path, rows):
    lines = [["case", "changed", "shown by", "found", "verdict", "reason"], *(rows[name] for name in sorted(rows))]
    path.write_text("".join("\t".join(line) + "\n" for line in lines))


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev judge mutants", description=__doc__.split("\n\n")[0])
    parser.add_argument("patterns", nargs="*", help="of cases; none: all")
    build = HERE.parents[1] / "build/release"
    parser.add_argument("--bin", type=pathlib.Path, default=build / "bin")
    parser.add_argument("--library", type=pathlib.Path, default=build / "lib/libmorgana.so")
    parser.add_argument("--shim", type=pathlib.Path, default=build / "lib/libshim.so")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args(arguments)
    table = HERE / "mutants.tsv"
    expected, counts, wrong = read_table(table), {}, 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row in Judge(options, pathlib.Path(folder)).rows(pool):
            before = expected.get(row[0], [*row, ""])
            as_expected = before[4] == row[4] and row[4] not in {"missed", "not clean"} or before[4:5] == row[4:5] and before[5:] != [""]
            wrong += not as_expected
            kind = row[0].rpartition("/")[2].rpartition("-")[0].rpartition("-")[2] or "as it is"
            counts.setdefault(kind, {}).setdefault(row[4], []).append(row[0])
            print("\t".join(row) + ("" if as_expected else "\t!"), flush=True)
            expected[row[0]] = [*row, before[5] if before[4] == row[4] else ""]
            if options.record:
                write_table(table, expected)
    for kind, verdicts in counts.items():
        print(f"{kind}: " + ", ".join(f"{len(cases)} {name}" for name, cases in sorted(verdicts.items())))
    number = {name: sum(len(verdicts.get(name, [])) for verdicts in counts.values()) for name in ("found", "missed")}
    if "not run" in {name for verdicts in counts.values() for name in verdicts}:
        return 2
    return 1 if wrong or not counts or number["found"] < 0.95 * (number["found"] + number["missed"]) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
