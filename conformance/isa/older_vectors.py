#!/usr/bin/env python3
"""Reference cases of vector instructions that gfx950 no longer has, or that mean something else there.

    older_vectors.py OUTDIR

Expected values are computed here, from the formulas of the Southern Islands, Sea Islands and GCN3 guides (chapter "VALU
instructions"), not by Morgana. Inputs are numbers whose results are exact, so that no rounding mode matters, and the
special ones. Writes OUTDIR/<target>_older.jsonl.zst; run by hand, the result is checked in.
"""
import math
import pathlib
import struct
import sys

from carry_vectors import write_vectors

ALL = "gfx600 gfx701 gfx803 gfx900 gfx906 gfx908 gfx90a gfx942".split()
GFX67, TO803, TO90A = ALL[:2], ALL[:3], ALL[:7]
LANES = 16
NAN, INF = float("nan"), float("inf")


def f32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def f64(x):
    word = struct.unpack("<Q", struct.pack("<d", x))[0]
    return word & 0xFFFFFFFF, word >> 32


def f16(x):
    return struct.unpack("<H", struct.pack("<e", x))[0]


A = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, INF, -INF, NAN, 3.0, -8.0, 1024.0, 0.25, 7.0, -2.0, 16.0]
B = [1.0, 0.0, -1.0, -1.0, NAN, 4.0, 0.0, -INF, NAN, -3.0, 8.0, 0.5, 0.25, INF, 2.0, -0.0]
C = [5.0, 1.0, 0.0, 4.0, 1.0, -2.0, 3.0, 1.0, 2.0, 9.0, 0.0, 1.0, -1.0, 6.0, 4.0, 2.0]
U = [0, 1, 2, 31, 32, 33, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x12345678, 0xDEADBEEF, 5, 63, 64, 0x10001, 0xFF]
V = [0x80000001, 3, 0xFFFFFFFF, 0x7FFFFFFF, 1, 2, 0xFFFFFFFF, 1, 0x80000000, 0x9ABCDEF0, 17, 5, 0xF0F0F0F0, 7, 0x8000, 0]
M32 = 0xFFFFFFFF
# Partly active: lanes 3 and 12 are off.
EXEC = 0xFFFF & ~(1 << 3) & ~(1 << 12)


def signed(x):
    return x - (1 << 32) if x >> 31 else x


def mul(a, b):
    if math.isnan(a) or math.isnan(b) or (a == 0 and math.isinf(b)) or (math.isinf(a) and b == 0):
        return NAN
    return a * b


def mul_legacy(a, b):
    return 0.0 if a == 0 or b == 0 else mul(a, b)


def add(a, b):
    return NAN if math.isinf(a) and math.isinf(b) and a != b else a + b


def div(a, b):
    if b == 0:
        return math.copysign(INF, b)
    return a / b


CONDITIONS = {
    "f": lambda a, b: False, "lt": lambda a, b: a < b, "eq": lambda a, b: a == b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "lg": lambda a, b: a < b or a > b, "ge": lambda a, b: a >= b,
    "o": lambda a, b: a == a and b == b, "u": lambda a, b: a != a or b != b, "nge": lambda a, b: not a >= b,
    "nlg": lambda a, b: not (a < b or a > b), "ngt": lambda a, b: not a > b, "nle": lambda a, b: not a <= b,
    "neq": lambda a, b: a != b, "nlt": lambda a, b: not a < b, "tru": lambda a, b: True,
}
MAX32, MAX64 = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0], sys.float_info.max


def clamped(x, most):
    return math.copysign(most, x) if math.isinf(x) else x


def rsq(x):
    if x == 0:
        return math.copysign(INF, x)
    return NAN if x < 0 or x != x else 1 / math.sqrt(x)


def log2(x):
    if x == 0:
        return -INF
    return NAN if x < 0 or x != x else INF if math.isinf(x) else math.log2(x)


class Cases:
    def __init__(self):
        self.list = []  # (targets, record)

    def lanes(self, targets, text, inputs, results, masks=None, exec_mask=EXEC):
        """inputs, results: register number: 16 dwords. masks: name: 16 booleans of active lanes."""
        registers = {f"v{n}": [f"{x:08x}" for x in lanes] for n, lanes in inputs.items()}
        out = {}
        for n, lanes in results.items():
            old = inputs.get(n, [0xABCD0000 + i for i in range(LANES)])
            registers[f"v{n}"] = [f"{x:08x}" for x in old]
            out[f"v{n}"] = [f"{(lanes[i] if exec_mask >> i & 1 else old[i]):08x}" for i in range(LANES)]
        for name, lanes in (masks or {}).items():
            value = sum(1 << i for i in range(LANES) if lanes[i] and exec_mask >> i & 1)
            if name == "vcc_in":
                registers["vcc"] = f"{sum(1 << i for i in range(LANES) if lanes[i]):016x}"
            elif name == "exec":
                out["exec_lo"] = f"{value:08x}"
            else:
                out[name] = f"{value:016x}"
        self.list.append((targets, {"m": text.split(" ")[0], "asm": text, "exec": f"{exec_mask:016x}", "in": registers, "out": out}))


def doubles(values):
    return [f64(x)[0] for x in values], [f64(x)[1] for x in values]


