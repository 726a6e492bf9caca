#!/usr/bin/env python3
"""Reference cases of arithmetic and control that gfx10 to gfx12 have and no other record executes.

    rdna_vectors.py OUTDIR

Expected values are computed here, in exact fractions, from what the RDNA guides say of each instruction (chapters "SALU
instructions", "VALU instructions", "WMMA"), not by Morgana: SALU floats as their vector counterparts, f16 results of the
SALU without an upper half, minimum and maximum with NaN as the winner and -0 below 0, sparse matrices in gfx12's layout
(half of K in lanes 0 to 15, half in 16 to 31; two bits of the index choose one of four values of K). Numbers of matrices
and dot products are small, so that no order of additions matters. Memory: rdna_memory_vectors.py, which main() calls.
Writes OUTDIR/<target>_new.jsonl.zst; run by hand, the result is checked in.
"""
import json
import pathlib
import random
import sys
from fractions import Fraction

from carry_rdna import base_of
from carry_vectors import assemble, compress

GFX10, GFX11, GFX12 = ["gfx1010", "gfx1030"], ["gfx1100"], ["gfx1200"]
GFX101, GFX103 = ["gfx1010"], ["gfx1030"]
TO11, FROM11, ALL = GFX10 + GFX11, GFX11 + GFX12, GFX10 + GFX11 + GFX12
M32, M64 = 0xFFFFFFFF, (1 << 64) - 1
NAN, INF = "nan", "inf"  # of values: a Fraction with the sign of a zero, or one of these
RANDOM = random.Random(34)


# --- Floats as (sign, magnitude): the magnitude a Fraction, INF or NAN ---

class Float:
    """A binary format: width, bits of the exponent, of the fraction."""

    def __init__(self, exponent, fraction, has_inf=True):
        self.e, self.f, self.has_inf = exponent, fraction, has_inf
        self.bias = (1 << (exponent - 1)) - 1

    def value(self, bits):
        sign, e, f = bits >> (self.e + self.f) & 1, bits >> self.f & ((1 << self.e) - 1), bits & ((1 << self.f) - 1)
        if self.has_inf and e == (1 << self.e) - 1:
            return sign, NAN if f else INF
        if not self.has_inf and e == (1 << self.e) - 1 and f == (1 << self.f) - 1:
            return sign, NAN
        if e == 0:
            return sign, Fraction(f) * Fraction(2) ** (1 - self.bias - self.f)
        return sign, Fraction((1 << self.f) + f) * Fraction(2) ** (e - self.bias - self.f)

    def bits(self, number):
        """Rounded to even."""
        sign, m = number
        top = sign << (self.e + self.f)
        if m == NAN:
            return top | ((1 << self.e) - 1) << self.f | 1 << (self.f - 1)
        if m == INF:
            return top | ((1 << self.e) - 1) << self.f
        exponent = 1 - self.bias
        while m >= Fraction(2) ** (exponent + 1):
            exponent += 1
        scaled = round(m / Fraction(2) ** (exponent - self.f))  # Python rounds halves to even
        code = ((exponent + self.bias - 1) << self.f) + scaled  # a carry goes into the exponent, a denormal has none
        return top | min(code, ((1 << self.e) - 1) << self.f)


F64, F32, F16, BF16 = Float(11, 52), Float(8, 23), Float(5, 10), Float(8, 7)
BF8, FP8 = Float(5, 2), Float(4, 3, has_inf=False)


def number(x):
    """A Python number as (sign, magnitude)."""
    return int(x < 0), Fraction(abs(x))


def real(x):
    return -x[1] if x[0] else x[1]


def is_nan(*xs):
    return any(x[1] == NAN for x in xs)


def negate(x):
    return 1 - x[0], x[1]


def add(a, b):
    if is_nan(a, b) or (a[1] == INF and b[1] == INF and a[0] != b[0]):
        return 0, NAN
    if INF in (a[1], b[1]):
        return a if a[1] == INF else b
    total = real(a) + real(b)
    return (int(total < 0), abs(total)) if total else (a[0] & b[0] if a[1] == 0 and b[1] == 0 else 0, Fraction(0))


def mul(a, b):
    if is_nan(a, b) or {a[1], b[1]} == {INF, Fraction(0)}:
        return 0, NAN
    return a[0] ^ b[0], INF if INF in (a[1], b[1]) else a[1] * b[1]


