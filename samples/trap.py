#!/usr/bin/env python3
"""Runs a kernel that faults three times under a trap handler of its own, and prints what the handler recorded.

Handler and kernel are assembly (trap/handler.s, trap/faults.s), built for every target. The handler gets the causes from
TTMP0, TTMP1 and TRAPSTS, stores them at TMA and returns by s_rfe; the kernel goes on behind each fault to its end.
The target is the first of MORGANA_DEVICES, gfx950 by default. Exits 1 when a record is wrong.
"""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

DIVIDE_BY_ZERO, MEMORY_VIOLATION = 1 << 2, 1 << 8


def records(memory, target):
    """(pc of the cause, trap id, rewind in dwords, TRAPSTS, TTMP1:TTMP0) for each time the handler was entered."""
    (count,) = struct.unpack_from("<I", memory)
    for i in range(min(count, len(memory) // 32 - 1)):
        low, high, trapsts, _status = struct.unpack_from("<4I", memory, 32 + 32 * i)
        trap_id, rewind = (high >> 28, 0) if target.startswith("gfx12") else (high >> 16 & 0xff, high >> 25 & 0xf)
        yield (low | (high & 0xffff) << 32) - 4 * rewind, trap_id, rewind, trapsts, high << 32 | low


def cause(trap_id, trapsts, target):
    if trap_id:
        return f"s_trap {trap_id}"
    if trapsts & MEMORY_VIOLATION:
        return "memory violation"
    if not trapsts & DIVIDE_BY_ZERO:
        return f"TRAPSTS {trapsts:#x}"
    lanes = (trapsts >> 16 & 0x3f) * 16  # EXCP_CYCLE; gfx12 has none
    return "division by zero" + ("" if target.startswith("gfx12") else f" in lanes {lanes} to {lanes + 15}")


def main():
    binaries = pathlib.Path(sys.argv[1])
    target = os.environ.get("MORGANA_DEVICES", "gfx950").split(",")[0].strip()
    with tempfile.TemporaryDirectory() as folder:
        out, memory = pathlib.Path(folder, "out"), pathlib.Path(folder, "memory")
        done = subprocess.run(
            [binaries / "morgana", "dispatch", binaries / f"trap/faults-{target}.o", "--kernel", "faults", "--grid", "64",
             "--arg", f"out:{out}:40", "--trap-handler", binaries / f"trap/handler-{target}.o",
             "--trap-memory", f"out:{memory}:1024"], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            return 1
        *places, finished, quotient = struct.unpack("<5Q", out.read_bytes())
        seen = list(records(memory.read_bytes(), target))
    # What the kernel says: where its three instructions are. The s_trap shows itself, the others the instruction behind,
    # and how far back it was; gfx12 does not say that.
    expected = [(places[0], 0, 1, DIVIDE_BY_ZERO), (places[1], 0, 2, MEMORY_VIOLATION), (places[2], 7, 0, 0)]
    if target.startswith("gfx12"):
        expected[:2] = [(places[0] + 4, 0, 0, DIVIDE_BY_ZERO), (places[1] + 12, 0, 0, MEMORY_VIOLATION)]
    right = len(seen) == 3 and finished == 0x600d and quotient == 0x7f800000
    for (pc, trap_id, rewind, trapsts, ttmp), wanted in zip(seen, expected):
        right = right and (pc, trap_id, rewind) == wanted[:3] and trapsts & 0x1ff == wanted[3]
        print(f"  TTMP1:0 {ttmp:#018x}  TRAPSTS {trapsts:#010x}  PC {pc:#x}: {cause(trap_id, trapsts, target)}")
    kernel_ms = done.stdout.split(":")[1].split()[0]
    print(f"{'trap':<12} {target:<8} {kernel_ms:>10} ms  "
          f"{'3 traps taken, the kernel went on to its end' if right else f'WRONG: {seen}, done {finished:#x}'}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
