"""What the cases for sarchlab/mgpusim (amd/benchmarks) share. A case makes inputs, the launches that a host would make, and the
result in numpy; it is a function of a Bench, listed in CASES by the kernel it is for, and raises Wrong.

The gfx942 objects are HIP, the gfx803 objects (`bench.opencl`) OpenCL C of the same programs: local memory by arguments, division
within 2.5 ulp, f32 denormals flushed. mgpusim_sdk.py has AMD's SDK samples, Hetero-Mark, PolyBench, Rodinia and SHOC,
mgpusim_nn.py the neural networks, mgpusim_gcn3.py the kernels that only the gfx803 objects have.

Data movement, integers and single roundings are compared exactly; sums within the error of their roundings."""
import struct

import numpy as np

from harness import exact, near

f32, i32, u32 = np.float32, np.int32, np.uint32
CASES = {}

# Objects as of commit d01e70d5 whose kernel descriptors are damaged: COMPUTE_PGM_RSRC2 and KERNEL_CODE_PROPERTIES were written
# four bytes too early, over the low 16 bits of RSRC1 and the low 8 of RSRC2. (Their own .num_vgpr and .vgpr_count say 109
# where the descriptor has 40, and the code takes work-group ids from s2 and s3, which the descriptor does not enable;
# mgpusim ignores those fields.) File offset of RSRC1: the two words found, the two words that LLVM encodes.
DAMAGED = {
    "amd/benchmarks/shoc/stencil2d/kernels_gfx942.hsaco": {
        0x14B0: ((0xAF0084, 0x008), (0xAF0080, 0x084)),  # CopyRect: 6 VGPRs, 12 + 6 SGPRs
        0x14F0: ((0xAF0984, 0x908), (0xAF008D, 0x984)),  # StencilKernel: 109 VGPRs, 15 + 6 SGPRs
    },
}


def repair(path, code_object):
    """Mends a damaged object in place; True when there was something to mend."""
    content = bytearray(code_object.read_bytes())
    mended = False
    for offset, (found, right) in DAMAGED.get(path, {}).items():
        if content[offset:offset + 8] == struct.pack("<2I", *found):
            content[offset:offset + 8] = struct.pack("<2I", *right)
            mended = True
    code_object.write_bytes(content)
    return mended


def case(kernel):
    def add(function):
        CASES[kernel] = function
        return function
    return add


def rng(seed=1):
    return np.random.default_rng(seed)


def uniform(shape, low=-1.0, high=1.0, seed=1):
    return rng(seed).uniform(low, high, shape).astype(f32)


def rounded_up(value, multiple):
    return (value + multiple - 1) // multiple * multiple


def quotient(bench, what, got, expected):
    """Results that end in a division."""
    if bench.opencl:
        near(what, got, expected, np.abs(expected), 6)
    else:
        exact(what, got, expected)


def flushed(bench, values):
    """As an instruction of the object reads and writes them."""
    tiny = (np.abs(values) < 2.0**-126) & bench.opencl
    return np.where(tiny, np.copysign(f32(0), values), values)


def specials(size, seed=1):
    """Random values, with signed zeros, denormals, infinities and NaN at the front."""
    values = uniform(size, -4, 4, seed)
    values[:8] = [0.0, -0.0, 1e-40, -1e-40, np.inf, -np.inf, np.nan, 1e-30]
    return values


def sparse(rows, columns, most, seed=1):
    """A random matrix in compressed rows: offsets, columns, values. Some rows are empty."""
    random = rng(seed)
    lengths = random.integers(0, most, rows)
    lengths[3] = 0
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(i32)
    return offsets, random.integers(0, columns, offsets[-1], dtype=i32), uniform(offsets[-1], seed=seed + 1)


def dense(rows, columns, offsets, places, values):
    matrix = np.zeros((rows, columns))
    np.add.at(matrix, (np.repeat(np.arange(rows), np.diff(offsets)), places), values)
    return matrix