def all_cases():
    c = Cases()
    a32, b32, c32 = ([f32(x) for x in s] for s in (A, B, C))
    for name, test in CONDITIONS.items():
        truth = [test(a, b) for a, b in zip(A, B)]
        for kind in ("cmps", "cmpsx"):
            masks = {"vcc": truth, **({"exec": truth} if kind == "cmpsx" else {})}
            c.lanes(GFX67, f"v_{kind}_{name}_f32 vcc, v0, v4", {0: a32, 4: b32}, {}, masks)
            al, ah = doubles(A)
            bl, bh = doubles(B)
            c.lanes(GFX67, f"v_{kind}_{name}_f64 vcc, v[0:1], v[4:5]", {0: al, 1: ah, 4: bl, 5: bh}, {}, masks)

    one = lambda targets, text, f, inputs=None, **more: c.lanes(
        targets, text, inputs or {0: a32, 4: b32, 8: c32}, {20: [f32(f(*t)) for t in zip(A, B, C)]}, **more)
    one(TO90A, "v_mad_f32 v20, v0, v4, v8", lambda a, b, d: add(mul(a, b), d))
    one(TO90A, "v_mad_legacy_f32 v20, v0, v4, v8", lambda a, b, d: add(mul_legacy(a, b), d))
    accumulate = {0: a32, 4: b32, 20: c32}
    one(TO90A, "v_mac_f32 v20, v0, v4", lambda a, b, d: add(mul(a, b), d), accumulate)
    one(GFX67, "v_mac_legacy_f32 v20, v0, v4", lambda a, b, d: add(mul_legacy(a, b), d), accumulate)
    one(TO90A, "v_madmk_f32 v20, v0, 0x40400000, v4", lambda a, b, d: add(mul(a, 3.0), b))
    one(TO90A, "v_madak_f32 v20, v0, v4, 0x40400000", lambda a, b, d: add(mul(a, b), 3.0))
    # No IEEE rules: what is not less is the second operand.
    one(GFX67, "v_min_legacy_f32 v20, v0, v4", lambda a, b, d: a if a < b else b)
    one(GFX67, "v_max_legacy_f32 v20, v0, v4", lambda a, b, d: a if a >= b else b)
    # v_mullit: the product as with a legacy multiply; the most negative number where the third is not above 0 or the
    # second is that number, infinite or no number.
    def mullit(a, b, d):
        bad = b == -MAX32 or b == -INF or b != b or d <= 0 or d != d
        return -MAX32 if bad else mul_legacy(a, b)
    one(GFX67, "v_mullit_f32 v20, v0, v4, v8", mullit)

    integers = {0: U, 4: V}
    whole = lambda targets, text, f, **more: c.lanes(targets, text, integers, {20: [f(a, b) & M32 for a, b in zip(U, V)]}, **more)
    whole(GFX67, "v_lshl_b32_e32 v20, v0, v4", lambda a, b: a << (b & 31))
    whole(GFX67, "v_lshr_b32_e32 v20, v0, v4", lambda a, b: a >> (b & 31))
    whole(GFX67, "v_ashr_i32_e32 v20, v0, v4", lambda a, b: signed(a) >> (b & 31))
    whole(GFX67, "v_mul_lo_i32 v20, v0, v4", lambda a, b: signed(a) * signed(b))
    carry = [bool(i % 3) for i in range(LANES)]
    for text, f in (
            ("v_addc_u32", lambda a, b, k: a + b + k),
            ("v_subb_u32", lambda a, b, k: a - b - k),
            ("v_subbrev_u32", lambda a, b, k: b - a - k)):
        values = [f(a, b, int(k)) for a, b, k in zip(U, V, carry)]
        c.lanes(TO803, f"{text}_e32 v20, vcc, v0, v4, vcc", integers, {20: [x & M32 for x in values]},
                {"vcc_in": carry, "vcc": [x < 0 or x > M32 for x in values]})
    for text, f in (("v_subrev_i32", lambda a, b: b - a), ("v_sub_i32", lambda a, b: a - b), ("v_add_i32", lambda a, b: a + b)):
        values = [f(a, b) for a, b in zip(U, V)]
        c.lanes(GFX67, f"{text}_e32 v20, vcc, v0, v4", integers, {20: [x & M32 for x in values]},
                {"vcc": [x < 0 or x > M32 for x in values]})
    wide = [a | b << 32 for a, b in zip(U, V)]
    for text, f in (("v_lshl_b64", lambda x, s: x << s), ("v_lshr_b64", lambda x, s: x >> s),
                    ("v_ashr_i64", lambda x, s: (x - (1 << 64) if x >> 63 else x) >> s)):
        values = [f(x, s & 63) & ((1 << 64) - 1) for x, s in zip(wide, U)]
        c.lanes(GFX67, f"{text} v[20:21], v[0:1], v4", {0: U, 1: V, 4: U},
                {20: [x & M32 for x in values], 21: [x >> 32 for x in values]})

    # Powers of two: exact in every approximation.
    P = [0.0, -0.0, 1.0, -1.0, 4.0, 0.25, INF, -INF, NAN, 16.0, -4.0, 1024.0, 0.0625, 64.0, 2.0 ** 40, 2.0 ** -40]
    p32 = {0: [f32(x) for x in P]}
    unary = lambda text, f: c.lanes(GFX67, f"{text} v20, v0", p32, {20: [f32(f(x)) for x in P]})
    rcp = lambda x: 1 / x if x else math.copysign(INF, x)
    unary("v_rcp_clamp_f32", lambda x: clamped(rcp(x), MAX32))
    unary("v_rcp_legacy_f32", lambda x: math.copysign(0.0, x) if x == 0 or math.isinf(x) else rcp(x))
    unary("v_rsq_clamp_f32", lambda x: clamped(rsq(x), MAX32))
    unary("v_rsq_legacy_f32", lambda x: 0.0 if x == 0 else rsq(x))
    unary("v_log_clamp_f32", lambda x: -MAX32 if log2(x) == -INF else log2(x))
    low, high = doubles(P)
    for text, f in (("v_rcp_clamp_f64", rcp), ("v_rsq_clamp_f64", rsq)):
        rl, rh = doubles([clamped(f(x), MAX64) for x in P])
        c.lanes(GFX67, f"{text} v[20:21], v[0:1]", {0: low, 1: high}, {20: rl, 21: rh})

    # gfx900's mixed multiply-add: sources chosen by op_sel_hi (half) and op_sel (which half).
    halves = [f16(b) << 16 | f16(a) for a, b in zip(A, B)]
    sums = [add(mul(b, c_), a) for a, b, c_ in zip(A, B, C)]
    mixed = {0: halves, 4: c32}
    c.lanes(["gfx900"], "v_mad_mix_f32 v20, v0, v4, v0 op_sel:[1,0,0] op_sel_hi:[1,0,1]", mixed, {20: [f32(x) for x in sums]})
    small = [x if not math.isfinite(x) else x for x in sums]
    for text, shift in (("v_mad_mixlo_f16", 0), ("v_mad_mixhi_f16", 16)):
        old = [0xABCD1234] * LANES
        keep = 0xFFFF0000 if shift == 0 else 0xFFFF
        c.lanes(["gfx900"], f"{text} v20, v0, v4, v0 op_sel:[1,0,0] op_sel_hi:[1,0,1]", {**mixed, 20: old},
                {20: [o & keep | f16(x) << shift for o, x in zip(old, small)]})
    # Relative moves: M0 is added to the register number.
    for text, source, target in (("v_movrels_b32 v20, v0", 2, 0), ("v_movreld_b32 v18, v0", 0, 2), ("v_movrelsd_b32 v18, v0", 2, 2)):
        inputs = {0: U, 2: V}
        c.lanes(TO803, text, inputs, {20: inputs[source]})
        c.list[-1][1]["in"]["m0"] = "00000002"
    transitions(c)
    extrema(c)
    far_turns(c)
    divisions(c)
    double_matrices(c)
    matrices(c)
    fnuz(c)
    scalars(c)
    return c.list


