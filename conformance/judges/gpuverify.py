"""GPUVerify's test kernels (mc-imperial/gpuverify): what each case is, what must be found in it, and how it is run.

A case is a kernel.cl whose first line says whether GPUVerify proves it free of races and divergence, whose second line has
GPUVerify's options, and whose next lines, where it does not, are what GPUVerify says. GPUVerify asks whether any input shows a
fault; here kernels have few: buffers of small numbers, scalars of 16 (or what __requires demands) and of 0, at most 16 work-groups
of 1024 work-items a dimension.
What these do not show stands in the table with the reason. Half of the files (an even CRC-32 of the path) are cases here, the
others are left for judging from outside."""
import itertools
import math
import pathlib
import re
import sys
import tempfile
import zlib

import kernels
from oclgrind import OUTSIDE

DEVICE = "gfx950"
RACE = {"race"}
ANY = OUTSIDE | RACE | {"barrier-divergence"}
DEMANDS = (
    (r"null pointer", OUTSIDE),
    (r"array out-of-bounds", OUTSIDE),
    (r"non-uniform control flow", {"barrier-divergence"}),
    (r"possible|Write by work item", RACE),
)
# Claims of a kernel's author, which nothing is checked of: an assertion, an invariant, a contract.
ANNOTATIONS = r"assert|invariant|Houdini|On entry to loop"
ABOUT_ANNOTATIONS = r"annotation_tests/|function_wide/|asymmetric_asserts/"
# No programs: functions without a body, more local memory than a GPU has, types of arguments that OpenCL C forbids, constructs
# of GPUVerify's own.
NOT_PROGRAMS = {"abstract_add/associativity", "abstract_add/associativity_char", "abstract_add/zero", "annotation_tests/ite",
                "annotation_tests/test_enabled_and_uniform", "atomics/refined_atomic_abstraction/check_used_treated_ok",
                "benign_race_tests/fail/writereadarray_equality", "booleanTests", "float_constant_test", "misc/pass/misc9",
                "multidimarrays/test4", "notunaryoptest2", "null_pointers/function_prototype",
                "null_pointers/function_prototype_or_local", "typestest",
                "vectortests/float4arithmetic", "vectortests/float4initialisation", "vectortests/int3load", "vectortests/select"}
MOST_GROUPS, MOST_ITEMS = 16, 1024
BUFFER, LOCAL, SCALAR = 1 << 20, 1 << 13, 16
# GPUVerify's annotations, as macros: what they state is not evaluated. Those of loops stand before the condition, with a comma.
VALUES = """__implies __enabled __write __read __write_implies __read_implies __write_offset_bytes __read_offset_bytes
__no_read __no_write __equal_floats __equal_doubles __uniform_int __uniform_bool __distinct_int __other_int __other_bool
__ptr_offset_bytes __return_val_int __return_val_bool __old_int __atomic_has_taken_value __all __exclusive __dominator_enabled
__return_val_ptr __old __return_val __add_noovfl __add_noovfl_int __add_noovfl_unsigned_int __write_offset __read_offset
__invariant __candidate_invariant __global_invariant __candidate_global_invariant __global_candidate_invariant"""
STATEMENTS = """__assert __assume __requires __ensures __global_requires __global_ensures __global_assert
__requires_fresh_array __function_wide_invariant __function_wide_candidate_invariant __reads_from __writes_to
__barrier_invariant __barrier_invariant_binary_1 __array_snapshot __read_permission __write_permission
__non_temporal_loads_begin __non_temporal_loads_end"""


def options_of(path):
    text = path.read_text(errors="replace").splitlines()[1].lstrip("/ ")
    return {name: value for name, _, value in (word.partition("=") for word in text.split() if word.startswith("--"))}


def said_of(lines):
    """What GPUVerify says of a kernel that it does not prove right."""
    return "".join(itertools.takewhile(lambda line: line.startswith("//"), lines[2:]))


def cases(folder):
    """(name, path, what must be found: sets of kinds) of every case in folder/testsuite/OpenCL that makes a claim here."""
    suite = folder / "testsuite"
    for path in sorted((suite / "OpenCL").rglob("*.cl")):
        name = path.relative_to(suite).as_posix()
        lines = path.read_text(errors="replace").splitlines()
        if zlib.crc32(name.encode()) % 2 or not re.match(r"//(pass|xfail:NOT_ALL_VERIFIED)", lines[0], re.I):
            continue
        said = said_of(lines)
        name = name.removeprefix("OpenCL/").removesuffix("/kernel.cl")
        if name in NOT_PROGRAMS:
            continue
        if lines[0].lower().startswith("//pass"):
            yield name, path, []
        elif not re.search(ANNOTATIONS, said) and not (len(said) < 3 and re.match(ABOUT_ANNOTATIONS, name)):
            yield name, path, [next((kinds for pattern, kinds in DEMANDS if re.search(pattern, said)), ANY)]


def checks(path):
    """--warp-sync: work-items of one wave go in step."""
    return "memory,race,barrier" if "--warp-sync" in options_of(path) else "memory,race:lanes,barrier"