def order(x):
    """By size, -0 below 0."""
    size = (1, 0) if x[1] == INF else (0, x[1])
    return (-size[0], -size[1], 0) if x[0] else (*size, 1)


def pick(best, nan_wins):
    def chosen(a, b):
        if is_nan(a, b):
            return (0, NAN) if nan_wins or is_nan(a) and is_nan(b) else b if is_nan(a) else a
        return best(a, b, key=order)
    return chosen


minimum, maximum, min_num, max_num = pick(min, True), pick(max, True), pick(min, False), pick(max, False)


def compare(name, a, b):
    unordered = is_nan(a, b)
    a, b = (0 if unordered else order(x)[:2] if x[1] else (0, 0) for x in (a, b))
    holds = {"lt": a < b, "eq": a == b, "le": a <= b, "gt": a > b, "lg": a != b, "ge": a >= b, "o": True, "u": False}
    base = name[1:] if name[0] == "n" else name
    if base in ("o", "u"):
        return unordered == (base == "u")
    return unordered or not holds[base] if name[0] == "n" else not unordered and holds[base]


def rounded(how):
    def f(x):
        if x[1] in (INF, NAN):
            return x
        v = real(x)
        n = {"ceil": -(-v // 1), "floor": v // 1, "trunc": v // 1 if v >= 0 else -(-v // 1), "rndne": round(v)}[how]
        return x[0], Fraction(abs(n))
    return f


def to_int(x, low, high):
    """Towards zero, saturated; a NaN is 0."""
    if is_nan(x):
        return 0
    if x[1] == INF:
        return low if x[0] else high
    return max(low, min(high, int(real(x))))


SPECIAL32 = [0, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7FA00001, 1, 0x80000001, 0x007FFFFF, 0x00800000,
             0x7F7FFFFF, 0xFF7FFFFF, 0x3F000000, 0xBFC00000, 0x40200000, 0x4B800001, 0x4F000000, 0xCF000001, 0x34000000, 0xC0490FDB]
SPECIAL16 = [0, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0x7D01, 1, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x3800, 0xBE00, 0x4100,
             0x6401, 0x1400, 0xC248]
SPECIAL64 = [0, 1 << 63, 0x3FF << 52, 0xBFF << 52, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, 0x7FF0000000000001, 1, 1 | 1 << 63, (1 << 52) - 1,
             0x7FEFFFFFFFFFFFFF, 0xC000000000000001, 0x4000000000000001]
INTEGERS = [0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x12345678, 0xDEADBEEF, 0xFFFF, 0x10000]


def pairs(values, count=40):
    """Every value with itself, with its neighbours, and some others."""
    n = len(values)
    some = [(values[i], values[(i + d) % n]) for d in (0, 1, 5, 7) for i in range(n)]
    return RANDOM.sample(some, min(count, len(some)))


class Cases:
    def __init__(self):
        self.list = []  # (targets, record)

    def program(self, targets, text, before=None, after=None, wave=32, **more):
        """`text`: instructions, one a line. Registers: name: a value, or a list of lanes."""
        def words(registers):
            return {n: [f"{x & M32:08x}" for x in v] if isinstance(v, list) else f"{v:x}" for n, v in (registers or {}).items()}
        more = {k: [f"{x & M32:08x}" for x in v] if k in ("memory", "memory_out", "lds", "lds_out") else v for k, v in more.items()}
        self.list.append((targets, {"wave": wave, "m": base_of(text.split()[0]), "asm": text, **more, "in": words(before), "out": words(after)}))

    def scalar(self, targets, text, cases, wave=32):
        """cases: (registers before, registers after), the same names in all."""
        names = list(cases[0][0])
        self.list.append((targets, {"wave": wave, "m": text.split()[0], "asm": text, "cases": len(cases),
                                    "in": {n: [f"{before[n] & M32:x}" for before, _ in cases] for n in names},
                                    "out": [{n: f"{v & M32:x}" for n, v in after.items()} for _, after in cases]}))

    def lanes(self, targets, text, inputs, results, wave=32, off=(3, 12), **more):
        """inputs, results: register: list of lanes; lanes `off` do not execute."""
        count = len(next(iter(inputs.values())))
        mask = sum(1 << i for i in range(count) if i not in off)
        before, after = dict(inputs), {}
        for n, lanes in results.items():
            old = before.setdefault(n, [0xABCD0000 + i for i in range(count)])
            after[n] = [lanes[i] if mask >> i & 1 else old[i] for i in range(count)]
        self.program(targets, text, before, after, wave, exec=f"{mask:08x}", **more)


# --- Scalar ---

def scalar_floats(c):
    def two(text, f, of, tied=False):
        cases = []
        for a, b in pairs(SPECIAL32 if of is F32 else SPECIAL16):
            junk = 0 if of is F32 else 0xABCD0000
            d = (SPECIAL32 if of is F32 else SPECIAL16)[len(cases) % 17]
            x, y, z = of.value(a), of.value(b), of.value(d)
            cases.append(({"s0": a | junk, "s4": b | junk, "s20": d}, {"s20": of.bits(f(x, y, z) if tied else f(x, y))}))
        c.scalar(GFX12, text, cases)

    k = F32.value(0x40490FDB)
    for of, name in ((F32, "f32"), (F16, "f16")):
        two(f"s_add_{name} s20, s0, s4", add, of)
        two(f"s_sub_{name} s20, s0, s4", lambda a, b: add(a, negate(b)), of)
        two(f"s_mul_{name} s20, s0, s4", mul, of)
        two(f"s_fmac_{name} s20, s0, s4", lambda a, b, d: add(mul(a, b), d), of, tied=True)
        for op, f in (("min_num", min_num), ("max_num", max_num), ("minimum", minimum), ("maximum", maximum)):
            two(f"s_{op}_{name} s20, s0, s4", f, of)
        for how in ("ceil", "floor", "trunc", "rndne"):
            two(f"s_{how}_{name} s20, s0", lambda a, b: rounded(how)(a), of)
        for relation in "lt eq le gt lg ge o u nge nlg ngt nle neq nlt".split():
            cases = [({"s0": a | (0 if of is F32 else 0x1230000), "s4": b, "scc": i & 1}, {"scc": compare(relation, of.value(a), of.value(b))})
                     for i, (a, b) in enumerate(pairs(SPECIAL32 if of is F32 else SPECIAL16, 60))]
            c.scalar(GFX12, f"s_cmp_{relation}_{name} s0, s4", cases)
    two("s_fmaak_f32 s20, s0, s4, 0x40490fdb", lambda a, b: add(mul(a, b), k), F32)
    two("s_fmamk_f32 s20, s0, 0x40490fdb, s4", lambda a, b: add(mul(a, k), b), F32)
    signed = lambda x: x - (1 << 32) if x >> 31 else x
    c.scalar(GFX12, "s_cvt_f32_i32 s20, s0", [({"s0": x}, {"s20": F32.bits(number(signed(x)))}) for x in INTEGERS + [0x1000001, 0x1000003]])
    c.scalar(GFX12, "s_cvt_f32_u32 s20, s0", [({"s0": x}, {"s20": F32.bits(number(x))}) for x in INTEGERS + [0x1000001, 0xFFFFFF80]])
    c.scalar(GFX12, "s_cvt_i32_f32 s20, s0", [({"s0": x}, {"s20": to_int(F32.value(x), -(1 << 31), (1 << 31) - 1)}) for x in SPECIAL32])
    c.scalar(GFX12, "s_cvt_u32_f32 s20, s0", [({"s0": x}, {"s20": to_int(F32.value(x), 0, M32)}) for x in SPECIAL32])


def scalar_integers(c):
    wide = [a | b << 32 for a, b in pairs(INTEGERS, 30)]
    for text, f in (("s_add_nc_u64 s[20:21], s[0:1], s[4:5]", lambda a, b: a + b), ("s_sub_nc_u64 s[20:21], s[0:1], s[4:5]", lambda a, b: a - b),
                    ("s_mul_u64 s[20:21], s[0:1], s[4:5]", lambda a, b: a * b)):
        cases = []
        for i, (a, b) in enumerate(zip(wide, wide[3:] + wide[:3])):
            d = f(a, b) & M64  # SCC stays
            cases.append(({"s0": a, "s1": a >> 32, "s4": b, "s5": b >> 32, "scc": i & 1}, {"s20": d, "s21": d >> 32, "scc": i & 1}))
        c.scalar(GFX12, text, cases)
    spread = lambda x: sum(3 << 2 * i for i in range(32) if x >> i & 1)
    c.scalar(ALL, "s_bitreplicate_b64_b32 s[20:21], s0", [({"s0": x, "scc": 1}, {"s20": spread(x), "s21": spread(x) >> 32, "scc": 1}) for x in INTEGERS])
    signed = lambda x: x - (1 << 32) if x >> 31 else x
    relations = {"eq": lambda a, b: a == b, "lg": lambda a, b: a != b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
                 "lt": lambda a, b: a < b, "le": lambda a, b: a <= b}
    for name, test in relations.items():
        for kind, read in (("i32", signed), ("u32", lambda x: x)):
            c.scalar(ALL, f"s_cmp_{name}_{kind} s0, s4", [({"s0": a, "s4": b, "scc": i & 1}, {"scc": test(read(a), read(b))})
                                                         for i, (a, b) in enumerate(pairs(INTEGERS))])
    for bit in (0, 1):
        c.scalar(ALL, f"s_bitcmp{bit}_b32 s0, s4", [({"s0": a, "s4": b, "scc": 0}, {"scc": (a >> (b & 31) & 1) == bit}) for a, b in pairs(INTEGERS)])
        c.scalar(ALL, f"s_bitcmp{bit}_b64 s[0:1], s4", [({"s0": a, "s1": ~a, "s4": b, "scc": 0}, {"scc": ((a | (~a & M32) << 32) >> (b & 63) & 1) == bit})
                                                       for a, b in pairs(INTEGERS)])


def exec_masks(c):
    """gfx11 names the operand that is inverted: not0 is the source, not1 is EXEC (gfx10: n1 and n2 the other way round)."""
    old = {"or_not0": "orn1", "and_not0": "andn1", "or_not1": "orn2", "and_not1": "andn2", "xnor": "xnor"}
    new_exec = {"or_not0": lambda s, e: ~s | e, "and_not0": lambda s, e: ~s & e, "or_not1": lambda s, e: s | ~e,
                "and_not1": lambda s, e: s & ~e, "xnor": lambda s, e: ~(s ^ e)}
    for kind in ("saveexec", "wrexec"):
        for name, f in new_exec.items():
            if kind == "wrexec" and not name.startswith("and_not"):
                continue
            for bits in (32, 64):
                mask = (1 << bits) - 1
                cases = []
                for a, e in [(0, mask), (mask, mask), (mask, 0), (0x55AA55AA12345678 & mask, 0xFFFF0000FFFF & mask), (1 << (bits - 1), 1)]:
                    after = f(a, e) & mask
                    d = e if kind == "saveexec" else after
                    registers = {"s0": a, "s126": e, "scc": 0, **({"s1": a >> 32, "s127": e >> 32} if bits == 64 else {})}
                    result = {"s20": d, "s126": after, "scc": after != 0, **({"s21": d >> 32, "s127": after >> 32} if bits == 64 else {})}
                    cases.append((registers, result))
                dst, src = ("s20", "s0") if bits == 32 else ("s[20:21]", "s[0:1]")
                c.scalar(GFX10, f"s_{old[name]}_{kind}_b{bits} {dst}, {src}", cases, wave=bits)
                c.scalar(FROM11, f"s_{name}_{kind}_b{bits} {dst}, {src}", cases, wave=bits)


def without_effect(c):
    """Hints, waits and counters: nothing that a program sees changes, and the next instruction is executed."""
    def nothing(targets, *texts):
        registers = {"s0": 0x80, "s1": 0x12345678, "s126": 0xFFFF, "vcc": 0xF0F0, "scc": 1, "v0": [1, 2, 3, 4]}
        for text in texts:
            c.program(targets, f"{text}\ns_mov_b32 s20, 7", {**registers, "s20": 0},
                      {"s0": 0x80, "s1": 0x12345678, "vcc": 0xF0F0, "scc": 1, "s20": 7, "exec_lo": 0xFFFF}, exec="ffff")
    nothing(ALL, "s_version 1", "s_setkill 0", "s_icache_inv", "s_incperflevel 1", "s_decperflevel 1", "s_ttracedata", "s_ttracedata_imm 0x3",
            "s_clause 0x3", "v_nop", "v_pipeflush", "s_sleep 0", "s_setprio 2", "s_wakeup", "s_sethalt 0")
    nothing(TO11, "s_waitcnt_vscnt null, 0x0", "s_waitcnt_expcnt null, 0x0", "s_waitcnt_vmcnt null, 0x0", "s_waitcnt_lgkmcnt null, 0x0",
            "s_waitcnt_depctr 0xffe3", "s_cbranch_cdbgsys 1", "s_cbranch_cdbguser 1", "s_cbranch_cdbgsys_or_user 1", "s_cbranch_cdbgsys_and_user 1",
            "buffer_gl0_inv", "buffer_gl1_inv")
    nothing(GFX10, "s_inst_prefetch 0x1")
    nothing(GFX11, "s_set_inst_prefetch_distance 0x1")
    nothing(FROM11, "s_delay_alu instid0(VALU_DEP_1)", "s_wait_event 0x0")
    nothing(GFX12, "s_wait_alu 0xfffe", "s_wait_loadcnt 0x0", "s_wait_storecnt 0x0", "s_wait_samplecnt 0x0", "s_wait_bvhcnt 0x0", "s_wait_expcnt 0x0",
            "s_wait_dscnt 0x0", "s_wait_kmcnt 0x0", "s_wait_loadcnt_dscnt 0x0", "s_wait_storecnt_dscnt 0x0", "s_sleep_var s0", "global_inv", "global_wb",
            "global_wbinv", "s_prefetch_inst_pc_rel 0x0, null, 0")
    nothing(["gfx1010", "gfx1030", "gfx1200"], "ds_nop")
    # Branches over an instruction, taken and not.
    for text, before, taken in [("s_branch", {}, True)] + [(f"s_cbranch_{k}", r, t) for k, r, t in (
            ("scc0", {"scc": 0}, True), ("scc0", {"scc": 1}, False), ("scc1", {"scc": 1}, True), ("scc1", {"scc": 0}, False), ("vccz", {"vcc": 0}, True),
            ("vccz", {"vcc": 4}, False), ("vccnz", {"vcc": 4}, True), ("vccnz", {"vcc": 0}, False), ("execz", {}, False), ("execnz", {}, True))]:
        c.program(ALL, f"{text} 1\ns_mov_b32 s20, 7", {**before, "s20": 5}, {"s20": 5 if taken else 7}, exec="ffff")
    for text, taken in (("s_cbranch_execz", True), ("s_cbranch_execnz", False)):
        c.program(ALL, f"{text} 1\ns_mov_b32 s20, 7", {"s20": 5}, {"s20": 5 if taken else 7}, exec="0")
    # The wave ends: what follows is not executed.
    c.program(TO11, "s_endpgm_ordered_ps_done\ns_mov_b32 s20, 7", {"s20": 5}, {"s20": 5})
    c.program(ALL, "s_endpgm\ns_mov_b32 s20, 7", {"s20": 5}, {"s20": 5})
    c.program(ALL, "s_endpgm_saved\ns_mov_b32 s20, 7", {"s20": 5}, {"s20": 5})
    c.program(ALL, "s_setkill 1\ns_mov_b32 s20, 7", {"s20": 5}, {"s20": 5})
    # As many registers as the wave has, and more than there can be.
    c.program(GFX12, "s_alloc_vgpr 32", {"scc": 0}, {"scc": 1})
    c.program(GFX12, "s_alloc_vgpr s0", {"s0": 10000, "scc": 1}, {"scc": 0})
    c.program(GFX101, "s_get_waveid_in_workgroup s20", {"s20": 5}, {"s20": 0})  # the group has one wave


# --- Vector ---

def vector_floats(c):
    for name, f in (("minimum", minimum), ("maximum", maximum)):
        some = pairs(SPECIAL64, 32)
        a, b = [x for x, _ in some], [y for _, y in some]
        d = [F64.bits(f(F64.value(x), F64.value(y))) for x, y in some]
        c.lanes(GFX12, f"v_{name}_f64 v[20:21], v[0:1], v[4:5]", {"v0": a, "v1": [x >> 32 for x in a], "v4": b, "v5": [x >> 32 for x in b]},
                {"v20": d, "v21": [x >> 32 for x in d]})
        some = pairs(SPECIAL32, 32)
        for text, change in (("v0, v4", lambda x: x), ("-|v0|, v4", lambda x: x | 0x80000000)):
            c.lanes(GFX12, f"v_{name}_f32 v20, {text}", {"v0": [x for x, _ in some], "v4": [y for _, y in some]},
                    {"v20": [F32.bits(f(F32.value(change(x)), F32.value(y))) for x, y in some]})


SMALL = [0, 1, -1, 2, -2, 3, Fraction(1, 2), Fraction(-1, 4), 6, -5]


def dots(c):
    def packed(of, width, row):
        return sum(of.bits(number(x)) << width * i for i, x in enumerate(row))

    def rows(n, count=32):
        return [[RANDOM.choice(SMALL) for _ in range(n)] for _ in range(count)]

    a, b, k = rows(2), rows(2), [row[0] for row in rows(1)]
    sums = [x[0] * y[0] + x[1] * y[1] + z for x, y, z in zip(a, b, k)]
    pa, pb = [packed(BF16, 16, x) for x in a], [packed(BF16, 16, x) for x in b]
    special = {0: (0x7F803F80, 0x3F803F80, INF), 1: (0x7F80FF80, 0x3F803F80, NAN), 2: (0x00007FC0, 0x3F803F80, NAN)}
    for lane, (x, y, _) in special.items():
        pa[lane], pb[lane] = x, y
    result = lambda i: (0, special[i][2]) if i in special else number(sums[i])
    single = {"v0": pa, "v4": pb, "v8": [F32.bits(number(x)) for x in k]}
    c.lanes(FROM11, "v_dot2_f32_bf16 v20, v0, v4, v8", single, {"v20": [F32.bits(result(i)) for i in range(32)]})
    c.lanes(FROM11, "v_dual_dot2acc_f32_bf16 v20, v0, v5 :: v_dual_mov_b32 v21, v2",
            {"v0": pa, "v5": pb, "v20": single["v8"], "v2": list(range(32))},
            {"v20": [F32.bits(result(i)) for i in range(32)], "v21": list(range(32))})
    # bf16 result: exact, or rounded once at the end; op_sel takes and writes upper halves, the other half stays.
    low = {"v0": pa, "v4": pb, "v8": [BF16.bits(number(x)) | 0x42280000 for x in k], "v20": [0x12340000 | 0x5678] * 32}
    c.lanes(FROM11, "v_dot2_bf16_bf16 v20, v0, v4, v8", low, {"v20": [0x12340000 | BF16.bits(result(i)) for i in range(32)]})
    high = {**low, "v8": [BF16.bits(number(x)) << 16 | 0x4228 for x in k]}
    c.lanes(FROM11, "v_dot2_bf16_bf16 v20, v0, v4, v8 op_sel:[0,0,1,1]", high, {"v20": [BF16.bits(result(i)) << 16 | 0x5678 for i in range(32)]})
    for x, y in (("fp8", "bf8"), ("bf8", "fp8"), ("fp8", "fp8"), ("bf8", "bf8")):
        of = {"fp8": FP8, "bf8": BF8}
        a, b, k = rows(4), rows(4), [row[0] for row in rows(1)]
        d = [number(sum(p * q for p, q in zip(s, t)) + z) for s, t, z in zip(a, b, k)]
        pa, pb = [packed(of[x], 8, s) for s in a], [packed(of[y], 8, s) for s in b]
        pa[5], d[5] = pa[5] & ~0xFF | (0x7F if x == "fp8" else 0x7E), (0, NAN)
        if x == "bf8":  # an infinity times a number
            pa[6], pb[6], d[6] = pa[6] & ~0xFF | 0x7C, pb[6] & ~0xFF | of[y].bits(number(-1)), (1, INF)
        c.lanes(GFX12, f"v_dot4_f32_{x}_{y} v20, v0, v4, v8", {"v0": pa, "v4": pb, "v8": [F32.bits(number(z)) for z in k]},
                {"v20": [F32.bits(z) for z in d]})


CHOICES = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]


def sparse(c, name, k, types, result, suffix="", signs=(1, 1), key=0):
    """D = A * B + D in a wave of 32; A holds two of every four values of a row."""
    bits = {"f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "iu8": 8, "iu4": 4}
    formats = {"f16": F16, "bf16": BF16, "fp8": FP8, "bf8": BF8, "f32": F32}
    width = bits[types[0]]
    values = [-3, -2, -1, 0, 1, 2, 3, 4]

    def code(x, kind):
        return formats[kind].bits(number(x)) if kind in formats else x & ((1 << width) - 1)

    def read(x, is_signed):  # an integer as the instruction reads it
        return x if is_signed or types[0] not in ("iu8", "iu4") else x & ((1 << width) - 1)

    a = [[RANDOM.choice(values) for _ in range(k // 2)] for _ in range(16)]
    b = [[RANDOM.choice(values) for _ in range(16)] for _ in range(k)]
    d = [[RANDOM.choice(values) for _ in range(16)] for _ in range(16)]
    chosen = [[RANDOM.choice(CHOICES) for _ in range(k // 4)] for _ in range(16)]
    total = [[d[i][j] + sum(read(a[i][n], signs[0]) * read(b[4 * (n // 2) + chosen[i][n // 2][n % 2]][j], signs[1]) for n in range(k // 2))
              for j in range(16)] for i in range(16)]
    per_a, per_b = k // 4, k // 2  # elements of a lane
    registers = {}

    def put(first, lane, item, size, value):
        word = registers.setdefault(f"v{first + item * size // 32}", [0] * 32)
        word[lane] |= (value & ((1 << size) - 1)) << item * size % 32

    for i in range(16):
        for n in range(k // 2):
            put(0, i + 16 * (n // per_a), n % per_a, width, code(a[i][n], types[0]))
            put(40, i + 16 * (n // per_a), n % per_a + key * 16 // 2, 2, chosen[i][n // 2][n % 2])
        for n in range(k):
            put(8, i + 16 * (n // per_b), n % per_b, width, code(b[n][i], types[1]))

    def tile(matrix):
        out = {}
        for i in range(16):
            for j in range(16):
                lane, row = j + 16 * (i // 8), i % 8
                if result in ("f16", "bf16"):
                    word = out.setdefault(f"v{20 + row // 2}", [0] * 32)
                    word[lane] |= code(matrix[i][j], result) << 16 * (row % 2)
                else:
                    word = out.setdefault(f"v{20 + row}", [0] * 32)
                    word[lane] = code(matrix[i][j], "f32") if result == "f32" else matrix[i][j] & M32
        return out

    spans = [width * per // 32 for per in (per_a, per_b)] + [4 if result in ("f16", "bf16") else 8]
    span = lambda first, count: f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"
    text = f"{name} {span(20, spans[2])}, {span(0, spans[0])}, {span(8, spans[1])}, v40{suffix}"
    c.program(GFX12, text, {**registers, **tile(d)}, tile(total), exec="ffffffff")


def matrices(c):
    for result, kind in (("f32", "f16"), ("f32", "bf16"), ("f16", "f16"), ("bf16", "bf16")):
        sparse(c, f"v_swmmac_{result}_16x16x32_{kind}", 32, (kind, kind), result)
        sparse(c, f"v_swmmac_{result}_16x16x32_{kind}", 32, (kind, kind), result, " index_key:1", key=1)
    for kind, k in (("iu8", 32), ("iu4", 32), ("iu4", 64)):
        for signs in ((0, 0), (1, 0), (0, 1), (1, 1)):
            suffix = f" neg_lo:[{signs[0]},{signs[1]},0]" if any(signs) else ""
            sparse(c, f"v_swmmac_i32_16x16x{k}_{kind}", k, (kind, kind), "i32", suffix, signs)
    for x in ("fp8", "bf8"):
        for y in ("fp8", "bf8"):
            sparse(c, f"v_swmmac_f32_16x16x32_{x}_{y}", 32, (x, y), "f32")


def write(cases, out):
    for target in ALL:
        records = [record for targets, record in cases.list if target in targets]
        lines = []
        for wave in (32, 64):
            own = [r for r in records if r["wave"] == wave]
            texts = [line for r in own for line in r["asm"].split("\n")]
            codes = iter(zip(texts, assemble(target, texts, f"+wavefrontsize{wave}")))
            for record in own:
                parts = [next(codes) for _ in record["asm"].split("\n")]
                for text, code in parts:
                    if code is None:
                        sys.exit(f"{target} has no {text}")
                record = {**record, "asm": record["asm"].split("\n")[0], "hex": "".join(code for _, code in parts)}
                lines.append(json.dumps(record, separators=(",", ":")))
        path = out / f"{target}_new.jsonl.zst"
        compress("\n".join(lines) + "\n", path)
        print(target, len(lines), "records", path.stat().st_size, "bytes")


def main():
    from rdna_memory_vectors import memory_cases
    cases = Cases()
    for family in (scalar_floats, scalar_integers, exec_masks, without_effect, vector_floats, dots, matrices, memory_cases):
        family(cases)
    write(cases, pathlib.Path(sys.argv[1]))


if __name__ == "__main__":
    main()