# --- Rows that other generations encode or mean otherwise ---


def fma16(a, b, d):
    """Rounded once: the operands are such that a double holds the sum exactly."""
    return add(mul(a, b), d)


def turns(x, f):
    if math.isinf(x) or math.isnan(x):
        return NAN
    return f(2 * math.pi * (x - math.floor(x)))


def transitions(c):
    integers = {0: U, 4: V}
    # gfx8's VOP2 additions have a carry-out, under the names that gfx9 gave to those without.
    for text, f in (("v_subrev_u32", lambda a, b: b - a), ("v_sub_u32", lambda a, b: a - b), ("v_add_u32", lambda a, b: a + b)):
        values = [f(a, b) for a, b in zip(U, V)]
        c.lanes(["gfx803"], f"{text}_e32 v20, vcc, v0, v4", integers, {20: [x & M32 for x in values]},
                {"vcc": [x < 0 or x > M32 for x in values]})
    c.lanes(GFX67, "v_mbcnt_lo_u32_b32_e32 v20, v0, v4", integers,
            {20: [(a & ((1 << i) - 1)).bit_count() + b & M32 for i, (a, b) in enumerate(zip(U, V))]})
    # v_writelane asks no EXEC: lane 3 is off.
    old = [0xABCD0000 + i for i in range(LANES)]
    c.list.append((GFX67, {
        "m": "v_writelane_b32", "asm": "v_writelane_b32 v20, s24, 3", "exec": f"{EXEC:016x}",
        "in": {"s24": "deadbeef", "v20": [f"{x:08x}" for x in old]},
        "out": {"v20": [f"{0xDEADBEEF if i == 3 else x:08x}" for i, x in enumerate(old)]}}))
    c.list.append((GFX67, {"m": "v_clrexcp", "asm": "v_clrexcp", "exec": f"{EXEC:016x}",
                           "in": {"v20": [f"{x:08x}" for x in old]}, "out": {}}))
    wide = lambda low, high: [(l | h << 32) - (1 << 64 if h >> 31 else 0) for l, h in zip(low, high)]
    c.lanes(GFX67, "v_cmp_gt_i64_e32 vcc, v[0:1], v[4:5]", {0: U, 1: V, 4: V, 5: V}, {},
            {"vcc": [a > b for a, b in zip(wide(U, V), wide(V, V))]})

    # gfx8 writes zero to the upper half of every 16-bit result.
    a16, b16, c16 = ([f16(x) | 0x5A5A0000 for x in s] for s in (A, B, C))
    halves = {0: a16, 4: b16, 8: c16, 20: c16}
    for name in ("v_mad_f16", "v_fma_f16"):
        c.lanes(["gfx803"], f"{name} v20, v0, v4, v8", halves, {20: [f16(fma16(*t)) for t in zip(A, B, C)]})
    c.lanes(["gfx803"], "v_mac_f16_e32 v20, v0, v4", halves, {20: [f16(fma16(*t)) for t in zip(A, B, C)]})
    c.lanes(["gfx803"], "v_madmk_f16 v20, v0, 0x4200, v4", halves, {20: [f16(add(mul(a, 3.0), b)) for a, b in zip(A, B)]})
    c.lanes(["gfx803"], "v_madak_f16 v20, v0, v4, 0x4200", halves, {20: [f16(add(mul(a, b), 3.0)) for a, b in zip(A, B)]})
    for name in ("v_mad_u16", "v_mad_i16"):
        c.lanes(["gfx803"], f"{name} v20, v0, v4, v8", {0: U, 4: V, 8: U, 20: V}, {20: [a * b + a & 0xFFFF for a, b in zip(U, V)]})

    # Turns, within the 256 that gfx6 to gfx8 know.
    T = [0.0, 0.25, 0.5, 0.75, 1 / 12, -1 / 12, 1.125, -3.25, 255.25, -256.0, 200.25, -100.5, INF, NAN, 0.375, -0.625]
    T = [struct.unpack("<f", struct.pack("<f", x))[0] for x in T]
    exact = lambda x, f: round(turns(x, f)) if (4 * x) % 1 == 0 else turns(x, f)
    for name, f in (("sin", math.sin), ("cos", math.cos)):
        c.lanes(GFX67, f"v_{name}_f32_e32 v20, v0", {0: [f32(x) for x in T]},
                {20: [f32(turns(x, f) if math.isnan(x) or math.isinf(x) else exact(x, f)) for x in T]})
    P = [0.0, -0.0, 1.0, 2.0, 4.0, 0.25, INF, -INF, NAN, 16.0, -4.0, 10.0, -10.0, 64.0, -0.5 * 2, 126.0]
    power = lambda x: NAN if x != x else INF if x == INF else 0.0 if x == -INF else 2.0 ** x
    c.lanes(["gfx701"], "v_exp_legacy_f32_e32 v20, v0", {0: [f32(x) for x in P]}, {20: [f32(power(x)) for x in P]})
    c.lanes(["gfx701"], "v_log_legacy_f32_e32 v20, v0", {0: [f32(x) for x in P]}, {20: [f32(log2(x)) for x in P]})


