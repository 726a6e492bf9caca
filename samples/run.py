#!/usr/bin/env python3
"""Runs every sample on Morgana, through the system's OpenCL loader or AMD's HIP, and prints one line each.

--devices all runs them on each of the thirteen targets. Exits 1 when a sample does not run or is not correct.
"""
import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = "gfx600 gfx701 gfx803 gfx900 gfx906 gfx908 gfx90a gfx942 gfx950 gfx1010 gfx1030 gfx1100 gfx1200".split()


def samples(binaries, out, compiled, device):
    for name in ("saxpy", "sgemm", "reduction", "histogram", "nbody", "sha256"):
        yield [str(binaries / name)]
    yield [str(binaries / "mandelbrot"), str(out / "mandelbrot.png")]
    yield [str(binaries / "stencil"), str(HERE / "data" / "strait.png"), str(out / "strait-sharp.png")]
    if not compiled:
        yield ["/usr/bin/python3", str(HERE / "life.py")]
    yield ["/usr/bin/python3", str(HERE / "trap.py"), str(binaries)]
    # HIP, where hipcc was there to build it; for gfx90a, which a HIP program gets by default.
    if (binaries / "heat").exists() and (device == "gfx90a" or (device is None and "MORGANA_DEVICES" not in os.environ)):
        yield [str(binaries / "heat")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parent / "build/release/bin")
    parser.add_argument("--devices", default="", help="comma-separated targets, or 'all'; default: MORGANA_DEVICES or gfx950")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "out", help="where pictures go")
    parser.add_argument("--compiled", action="store_true", help="only those of C and C++ (Python cannot load a library with a sanitizer)")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    devices = TARGETS if arguments.devices == "all" else [d for d in arguments.devices.split(",") if d] or [None]
    binaries = arguments.bin.resolve()
    failed = 0
    print(f"{'sample':<12} {'device':<8} {'kernels':>13}  result", flush=True)
    for device in devices:
        for command in samples(binaries, arguments.out, arguments.compiled, device):
            launcher = [str(binaries / "morgana"), "run"] + (["--devices", device] if device else []) + ["--"]
            try:
                status = subprocess.run(launcher + command, timeout=600).returncode
            except subprocess.TimeoutExpired:
                status = "no end after 600 s"
            if status != 0:
                failed += 1
                print(f"{pathlib.Path(command[1] if 'python' in command[0] else command[0]).name}: failed ({status})", flush=True)
    print("all samples are correct" if failed == 0 else f"{failed} samples failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
