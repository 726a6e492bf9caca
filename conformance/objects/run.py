#!/usr/bin/env python3
"""Real code objects of other projects through `morgana dispatch`, their results checked against numpy.

  run.py [--morgana PATH] [--mgpusim CHECKOUT] [--aiter CHECKOUT] [--only TEXT]

A CHECKOUT is a work tree or a git directory (a bare one, too) of sarchlab/mgpusim or ROCm/aiter; nothing is written to it.
Every kernel of every object of mgpusim's benchmarks must have a case. Prints one line a kernel; exits 1 when one is wrong."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import aiter
import harness
import mgpusim
import mgpusim_gcn3  # noqa: F401, these fill mgpusim.CASES
import mgpusim_nn  # noqa: F401
import mgpusim_sdk  # noqa: F401


def files(checkout, wanted, target):
    """Copies the files whose path `wanted` accepts to `target`; returns their paths in the checkout."""
    root = pathlib.Path(checkout)
    if not (root / "HEAD").is_file():
        found = [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() and wanted(str(p.relative_to(root)))]
        read = lambda path: (root / path).read_bytes()
    else:
        git = lambda *words: subprocess.run(["git", "--git-dir", root, *words], capture_output=True, check=True).stdout
        found = [p for p in git("ls-tree", "-r", "HEAD", "--name-only").decode().splitlines() if wanted(p)]
        read = lambda path: git("cat-file", "blob", f"HEAD:{path}")
    for path in found:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(read(path))
    return sorted(found)


class Table:
    def __init__(self):
        self.wrong = self.total = 0

    def row(self, kernel, items, launches, result, seconds):
        self.total += 1
        self.wrong += result != "ok"
        print(f"  {kernel:40} {items:9} {launches:8} {seconds:9.4f}  {result}", flush=True)

    def run(self, title, bench, kernels, case):
        """One object: `case` is called with the bench; what it raises counts for all of its kernels."""
        if title:
            print(title)
        problem = None
        try:
            case(bench)
        except harness.Wrong as error:
            problem = f"WRONG: {error}"
        except subprocess.TimeoutExpired:
            problem = "WRONG: did not end"
        for kernel in kernels:
            if kernel not in bench.items and problem is None:
                self.row(kernel, 0, 0, "WRONG: no case", 0)
            else:
                self.row(kernel, bench.items.get(kernel, 0), bench.launches.get(kernel, 0), problem or "ok",
                         bench.seconds.get(kernel, 0))


def run_mgpusim(checkout, table, options, folder):
    wanted = lambda p: p.startswith("amd/benchmarks/") and p.endswith(".hsaco")
    for path in files(checkout, wanted, folder):
        native = "/native/" in path  # intermediate products of builds; some are compressed bundles or for other targets
        if options.only not in path or (native and not path.endswith("_gfx942.hsaco")):
            continue
        title = f"mgpusim {path}" + (" (descriptors repaired)" if mgpusim.repair(path, folder / path) else "")
        target, kernels = harness.Bench(options.morgana, folder, folder / path).facts()
        for kernel in kernels or ["(none)"]:
            # A bench of its own, so that one wrong kernel does not hide the others.
            own = harness.Bench(options.morgana, folder, folder / path, opencl=target == "gfx803")
            table.run(title, own, [kernel], mgpusim.CASES.get(kernel, lambda _: None))
            title = ""


def run_aiter(checkout, table, options, folder):
    wanted = lambda p: p.startswith("hsa/gfx") and "/topksoftmax/" in p and p.endswith((".co", ".csv"))
    for path in files(checkout, wanted, folder):
        if not path.endswith(".csv"):
            continue
        for row in aiter.rows(folder / path):
            code_object = folder / path.replace("topksoftmax.csv", row["co_name"])
            title = str(code_object.relative_to(folder))
            if options.only not in title:
                continue
            bench = harness.Bench(options.morgana, folder, code_object)
            table.run(f"aiter {title}", bench, bench.facts()[1] or ["(none)"], lambda b, row=row: aiter.check(b, row))


def main():
    default = pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/morgana"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--morgana", default=default, help=f"the command line (default {default})")
    parser.add_argument("--mgpusim", help="checkout of sarchlab/mgpusim")
    parser.add_argument("--aiter", help="checkout of ROCm/aiter")
    parser.add_argument("--only", default="", help="objects whose path holds this text")
    options = parser.parse_args()
    if not options.mgpusim and not options.aiter:
        parser.error("give --mgpusim, --aiter or both")
    table = Table()
    print(f"  {'kernel':40} {'items':>9} {'launches':>8} {'seconds':>9}  result")
    with tempfile.TemporaryDirectory(prefix="morgana-objects-") as folder:
        if options.mgpusim:
            run_mgpusim(options.mgpusim, table, options, pathlib.Path(folder))
        if options.aiter:
            run_aiter(options.aiter, table, options, pathlib.Path(folder))
    print(f"{table.total - table.wrong} of {table.total} kernels ok")
    return 1 if table.wrong or not table.total else 0


if __name__ == "__main__":
    sys.exit(main())
