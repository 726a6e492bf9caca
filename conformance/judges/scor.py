"""ScoR's micro-benchmarks (csl-iisc/ScoR, microbenchmarks/src): kernels with and without scoped races, whose names
say which. They are compiled by clang with scor_cuda.h in place of CUDA and run by `morgana dispatch`.

What a scope is shows in machine code only where the target has an instruction for it: fences on gfx942 and gfx950, which
write the L2 back, atomics on gfx12. A race is found where it is found on one target; a case without one is clean on
all. A lock orders two sections whichever comes first, so the groups and waves run in two orders."""
import pathlib
import re
import tempfile

from checked import kinds_found
from device_code import compile_kernels

HERE = pathlib.Path(__file__).resolve().parent
DEVICE = "gfx950,gfx1200"
ORDERS = ("", "reverse")
KERNEL = "_Z5kmainPj"


def cases(folder):
    """(name, source, what must be found) of every micro-benchmark."""
    for path in sorted((folder / "microbenchmarks/src").glob("*.cu")):
        kind, _, rest = path.stem.partition("_")
        yield f"{kind}/{rest}", path, [{"race"}] if kind == "race" else []


def sizes(text, lanes):
    """(work-items of all groups, work-items of one) of the launch: a warp is a wave of that many lanes."""
    groups, threads = (int(re.search(rf"define {name}\s+(\d+)", text)[1]) for name in ("NBLOCKS", "TPERBLK"))
    group = threads // 32 * lanes + threads % 32
    return groups * group, group


def found(path, library, device):
    """What the checks find on one of the targets; raises RuntimeError where a kernel was not checked."""
    kinds = set()
    for target in device.split(","):
        total, group = sizes(path.read_text(), 32 if target.startswith("gfx1") else 64)
        for level in ("-O0", "-O3"):
            with tempfile.TemporaryDirectory() as folder:
                code = pathlib.Path(folder) / "kernel"
                compile_kernels(path, target, level, code, "-include", HERE / "scor_cuda.h")
                command = [library.parents[1] / "bin/morgana", "dispatch", code, "--device", target, "--kernel", KERNEL,
                           "--grid", str(total), "--group", str(group), "--arg", "zero:4"]
                for order in ORDERS:
                    kinds |= kinds_found(command, library, target, checks="memory,race,barrier,init", statuses=(0, 1), MORGANA_SCHEDULE=order)
    return kinds
