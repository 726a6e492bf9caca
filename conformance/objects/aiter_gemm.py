"""GEMM objects of ROCm/aiter (bf16gemm, i8gemm, f4gemm) against numpy: D[m, n] = sum over k of A[m, k] * B[n, k].

Operands are small integers (f4: all values of the format, scales near 1), so that f32 sums are exact and what is
left is the rounding of the result. A kernel's arguments lie 16 bytes apart. Where a name says so, B lies in tiles of 16
rows by 32 bytes in two halves: what one lane loads at once lies together."""
import numpy as np

from aiter import rows, to_bf16
from harness import Wrong, exact, poison, slots

UNUSED = np.uint32(0)
# e2m1
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def from_bf16(stored):
    return (stored.astype(np.uint32) << 16).view(np.float32)


def shuffled(b):
    """Tiles of 16 rows and 32 bytes; in each first the 16 rows' first halves, then the second ones."""
    rows_of_b, row_bytes = b.shape[0], b.shape[1] * b.itemsize
    tiles = b.view(np.uint8).reshape(rows_of_b // 16, 16, row_bytes // 32, 2, 16)
    return np.ascontiguousarray(tiles.transpose(0, 2, 3, 1, 4)).reshape(rows_of_b, row_bytes).view(b.dtype)


def near_bf16(what, got, expected):
    """Within one unit in the last place of bf16: kernels round to nearest, or cut off."""
    expected = np.asarray(expected, np.float64)
    values = from_bf16(got).astype(np.float64)
    bound = np.exp2(np.floor(np.log2(np.maximum(np.abs(expected), 2.0**-126))) - 7)
    off = ~(np.abs(values - expected) <= bound)
    if off.any():
        at = tuple(int(i) for i in np.argwhere(off)[0])
        raise Wrong(f"{what}: {np.count_nonzero(off)} of {got.size} differ; at {at} {values[at]!r}, expected {expected[at]!r}")


def up(value, step):
    return -(-value // step)


def integers(random, shape, most):
    return random.integers(-most, most + 1, shape).astype(np.float32)


def bf16_cases(row):
    tile_m, tile_n = int(row["tileM"]), int(row["tileN"])
    if int(row["splitK"]):
        return [(tile_m + 5, 2 * tile_n, 256, 2, 1, 0), (tile_m, tile_n, 448, 3, 0, 1)]
    cases = [(tile_m + 5, 2 * tile_n, 256, 1, 1, 0), (2 * tile_m, tile_n, 320, 1, 0, 0)]
    return cases + [(7, tile_n, 256, 1, 0, 1)] if int(row["bias"]) else cases


def bf16(bench, row):
    tile_m, tile_n, preshuffled = int(row["tileM"]), int(row["tileN"]), int(row["bPreshuffle"])
    for seed, (m, n, k, splits, as_bf16, biased) in enumerate(bf16_cases(row)):
        random = np.random.default_rng(seed)
        a, b, bias = integers(random, (m, k), 4), integers(random, (n, k), 4), integers(random, n, 100)
        stored_b = to_bf16(b)
        out_type = np.uint16 if as_bf16 else np.float32
        buffers = {"a": to_bf16(a), "b": shuffled(stored_b) if preshuffled else stored_b, "bias": to_bf16(bias),
                   "semaphore": np.zeros((16, 64), np.uint32), "out": poison((m, n), out_type)}
        pitch = np.uint32(n * out_type().itemsize)
        block = slots("out", None, "a", "b", np.float32(1), np.float32(0), pitch, UNUSED, pitch, UNUSED, np.uint32(2 * k), UNUSED,
                      np.uint32(2 * k), UNUSED, np.uint32(m), np.uint32(n), np.uint32(k), np.uint32(splits), np.uint32(as_bf16),
                      "bias" if biased else None, np.uint32(biased), "semaphore" if splits > 1 else None)
        out = bench.packed(row["knl_name"], block, (up(n, tile_n), up(m, tile_m), splits), 256, buffers, ("out", "semaphore"))
        expected = a @ b.T + (bias if biased else 0)
        what = f"{m}x{n}x{k}, {splits} splits, {'bf16' if as_bf16 else 'f32'}{', bias' if biased else ''}"
        if as_bf16 and splits > 1:
            near_sum(what, out["out"], expected, a, b, 1, splits)
        elif as_bf16:
            near_bf16(what, out["out"], expected)
        else:
            exact(what, out["out"], expected)
        exact(f"{what}: semaphores", out["semaphore"], buffers["semaphore"])


def i8(bench, row):
    tile_m, tile_n = int(row["tile_m"]), int(row["tile_n"])
    cases = [(tile_m + 3, 2 * tile_n, 384, 1, 0), (2 * tile_m, tile_n, 512, 1, 1)]
    if int(row["splitK"]):
        cases.append((tile_m, tile_n, 512, 2, 0))
    for seed, (m, n, k, splits, biased) in enumerate(cases):
        random = np.random.default_rng(seed)
        a, b = (random.integers(-128, 128, (lines, k)).astype(np.int8) for lines in (m, n))
        scale_a, scale_b = (np.exp2(random.integers(-3, 3, size)).astype(np.float32) for size in (m, n))
        bias = integers(random, n, 100 if biased else 0)
        start = np.zeros((m, n), np.uint16) if splits > 1 else poison((m, n), np.uint16)
        buffers = {"a": a, "b": shuffled(b), "scale_a": scale_a, "scale_b": scale_b, "bias": bias, "out": start}
        block = slots("out", "a", "b", "scale_a", "scale_b", "bias", np.uint32(m), np.uint32(n), np.uint32(k), np.uint32(k),
                      np.uint32(k), np.uint32(2 * n), np.uint32(splits))
        out = bench.packed(row["knl_name"], block, (n // tile_n * splits, up(m, tile_m), 1), 256, buffers, ("out",))
        sums = a.astype(np.float64) @ b.astype(np.float64).T
        expected = sums * scale_a[:, None] * scale_b + bias
        what = f"{m}x{n}x{k}, {splits} splits{', bias' if biased else ''}"
        if splits == 1:
            near_bf16(what, out["out"], expected)
        else:  # each split is rounded, and so is their sum
            near_sum(what, out["out"], expected, a, b, scale_a[:, None] * scale_b, splits)


def near_sum(what, got, expected, a, b, scale, splits):
    """Of `splits` parts of K, each rounded to bf16 as their sum is."""
    step = a.shape[1] // splits
    parts = sum(np.abs(a[:, k:k + step].astype(np.float64) @ b[:, k:k + step].astype(np.float64).T) for k in range(0, a.shape[1], step))
    values = from_bf16(got).astype(np.float64)
    off = ~(np.abs(values - expected) <= (parts * scale + np.abs(expected)) * 2.0**-7)
    if off.any():
        at = tuple(int(i) for i in np.argwhere(off)[0])
        raise Wrong(f"{what}: {np.count_nonzero(off)} of {got.size} differ; at {at} {values[at]!r}, expected {expected[at]!r}")


def shuffled_scales(scales):
    """Rows filled up to 256, columns to 8; then blocks of 32 rows by 8 columns, of which a lane has 2 by 2."""
    lines, columns = scales.shape
    filled = np.full((up(lines, 256) * 256, up(columns, 8) * 8), 127, np.uint8)
    filled[:lines, :columns] = scales
    lines, columns = filled.shape
    blocks = filled.reshape(lines // 32, 2, 16, columns // 8, 2, 4)
    return np.ascontiguousarray(blocks.transpose(0, 3, 5, 2, 4, 1)).reshape(lines, columns)


def f4(bench, row):
    tile_m, tile_n = int(row["tile_M"]), int(row["tile_N"])
    # The object that takes B as it is writes all rows of its tiles, whatever M says: its buffer resource has no bounds.
    tail = 9 if int(row["bpreshuffle"]) else tile_m
    cases = [(tile_m + tail, tile_n, 512, 0), (tile_m, 2 * tile_n, 768, 0)]
    if int(row["splitK"]):
        cases.append((tile_m, tile_n, 1024, 1))
    for seed, (m, n, k, log2_splits) in enumerate(cases):
        random = np.random.default_rng(seed)
        codes = {"a": random.integers(0, 16, (m, k)), "b": random.integers(0, 16, (n, k))}
        scales = {name: random.integers(125, 130, (code.shape[0], k // 32)) for name, code in codes.items()}
        packed = {name: (code[:, ::2] | code[:, 1::2] << 4).astype(np.uint8) for name, code in codes.items()}
        values = {name: FP4[code] * np.exp2(np.repeat(scales[name], 32, axis=1) - 127.0) for name, code in codes.items()}
        placed = {name: shuffled_scales(scale.astype(np.uint8)) for name, scale in scales.items()}
        room = (up(m, 32) * 32, n)  # as the host allocates it
        start = np.zeros(room, np.uint16) if log2_splits else poison(room, np.uint16)
        buffers = {"a": packed["a"], "b": shuffled(packed["b"]) if int(row["bpreshuffle"]) else packed["b"],
                   "scale_a": placed["a"], "scale_b": placed["b"], "out": start}
        pitches = [np.uint32(placed[name].shape[1]) for name in "ab"]
        block = slots("out", None, "a", "b", np.float32(1), np.float32(0), np.uint32(n), UNUSED, np.uint32(n), UNUSED, np.uint32(k),
                      UNUSED, np.uint32(k), UNUSED, np.uint32(m), np.uint32(n), np.uint32(k), "scale_a", "scale_b", pitches[0], UNUSED,
                      pitches[1], UNUSED, np.uint32(log2_splits))
        out = bench.packed(row["knl_name"], block, (up(n, tile_n), up(m, tile_m), 1 << log2_splits), 256, buffers, ("out",))
        got = out["out"][:m]
        a, b = values["a"].astype(np.float64), values["b"].astype(np.float64)
        what = f"{m}x{n}x{k}, {1 << log2_splits} splits"
        if log2_splits:
            near_sum(what, got, a @ b.T, a, b, 1, 1 << log2_splits)
        else:
            near_bf16(what, got, a @ b.T)


FAMILIES = {"bf16gemm": bf16, "i8gemm": i8, "f4gemm": f4}
