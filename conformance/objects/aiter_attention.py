"""Attention objects of ROCm/aiter (fmha_v3_fwd, bf16) against numpy: softmax(scale * Q K^T) V and the logarithm of its sums.

A kernel's arguments lie 16 bytes apart; strides are in bytes. Batches lie behind each other as [batch, sequence, head,
element]; objects whose name says `group` take sequences of different lengths, of which prefix sums tell the places. A
causal mask ends at the last row's last column."""
import numpy as np

from aiter import to_bf16
from aiter_gemm import UNUSED, from_bf16, up
from harness import Wrong, poison, slots


class Problem:
    """Sequences of queries and keys; `shared` query heads have one key head."""

    def __init__(self, row, seed, lengths, heads, shared):
        random = np.random.default_rng(seed)
        self.row, self.lengths, self.heads, self.shared = row, lengths, heads, shared
        self.dim, self.value_dim = int(row["hdim_q"]), int(row["hdim_v"])
        self.is_group, self.is_causal = int(row["mode"]) == 1, int(row["mask"]) == 2
        self.q_at, self.k_at = (np.concatenate([[0], np.cumsum(side)]).astype(np.int32) for side in zip(*lengths))
        draw = lambda length, count, dim: to_bf16(random.normal(0, 1, (length, count, dim)).astype(np.float32))
        self.q = draw(self.q_at[-1], heads, self.dim)
        self.k = draw(self.k_at[-1], heads // shared, self.dim)
        self.v = draw(self.k_at[-1], heads // shared, self.value_dim)
        self.scale = np.float32(self.dim**-0.5)

    def reference(self):
        """The result, by how much it may be off, and the logarithms."""
        out, bound, logs = [], [], []
        for i, (queries, keys) in enumerate(self.lengths):
            q = from_bf16(self.q[self.q_at[i]:self.q_at[i + 1]]).astype(np.float64)
            k, v = (np.repeat(from_bf16(x[self.k_at[i]:self.k_at[i + 1]]).astype(np.float64), self.shared, axis=1) for x in (self.k, self.v))
            scores = np.einsum("qhd,khd->hqk", q, k) * self.scale
            if self.is_causal:
                hidden = np.arange(keys)[None, :] > np.arange(queries)[:, None] + keys - queries
                scores[:, hidden] = -np.inf
            most = scores.max(axis=2, keepdims=True)
            weights = np.exp(scores - most)
            total = weights.sum(axis=2, keepdims=True)
            out.append(np.einsum("hqk,khd->qhd", weights / total, v))
            # Weights and the result are rounded to bf16, or cut off.
            bound.append(np.einsum("hqk,khd->qhd", weights / total, np.abs(v)) * 2.0**-7 + np.abs(out[-1]) * 2.0**-7 + 2.0**-12)
            logs.append((np.log(total) + most)[..., 0])
        return np.concatenate(out), np.concatenate(bound), np.concatenate(logs, axis=1)


def problems(row):
    side = int(row["ts_qo"])
    if int(row["mode"]) == 1:
        lengths = [(side + 40, side + 40), (70, 150), (16, 300)]
        return [Problem(row, 0, lengths, 4, 2)]
    return [Problem(row, 1, [(side, side), (side, side)], 2, 1), Problem(row, 2, [(side + 60, side + 90)], 2, 2)]


def arguments(one, target):
    row, heads, shared = one.row, one.heads, one.shared
    key_heads = heads // shared
    queries, keys = (max(side) for side in zip(*one.lengths))
    q_row, k_row, v_row, o_row = (2 * h * d for h, d in ((heads, one.dim), (key_heads, one.dim), (key_heads, one.value_dim), (heads, one.value_dim)))
    option = 0 if one.dim == 192 and target == "gfx942" else 3 if one.is_causal and heads % 8 else 5
    group = ("q_at", "k_at") if one.is_group else (None, None)
    numbers = [queries, q_row, int(row["ts_qo"]) * q_row, 2 * one.dim, 0 if one.is_group else queries * q_row, shared, k_row, 2 * one.dim,
               0 if one.is_group else keys * k_row, option, 1, keys, one.dim, one.value_dim, heads, v_row, 2 * one.value_dim,
               0 if one.is_group else keys * v_row, o_row, 2 * one.value_dim, 0 if one.is_group else queries * o_row]
    lines = one.q_at[-1] if one.is_group else queries
    # The prefix sums twice: with padding behind each sequence, and without.
    return slots("out", "q", "k", "v", "lse", one.scale, *(np.uint32(number) for number in numbers), *group, np.uint32(4 * lines), *group,
                 None, None, None, *(UNUSED,) * 6)


def groups(one, target, queries, count):
    side = int(one.row["ts_qo"])
    tiles = up(queries, side)
    alone = target == "gfx942" and one.dim == 192
    halved = up(tiles, 2) if one.is_causal and not (alone and one.is_group) else tiles
    if one.is_group:
        return (one.heads, count, halved)
    return (one.heads, tiles, count) if alone else (halved, one.heads, count)


def check(bench, row, target):
    for one in problems(row):
        lines, count, queries = int(one.q_at[-1]), len(one.lengths), max(one.lengths)[0]
        lse_shape = (one.heads, lines) if one.is_group else (count, one.heads, queries)
        buffers = {"q": one.q, "k": one.k, "v": one.v, "q_at": one.q_at, "k_at": one.k_at,
                   "out": poison((lines, one.heads, one.value_dim), np.uint16), "lse": poison(lse_shape, np.float32)}
        out = bench.packed(row["knl_name"], arguments(one, target), groups(one, target, queries, count), 256 if one.dim == 192 else 512,
                           buffers, ("out", "lse"))
        compare(one, out["out"], out["lse"] if one.is_group else np.concatenate(list(out["lse"]), axis=1))


def compare(one, out, lse):
    what = f"lengths {one.lengths}, {one.heads} heads by {one.shared}"
    expected, bound, logs = one.reference()
    for name, got, wanted, limit in (("out", from_bf16(out), expected, bound), ("lse", lse, logs, 2.0**-6)):
        off = ~(np.abs(got - wanted) <= limit)
        if off.any():
            at = tuple(int(i) for i in np.argwhere(off)[0])
            raise Wrong(f"{what}: {name}: {np.count_nonzero(off)} of {got.size} differ; at {at} {got[at]!r}, expected {wanted[at]!r}")