def claimed(path):
    """The kinds that a case speaks of: accesses outside of arrays only where GPUVerify looks for them."""
    options, lines = options_of(path), path.read_text(errors="replace").splitlines()
    said = said_of(lines)
    speaks = "--check-array-bounds" in options or "null pointer" in said or lines[0].startswith("//xfail") and len(said) < 3
    divergence = {"barrier-divergence"} if "--only-log" not in options else set()
    return (OUTSIDE if speaks else set()) | divergence | (RACE if "--only-divergence" not in options else set())


def sizes(options):
    """(global size, local size)."""
    def numbers(name):
        return [int(number) for number in re.findall(r"\d+", options.get(name, ""))]
    local, groups, wholes = (numbers(name) for name in ("--local_size", "--num_groups", "--global_size"))
    dimensions = max(1, len(local), len(groups), len(wholes))
    local = (local or [64]) + [1] * (dimensions - len(local or [64]))
    groups = groups or [whole // size for whole, size in zip(wholes, local)] or [2]
    counts = [max(1, min(count, MOST_GROUPS)) for count in groups] + [1] * (dimensions - len(groups))
    while math.prod(local) > MOST_ITEMS:
        local[local.index(max(local))] //= 2
    if "--only-intra-group" in options:
        counts = [1] * len(counts)
    return [count * size for count, size in zip(counts, local)], local


def header():
    invariants = [f"__barrier_invariant_{number}" for number in range(1, 17)]
    lines = [f"#define {name}(...) 1" for name in VALUES.split()]
    lines += [f"#define {name}(...)" for name in [*STATEMENTS.split(), *invariants]]
    lines.append("#define __ite(c, a, b) ((c) ? (a) : (b))")
    # AMD's compilers make a kernel that names no size for 256 work-items.
    sized = f"__attribute__((amdgpu_flat_work_group_size(1, {MOST_ITEMS})))"
    lines += [f"#define kernel {sized} kernel", f"#define __kernel {sized} __kernel"]
    return "\n".join(lines) + "\n"


def argument(cl, numpy, context, kernel, index, values, scalar):
    """Something for the argument: a buffer, local memory, an image, a number."""
    info = cl.kernel_arg_info
    space, kind = kernel.get_arg_info(index, info.ADDRESS_QUALIFIER), kernel.get_arg_info(index, info.TYPE_NAME)
    if space == cl.kernel_arg_address_qualifier.LOCAL:
        return cl.LocalMemory(LOCAL)
    if kind.startswith("image"):
        shape = {"image1d_t": (64,), "image3d_t": (64, 64, 8)}.get(kind, (64, 64))
        image_format = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)
        return cl.Image(context, cl.mem_flags.READ_WRITE, image_format, shape=shape)
    if kind == "sampler_t":
        return cl.Sampler(context, False, cl.addressing_mode.CLAMP, cl.filter_mode.NEAREST)
    if space != cl.kernel_arg_address_qualifier.PRIVATE:
        return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=(numpy.arange(BUFFER // 4, dtype="i4") + index) % 7)
    value = values.get(kernel.get_arg_info(index, info.NAME), scalar)
    number = numpy.float32(value).tobytes() if kind.startswith("float") else value.to_bytes(8, "little")
    for size in (4, 1, 2, 8, *range(3, 1025)):  # of a type that is not known here
        try:
            given = numpy.float64(value).tobytes() if kind == "double" else (number + bytes(size))[:size]
            kernel.set_arg(index, given)
            return given
        except cl.LogicError:
            continue
    raise ValueError(f"argument {index}, {kind}: no size is right")


def execute(path, build_options):
    """Runs every kernel of the case in this process."""
    import numpy
    import pyopencl as cl
    options, source = options_of(path), path.read_text(errors="replace")
    context, queue = kernels.begin()
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "annotations.h").write_text(header())
        program = cl.Program(context, f'#include "annotations.h"\n#line 1\n{source}').build(
            f"-cl-kernel-arg-info -g -I {folder} -I {path.parent} {build_options}")
    values = {name: int(number, 0) for name, number in re.findall(r"__requires\((\w+) == (\w+)\)", source)
              if re.fullmatch(r"0x[0-9a-f]+|\d+", number)}
    given_by_option = [int(number, 0) for number in options.get("--kernel-args", "").split(",")[1:] if number != "*"]
    # What __requires demands of a number otherwise is met by 16 rather than by 0.
    scalars = (SCALAR,) if given_by_option or "__requires" in source else (SCALAR, 0)
    for kernel, scalar in itertools.product(program.all_kernels(), scalars):
        given = [argument(cl, numpy, context, kernel, index, values, scalar) for index in range(kernel.num_args)]
        numbers = [index for index, one in enumerate(given) if isinstance(one, bytes)]
        if scalar == 0 and not numbers:
            break
        for index, number in zip(numbers, given_by_option):
            given[index] = number.to_bytes(len(given[index]), "little")
        kernel.set_args(*given)
        kernels.launch(queue, kernel, *sizes(options))


if __name__ == "__main__":
    execute(pathlib.Path(sys.argv[1]), sys.argv[2])
