#!/usr/bin/env python3
"""Edge cases of vector instructions that the other records leave out: matrices and small floats above all.

    edge_vectors.py OUTDIR

Expected values are computed here with exact fractions, from the formulas and layouts of the CDNA4 guide (7.1.4, 7.3, 7.5,
12.7 to 12.11), not by Morgana: signed zeros, denormals in several modes, the ends of each format, infinities, NaNs,
ties. Writes OUTDIR/<target>_edges.jsonl.zst; run by hand, the result is checked in.
"""
import functools
import itertools
import math
import pathlib
import re
import sys
from fractions import Fraction

from carry_vectors import write_vectors

NAN, INF = float("nan"), float("inf")
M32 = 0xFFFFFFFF
EVERY_LANE = "f" * 16


# --- Formats ---


class Float:
    """A binary format. `special`: "ieee", "nan" (one NaN in place of the infinity's largest codes), "none", "fnuz"."""

    def __init__(self, bits, exponent_bits, special="ieee", bias=None):
        self.bits, self.mantissa, self.special = bits, bits - 1 - exponent_bits, special
        self.bias = bias if bias is not None else (1 << (exponent_bits - 1)) - 1 + (special == "fnuz")
        self.sign = 1 << (bits - 1)
        top = (1 << exponent_bits) - 1
        self.infinity = top << self.mantissa if special == "ieee" else None
        self.largest = {"ieee": (top << self.mantissa) - 1, "nan": self.sign - 2, "none": self.sign - 1, "fnuz": self.sign - 1}[special]
        self.nan = {"ieee": (top << self.mantissa) | 1 << (self.mantissa - 1) if special == "ieee" else 0, "nan": self.sign - 1,
                    "none": None, "fnuz": self.sign}[special]

    @functools.cache
    def value(self, code):
        """A Fraction (zeros as floats, for their sign), an infinity or a NaN."""
        magnitude, negative = code & (self.sign - 1), bool(code & self.sign)
        if self.special == "fnuz" and code == self.sign or self.special == "nan" and magnitude == self.nan:
            return NAN
        if self.special == "ieee" and magnitude >= self.infinity:
            return NAN if magnitude > self.infinity else -INF if negative else INF
        exponent, fraction = magnitude >> self.mantissa, magnitude & ((1 << self.mantissa) - 1)
        number = Fraction(fraction + ((exponent > 0) << self.mantissa)) * Fraction(2) ** (max(exponent, 1) - self.bias - self.mantissa)
        if number == 0:
            return -0.0 if negative else 0.0
        return -number if negative else number

    def is_denormal(self, code):
        magnitude = code & (self.sign - 1)
        return 0 < magnitude < 1 << self.mantissa

    def unit(self, magnitude):
        """The distance of neighbours at a magnitude."""
        exponent = 1 - self.bias
        if magnitude >= Fraction(2) ** exponent:
            exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
            if Fraction(2) ** exponent > magnitude:
                exponent -= 1
        return Fraction(2) ** (exponent - self.mantissa)

    def encode(self, x, mode="even", saturate=False):
        """Rounded to even, or towards zero."""
        if isinstance(x, float) and math.isnan(x):
            return self.nan if self.nan is not None else self.largest
        negative = math.copysign(1, x) < 0
        if isinstance(x, float) and math.isinf(x):
            return self.overflow(negative, saturate)
        magnitude = abs(Fraction(x))
        quotient = magnitude / self.unit(magnitude)
        n = quotient.numerator // quotient.denominator
        rest = quotient - n
        if mode == "even" and (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and n & 1)):
            n += 1
        rounded = n * self.unit(magnitude)
        if rounded > self.value(self.largest):
            return self.overflow(negative, saturate)
        return self.code(rounded, negative)

    def code(self, magnitude, negative):
        if magnitude == 0:
            return self.sign if negative and self.special != "fnuz" else 0
        unit = self.unit(magnitude)
        n = int(magnitude / unit)
        exponent = (unit / Fraction(2) ** (1 - self.bias - self.mantissa)).numerator.bit_length() - 1
        code = n + (exponent << self.mantissa)
        return code | self.sign if negative else code

    def overflow(self, negative, saturate):
        sign = self.sign if negative else 0
        if saturate or self.special == "none":
            return self.largest | sign
        if self.special == "ieee":
            return self.infinity | sign
        return self.nan if self.special == "fnuz" else self.nan | sign

    def edges(self):
        """Zeros, ends of the denormal and the normal range, one, infinity and NaN; both signs."""
        least = 1 << self.mantissa
        codes = [0, 1, least - 1, least, least + 1, self.bias << self.mantissa, self.largest - 1, self.largest]
        if self.infinity is not None:
            codes.append(self.infinity)
        codes = list(dict.fromkeys(codes))
        codes += [c | self.sign for c in codes if self.special != "fnuz" or c]
        return codes + ([self.nan] if self.nan is not None else [])