# --- Minimum, maximum and median of gfx6 to gfx8: denormals stay whatever MODE says (docs/isa-decisions.md) ---


class Format:
    def __init__(self, bits, exponent_bits):
        self.bits, self.mantissa = bits, bits - 1 - exponent_bits
        self.sign, self.infinity = 1 << (bits - 1), ((1 << exponent_bits) - 1) << self.mantissa
        self.quiet = 1 << (self.mantissa - 1)

    def is_nan(self, x):
        return x & (self.sign - 1) > self.infinity

    def is_signaling(self, x):
        return self.is_nan(x) and not x & self.quiet

    def order(self, x):
        """Integers in the order of the values, -0 below +0."""
        return x if x < self.sign else -1 - (x - self.sign)

    def extreme(self, pick, ieee, a, b):
        for x in (a, b):
            if ieee and self.is_signaling(x):
                return x | self.quiet
        if self.is_nan(a) or self.is_nan(b):
            return b if self.is_nan(a) else a
        return pick(a, b, key=self.order)

    def extreme3(self, pick, ieee, a, b, c):
        return self.extreme(pick, ieee, self.extreme(pick, ieee, a, b), c)

    def median(self, ieee, a, b, c):
        if any(map(self.is_nan, (a, b, c))):
            return self.extreme3(min, ieee, a, b, c)
        number = lambda x: 0 if x == self.sign else self.order(x)
        top = number(self.extreme3(max, ieee, a, b, c))
        rest = (b, c) if top == number(a) else (a, c) if top == number(b) else (a, b)
        return self.extreme(max, ieee, *rest)

    def samples(self):
        """Zeros, the ends of the denormals, of the normal numbers, infinities, NaNs; both signs."""
        least_normal = 1 << self.mantissa
        positive = [0, 1, 2, least_normal - 1, least_normal, self.infinity - 1, self.infinity, self.infinity + self.quiet]
        return positive + [x | self.sign for x in positive[:-1]] + [self.infinity + 1]


F16_, F32_, F64_ = Format(16, 5), Format(32, 8), Format(64, 11)


def extrema(c):
    for form, suffix, targets in ((F32_, "f32", TO803), (F64_, "f64", TO803), (F16_, "f16", ["gfx803"])):
        base = form.samples()
        # Every pair of neighbours at some distance meets.
        for shift in range(1, 16, 2):
            x, y, z = base, base[shift:] + base[:shift], base[-3 * shift % 16:] + base[:-3 * shift % 16]
            for denorm in (0, 15):
                for ieee in (0, 1):
                    def put(name, results, sources):
                        wide = form.bits == 64
                        text = ", ".join(f"v[{4 * i}:{4 * i + 1}]" if wide else f"v{4 * i}" for i in range(len(sources)))
                        inputs = {4 * i: [v & M32 for v in s] for i, s in enumerate(sources)}
                        out = {20: [v & M32 for v in results]}
                        if wide:
                            inputs.update({4 * i + 1: [v >> 32 for v in s] for i, s in enumerate(sources)})
                            out[21] = [v >> 32 for v in results]
                        c.lanes(targets, f"{name}_{suffix} {'v[20:21]' if wide else 'v20'}, {text}", inputs, out)
                        c.list[-1][1]["mode"] = {"fp_round": 0, "fp_denorm": denorm, "ieee": ieee}

                    put("v_min", [form.extreme(min, ieee, *p) for p in zip(x, y)], (x, y))
                    put("v_max", [form.extreme(max, ieee, *p) for p in zip(x, y)], (x, y))
                    if suffix != "f32":
                        continue
                    put("v_min3", [form.extreme3(min, ieee, *p) for p in zip(x, y, z)], (x, y, z))
                    put("v_max3", [form.extreme3(max, ieee, *p) for p in zip(x, y, z)], (x, y, z))
                    put("v_med3", [form.median(ieee, *p) for p in zip(x, y, z)], (x, y, z))


def far_turns(c):
    """Beyond 256 turns the sine is 0 and the cosine 1; an infinity has none."""
    T = [256.0, -256.0, 256.25, -256.25, 257.5, 1000.25, -65504.0, 1024.125, 255.75, -255.25, INF, -INF, NAN, 0.25, -0.5, 300.0]
    for name, f, beyond in (("sin", math.sin, 0.0), ("cos", math.cos, 1.0)):
        values = [beyond if math.isfinite(x) and abs(x) > 256 else
                  turns(x, f) if not math.isfinite(x) else float(round(turns(x, f))) for x in T]
        c.lanes(TO803, f"v_{name}_f32_e32 v20, v0", {0: [f32(x) for x in T]}, {20: [f32(v) for v in values]})
        halves = [struct.unpack("<e", struct.pack("<H", f16(x)))[0] for x in T]
        values = [beyond if math.isfinite(x) and abs(x) > 256 else
                  turns(x, f) if not math.isfinite(x) else float(round(turns(x, f))) for x in halves]
        c.lanes(["gfx803"], f"v_{name}_f16_e32 v20, v0", {0: [f16(x) for x in T]}, {20: [f16(v) for v in values]})


# --- The steps of a division, and the bits of 2 / pi ---


def ldexp(x, n):
    try:
        return math.ldexp(x, n)
    except OverflowError:
        return math.copysign(INF, x)


def exponent(x):
    """The exponent field of an f32."""
    return f32(x) >> 23 & 0xFF


def exponent64(x):
    return f64(x)[1] >> 20 & 0x7FF


def div_fixup(q, d, n):
    sign = (math.copysign(1, d) * math.copysign(1, n)) < 0
    signed_ = lambda x: -abs(x) if sign else abs(x)
    if n != n or d != d or (d == 0 and n == 0) or (math.isinf(d) and math.isinf(n)):
        return NAN
    if d == 0 or math.isinf(n):
        return signed_(INF)
    if math.isinf(d) or n == 0:
        return signed_(0.0)
    return signed_(INF) if q != q else signed_(q)


