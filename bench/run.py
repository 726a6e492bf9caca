#!/usr/bin/env python3
"""Runs the benchmarks on Morgana and on PoCL in turn (A B A B ...) and prints medians and ratios.

Every case runs in a process of its own, is warmed up, timed for 0.2 s on wall and on process CPU time, and
compared with a host result. Needs Debian's pocl-opencl-icd for the comparison; without it only Morgana's
figures are printed. Options such as MORGANA_JIT pass through the environment.

Writes results.json, results.svg and results.md to --out; --save writes them to bench/ and puts the tables into
bench/README.md.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys

import chart

HERE = pathlib.Path(__file__).resolve().parent
POCL = pathlib.Path("/etc/OpenCL/vendors/pocl.icd")
# The kernels of the design's table, whose ratios the geometric mean is taken over, and what else is timed alike.
TWELVE = ("saxpy", "nbody", "mandelbrot", "sgemm_tiled", "sgemm_naive", "reduction", "histogram", "conv5x5", "bitonic",
          "black_scholes", "spmv", "sha256")
MORE = ("mfma_bf16", "mfma_fp8", "fft", "transpose", "radix_sort", "small_launches")
OTHERS = ("launch", "command_buffer", "build")
# What bounds a case: multiply-adds (per processor second, against one thread) or memory (wall, all threads).
BY_FMA = {"nbody", "sgemm_tiled", "sgemm_naive", "conv5x5", "mfma_bf16", "mfma_fp8", "fft"}
BY_MEMORY = {"saxpy", "reduction", "transpose"}


def lines(command, environment):
    """What a program prints: (metric, value, unit) per line, or the reason why it failed."""
    try:
        run = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return None, "no result within 300 s"
    if run.returncode != 0:
        return None, (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[-1]
    return [(metric, float(value), unit) for _, metric, value, unit in (line.split("\t") for line in run.stdout.splitlines())], None


class Results:
    def __init__(self):
        self.values = {}    # (case, metric) -> vendor -> list
        self.units = {}     # (case, metric) -> unit
        self.failures = []  # (case, vendor, reason)

    def measure(self, case, vendor, command, environment):
        found, reason = lines(command, environment)
        if reason is not None:
            self.failures.append((case, vendor, reason))
            print(f"{case}: {vendor}: {reason}", file=sys.stderr)
            return
        for metric, value, unit in found:
            self.values.setdefault((case, metric), {}).setdefault(vendor, []).append(value)
            self.units[case, metric] = unit

    def median(self, case, metric, vendor):
        values = self.values.get((case, metric), {}).get(vendor)
        return statistics.median(values) if values else None

    def ratio(self, case, metric):
        """Morgana's time over PoCL's: below 1, Morgana is faster; for a rate, PoCL's over Morgana's."""
        mine, other = self.median(case, metric, "Morgana"), self.median(case, metric, "PoCL")
        if not mine or not other:
            return None
        return other / mine if self.units[case, metric].endswith("/s") else mine / other

    def mean_ratio(self, metric):
        ratios = [ratio for ratio in (self.ratio(case, metric) for case in TWELVE) if ratio]
        return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None

    def limit_share(self, case):
        wall, cpu, rate = (self.median(case, metric, "Morgana") for metric in ("wall", "cpu", "rate"))
        if not (wall and cpu and rate):
            return None
        if case in BY_FMA and (peak := self.limit("FMA, one thread")):
            return rate * wall / cpu / peak, "FMA"
        if case in BY_MEMORY and (peak := self.limit("triad, all threads")):
            return rate / peak, "triad"
        return None

    def limit(self, metric):
        values = self.values.get(("limits", metric), {}).get("host")
        return max(values) if values else None


def number(value, digits=4):
    return "–" if value is None else f"{value:.{digits}g}"


def table(rows):
    """Markdown, aligned so that it reads as text too; the first column is left-aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    def line(row):
        return "| " + " | ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                                 for i, (cell, width) in enumerate(zip(row, widths))) + " |"
    rule = "|" + "|".join("-" * (width + 2) if i == 0 else "-" * (width + 1) + ":" for i, width in enumerate(widths)) + "|"
    return "\n".join([line(rows[0]), rule] + [line(row) for row in rows[1:]])


