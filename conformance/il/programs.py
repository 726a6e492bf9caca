#!/usr/bin/env python3
"""Compares OpenCL programs run from source with the same programs run from SPIR-V that Clang makes of their sources.

Every sample and every bench case runs on one of the nine targets, as it is and by the shim at -O0 or -O2; what
the first launches leave in buffers must be equal, bit for bit. --all: on every target, at both levels. --part I/N: every
N-th program. After --: another program to compare instead.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "shim"))
import program_list

TARGETS = "gfx950 gfx600 gfx701 gfx803 gfx900 gfx906 gfx908 gfx90a gfx942".split()
LAUNCHES = 4
# Bench cases whose kernels are instructions of one processor, one that launches nothing, and one whose kernel is the
# sample's on as much memory as there is.
NOT_COMPARED = {"mfma_bf16", "mfma_fp8", "build", "saxpy"}
NOT_TAKEN_STATUS = 77


def programs(arguments):
    if arguments.program:
        yield arguments.program[0], arguments.program, 0
        return
    yield from ((name, command, 0) for name, command in program_list.samples(arguments.bin))
    yield from ((name, command, LAUNCHES) for name, command in program_list.bench_cases(arguments.bin) if name not in NOT_COMPARED)


def run(command, target, level, launches, shim, out):
    """The status, the lines of the log, and what was said."""
    log = out / "log"
    log.unlink(missing_ok=True)
    environment = {**os.environ, "LD_PRELOAD": shim, "MORGANA_DEVICES": target, "MORGANA_SHIM_LEVEL": level,
                   "MORGANA_SHIM_LOG": str(log), "MORGANA_SHIM_LAUNCHES": str(launches)}
    done = subprocess.run([word.format(out=out) for word in command], env=environment, capture_output=True, text=True, timeout=300)
    return done.returncode, log.read_text().splitlines() if log.exists() else [], done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--targets", default="")
    parser.add_argument("program", nargs="*")
    arguments = parser.parse_args()
    part, parts = (int(word) for word in arguments.part.split("/"))
    targets = arguments.targets.split(",") if arguments.targets else TARGETS
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        for number, (name, command, launches) in enumerate(programs(arguments)):
            if number % parts != part:
                continue
            every = arguments.all or arguments.program
            chosen = targets if every else [targets[number % len(targets)]]
            levels = ["-O0", "-O2"] if every else [("-O0", "-O2")[number // len(targets) % 2 ^ number % 2]]
            for target in chosen:
                status, expected, said = run(command, target, "", launches, arguments.shim, out)
                problem = f"from source: {status} {said}" if status != 0 or not expected else ""
                for level in levels:
                    status, given, said = run(command, target, level, launches, arguments.shim, out)
                    # A bench case launches by the clock.
                    count = min(len(given), len(expected)) if launches else len(expected)
                    if status == NOT_TAKEN_STATUS:
                        problem = f"{level}: Clang makes no SPIR-V: {said}"
                    elif status != 0 or count == 0:
                        problem = f"{level}: status {status} {said}"
                    elif given[:count] != expected[:count]:
                        at = next((i for i, (a, b) in enumerate(zip(given, expected)) if a != b), len(given))
                        problem = f"{level}: launch {at}: {given[at:at + 1]} from IL, {expected[at:at + 1]} from source"
                    print(f"{name} {target} {level}: {problem or f'{count} launches equal'}", flush=True)
                    failed += bool(problem)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
