#!/usr/bin/env python3
"""Takes one wait or s_nop at a time out of the kernels of waits.cl, and looks whether --check=hazard finds it.

Kernels are compiled by clang for each target at -O0 and -O3. As they are they must be clean. Prints a row for each
target; --table FILE compares the rows with what is expected, or writes them there with --save. Exits 1 when a kernel as
it is has a finding, fewer than 95 of 100 removals that matter are found, or a row is not the table's.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = "gfx600 gfx701 gfx803 gfx900 gfx906 gfx908 gfx90a gfx942 gfx950 gfx1010 gfx1030 gfx1100 gfx1200".split()
SOURCE = HERE / "waits.cl"
# What nothing needs in these kernels: (what stands before it, what among the next lines, how many of them; one target alone).
LOAD = r"\s+(global|flat|buffer)_load"
NOT_NEEDED = (
    (r"; %bb\.0:", r".*", 1),                           # the entry of a function: nothing is outstanding
    (r".*", r"\s+s_setpc_b64", 1),                      # its return: what is restored is not used
    (r".*", r"\s+s_barrier", 9),                        # the barrier of a group that is one wave
    (r"\s+s_wait_(exp|bvh)cnt", r".*", 1, "gfx1200"),    # the other counters there
    (r"\s+s_cbranch_execz", r"\s+ds_read", 1, "gfx1010"),  # LDS on one way of a branch, other memory on the other
    (r"\s+v_writelane", r"\s+v_writelane", 1),          # LLVM alone asks for it
    (LOAD, LOAD, 1),                                    # clauses of loads, which XNACK alone repeats
    (r"\s+s_(addc?_u32|lshl_b32)", r"\s+(global|s)_load", 1),  # the scalar unit has written the register since
)
REMOVABLE = re.compile(r"\s+(s_waitcnt|s_waitcnt_vscnt|s_wait_(load|ds|store|km|sample|loadcnt_ds|storecnt_ds)cnt|s_nop)\b")


def clang(tool, target, *words):
    return subprocess.run([tool, "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", *map(str, words)], check=True, capture_output=True)


def is_needed(text, at, target):
    def is_code(line):
        is_comment = line.strip().startswith((";", "s_wait_alu"))
        return line.strip() and not is_comment or line.startswith("; %bb.0")
    before = next((line for line in text[at - 1::-1] if is_code(line)), "")
    behind = [line for line in text[at + 1:at + 20] if is_code(line)]
    return not any(re.match(first, before) and any(re.match(second, line) for line in behind[:count])
                   for first, second, count, *only in NOT_NEEDED if target in (only or [target]))


class Judge:
    def __init__(self, arguments, folder):
        self.clang, self.morgana, self.folder = arguments.clang, arguments.morgana, folder
        self.a = folder / "a.bin"
        self.a.write_bytes(b"".join((0x3f800000 + i * 2654435 % 0x400000).to_bytes(4, "little") for i in range(4096)))

    def kernels(self, text):
        return re.findall(r"^\s*\.amdhsa_kernel\s+(\w+)", text, re.M)

    def found(self, target, lines, kernel, name):
        """Whether the check finds something in the kernel of this text; None: it could not be judged."""
        source, code = self.folder / f"{name}.s", self.folder / f"{name}.co"
        source.write_text("\n".join(lines))
        clang(self.clang, target, "-x", "assembler", source, "-o", code)
        command = [self.morgana, "dispatch", code, "--device", target, "--kernel", kernel, "--grid", "128", "--group", "64",
                   "--arg", "zero:65536", "--arg", f"in:{self.a}", "--arg", f"in:{self.a}"]
        run = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120,
                             env={**os.environ, "MORGANA_CHECK": "hazard"})
        source.unlink(), code.unlink()
        found = "morgana: missing-wait" in run.stderr or "morgana: stale" in run.stderr
        return found if found or run.returncode == 0 else None, run.stderr

    def mutants(self, target, level):
        assembly = self.folder / f"{target}{level}.s"
        # With generic pointers those take the place of private memory from an argument that nobody gives them.
        standard = "CL1.2" if target in ("gfx701", "gfx803") and level == "0" else "CL3.0"
        clang(self.clang, target, "-x", "cl", f"-cl-std={standard}", "-nogpulib", f"-O{level}", "-S", SOURCE, "-o", assembly)
        text = assembly.read_text()
        lines = text.splitlines()
        starts = {m.group(1): i for i, line in enumerate(lines) if (m := re.match(r"(\w+):", line))}
        functions = sorted(starts.items(), key=lambda item: item[1])
        kernels = set(self.kernels(text))
        # What is called belongs to who calls it.
        callers = {"mixed": "calls", "either": "places", "sum_of": "places"}
        for kernel in sorted(kernels):
            yield kernel, None, lines
        for index, (function, start) in enumerate(functions):
            kernel = function if function in kernels else next((v for k, v in callers.items() if k in function), None)
            end = functions[index + 1][1] if index + 1 < len(functions) else len(lines)
            if kernel is None:
                continue
            for at in range(start, end):
                if REMOVABLE.match(lines[at]):
                    yield kernel, at, lines[:at] + lines[at + 1:]


def judge_target(judge, target, messages):
    counts = {"clean": 0, "dirty": 0, "waits": 0, "found": 0, "not needed": 0, "nops": 0, "nops found": 0, "nops not needed": 0, "unjudged": 0}
    jobs, unjudged = [], set()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for level in "03":
            for number, (kernel, at, lines) in enumerate(judge.mutants(target, level)):
                original = None if at is None else judge.folder / f"{target}{level}.s"
                jobs.append((level, kernel, at, original, pool.submit(judge.found, target, lines, kernel, f"{target}-{level}-{number}")))
        for level, kernel, at, original, job in jobs:
            found, text = job.result()
            if at is None:
                counts["unjudged" if found is None else "dirty" if found else "clean"] += 1
                if found is None:  # it faults as it is
                    unjudged.add((level, kernel))
                if found is not False and messages:
                    print(f"{target} -O{level} {kernel}: not clean\n{text}")
                continue
            text = original.read_text().splitlines()
            nop = "nops" if "s_nop" in text[at] else ""
            # A mutant may fault where what it reads is garbage to the interpreter, too.
            if (level, kernel) in unjudged:
                continue
            found = bool(found)
            counts[nop or "waits"] += 1
            counts[f"{nop} found".strip()] += found
            needed = is_needed(text, at, target)
            counts[f"{nop} not needed".strip()] += not found and not needed
            if not found and needed and messages:
                around = text[at - 6:at + 5]
                print(f"{target} -O{level} {kernel} line {at + 1}: not found\n" + "\n".join(around))
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clang", default="/usr/lib/llvm-22/bin/clang")
    parser.add_argument("--morgana", default=str(HERE.parent.parent / "build/release/bin/morgana"))
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--messages", action="store_true", help="say what was not found, and what should not have been")
    arguments = parser.parse_args()
    rows, bad = [], False
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(arguments, pathlib.Path(folder))
        for target in arguments.targets.split(","):
            counts = judge_target(judge, target, arguments.messages)
            rows.append("\t".join([target, *(str(n) for n in counts.values())]))
            needed = counts["waits"] + counts["nops"] - counts["not needed"] - counts["nops not needed"]
            bad |= counts["dirty"] != 0 or counts["clean"] == 0
            bad |= counts["found"] + counts["nops found"] < 0.95 * needed
            if len(rows) == 1:
                head = "\t".join(["target", *counts])
                print(head)
            print(rows[-1], flush=True)
    if arguments.table and arguments.save:
        arguments.table.write_text("\n".join([head, *rows]) + "\n")
    elif arguments.table:
        expected = set(arguments.table.read_text().splitlines())
        bad |= any(row not in expected for row in rows)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