def div_scale(value, d, n, field, far, step, bias, tiny):
    """Value and condition for finite d and n that are not denormal and whose reciprocal is not."""
    if d == 0 or n == 0:
        return NAN, True
    if field(n) - field(d) >= far:
        return (ldexp(value, step) if value == d else value), True
    if abs(n) / abs(d) < 2.0 ** (1 - bias):
        return (ldexp(value, step) if value == n else value), True
    if field(n) <= tiny:
        return ldexp(value, step), False
    return value, False


TWO_OVER_PI_BITS = 1201


def two_over_pi():
    """The first 1201 bits behind the point, by Machin's formula."""
    one = 1 << (TWO_OVER_PI_BITS + 200)

    def arctan_of_inverse(k):
        term, total, n = one // k, 0, 1
        while term:
            total += term // n if n % 4 == 1 else -(term // n)
            term //= k * k
            n += 2
        return total
    pi = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    return (2 * one << TWO_OVER_PI_BITS) // pi


def trig_preop(x, segment, bits=two_over_pi()):
    shift, e = segment * 53, exponent64(x)
    if e > 1077:
        shift += e - 1077
    piece = (bits << shift & ((1 << TWO_OVER_PI_BITS) - 1)) >> (TWO_OVER_PI_BITS - 53)
    return ldexp(float(piece), -53 - shift + (128 if e >= 1968 else 0))


def divisions(c):
    everywhere = ALL + ["gfx950"]
    D = [1.0, 3.0, -7.0, 0.0, 1e-30, 1e30, INF, NAN, 2.0, -0.0, INF, 5.0, 1e10, -3.0, 6.0, 1e-10]
    N = [3.0, 1.0, 2.0, 1.0, 1e30, 1e-30, 2.0, 1.0, NAN, -0.0, -INF, INF, 0.0, -9.0, 1.5, 1e-8]
    Q = [3.0, 0.25, -0.25, NAN, NAN, 0.0, 1.0, 2.0, 3.0, NAN, 4.0, 5.0, 6.0, 3.0, NAN, 100.0]
    D, N = ([struct.unpack("<f", struct.pack("<f", x))[0] for x in s] for s in (D, N))
    regs = {0: [f32(x) for x in Q], 4: [f32(x) for x in D], 8: [f32(x) for x in N]}
    # 1e-30 / 1e30 is below every f32 by far: a zero with the quotient's sign, whatever the estimate.
    c.lanes(everywhere, "v_div_fixup_f32 v20, v0, v4, v8", regs, {20: [f32(div_fixup(*t)) for t in zip(Q, D, N)]})
    spread = lambda base, values: dict(zip((base, base + 1), doubles(values)))
    c.lanes(everywhere, "v_div_fixup_f64 v[20:21], v[0:1], v[4:5], v[8:9]",
            {**spread(0, Q), **spread(4, D), **spread(8, N)}, spread(20, [div_fixup(*t) for t in zip(Q, D, N)]))
    c.lanes(["gfx803"], "v_div_fixup_f16 v20, v0, v4, v8",
            {0: [f16(q) | 0x77770000 for q in Q], 4: [f16(d) for d in A], 8: [f16(n) for n in B], 20: U},
            {20: [f16(div_fixup(*t)) for t in zip(Q, A, B)]})
    # div_scale, of the denominator and of the numerator.
    D = [1.0, 3.0, 2.0 ** -60, 2.0 ** -60, 0.0, 5.0, 2.0 ** 40, 1.5, 2.0 ** 20, -3.0, -2.0 ** -70, 7.0, 2.0 ** -50, 9.0, 1e3, 2.0 ** -100]
    N = [3.0, 1.0, 2.0 ** 40, 2.0 ** 30, 2.0, 0.0, 2.0 ** -95, 2.0 ** -108, 2.0 ** -60, 9.0, -2.0 ** 60, -2.5, 2.0 ** 46, 1e4, 1e-3, 2.0 ** -2]
    for which, base in ((D, 0), (N, 4)):
        results = [div_scale(v, d, n, exponent, 96, 64, 127, 23) for v, d, n in zip(which, D, N)]
        c.lanes(everywhere, f"v_div_scale_f32 v20, vcc, v{base}, v0, v4", {0: [f32(x) for x in D], 4: [f32(x) for x in N]},
                {20: [f32(r) for r, _ in results]}, {"vcc": [p for _, p in results]})
    D = [x if x in (0.0, 1.0, 3.0) else math.copysign(abs(x) ** 7, x) for x in D]
    N = [x if x in (0.0, 1.0, 3.0) else math.copysign(abs(x) ** 7, x) for x in N]
    N[6], N[7] = 2.0 ** -780, 2.0 ** -1000
    for which, base in ((D, 0), (N, 4)):
        results = [div_scale(v, d, n, exponent64, 768, 128, 1023, 53) for v, d, n in zip(which, D, N)]
        c.lanes(everywhere, f"v_div_scale_f64 v[20:21], vcc, v[{base}:{base + 1}], v[0:1], v[4:5]",
                {**spread(0, D), **spread(4, N)}, spread(20, [r for r, _ in results]), {"vcc": [p for _, p in results]})
    # 2 / pi for operands of any size, three pieces and more.
    X = [1.0, 2.0 ** 54, 2.0 ** 55, 2.0 ** 100, 3.5e200, 2.0 ** 944, 2.0 ** 945, 1.7e308, 0.0, 2.0 ** 118, 2.0 ** 300, -2.0 ** 500, 1e-300,
         2.0 ** 700, 2.0 ** 1000, -1e22]
    S = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 1, 2]
    for more in (0, 1, 2):
        segments = [s + more for s in S]
        c.lanes(everywhere, "v_trig_preop_f64 v[20:21], v[0:1], v4", {**spread(0, X), 4: segments},
                spread(20, [trig_preop(x, s) for x, s in zip(X, segments)]))


