"""Indigo's kernels with a planted update that is not atomic (burtscher/IndigoSuite, conditional_*): whether `morgana
explore` finds two orders that leave different results. The suite's own generator makes the kernels; they are compiled by
clang with indigo_cuda.h in place of the suite's header, and run by `morgana dispatch` on graphs that are made here."""
import atexit
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

from device_code import compile_kernels

HERE = pathlib.Path(__file__).resolve().parent
DEVICE = "gfx1030"  # has waves of 32, as the kernels suppose
RUNS = 200
GROUP = 64
GRAPHS = ((200, 8), (48, 12))  # vertices, the most neighbours of one
KERNEL = "_Z11test_kernelPiS_S_S_i"


def cases(folder):
    """(name, source, what must be found) of every kernel of the patterns conditional_* with the tag atomicBug."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="indigo"))
    atexit.register(shutil.rmtree, made)
    generators = folder / "Generators"
    for pattern in sorted((generators / "CUDA_sources").glob("conditional_*.idg")):
        subprocess.run([sys.executable, "-W", "ignore", "generate_CUDA_codes.py", pattern, folder / "copyright.txt", made],
                       cwd=generators, check=True, stdout=subprocess.DEVNULL)
    for path in sorted(made.rglob("*_atomicBug*.cu")):
        yield f"{path.parent.name}/{path.stem}", path, [{"differs"}]


def write_graph(folder, vertices, degree):
    """The four arrays that a kernel reads, as the suite's host program fills them."""
    numbers = random.Random(1)
    neighbours = [sorted(numbers.sample(range(vertices), numbers.randrange(degree + 1))) for _ in range(vertices)]
    index = [0]
    for each in neighbours:
        index.append(index[-1] + len(each))
    edges = [to for each in neighbours for to in each]
    size = max(vertices, len(edges))
    arrays = {"nindex": index, "nlist": edges, "data1": [0] + [numbers.randrange(vertices) for _ in range(size - 1)],
              "data2": [0] + [numbers.randrange(len(edges)) for _ in range(size - 1)]}
    for name, values in arrays.items():
        (folder / name).write_bytes(struct.pack(f"{len(values)}i", *values))
    return list(arrays)


def groups_of(name, vertices):
    """As many as have a thread, a warp or a block for each vertex; those that loop have six."""
    threads = GROUP * vertices if "_block" in name else 32 * vertices if "_warp" in name else vertices
    groups = (threads + GROUP - 1) // GROUP
    return min(groups, 6) if "persistent" in name else groups


def found(path, library, device):
    """What `morgana explore` finds; raises RuntimeError where it cannot compare."""
    tool = library.parents[1] / "bin/morgana"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compile_kernels(path, device, "-O3", folder / "kernel", "-I", HERE)
        for vertices, degree in GRAPHS:
            groups = groups_of(path.stem, vertices)
            arguments = [f"in:{folder / array}" for array in write_graph(folder, vertices, degree)] + [f"i32:{vertices}"]
            command = [tool, "explore", "-n", str(RUNS), "--out", folder, "--", tool, "dispatch", folder / "kernel",
                       "--device", device, "--kernel", KERNEL, "--grid", str(groups * GROUP), "--group", str(GROUP)]
            done = subprocess.run([str(word) for word in command] + [word for each in arguments for word in ("--arg", each)],
                                  capture_output=True, text=True)
            if done.returncode not in (0, 1):
                raise RuntimeError(done.stderr.strip()[-2000:])
            if done.returncode == 1:
                return {"differs"}
    return set()
