#!/usr/bin/env python3
"""Runs the benchmarks on Morgana and on PoCL in turn (A B A B ...) and prints medians and ratios.

Needs Debian's pocl-opencl-icd for the comparison; without it only Morgana's figures are printed.
--json FILE writes the figures as well.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
POCL = pathlib.Path("/etc/OpenCL/vendors/pocl.icd")
PROGRAMS = ("launch", "build", "arithmetic")


def measure(program, environment):
    """The lines 'name value unit' that one run of a benchmark prints."""
    text = subprocess.run([str(program)], env=environment, check=True, capture_output=True, text=True, timeout=300).stdout
    return {name: (float(value), unit) for name, value, unit in (line.split("\t") for line in text.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parent / "build/release/bin")
    parser.add_argument("--lib", type=pathlib.Path, default=HERE.parent / "build/release/lib")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("programs", nargs="*", default=PROGRAMS)
    arguments = parser.parse_args()
    vendors = {"Morgana": str(arguments.lib.resolve() / "libmorgana.so")}
    if POCL.exists():
        vendors["PoCL"] = POCL.read_text().strip()
    figures = {}
    for program in arguments.programs:
        for _ in range(arguments.rounds):
            for vendor, library in vendors.items():
                environment = dict(os.environ, OCL_ICD_VENDORS=library)
                for name, (value, unit) in measure(arguments.bin / f"bench_{program}", environment).items():
                    figures.setdefault((name, unit), {}).setdefault(vendor, []).append(value)
    columns = "".join(f"{vendor:>14}" for vendor in vendors)
    print(f"{'':<28}{columns}{'Morgana/PoCL':>14}  unit")
    rows = []
    for (name, unit), values in figures.items():
        medians = {vendor: statistics.median(v) for vendor, v in values.items()}
        ratio = medians["Morgana"] / medians["PoCL"] if "PoCL" in medians else None
        rows.append({"name": name, "unit": unit, "ratio": ratio, "medians": medians, "values": values})
        print(f"{name:<28}" + "".join(f"{medians[v]:>14.4g}" for v in vendors)
              + (f"{ratio:>14.3f}" if ratio is not None else f"{'-':>14}") + f"  {unit}")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
