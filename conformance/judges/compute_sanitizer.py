"""NVIDIA's samples of compute-sanitizer (NVIDIA/compute-sanitizer-samples): a program for each fault, as on_opencl.py builds
it. gfx1030 has waves of 32, as the programs suppose. The two of Suppressions must also say nothing when what is found is
suppressed."""
import functools
import pathlib
import tempfile

import on_opencl
from checked import kinds_found

DEVICE = "gfx1030"
CHECKS = "memory:aligned,race:lanes,barrier:strict,init,api"
CHECKS_OF = {"suppressions_demo": "memory,api"}  # no kernel, and all of the host's memory, which init would fill
OUTSIDE = {"out-of-bounds", "memory-violation"}
# What NVIDIA's tools say of each.
WANTED = {
    "Memcheck/memcheck_demo": [{"misaligned-access"}, OUTSIDE, {"leak"}],
    "Racecheck/block_error": [{"race"}],
    "Racecheck/warp_error": [{"race"}],
    "Initcheck/memset_error": [{"uninitialized"}],
    "Synccheck/divergent_threads": [{"barrier-divergence"}],
    "Synccheck/illegal_syncwarp": [{"trap", "barrier-divergence"}],
    "Suppressions/suppressions_demo": [{"failed-call"}],
    "Suppressions/suppressions_initcheck_demo": [{"uninitialized"}],
}


def cases(folder):
    for name, wanted in WANTED.items():
        yield name, folder / f"{name}.cu", wanted


def found(path, library, device):
    kinds, checks = set(), CHECKS_OF.get(path.stem, CHECKS)
    for level in ("-O0", "-O3"):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            program, wants = on_opencl.build(path, folder, device, level, before=["cuda.h"])
            run = functools.partial(kinds_found, [program], library, device, checks=checks, has_kernels="init" in checks, **wants)
            of_level = run()
            if path.parent.name == "Suppressions":
                suppressed = folder / "suppressed"
                suppressed.write_text("".join(f"{kind}\n" for kind in of_level))
                if run(MORGANA_CHECK_SUPPRESS=str(suppressed)):
                    raise RuntimeError("what is suppressed is reported")
            kinds |= of_level
    return kinds