def report(results, cases):
    timed = [case for case in TWELVE + MORE if (case, "wall") in results.values]
    rows = [("kernel", "CPU ms", "PoCL", "ratio", "wall ms", "PoCL", "ratio", "rate", "of limit")]
    for case in timed:
        share = results.limit_share(case)
        cells = [case]
        for metric in ("cpu", "wall"):
            cells += [number(results.median(case, metric, vendor)) for vendor in ("Morgana", "PoCL")]
            cells.append(number(results.ratio(case, metric), 3))
        cells.append(f"{number(results.median(case, 'rate', 'Morgana'))} {results.units[case, 'rate']}")
        cells.append(f"{share[0]:.0%} {share[1]}" if share else "")
        rows.append(tuple(cells))
    rows.append(("geometric mean of the twelve", "", "", number(results.mean_ratio("cpu"), 3), "", "",
                 number(results.mean_ratio("wall"), 3), "", ""))
    parts = [table(rows)] if timed else []
    rows = [("", "Morgana", "PoCL", "ratio", "unit")]
    for (case, metric), unit in results.units.items():
        if case in OTHERS:
            rows.append((f"{case}: {metric}", number(results.median(case, metric, "Morgana")),
                         number(results.median(case, metric, "PoCL")), number(results.ratio(case, metric), 3), unit))
    if len(rows) > 1:
        parts.append(table(rows))
    limits = [f"{metric} {number(results.limit(metric))} {unit}".strip()
              for (case, metric), unit in results.units.items() if case == "limits"]
    if limits:
        parts.append("Limits: " + "; ".join(limits) + ".")
    for case, vendor, reason in results.failures:
        parts.append(f"Failed: {case} on {vendor}: {reason}")
    return "\n\n".join(parts)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def save_readme(text, heading):
    readme = HERE / "README.md"
    start, end = "<!-- results: written by run.py --save -->", "<!-- end of results -->"
    old = readme.read_text()
    before, rest = old.split(start)
    readme.write_text(f"{before}{start}\n{heading}\n\n![ratios](results.svg)\n\n{text}\n{end}{rest.split(end)[1]}")


def main():
    root = HERE.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=root / "build/release/bin")
    parser.add_argument("--lib", type=pathlib.Path, help="folder of libmorgana.so; default: beside --bin")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path, default=root / "build/bench")
    parser.add_argument("--save", action="store_true", help="write to bench/, README.md included")
    parser.add_argument("cases", nargs="*", default=TWELVE + MORE + OTHERS)
    arguments = parser.parse_args()
    library = (arguments.lib or arguments.bin.parent / "lib").resolve() / "libmorgana.so"
    vendors = {"Morgana": str(library)}
    if POCL.exists():
        vendors["PoCL"] = POCL.read_text().strip()
    results = Results()
    limits = [arguments.bin / "bench_limits"]
    results.measure("limits", "host", limits, os.environ)
    for case in arguments.cases:
        for _ in range(arguments.rounds):
            for vendor, icd in vendors.items():
                results.measure(case, vendor, [arguments.bin / "bench_kernels", case], dict(os.environ, OCL_ICD_VENDORS=icd))
        print(f"{case}: CPU {number(results.ratio(case, 'cpu'), 3)}, wall {number(results.ratio(case, 'wall'), 3)}",
              file=sys.stderr)
    results.measure("limits", "host", limits, os.environ)

    text = report(results, arguments.cases)
    settings = " ".join(f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("MORGANA_"))
    heading = (f"{datetime.date.today()}, {processor()}, {os.cpu_count()} processors, medians of {arguments.rounds} alternating "
               f"runs{', ' + settings if settings else ''}. Ratios are Morgana over PoCL: below 1, Morgana is faster.")
    print(heading + "\n\n" + text)
    out = HERE if arguments.save else arguments.out
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps({
        "heading": heading,
        "mean_ratio": {metric: results.mean_ratio(metric) for metric in ("cpu", "wall")},
        "results": [{"case": case, "metric": metric, "unit": results.units[case, metric], "values": values}
                    for (case, metric), values in results.values.items()],
        "failures": results.failures}, indent=1) + "\n")
    timed = [case for case in TWELVE + MORE if results.ratio(case, "cpu") and results.ratio(case, "wall")]
    if timed:
        bars = [(case, results.ratio(case, "cpu"), results.ratio(case, "wall")) for case in timed]
        if results.mean_ratio("cpu"):
            bars.append(("mean of the twelve", results.mean_ratio("cpu"), results.mean_ratio("wall")))
        (out / "results.svg").write_text(chart.ratios(bars))
    if arguments.save:
        save_readme(text, heading)
    else:
        (out / "results.md").write_text(heading + "\n\n" + text + "\n")
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