F32, F16, BF16, F64 = Float(32, 8), Float(16, 5), Float(16, 8), Float(64, 11)
FP8, BF8 = Float(8, 4, "nan"), Float(8, 5)
BF8.nan = 0x7F  # as the other records have it
FP8_FNUZ, BF8_FNUZ = Float(8, 4, "fnuz"), Float(8, 5, "fnuz")
FP6, BF6, FP4 = Float(6, 2, "none"), Float(6, 3, "none"), Float(4, 2, "none")
SMALL = {"fp8": FP8, "bf8": BF8, "fp6": FP6, "bf6": BF6, "fp4": FP4}
FORMATS = {"f32": F32, "f16": F16, "bf16": BF16, **SMALL}


def is_nan(x):
    return isinstance(x, float) and math.isnan(x)


def is_inf(x):
    return isinstance(x, float) and math.isinf(x)


@functools.cache
def product(a, b):
    return Fraction(a) * Fraction(b)


def multiply(a, b):
    if is_nan(a) or is_nan(b):
        return NAN
    negative = (math.copysign(1, a) < 0) != (math.copysign(1, b) < 0)
    if is_inf(a) or is_inf(b):
        return NAN if a == 0 or b == 0 else -INF if negative else INF
    return product(a, b) if a and b else -0.0 if negative else 0.0


def total(terms):
    """The exact sum of finite terms, or what infinities and NaNs make of it. A zero is positive unless all terms are -0."""
    if any(map(is_nan, terms)):
        return NAN
    infinities = {t for t in terms if is_inf(t)}
    if infinities:
        return NAN if len(infinities) == 2 else infinities.pop()
    s = sum((t for t in terms if t), Fraction(0))
    if s == 0:
        return -0.0 if all(t == 0 and math.copysign(1, t) < 0 for t in terms) else 0.0
    return s