def double_matrices(c):
    """f64, rows of D interleave by 4: register pair r of lane l is row 4 r + l / 16 (CDNA3 guide)."""
    a = [[(3 * i + 5 * k) % 7 - 3 for k in range(4)] for i in range(16)]
    b = [[(2 * j + k) % 5 - 2 for k in range(4)] for j in range(16)]
    start = [[(i + 2 * j) % 9 for j in range(16)] for i in range(16)]
    pair = lambda base, values: {f"v{base + h}": [f"{f64(float(x))[h]:08x}" for x in values] for h in (0, 1)}
    initial, result = {}, {}
    for r in range(4):
        cells = [(4 * r + lane // 16, lane % 16) for lane in range(64)]
        initial.update(pair(128 + 2 * r, [start[i][j] for i, j in cells]))
        result.update(pair(64 + 2 * r, [start[i][j] + sum(x * y for x, y in zip(a[i], b[j])) for i, j in cells]))
    sources = {**pair(0, [a[lane % 16][lane // 16] for lane in range(64)]), **pair(4, [b[lane % 16][lane // 16] for lane in range(64)])}
    c.list.append((["gfx90a"], {"m": "v_mfma_f64_16x16x4f64", "asm": "v_mfma_f64_16x16x4f64 v[64:71], v[0:1], v[4:5], v[128:135]",
                                "exec": "f" * 16, "in": {**sources, **initial}, "out": result}))
    # 4x4x4: four blocks, lane = 16 k + 4 block + row for A and B;
    # D: lane = 16 block + 4 row + column (CDNA4 guide 7.1.5).
    place = [(lane // 4 % 4, lane % 4, lane // 16) for lane in range(64)]
    cells = [(lane // 16, lane // 4 % 4, lane % 4) for lane in range(64)]
    a4 = lambda blk, i, k: (blk + 3 * i + 5 * k) % 7 - 3
    b4 = lambda blk, j, k: (3 * blk + 2 * j + k) % 5 - 2
    c4 = lambda blk, i, j: (blk + i + 2 * j) % 9
    c.list.append((["gfx90a"], {
        "m": "v_mfma_f64_4x4x4f64", "asm": "v_mfma_f64_4x4x4f64 v[64:65], v[0:1], v[4:5], v[128:129]", "exec": "f" * 16,
        "in": {**pair(0, [a4(*p) for p in place]), **pair(4, [b4(*p) for p in place]),
               **pair(128, [c4(blk, row, col) for blk, row, col in cells])},
        "out": pair(64, [c4(blk, row, col) + sum(a4(blk, row, k) * b4(blk, col, k) for k in range(4)) for blk, row, col in cells])}))


# --- Matrix shapes that gfx950 lacks. Small whole numbers, so that neither order nor rounding matters. ---

# mnemonic: targets, element, blocks, rows, K values a lane. Layout: CDNA 1 to 3 guides, chapter on MFMA.
SHAPES = {
    "v_mfma_f32_32x32x2bf16": (("gfx908", "gfx90a"), "bf16", 2, 32, 2),
    "v_mfma_f32_16x16x2bf16": (("gfx908", "gfx90a"), "bf16", 4, 16, 2),
    "v_mfma_f32_4x4x2bf16": (("gfx908", "gfx90a"), "bf16", 16, 4, 2),
    "v_mfma_f32_32x32x4bf16": (("gfx908", "gfx90a"), "bf16", 1, 32, 2),
    "v_mfma_f32_16x16x8bf16": (("gfx908", "gfx90a"), "bf16", 1, 16, 2),
    "v_mfma_i32_32x32x8i8": (("gfx908", "gfx90a"), "i8", 1, 32, 4),
    "v_mfma_i32_16x16x16i8": (("gfx908", "gfx90a"), "i8", 1, 16, 4),
    "v_mfma_f32_32x32x2f32": (("gfx908", "gfx90a"), "f32", 1, 32, 1),
    "v_mfma_f32_16x16x4f32": (("gfx908", "gfx90a"), "f32", 1, 16, 1),
    "v_mfma_f32_32x32x8f16": (("gfx908", "gfx90a"), "f16", 1, 32, 4),
    "v_mfma_f32_32x32x8bf16_1k": (("gfx90a",), "bf16", 1, 32, 4),
    "v_mfma_f32_16x16x16bf16_1k": (("gfx90a",), "bf16", 1, 16, 4),
    "v_mfma_f32_16x16x8_xf32": (("gfx942",), "f32", 1, 16, 2),
    "v_mfma_f32_32x32x4_xf32": (("gfx942",), "f32", 1, 32, 2),
}


def packed(values, element):
    """The registers of one lane."""
    if element == "f32":
        return [f32(float(v)) for v in values]
    if element in ("bf16", "f16"):
        half = (lambda v: f32(float(v)) >> 16) if element == "bf16" else (lambda v: f16(float(v)))
        return [half(low) | half(high) << 16 for low, high in zip(values[::2], values[1::2])]
    return [sum((v & 0xFF) << 8 * i for i, v in enumerate(values))]


def matrices(c):
    for name, (targets, element, blocks, n, per_lane) in SHAPES.items():
        lanes_a_block = 64 // blocks
        depth = lanes_a_block // n * per_lane
        number = f32 if element != "i8" else (lambda v: int(v) & M32)
        a = [[[(3 * i + 5 * k + b) % 7 - 3 for k in range(depth)] for i in range(n)] for b in range(blocks)]
        bm = [[[(2 * j + k + 3 * b) % 5 - 2 for k in range(depth)] for j in range(n)] for b in range(blocks)]
        start = [[[(i + 2 * j + b) % 9 for j in range(n)] for i in range(n)] for b in range(blocks)]

        def operand(m):
            registers = None
            for lane in range(64):
                block, within = lane // lanes_a_block, lane % lanes_a_block
                ks = range(within // n * per_lane, (within // n + 1) * per_lane)
                words = packed([m[block][within % n][k] for k in ks], element)
                registers = registers or [[] for _ in words]
                for r, w in zip(registers, words):
                    r.append(w)
            return registers

        # A register holds a row of every block's share of lanes: four rows side by side, then the next group of lanes.
        def place(r, lane):
            if n == 4:
                return lane // 4, r, lane % 4
            groups = 64 // n
            of_block = n * n // 64
            block, rest = divmod(r, of_block)
            return block, rest // 4 * 4 * groups + lane // n * 4 + rest % 4, lane % n

        count = blocks * n * n // 64
        results, initial = [], []
        for r in range(count):
            cells = [place(r, lane) for lane in range(64)]
            initial.append([number(float(start[b][i][j])) for b, i, j in cells])
            results.append([number(float(start[b][i][j] + sum(x * y for x, y in zip(a[b][i], bm[b][j])))) for b, i, j in cells])
        ra, rb = operand(a), operand(bm)
        span = lambda kind, base, k: f"{kind}{base}" if k == 1 else f"{kind}[{base}:{base + k - 1}]"
        for target in targets:
            kind = "a" if target == "gfx908" else "v"
            text = f"{name} {span(kind, 64, count)}, {span('v', 0, len(ra))}, {span('v', 4, len(rb))}, {span(kind, 128, count)}"
            dump = lambda base, regs, prefix="v": {f"{prefix}{base + i}": [f"{x:08x}" for x in r] for i, r in enumerate(regs)}
            c.list.append(([target], {
                "m": name, "asm": text, "exec": "f" * 16,
                "in": {**dump(0, ra), **dump(4, rb), **dump(128, initial, kind)}, "out": dump(64, results, kind)}))


# --- gfx942's small floats: no negative zero, no infinity, one NaN (80) and a bias one greater (CDNA3 guide) ---


def from_fnuz(byte, exponent_bits):
    if byte == 0x80:
        return NAN
    fraction_bits = 7 - exponent_bits
    bias = 1 << (exponent_bits - 1)
    sign, exponent, fraction = byte >> 7, byte >> fraction_bits & ((1 << exponent_bits) - 1), byte & ((1 << fraction_bits) - 1)
    value = (fraction + (exponent > 0) * (1 << fraction_bits)) * 2.0 ** (max(exponent, 1) - bias - fraction_bits)
    return -value if sign else value


def fnuz(c):
    for name, exponent_bits in (("fp8", 4), ("bf8", 5)):
        codes = [0x00, 0x80, 0x01, 0x81, 0x07, 0x08, 0x40, 0x47, 0xC0, 0x7F, 0xFF, 0x38, 0x3C, 0xBC, 0x10, 0x90]
        values = [from_fnuz(b, exponent_bits) for b in codes]
        single = [f32(v) for v in values]
        c.lanes(["gfx942"], f"v_cvt_f32_{name} v20, v0", {0: codes}, {20: single})
        pairs = [b | codes[15 - i] << 8 for i, b in enumerate(codes)]
        c.lanes(["gfx942"], f"v_cvt_pk_f32_{name} v[20:21], v0", {0: pairs}, {20: single, 21: single[::-1]})
        old = [0xDEADBEEF] * LANES
        # Exact values convert back to their code.
        c.lanes(["gfx942"], f"v_cvt_pk_{name}_f32 v20, v0, v4", {0: single, 4: single[::-1], 20: old},
                {20: [0xDEAD0000 | p for p in pairs]})
        c.lanes(["gfx942"], f"v_cvt_sr_{name}_f32 v20, v0, v4", {0: single, 4: [0] * LANES, 20: old},
                {20: [0xDEADBE00 | b for b in codes]})


# --- Scalar instructions whose opcodes moved between gfx7 and gfx8 and that no shared record covers ---

M64 = (1 << 64) - 1
WIDE = [(b << 32 | a) for a, b in zip(U, V)]


def first(x, bit, width):
    """The lowest place that holds `bit`, or -1."""
    return next((i for i in range(width) if (x >> i & 1) == bit), -1) & M32


def bfe(x, field, width, is_signed):
    offset, size = field & (width - 1), field >> 16 & 0x7F
    if size == 0:
        return 0
    if is_signed and x >> (width - 1):
        x |= -1 << width
    x >>= offset
    x &= (1 << size) - 1
    if is_signed and size < width and x >> (size - 1) & 1:
        x |= -1 << size
    return x & ((1 << width) - 1)


# name: dwords of the result, of each source, formula of the sources (and SCC, old result), SCC: "nz", "same" or a formula.
ONE_SOURCE = {
    "s_mov_b32": (1, 1, lambda a: a, "same"), "s_mov_b64": (2, 2, lambda a: a, "same"),
    "s_not_b64": (2, 2, lambda a: ~a & M64, "nz"),
    "s_brev_b64": (2, 2, lambda a: int(f"{a:064b}"[::-1], 2), "same"),
    "s_bcnt1_i32_b32": (1, 1, lambda a: a.bit_count(), "nz"), "s_bcnt1_i32_b64": (1, 2, lambda a: a.bit_count(), "nz"),
    "s_ff0_i32_b32": (1, 1, lambda a: first(a, 0, 32), "same"), "s_ff0_i32_b64": (1, 2, lambda a: first(a, 0, 64), "same"),
    "s_ff1_i32_b32": (1, 1, lambda a: first(a, 1, 32), "same"), "s_ff1_i32_b64": (1, 2, lambda a: first(a, 1, 64), "same"),
    "s_flbit_i32": (1, 1, lambda a: first(int(f"{a ^ (M32 if a >> 31 else 0):032b}"[::-1], 2), 1, 32), "same"),
    "s_sext_i32_i8": (1, 1, lambda a: (a & 0xFF) - (a & 0x80) * 2 & M32, "same"),
    "s_sext_i32_i16": (1, 1, lambda a: (a & 0xFFFF) - (a & 0x8000) * 2 & M32, "same"),
    "s_abs_i32": (1, 1, lambda a: -a & M32 if a >> 31 else a, "nz"),
}
TWO_SOURCES = {
    "s_or_b64": (2, 2, 2, lambda a, b: a | b, "nz"), "s_xor_b64": (2, 2, 2, lambda a, b: a ^ b, "nz"),
    "s_andn2_b64": (2, 2, 2, lambda a, b: a & ~b, "nz"), "s_orn2_b64": (2, 2, 2, lambda a, b: (a | ~b) & M64, "nz"),
    "s_nand_b32": (1, 1, 1, lambda a, b: ~(a & b) & M32, "nz"), "s_nand_b64": (2, 2, 2, lambda a, b: ~(a & b) & M64, "nz"),
    "s_xnor_b32": (1, 1, 1, lambda a, b: ~(a ^ b) & M32, "nz"),
    "s_lshl_b64": (2, 2, 1, lambda a, b: a << (b & 63) & M64, "nz"), "s_lshr_b32": (1, 1, 1, lambda a, b: a >> (b & 31), "nz"),
    "s_bfm_b32": (1, 1, 1, lambda a, b: ((1 << (a & 31)) - 1) << (b & 31) & M32, "same"),
    "s_mul_i32": (1, 1, 1, lambda a, b: a * b & M32, "same"),
    "s_bfe_u32": (1, 1, 1, lambda a, b: bfe(a, b, 32, False), "nz"), "s_bfe_i32": (1, 1, 1, lambda a, b: bfe(a, b, 32, True), "nz"),
    "s_bfe_u64": (2, 2, 1, lambda a, b: bfe(a, b, 64, False), "nz"), "s_bfe_i64": (2, 2, 1, lambda a, b: bfe(a, b, 64, True), "nz"),
    "s_absdiff_i32": (1, 1, 1, lambda a, b: abs((signed(a) - signed(b) + 2**31) % 2**32 - 2**31) & M32, "nz"),
}
SAVEEXEC = {
    "s_xor_saveexec_b64": lambda a, e: a ^ e, "s_andn2_saveexec_b64": lambda a, e: a & ~e,
    "s_nor_saveexec_b64": lambda a, e: ~(a | e) & M64, "s_xnor_saveexec_b64": lambda a, e: ~(a ^ e) & M64,
}


def scalars(c):
    def pair(base, n):
        return f"s{base}" if n == 1 else f"s[{base}:{base + 1}]"

    def hexes(values):
        return [f"{v & M32:08x}" for v in values]

    def put(text, sources, out):
        inputs = {"scc": [str(i & 1) for i in range(LANES)]}
        for base, (n, values) in sources.items():
            inputs[f"s{base}"] = hexes(values)
            if n == 2:
                inputs[f"s{base + 1}"] = hexes([v >> 32 for v in values])
        c.list.append((GFX67, {"m": text.split(" ")[0], "asm": text, "cases": LANES, "in": inputs, "out": out}))

    def outcome(i, n, value, scc):
        changed = {"s20": f"{value & M32:08x}", "scc": str({"same": i & 1, "nz": int(value != 0)}[scc])}
        return {**changed, "s21": f"{value >> 32:08x}"} if n == 2 else changed

    # Fields of s_bfe: offset and width.
    fields = [x % 64 | (5 * i + 1) % 70 << 16 for i, x in enumerate(U)]
    operands = lambda n, other=False: (n, (WIDE[::-1] if other else WIDE) if n == 2 else (V if other else U))
    for name, (n, a, f, scc) in ONE_SOURCE.items():
        source = operands(a)
        put(f"{name} {pair(20, n)}, {pair(24, a)}", {24: source}, [outcome(i, n, f(x), scc) for i, x in enumerate(source[1])])
    for name, (n, a, b, f, scc) in TWO_SOURCES.items():
        left, right = operands(a), ((1, fields) if "bfe" in name else operands(b, True))
        put(f"{name} {pair(20, n)}, {pair(24, a)}, {pair(28, b)}", {24: left, 28: right},
            [outcome(i, n, f(x, y), scc) for i, (x, y) in enumerate(zip(left[1], right[1]))])
    for name, f in SAVEEXEC.items():
        put(f"{name} s[20:21], s[24:25]", {24: (2, WIDE), 126: (2, WIDE[::-1])}, [])
        inputs = c.list[-1][1]["in"]
        inputs["exec"] = [f"{e:016x}" for e in WIDE[::-1]]
        del inputs["s126"], inputs["s127"]
        c.list[-1][1]["out"] = [
            {"s20": f"{e & M32:08x}", "s21": f"{e >> 32:08x}", "exec_lo": f"{f(a, e) & M32:08x}", "exec_hi": f"{f(a, e) >> 32:08x}",
             "scc": str(int(f(a, e) != 0))} for a, e in zip(WIDE, WIDE[::-1])]
    # Conditional and single-bit writes keep the rest of the destination.
    put("s_cmov_b32 s20, s24", {24: (1, U), 20: (1, V)}, [{"s20": f"{(u if i & 1 else v):08x}"} for i, (u, v) in enumerate(zip(U, V))])
    put("s_bitset1_b32 s20, s24", {24: (1, U), 20: (1, V)}, [{"s20": f"{v | 1 << (u & 31):08x}"} for u, v in zip(U, V)])
    put("s_bitset0_b64 s[20:21], s24", {24: (1, U), 20: (2, WIDE)},
        [{"s20": f"{w & ~(1 << (u & 63)) & M32:08x}", "s21": f"{(w & ~(1 << (u & 63))) >> 32:08x}"} for u, w in zip(U, WIDE)])
    put("s_cmpk_le_i32 s24, 0x11", {24: (1, U)}, [{"scc": str(int(signed(u) <= 17))} for u in U])
    # Relative moves: M0 is added to the register number.
    for text, base, n, other in (("s_movrels_b32 s20, s24", 26, 1, 20), ("s_movrels_b64 s[20:21], s[24:25]", 26, 2, 20),
                                 ("s_movreld_b32 s18, s24", 24, 1, 20), ("s_movreld_b64 s[18:19], s[24:25]", 24, 2, 20)):
        values = WIDE if n == 2 else U
        put(text, {base: (n, values)}, [{f"s{other + k}": f"{x >> 32 * k & M32:08x}" for k in range(n)} for x in values])
        c.list[-1][1]["in"]["m0"] = ["00000002"] * LANES


def main():
    out = pathlib.Path(sys.argv[1])
    cases = all_cases()
    for target in ALL + ["gfx950"]:
        write_vectors(target, [record for targets, record in cases if target in targets], out / f"{target}_older.jsonl.zst")


if __name__ == "__main__":
    main()
