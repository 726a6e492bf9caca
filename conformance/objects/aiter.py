"""topksoftmax objects of ROCm/aiter against softmax and top-k in numpy.

Kernel arguments (their .args metadata): T indices (i32), W weights (f32), A gating (f32 or bf16, [batch, expert]), batch,
expert, topk, renormalize, out_stride (bytes between rows of T and W). A group of 256 work-items does `subm` rows."""
import csv

import numpy as np

from harness import Wrong, near, poison


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def to_bf16(values):
    """Nearest even; the values are finite."""
    bits = values.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def check(bench, row):
    experts, topk, subm = int(row["num_experts"]), int(row["topk"]), int(row["subm"])
    for seed, (tokens, renormalize, padding) in enumerate(((1, 0, 0), (3 * subm + 1, 0, 3), (64, 1, 0), (257, 1, 5))):
        gating = np.random.default_rng(seed).normal(0, 2, (tokens, experts)).astype(np.float32)
        if row["dtype"] == "bf16":
            stored = to_bf16(gating)
            gating = (stored.astype(np.uint32) << 16).view(np.float32)
        else:
            stored = gating
        stride = topk + padding
        named = {"T": "indices", "W": "weights", "A": "gating", "batch": np.uint32(tokens), "expert": np.uint32(experts),
                 "topk": np.uint32(topk), "renormalize": np.uint32(renormalize), "out_stride": np.uint32(stride * 4)}
        buffers = {"indices": poison((tokens, stride), np.int32), "weights": poison((tokens, stride), np.float32),
                   "gating": stored}
        out = bench.named_args(row["knl_name"], named, (tokens + subm - 1) // subm * 256, 256, buffers,
                               ("indices", "weights"))
        compare(out["indices"], out["weights"], gating, topk, renormalize, f"{tokens} tokens, renormalize {renormalize}")


def compare(indices, weights, gating, topk, renormalize, what):
    for name, array in (("indices", indices), ("weights", weights)):
        if (array[:, topk:].copy().view(np.uint32) != 0xA5A5A5A5).any():
            raise Wrong(f"{what}: {name} beyond topk were written")
    indices, weights = indices[:, :topk], weights[:, :topk]
    exponential = np.exp(gating.astype(np.float64))
    softmax = exponential / exponential.sum(axis=1, keepdims=True)
    best = -np.sort(-softmax, axis=1)[:, :topk]
    if ((indices < 0) | (indices >= gating.shape[1])).any():
        raise Wrong(f"{what}: an index is outside of the experts")
    if any(len(set(line)) != topk for line in indices.tolist()):
        raise Wrong(f"{what}: an expert was chosen twice")
    # Equal or almost equal probabilities may change places; a clear order must be kept.
    near(f"{what}: probability of the chosen experts", np.take_along_axis(softmax, indices, axis=1), best, best, 64)
    expected = best / best.sum(axis=1, keepdims=True) if renormalize else best
    near(f"{what}: weights", weights, expected, expected, 64)