def words(codes, bits):
    """Codes packed into dwords, the first one lowest."""
    value = sum(c << i * bits for i, c in enumerate(codes))
    return [value >> 32 * i & M32 for i in range((len(codes) * bits + 31) // 32)]


# --- Matrices ---

MFMA = re.compile(r"v_(mfma|smfmac)_([fi]\d+)_(\d+)x\d+x(\d+)(?:_(\d+)b)?_([a-z]+\d+)(?:_([a-z]+\d+))?$")


def matrix_names(target):
    rows = (pathlib.Path(__file__).parents[2] / "device/isa/rows/vop3p.def").read_text()
    column = ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"].index(target)
    for name, opcodes in re.findall(r'"(v_s?m?fma[c_][\w]*|v_mfma_\w+)", VOP3P, OPC\(([^)]*)\)', rows):
        # Doubles have a layout of their own (older_vectors.py); xf32 drops bits of its operands.
        if int(opcodes.split(",")[column]) >= 0 and MFMA.match(name) and not re.search("f64|xf32", name):
            yield name


class Matrix:
    """One instruction's shape and its operands, with the special rows that `pattern` describes."""

    def __init__(self, name, fnuz):
        kind, result, n, k, blocks, a, b = MFMA.match(name).groups()
        self.name, self.sparse, self.n, self.k, self.blocks = name, kind == "smfmac", int(n), int(k), int(blocks or 1)
        self.integer = result == "i32"
        self.a, self.b = (self.format_of(x, fnuz) for x in (a, b or a))
        self.lanes = 64 // self.blocks
        self.per_lane = self.k // (self.lanes // self.n)

    @staticmethod
    def format_of(name, fnuz):
        if name == "i8":
            return None
        if fnuz and name in ("fp8", "bf8"):
            return FP8_FNUZ if name == "fp8" else BF8_FNUZ
        return FORMATS[name]

    def bits(self, form):
        return form.bits if form else 8

    def number(self, form, x):
        """The code of a whole number, and what it stands for."""
        return x & 0xFF if form is None else form.encode(x if x else 0.0)

    def a_row(self, block, i, kept):
        """Codes of row i: 0 where the index drops an element."""
        form, row = self.a, [0] * self.k
        pattern = (self.n * block + i) % 8
        place = [k for k in range(self.k) if kept(i, k)]
        whole = lambda k: (3 * i + 5 * k + block) % 5 - 2
        for k in place:
            row[k] = self.number(form, whole(k))
        first, second = place[0], place[-1]
        if form is None:
            if pattern == 1:
                row = [0x80 if k in place else 0 for k in range(self.k)]
            return row, pattern
        if pattern == 1 and form.nan is not None:
            row[first] = form.nan
        elif pattern == 2:
            row[first] = form.infinity if form.infinity is not None else form.largest
        elif pattern in (3, 4, 6):
            row = [0] * self.k
            row[first] = {3: 1, 4: self.number(form, 3), 6: form.largest}[pattern]
        elif pattern == 5 and form.infinity is not None:
            row[first], row[second] = form.infinity, form.infinity | form.sign
        return row, pattern

    def c_value(self, block, i, j, pattern):
        if self.integer:
            return 0x7FFFFF00 if pattern in (1, 2) else (i + 2 * j) % 9
        if pattern == 4:
            return F32.encode(2 ** 24)
        if pattern == 3:
            return 0
        if pattern == 6 and self.a.value(self.a.largest) < 2 ** 20:
            return F32.encode(1)
        return 0 if pattern == 6 else F32.encode((i + 2 * j) % 9 + 1)

    def indices(self, lane):
        """Which two of each four elements of K a lane keeps; the same in every lane of a row."""
        row = lane % self.n
        pairs = list(itertools.combinations(range(4), 2))
        return [pairs[(row + g) % 6] for g in range(self.per_lane // 4)]

    def kept(self, i, k):
        if not self.sparse:
            return True
        lane = k // self.per_lane * self.n + i
        return k % 4 in self.indices(lane)[k % self.per_lane // 4]

    def record(self, registers, denorm, flushes):
        n, k = self.n, self.k
        a = [[self.a_row(block, i, self.kept) for i in range(n)] for block in range(self.blocks)]
        b = [[[self.number(self.b, (2 * j + kk + 3 * block) % 5 - 2) for kk in range(k)] for j in range(n)] for block in range(self.blocks)]

        @functools.cache
        def value(form, code):
            if form is None:
                return Fraction(code - 256 if code >= 128 else code)
            if flushes and form.is_denormal(code):
                return math.copysign(0.0, -1 if code & form.sign else 1)
            return form.value(code)

        def place(r, lane):
            if n == 4:
                return lane // 4, r, lane % 4
            groups, of_block = 64 // n, n * n // 64
            block, rest = divmod(r, of_block)
            return block, rest // 4 * 4 * groups + lane // n * 4 + rest % 4, lane % n

        def operand(matrix, form, sparse):
            result = []
            for lane in range(64):
                block, within = lane // self.lanes, lane % self.lanes
                ks = range(within // n * self.per_lane, (within // n + 1) * self.per_lane)
                codes = [matrix[block][within % n][kk] for kk in ks if not sparse or self.kept(within % n, kk)]
                result.append(words(codes, self.bits(form)))
            return [list(r) for r in zip(*result)]

        count = self.blocks * n * n // 64
        initial, results = [], []
        for r in range(count):
            before, after = [], []
            for lane in range(64):
                block, i, j = place(r, lane)
                row, pattern = a[block][i]
                c = self.c_value(block, i, j, pattern)
                terms = [multiply(value(self.a, row[kk]), value(self.b, b[block][j][kk])) for kk in range(k) if row[kk] or self.kept(i, kk)]
                before.append(c)
                if self.integer:
                    after.append(int(c + sum(terms)) & M32)
                else:
                    s = total(terms + [F32.value(c)])
                    single = sum(t != 0 for t in terms) <= 1
                    assert single or not isinstance(s, Fraction) or F32.value(F32.encode(s)) == s, (self.name, i, j)
                    after.append(F32.encode(s))
            initial.append(before)
            results.append(after)
        ra, rb = operand([[row for row, _ in block] for block in a], self.a, self.sparse), operand(b, self.b, False)
        span = lambda kind, base, size: f"{kind}{base}" if size == 1 else f"{kind}[{base}:{base + size - 1}]"
        dump = lambda base, regs, kind="v": {f"{kind}{base + i}": [f"{x:08x}" for x in lanes] for i, lanes in enumerate(regs)}
        text = f"{self.name} {span(registers, 64, count)}, {span('v', 0, len(ra))}, {span('v', 16, len(rb))}"
        inputs = {**dump(0, ra), **dump(16, rb)}
        if self.sparse:
            inputs |= dump(64, initial, registers)
            inputs["v48"] = [f"{sum((p | q << 2) << 4 * g for g, (p, q) in enumerate(self.indices(lane))):08x}" for lane in range(64)]
            text += ", v48"
        else:
            inputs |= dump(128, initial, registers)
            text += f", {span(registers, 128, count)}"
        # Rounding is to even whatever MODE says.
        return {"m": self.name, "asm": text, "exec": EVERY_LANE, "mode": {"fp_round": 15 if denorm == 0 else 0, "fp_denorm": denorm, "ieee": 1},
                "in": inputs, "out": dump(64, results, registers)}


def matrices(target):
    """The older names of gfx908 and gfx90a stand for the same shapes (rows/vop3p.def, INST_ALSO)."""
    for name in matrix_names(target):
        matrix = Matrix(name, fnuz=target == "gfx942")
        for denorm in (15, 0):
            # Operands of 32 bits follow MODE; smaller ones, C and D never flush (guide 7.4).
            yield matrix.record("v", denorm, flushes=denorm == 0 and name.endswith("_f32"))


# --- Conversions ---


def prng(x):
    return (x << 1 & M32) ^ (197 if x >> 31 else 0)


def stochastic(form, x, random):
    """Random bits are added below the last bit that a normal result of the format keeps, then the rest is cut off (7.3)."""
    if not isinstance(x, Fraction):
        return form.encode(x, "zero")
    dropped = 23 - form.mantissa
    bits = F32.encode(abs(x))
    noisy = F32.value(bits + (random >> (32 - dropped)))
    if not isinstance(noisy, Fraction):
        noisy = Fraction(2) ** 128
    return form.encode(noisy if x > 0 else -noisy, "zero")


class Conversions:
    """Records of v_cvt_* with scale, lanes being edge values."""

    def __init__(self, target):
        self.target, self.list = target, []

    def put(self, text, inputs, out, mode=None, exec_mask=(1 << 64) - 1, high_half=None):
        record = {"m": text.split(" ")[0], "asm": text, "exec": f"{exec_mask:016x}",
                  "in": {k: [f"{x:08x}" for x in v] for k, v in inputs.items()},
                  "out": {k: [f"{(x if exec_mask >> i & 1 else inputs[k][i]):08x}" for i, x in enumerate(v)] for k, v in out.items()}}
        if mode:
            record["mode"] = mode
        if high_half:
            record["hi16"] = high_half
        self.list.append(record)


SCALES = [127, 127, 127, 130, 120, 127, 126, 128, 100, 254, 0, 1, 127, 129, 127, 127]
LANES = 16
OLD = [0xDEAD0000 + 0x1111 * i for i in range(LANES)]
PARTIAL = 0xFFFF & ~(1 << 2) & ~(1 << 13)


def candidates(source, to):
    """Codes of `source` around what `to` can hold: ties, ends, specials."""
    numbers = []
    for code in to.edges():
        v = to.value(code)
        if not isinstance(v, Fraction):
            continue
        unit = to.unit(abs(v))
        numbers += [v, v + unit / 2, v + unit / 4, v - unit * 3 / 4]
    codes = [source.encode(v if v else 0.0, "zero") for v in numbers] + source.edges()
    return list(dict.fromkeys(c for c in codes if source.special != "ieee" or source.mantissa > 3 or c <= source.nan or c & source.sign))


def scaled_to_small(c):
    """f32, f16 and bf16 to small floats: x / 2^scale, rounded to even or stochastically."""
    shapes = []
    for to in ("fp8", "bf8"):
        shapes += [(f"pk_{to}_f32", "f32", to, 2, False, True), (f"sr_{to}_f32", "f32", to, 1, True, False)]
        for half in ("f16", "bf16"):
            shapes += [(f"pk_{to}_{half}", half, to, 2, False, False), (f"sr_{to}_{half}", half, to, 1, True, False)]
    for to in ("fp6", "bf6"):
        shapes += [(f"2xpk16_{to}_f32", "f32", to, 32, False, True), (f"sr_pk32_{to}_f32", "f32", to, 32, True, False)]
        for half in ("f16", "bf16"):
            shapes += [(f"pk32_{to}_{half}", half, to, 32, False, False), (f"sr_pk32_{to}_{half}", half, to, 32, True, False)]
    for source in ("f32", "f16", "bf16"):
        shapes += [(f"pk_fp4_{source}", source, "fp4", 2, False, source == "f32"), (f"sr_pk_fp4_{source}", source, "fp4", 2, True, False)]
    for name, source, to, count, random, two in shapes:
        form_from, form_to = FORMATS[source], FORMATS[to]
        pool = candidates(form_from, form_to)
        size = count * form_from.bits // (2 if two else 1)
        per_source = (size + 31) // 32
        for round_ in range(max(1, (len(pool) + LANES * count - 1) // (LANES * count))):
            at = round_ * LANES * count
            lanes = [[pool[(at + lane * count + i) % len(pool)] for i in range(count)] for lane in range(LANES)]
            seeds = [0, M32, 0x80000000, 0x12345678, 0x7FFFFFFF, 0xFFF00000, 0x000FFFFF, 1] * 2
            codes = []
            for lane in range(LANES):
                scale, seed, out = SCALES[lane], seeds[lane], []
                for code in lanes[lane]:
                    x = form_from.value(code)
                    if isinstance(x, Fraction):
                        x = x / Fraction(2) ** (scale - 127)
                        x = F32.value(F32.encode(x))  # the scaling is done in f32
                    out.append(stochastic(form_to, x, seed) if random else form_to.encode(x))
                    seed = prng(seed)
                codes.append(out)
            inputs, sources = {}, []
            groups = [[lane[0::2] for lane in lanes], [lane[1::2] for lane in lanes]] if two else [lanes]
            for g, group in enumerate(groups):
                packed_lanes = list(zip(*[words(lane, form_from.bits) for lane in group]))
                for r, register in enumerate(packed_lanes):
                    inputs[f"v{64 * g + r}"] = list(register)
                n = len(packed_lanes)
                sources.append(f"v{64 * g}" if n == 1 else f"v[{64 * g}:{64 * g + n - 1}]")
            if random:
                inputs["v100"] = seeds
                sources.append("v100")
            inputs["v101"] = [s << 23 | 0x123456 for s in SCALES]
            sources.append("v101")
            results = list(zip(*[words(lane, form_to.bits) for lane in codes]))
            width = count * form_to.bits
            dst = "v110" if len(results) == 1 else f"v[110:{110 + len(results) - 1}]"
            out = {}
            for r, register in enumerate(results):
                inputs[f"v{110 + r}"] = OLD
                out[f"v{110 + r}"] = [o & ~((1 << width) - 1) & M32 | x if width < 32 else x for o, x in zip(OLD, register)]
            c.put(f"v_cvt_scalef32_{name} {dst}, {', '.join(sources)}", inputs, out, exec_mask=PARTIAL)


def scaled_from_small(c):
    """Small floats to f32, f16 and bf16: x * 2^scale, to even."""
    shapes = []
    for source in ("fp8", "bf8"):
        shapes += [(f"pk_f32_{source}", source, "f32", 2), (f"f32_{source}", source, "f32", 1), (f"pk_f16_{source}", source, "f16", 2),
                   (f"pk_bf16_{source}", source, "bf16", 2)]
    for source in ("fp6", "bf6"):
        shapes += [(f"pk32_{to}_{source}", source, to, 32) for to in ("f32", "f16", "bf16")]
    shapes += [(f"pk_{to}_fp4", "fp4", to, 2) for to in ("f32", "f16", "bf16")]
    for name, source, to, count in shapes:
        form_from, form_to = FORMATS[source], FORMATS[to]
        pool = form_from.edges()
        for mode in ({"fp_round": 0, "fp_denorm": 15, "ieee": 1}, {"fp_round": 15, "fp_denorm": 15, "ieee": 1}):
            lanes = [[pool[(lane * 3 + i * 5) % len(pool)] for i in range(count)] for lane in range(LANES)]
            scales = [127, 130, 120, 254, 1, 0, 110, 105, 255, 140, 127, 103, 112, 113, 135, 127]
            codes = []
            for lane in range(LANES):
                out = []
                for code in lanes[lane]:
                    x = form_from.value(code)
                    if scales[lane] == 255:
                        x = NAN
                    if isinstance(x, Fraction):
                        x = x * Fraction(2) ** (scales[lane] - 127)
                        x = F32.value(F32.encode(x))
                    out.append(form_to.encode(x))
                codes.append(out)
            inputs = {f"v{r}": list(x) for r, x in enumerate(zip(*[words(lane, form_from.bits) for lane in lanes]))}
            n = len(inputs)
            source_text = "v0" if n == 1 else f"v[0:{n - 1}]"
            inputs["v101"] = [s << 23 for s in scales]
            results = list(zip(*[words(lane, form_to.bits) for lane in codes]))
            dst = "v110" if len(results) == 1 else f"v[110:{110 + len(results) - 1}]"
            out = {}
            for r, register in enumerate(results):
                inputs[f"v{110 + r}"] = OLD
                out[f"v{110 + r}"] = list(register)
            c.put(f"v_cvt_scalef32_{name} {dst}, {source_text}, v101", inputs, out, mode, PARTIAL)


def plain_conversions(c):
    fnuz = c.target == "gfx942"
    fp8, bf8 = (FP8_FNUZ, BF8_FNUZ) if fnuz else (FP8, BF8)
    for name, form in (("fp8", fp8), ("bf8", bf8)):
        pool = candidates(F32, form)
        for at in range(0, len(pool), LANES):
            a = [pool[(at + i) % len(pool)] for i in range(LANES)]
            b = [pool[(at + 7 * i + 3) % len(pool)] for i in range(LANES)]
            even = lambda x: form.encode(F32.value(x))
            old = {"v20": OLD}
            c.put(f"v_cvt_pk_{name}_f32 v20, v0, v4", {"v0": a, "v4": b, **old},
                  {"v20": [o & 0xFFFF0000 | even(x) | even(y) << 8 for o, x, y in zip(OLD, a, b)]}, exec_mask=PARTIAL)
            numbers = [F32.encode(1) if is_nan(F32.value(x)) else x for x in a]  # the sign of a NaN is nobody's promise
            c.put(f"v_cvt_pk_{name}_f32 v20, -v0, |v4| op_sel:[0,0,1]", {"v0": numbers, "v4": b, **old},
                  {"v20": [o & 0xFFFF | (even(x ^ F32.sign) | even(y & ~F32.sign) << 8) << 16 for o, x, y in zip(OLD, numbers, b)]})
            seeds = [0, M32, 0x80000000, 0x12345678] * 4
            sr = [stochastic(form, F32.value(x), s) for x, s in zip(a, seeds)]
            c.put(f"v_cvt_sr_{name}_f32 v20, v0, v4 op_sel:[0,0,1,1]", {"v0": a, "v4": seeds, **old},
                  {"v20": [o & 0xFFFFFF | x << 24 for o, x in zip(OLD, sr)]}, exec_mask=PARTIAL)
        codes = (form.edges() * 2)[:LANES]
        packed = [x | codes[LANES - 1 - i] << 8 | 0x5A5A0000 for i, x in enumerate(codes)]
        c.put(f"v_cvt_f32_{name} v20, v0", {"v0": packed, "v20": OLD}, {"v20": [F32.encode(form.value(x)) for x in codes]}, exec_mask=PARTIAL)
        c.put(f"v_cvt_pk_f32_{name} v[20:21], v0", {"v0": packed, "v20": OLD, "v21": OLD},
              {"v20": [F32.encode(form.value(x)) for x in codes], "v21": [F32.encode(form.value(x)) for x in codes[::-1]]}, exec_mask=PARTIAL)
    if fnuz:
        return
    for name, form in (("f16", F16), ("bf16", BF16)):
        pool = candidates(F32, form)
        for at in range(0, len(pool), LANES):
            a = [pool[(at + i) % len(pool)] for i in range(LANES)]
            b = [pool[(at + 7 * i + 3) % len(pool)] for i in range(LANES)]
            even = lambda x: form.encode(F32.value(x))
            c.put(f"v_cvt_pk_{name}_f32 v20, v0, v4", {"v0": a, "v4": b, "v20": OLD}, {"v20": [even(x) | even(y) << 16 for x, y in zip(a, b)]},
                  {"fp_round": 15, "fp_denorm": 15, "ieee": 1}, PARTIAL)
            # Zero adds nothing: towards zero.
            zero = lambda x: form.encode(F32.value(x), "zero", saturate=isinstance(F32.value(x), Fraction))
            c.put(f"v_cvt_sr_{name}_f32 v20, v0, v4", {"v0": a, "v4": [0] * LANES, "v20": OLD},
                  {"v20": [o & 0xFFFF0000 | zero(x) for o, x in zip(OLD, a)]}, exec_mask=PARTIAL)


# --- Arithmetic without records of its own ---


def halves(c):
    edges = F16.edges()
    a, b, d = edges[:LANES], (edges[5:] + edges[:5])[:LANES], (edges[11:] + edges[:11])[:LANES]
    mode = {"fp_round": 0, "fp_denorm": 15, "ieee": 1}
    registers = {"v0": [x | 0x3C000000 for x in a], "v4": [x | 0x40000000 for x in b], "v8": [x | 0x44000000 for x in d], "v20": OLD}
    value = F16.value
    fma = lambda x, y, z: total([multiply(x, y), z])
    # The result is an f32 first (12.10), rounded once more to f16.
    mixed = [F16.encode(F32.value(F32.encode(fma(value(x), value(y), value(z))))) for x, y, z in zip(a, b, d)]
    for name, merge in (("lo", lambda o, x: o & 0xFFFF0000 | x), ("hi", lambda o, x: o & 0xFFFF | x << 16)):
        c.put(f"v_fma_mix{name}_f16 v20, v0, v4, v8 op_sel_hi:[1,1,1]", registers, {"v20": [merge(o, x) for o, x in zip(OLD, mixed)]}, mode, PARTIAL)
    # Not fused: the product is rounded.
    rounded = lambda x: F16.value(F16.encode(x))
    for name, k in (("v_madmk_f16", 0x4200), ("v_madak_f16", 0x4200)):
        three = value(k)
        out = [F16.encode(total([rounded(multiply(x, three)), y])) if name == "v_madmk_f16" else F16.encode(total([rounded(multiply(x, y)), three]))
               for x, y in zip(map(value, a), map(value, b))]
        text = f"{name} v20, v0, 0x4200, v4" if name == "v_madmk_f16" else f"{name} v20, v0, v4, 0x4200"
        c.put(text, registers, {"v20": out}, mode, PARTIAL)

    def mantissa(code):
        x = value(code)
        if not isinstance(x, Fraction):
            return code
        while abs(x) >= 1:
            x /= 2
        while abs(x) < Fraction(1, 2):
            x *= 2
        return F16.encode(x)

    c.put("v_frexp_mant_f16 v20, v0", registers, {"v20": [mantissa(x) for x in a]}, mode, PARTIAL)
    c.put("v_frexp_mant_f16 v20, v0", registers,
          {"v20": [x & F16.sign if F16.is_denormal(x) else mantissa(x) for x in a]}, {"fp_round": 0, "fp_denorm": 3, "ieee": 1}, PARTIAL)
    powers = [F16.encode(Fraction(n)) if n else 0 for n in (0, 1, -1, 2, 10, 15, -14, -15, -24, -2, 3, 4)] + [F16.infinity, F16.infinity | F16.sign, F16.nan, F16.largest]
    c.put("v_exp_f16 v20, v0", {"v0": powers, "v20": OLD},
          {"v20": [x if is_nan(value(x)) else F16.encode(INF if value(x) in (INF, F16.value(F16.largest)) else 0.0 if value(x) == -INF else Fraction(2) ** int(value(x)))
                   for x in powers]}, mode, PARTIAL)
    # Normalised integers: to even, beyond 1 they saturate.
    norm = lambda x, low, high: 0 if is_nan(x) else min(high, max(low, high * (1 if x > 0 else -1))) if is_inf(x) else int(
        max(low, min(high, math.copysign(1, x) * round(abs(Fraction(x)) * high))))
    near = [F16.encode(Fraction(x)) for x in (1, -1)] + [0x3BFF, 0xBBFF, 0x3C01, 0xBC01, 0x3800, 0xB800, 0x0001, 0x8001, 0x1000, 0x9000] + [F16.infinity, F16.nan, 0, F16.sign]
    for letter, low, high in (("i", -32767, 32767), ("u", 0, 65535)):
        out = [norm(value(x), low, high) & 0xFFFF for x in near]
        c.put(f"v_cvt_norm_{letter}16_f16 v20, v0", {"v0": near, "v20": OLD}, {"v20": out}, mode, PARTIAL)
        c.put(f"v_cvt_pknorm_{letter}16_f16 v20, v0, v4", {"v0": near, "v4": near[::-1], "v20": OLD},
              {"v20": [x | y << 16 for x, y in zip(out, out[::-1])]}, mode, PARTIAL)
    for quotient in ("v_div_fixup_f16", "v_div_fixup_legacy_f16"):
        fix = []
        for q, den, num in zip(a, b, d):
            qv, dv, nv = value(q), value(den), value(num)
            sign = (den ^ num) & F16.sign
            if is_nan(nv) or is_nan(dv) or (dv == 0 and nv == 0) or (is_inf(dv) and is_inf(nv)):
                fix.append(F16.nan)
            elif dv == 0 or is_inf(nv):
                fix.append(F16.infinity | sign)
            elif is_inf(dv) or nv == 0:
                fix.append(sign)
            else:
                fix.append(F16.infinity | sign if is_nan(qv) else q & ~F16.sign | sign)
        c.put(f"{quotient} v20, v0, v4, v8", registers, {"v20": fix}, mode, PARTIAL, "unverified")


def turns(c):
    T = [Fraction(n, 8) for n in (0, 1, 2, 3, 4, 5, 6, 7, -1, -2, -5, 17)] + [Fraction(1000), Fraction(4097, 4), INF, NAN]
    exact = lambda f, x: NAN if not isinstance(x, Fraction) else float(round(f(2 * math.pi * (x % 1)))) if x % Fraction(1, 4) == 0 else f(2 * math.pi * (x % 1))
    for name, f in (("sin", math.sin), ("cos", math.cos)):
        for form, suffix in ((F32, "f32"), (F16, "f16")):
            codes = [form.encode(x) if x else 0 for x in T]
            out = [form.encode(r if is_nan(r) else Fraction(r) if r else 0.0) for r in (exact(f, form.value(x) if x else Fraction(0)) for x in codes)]
            c.put(f"v_{name}_{suffix} v20, v0", {"v0": codes, "v20": OLD}, {"v20": out}, exec_mask=PARTIAL)


def integers(c):
    U = [0, 1, 2, 31, 32, 33, M32, 0x80000000, 0x7FFFFFFF, 0x12345678, 0xDEADBEEF, 5, 63, 64, 0x10001, 0xFF]
    V = [0x80000001, 3, M32, 0x7FFFFFFF, 1, 2, M32, 1, 0x80000000, 0x9ABCDEF0, 17, 5, 0xF0F0F0F0, 7, 0x8000, 0]
    signed = lambda x, n: x - (1 << n) if x >> (n - 1) else x
    wide = [a | b << 32 for a, b in zip(U, V)]
    shifted = [(signed(x, 64) >> (s & 63)) & ((1 << 64) - 1) for x, s in zip(wide, U)]
    c.put("v_ashrrev_i64 v[20:21], v4, v[0:1]", {"v0": U, "v1": V, "v4": U, "v20": OLD, "v21": OLD},
          {"v20": [x & M32 for x in shifted], "v21": [x >> 32 for x in shifted]}, exec_mask=PARTIAL)
    three = {"v0": U, "v4": V, "v8": U[::-1], "v20": OLD}
    for name, f in (("v_add3_u32", lambda a, b, d: a + b + d), ("v_add_lshl_u32", lambda a, b, d: (a + b & M32) << (d & 31)),
                    ("v_lshl_add_u32", lambda a, b, d: (a << (b & 31) & M32) + d)):
        c.put(f"{name} v20, v0, v4, v8", three, {"v20": [f(a, b, d) & M32 for a, b, d in zip(U, V, U[::-1])]}, exec_mask=PARTIAL)

    def perm(a, b, select):
        data = (a << 32 | b).to_bytes(8, "little")
        out = 0
        for i in range(4):
            s = select >> 8 * i & 0xFF
            byte = 0xFF if s >= 13 else 0 if s == 12 else 0xFF * (data[2 * (s - 8) + 1] >> 7) if s >= 8 else data[s]
            out |= byte << 8 * i
        return out

    selects = [0x03020100, 0x07060504, 0x0B0A0908, 0x0F0E0D0C, 0xFF0C0D00, 0x00010203] * 3
    c.put("v_perm_b32 v20, v0, v4, v8", {**three, "v8": selects[:LANES]}, {"v20": [perm(a, b, s) for a, b, s in zip(U, V, selects)]}, exec_mask=PARTIAL)
    bits = lambda table, a, b, d, n: sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (d >> i & 1)) & 1) << i for i in range(n))
    for table in (0x00, 0xFF, 0x96, 0xE8, 0xCA, 0x1B):
        c.put(f"v_bitop3_b32 v20, v0, v4, v8 bitop3:{table:#x}", three, {"v20": [bits(table, a, b, d, 32) for a, b, d in zip(U, V, U[::-1])]}, exec_mask=PARTIAL)
        c.put(f"v_bitop3_b16 v20, v0, v4, v8 bitop3:{table:#x}", three,
              {"v20": [bits(table, a, b, d, 16) for a, b, d in zip(U, V, U[::-1])]}, exec_mask=PARTIAL, high_half="unverified")
    c.put("v_mbcnt_lo_u32_b32 v20, v0, v4", three, {"v20": [(a & ((1 << i) - 1)).bit_count() + b & M32 for i, (a, b) in enumerate(zip(U, V))]}, exec_mask=PARTIAL)
    c.put("v_accvgpr_write_b32 a20, v0", {"v0": U, "a20": OLD}, {"a20": U}, exec_mask=PARTIAL)
    c.put("v_accvgpr_read_b32 v20, a0", {"a0": U, "v20": OLD}, {"v20": U}, exec_mask=PARTIAL)
    c.put("v_accvgpr_mov_b32 a20, a0", {"a0": U, "a20": OLD}, {"a20": U}, exec_mask=PARTIAL)


def records(target):
    result = list(matrices(target)) if target != "gfx908" else []
    c = Conversions(target)
    plain_conversions(c)
    if target == "gfx950":
        scaled_to_small(c)
        scaled_from_small(c)
        halves(c)
        turns(c)
        integers(c)
    return result + c.list


def main():
    out = pathlib.Path(sys.argv[1])
    for target in ("gfx942", "gfx950"):
        write_vectors(target, records(target), out / f"{target}_edges.jsonl.zst")


if __name__ == "__main__":
    main()
