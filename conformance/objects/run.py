#!/usr/bin/env python3
"""Code objects of other projects through `morgana dispatch`, their results checked against numpy: ./dev objects DIR [PATTERN...]

DIR has checkouts named mgpusim, aiter and MIOpen (sarchlab/mgpusim, ROCm/aiter, ROCm/MIOpen; each a work tree or a git
directory), as many as there are; nothing is written to them. PATTERNs choose objects by their names as they are printed.
Each runs interpreted, compiled, and as users run it (--jit). What must come out stands in objects.tsv (empty: that mode was
not run), where all that is not right has its reason; --record writes results there. Exits 1 when a result is another, 2 when there was nothing to run."""
import argparse
import fnmatch
import pathlib
import subprocess
import sys
import tempfile
import time

import aiter
import aiter_attention
import aiter_gemm
import harness
import mgpusim
import mgpusim_gcn3  # noqa: F401, these fill mgpusim.CASES
import mgpusim_nn  # noqa: F401
import mgpusim_sdk  # noqa: F401
import miopen_winograd

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "objects.tsv"
MODES = ("off", "sync", "on")


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


class Case:
    """A kernel of an object; `check` is called with its bench and raises harness.Wrong. `prepare` makes the file."""

    def __init__(self, name, path, kernel, check, opencl=False, prepare=None):
        self.name, self.path, self.kernel, self.check, self.opencl, self.prepare = name, path, kernel, check, opencl, prepare

    def run(self, morgana, mode):
        """What is wrong, or "right"."""
        try:
            if self.prepare and not self.path.is_file():
                self.prepare()
            with tempfile.TemporaryDirectory(prefix="morgana-objects-") as folder:
                bench = harness.Bench(morgana, folder, self.path, self.opencl, {"MORGANA_JIT": mode})
                self.check(bench)
            return "right" if self.kernel in bench.items else "no case"
        except harness.Wrong as error:
            return " ".join(str(error).split())[:400]
        except subprocess.TimeoutExpired:
            return "did not end"


def mgpusim_cases(checkout, options, folder):
    for path in files(checkout, lambda p: p.startswith("amd/benchmarks/") and p.endswith(".hsaco"), folder):
        # Of native/ only what is no intermediate product of a build, no compressed bundle and for no other target.
        if "/native/" in path and not path.endswith("_gfx942.hsaco"):
            continue
        mgpusim.repair(path, folder / path)
        target, kernels = harness.Bench(options.morgana, folder, folder / path).facts()
        for kernel in kernels or ["(none)"]:
            check = mgpusim.CASES.get(kernel, lambda _: None)
            yield Case(f"mgpusim/{path.removeprefix('amd/benchmarks/')}:{kernel}", folder / path, kernel, check, target == "gfx803")


def aiter_check(family, row, target):
    if family == "topksoftmax":
        return lambda bench: aiter.check(bench, row)
    if family == "fmha_v3_fwd":
        return lambda bench: aiter_attention.check(bench, row, target)
    return lambda bench: aiter_gemm.FAMILIES[family](bench, row)


def aiter_cases(checkout, options, folder):
    families = ("topksoftmax", "fmha_v3_fwd", *aiter_gemm.FAMILIES)
    wanted = lambda p: p.startswith(("hsa/gfx942/", "hsa/gfx950/")) and p.split("/")[2] in families and p.endswith((".co", ".csv"))
    found = files(checkout, wanted, folder)
    for table in (path for path in found if path.endswith(".csv")):
        _, target, family, _ = table.split("/")
        for row in aiter.rows(folder / table):
            if row.get("dtype", "").startswith("fp8"):
                continue
            # Attention of gfx942 is there twice, for two products.
            for path in (p for p in found if p.startswith(f"hsa/{target}/{family}/") and p.endswith("/" + row["co_name"])):
                yield Case(f"aiter/{path.removeprefix('hsa/')}", folder / path, row["knl_name"], aiter_check(family, row, target))


def miopen_cases(checkout, options, folder):
    files(checkout, lambda p: p.startswith("src/kernels/") and p.endswith((".s", ".inc")) and p.count("/") == 2, folder)
    kernels = folder / "src/kernels"
    for source, kernel, target, version in miopen_winograd.objects(kernels):
        output = folder / f"{target}_{source}.co"
        prepare = lambda source=source, target=target, output=output: miopen_winograd.assemble(options.clang, kernels, source, target, output)
        check = lambda bench, kernel=kernel, source=source, version=version: miopen_winograd.check(bench, kernel, source, version)
        yield Case(f"miopen/{target}/{source.removesuffix('.s')}", output, kernel, check, prepare=prepare)


PROJECTS = {"mgpusim": mgpusim_cases, "aiter": aiter_cases, "MIOpen": miopen_cases}


def checkout_in(folder, project):
    """A work tree or a git directory, which may be called repo and lie one further down."""
    for place in sorted(folder.iterdir()):
        if place.name.lower().split("+")[-1] == project.lower():
            return place / "repo" if (place / "repo/HEAD").is_file() else place
    return None


def read_table():
    lines = TABLE.read_text().splitlines()[1:] if TABLE.exists() else []
    return {cells[0]: cells for cells in (line.split("\t") for line in lines)}


def write_table(table):
    rows = [["object", *MODES, "reason"], *(table[name] for name in sorted(table))]
    TABLE.write_text("".join("\t".join(row) + "\n" for row in rows))


def run_cases(cases, modes, options):
    """Prints a line for each result; the number of those that the table does not have, and of all."""
    table, wrong, right, total = read_table(), 0, 0, 0
    for case in cases:
        if options.patterns and not any(fnmatch.fnmatch(case.name, pattern) for pattern in options.patterns):
            continue
        cells = table.get(case.name, [case.name, *[""] * len(MODES), ""])
        for mode in modes:
            begin = time.monotonic()
            result = case.run(options.morgana, mode)
            verdict = "right" if result == "right" else "wrong"
            at = 1 + MODES.index(mode)
            as_expected = verdict == (cells[at] or "right")
            print(f"{case.name}  {mode}  {time.monotonic() - begin:.1f} s  {result}{'' if as_expected else f' (table: {cells[at]})'}", flush=True)
            total, right, wrong = total + 1, right + (verdict == "right"), wrong + (not as_expected)
            cells[at] = verdict
        table[case.name] = cells
        if options.record:
            write_table(table)
    print(f"{right} of {total} right")
    return wrong, total


def main(arguments):
    parser = argparse.ArgumentParser(prog="./dev objects", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--morgana", type=pathlib.Path, default=HERE.parents[1] / "build/release/bin/morgana")
    parser.add_argument("--clang", default="clang-22", help="assembles MIOpen's sources")
    parser.add_argument("--jit", default=",".join(MODES), help="modes of MORGANA_JIT, with commas between")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_intermixed_args(arguments)
    modes = options.jit.split(",")
    if not set(modes) <= set(MODES) or not options.folder.is_dir():
        parser.error("no such mode or folder")
    options.morgana = options.morgana.resolve()
    wrong = total = 0
    for project, cases in PROJECTS.items():
        checkout = checkout_in(options.folder, project)
        if checkout is None:
            continue
        with tempfile.TemporaryDirectory(prefix="morgana-objects-") as folder:
            here = run_cases(cases(checkout.resolve(), options, pathlib.Path(folder)), modes, options)
            wrong, total = wrong + here[0], total + here[1]
    return 2 if not total else 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
