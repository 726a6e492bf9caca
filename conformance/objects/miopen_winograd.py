"""Winograd convolutions of MIOpen's assembly (v9_2_7, v21, v30) against numpy.

N images of C channels by K filters of RxS: out[n, k, y, x] = sum over c, r, s of in[n, c, y * stride + r - pad, ...] *
filter[k, c, r, s], where between the input's elements lie `dilation` - 1 zeros. Some hundred work-groups of 512 divide the
output among themselves. v21 takes strides in bytes, v30 in elements; v9 takes none. Operands are small integers."""
import subprocess

import numpy as np

from harness import Wrong, poison

NKC_STRIDES, GROUP_STRIDES, ACTIVATION_MODE = 1 << 9, 1 << 10, 1 << 14
GROUPS = 3
# Which targets MIOpen gives a version to, and those besides whose instructions it has.
TARGETS = {"v9_2_7": ["gfx803"], "v21_1_3": ["gfx900", "gfx906", "gfx908"], "v30_3_1": ["gfx900", "gfx906", "gfx908", "gfx90a", "gfx942"]}


def objects(kernels):
    """(source, kernel, target, version) of what is to be assembled."""
    found = [("conv_3x3_wheel_alpha_v9_2_7.s", "miopenSp3AsmConvRxSU_CBA", "gfx803", "v9_2_7"),
             ("conv_3x3_wheel_alpha_v9_2_7_stride_2_dec.s", "miopenSp3AsmConvRxSU_CBA", "gfx803", "v9_2_7")]
    for version in ("v21_1_3", "v30_3_1"):
        for source in sorted(path.name for path in kernels.glob(f"Conv_Winograd_{version}_fp*.s")):
            kind = source.removeprefix(f"Conv_Winograd_{version}_").removesuffix(".s")
            kernel = f"miopenSp3AsmConv_{version}_gfx9_{kind}".replace("_dot2", "_dot2_edc")
            found += [(source, kernel, target, version) for target in TARGETS[version] if "dot2" not in kind or target != "gfx900"]
    return [one for one in found if (kernels / one[0]).is_file()]


def assemble(clang, kernels, source, target, output):
    processor = target if target == "gfx803" else f"{target}:xnack-"
    command = [clang, "-x", "assembler", "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-mcode-object-version=4",
               "-Wa,-defsym,ROCM_METADATA_VERSION=5", "-Wa,-defsym,FORCE_CACHE_BYPASS_ON_STORE=0", f"-I{kernels}", kernels / source, "-o", output]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise Wrong(f"not assembled: {done.stderr.strip()}")


def convolve(image, weights, pads, out_size, stride, dilation):
    count, channels, height, width = image.shape
    spread = np.zeros((count, channels, (height - 1) * dilation + 1, (width - 1) * dilation + 1))
    spread[:, :, ::dilation, ::dilation] = image
    filters, _, r, s = weights.shape
    need = [(size - 1) * stride + side for size, side in zip(out_size, (r, s))]
    padded = np.pad(spread, ((0, 0), (0, 0), *((pad, max(0, want - pad - have)) for pad, want, have in zip(pads, need, spread.shape[2:]))))
    out = np.zeros((count, filters, *out_size))
    for y in range(r):
        for x in range(s):
            part = padded[:, :, y:y + need[0] - r + 1:stride, x:x + need[1] - s + 1:stride]
            out += np.einsum("ncyx,kc->nkyx", part, weights[:, :, y, x])
    return out


# N, C, H, W, K, R, S, pads. v9 drops its last tiles where C times the 3x3 parts of the filter are less than 18.
CASES = [(2, 18, 14, 14, 16, 3, 3, (1, 1)), (1, 20, 9, 20, 33, 3, 3, (0, 1)), (1, 6, 12, 13, 16, 5, 4, (2, 1))]


def strides(shape, unit):
    values = np.cumprod([unit, *shape[:0:-1]])
    return [int(value) for value in values[::-1]]


def block_of(version, shapes, pads, unit):
    (n, c, h, w), (k, _, r, s), (_, _, out_h, out_w) = shapes
    flags = 0 if version == "v9_2_7" else NKC_STRIDES | GROUP_STRIDES | (ACTIVATION_MODE if version == "v30_3_1" else 0)
    numbers = [n, c, h, w, k, GROUPS, flags, 0]
    block = [(4 * i, np.uint32(number)) for i, number in enumerate(numbers)]
    block += [(32, "image"), (40, "weights"), (48, "out"), (56, None)]
    block += [(64 + 4 * i, np.uint32(number)) for i, number in enumerate([r, s, *pads, out_h, out_w])]
    block += [(88, None), (96, np.uint32(0))]
    if version != "v9_2_7":
        # Each line: the four dimensions of a tensor; then the groups of the convolution.
        lines = [strides(shape, unit) for shape in shapes]
        values = [*lines[0], *lines[1], *lines[2], 1, lines[0][0], lines[1][0] * k, lines[2][0]]
        block += [(136 + 4 * i, np.uint32(value)) for i, value in enumerate(values)]
        block += [(200, np.uint32(0))]
    return block


def check(bench, kernel, source, version):
    kind = np.float16 if "fp16" in source else np.float32
    stride, dilation = (2 if "stride_2" in source or "stride2" in source else 1), (2 if "dilation2" in source else 1)
    for seed, (n, c, h, w, k, r, s, pads) in enumerate(CASES):
        random = np.random.default_rng(seed)
        image = random.integers(-3, 4, (n, c, h, w)).astype(kind)
        weights = random.integers(-2, 3, (k, c, r, s)).astype(kind)
        out_size = [((side - 1) * dilation + 1 + 2 * pad - f) // stride + 1 for side, pad, f in zip((h, w), pads, (r, s))]
        shapes = [image.shape, weights.shape, (n, k, *out_size)]
        buffers = {"image": image, "weights": weights, "out": poison(shapes[2], kind)}
        out = bench.packed(kernel, block_of(version, shapes, pads, image.itemsize if version == "v21_1_3" else 1), (GROUPS, 1, 1), 512, buffers, ("out",))["out"]
        expected = convolve(image.astype(np.float64), weights.astype(np.float64), pads, out_size, stride, dilation)
        # Transformed filters have quarters; halves of 11 bits are rounded on the way.
        limit = 2.0**-7 * np.abs(expected).max() + 0.5 if kind == np.float16 else 2.0**-16 * np.abs(expected).max()
        off = ~(np.abs(out.astype(np.float64) - expected) <= limit)
        if off.any():
            at = tuple(int(i) for i in np.argwhere(off)[0])
            raise Wrong(f"{image.shape} * {weights.shape}: {np.count_nonzero(off)} of {out.size} differ; at {at} {out[at]!r}, expected {expected[at]!r}")
