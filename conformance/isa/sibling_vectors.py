#!/usr/bin/env python3
"""Reference cases of what siblings of gfx1010 and gfx1100 have besides: dot products of gfx1011 and gfx1012, scalar
floats of gfx1150 and later.

    sibling_vectors.py OUTDIR

A scalar float instruction computes what the vector instruction of its name does, so gfx1100's records of that one
become its cases, a lane each (a scalar f16 result has no upper half); comparisons are IEEE 754's, computed here. Dot
products of integers are gfx950's records; of f16, and those of DPP forms, small integers, so that every sum is exact.
Writes OUTDIR/{gfx1010,gfx1100}_siblings.jsonl.zst. Run by hand; the result is checked in.
"""
import json
import pathlib
import random
import re
import struct
import sys

from carry_vectors import read, write_vectors

FOLDER = pathlib.Path(__file__).parent / "semantics"
BOTH = "add sub mul fmac min max ceil floor trunc rndne".split()
F32 = "fmaak_f32 fmamk_f32 cvt_f32_i32 cvt_f32_u32 cvt_i32_f32 cvt_u32_f32 cvt_f16_f32 cvt_f32_f16 cvt_pk_rtz_f16_f32".split()
RELATIONS = {"lt": "<", "eq": "=", "le": "<=", "gt": ">", "lg": "<>", "ge": ">=", "o": "<=>", "u": "?", "nge": "<?", "nlg": "=?",
             "ngt": "<=?", "nle": ">?", "neq": "<>?", "nlt": ">=?"}  # which outcomes are true; ?: unordered
EDGES = {"f32": [0, 1 << 31, 1, 0x80000001, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x7f7fffff],
         "f16": [0, 0x8000, 1, 0x8001, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xffff3c00, 0x7e003c00]}


def number(bits, kind):
    return struct.unpack("<f", struct.pack("<I", bits))[0] if kind == "f32" else struct.unpack("<e", struct.pack("<H", bits & 0xffff))[0]


def hex_of(value):
    return f"{value & 0xffffffff:08x}"


def half(value):
    return struct.unpack("<H", struct.pack("<e", value))[0]


def operands(record):
    return [text.strip() for text in record["asm"].split(" ", 1)[1].split(",")]


def scalar_record(name, record, shift):
    """The cases of a scalar instruction out of a vector record, or None where it cannot have those operands."""
    rest, sources = operands(record)[1:], {}
    for at, text in enumerate(rest):
        text = text.removesuffix(".l")
        if re.fullmatch(r"v\d+|s\d+", text):
            rest[at] = f"s{text[1:]}"
            sources[rest[at]] = text
        elif not re.fullmatch(r"-?\d+(\.\d+)?|0x[0-9a-f]+", text) or shift:
            return None
    if "fmac" in name:
        sources["s20"] = "v20"
    if not sources or len(sources) < sum(text.startswith("s") for text in rest):
        return None
    lanes = [i for i in range(32) if int(record["exec"], 16) >> i & 1 and i not in record.get("skip", [])]
    value = lambda text, lane: record["in"][text][lane] if text.startswith("v") else record["in"][text]
    into = {s: [hex_of(int(value(v, i), 16) << shift) for i in lanes] for s, v in sources.items()}
    into["scc"] = [str(i % 2) for i in lanes]
    into["exec"] = ["ffffffff", "0", "5"] * 11
    into["exec"] = into["exec"][:len(lanes)]
    keeps = 0xffff if name.endswith("f16") and "_pk_" not in name and "f32_f16" not in name or name == "s_cvt_f16_f32" else 0xffffffff
    out = [{"s20": hex_of(int(record["out"]["v20"][i], 16) & keeps), "scc": str(i % 2)} for i in lanes]
    return {"wave": 32, "m": name, "asm": f"{name} s20, {', '.join(rest)}", "mode": record["mode"], "cases": len(lanes), "in": into, "out": out}


def scalar_arithmetic():
    records = [r for form in ("VOP1", "VOP2") for r in read(FOLDER / f"gfx1100_{form}.jsonl.zst")
               if r.get("chk") in ("agree", "corrected") and not re.search(r"dpp|_e64|\.h", r["asm"])]
    for base in [f"{op}_{kind}" for op in BOTH for kind in ("f32", "f16")] + F32 + ["cvt_hi_f32_f16"]:
        made = [scalar_record(f"s_{base}", r, 16 if "hi" in base else 0) for r in records if r["m"] == "v_" + base.replace("_hi", "")]
        made = [m for m in made if m]
        if not made:
            sys.exit(f"no record of {base}")
        yield from made


def comparison(name, kind, outcomes, rng):
    pairs = [(a, b) for a in EDGES[kind] for b in EDGES[kind]] + [(rng.getrandbits(32), rng.getrandbits(32)) for _ in range(8)]
    into = {"s0": [hex_of(a) for a, _ in pairs], "s4": [hex_of(b) for _, b in pairs], "exec": ["0"] * len(pairs),
            "scc": [str(rng.getrandbits(1)) for _ in pairs]}
    out = []
    for a, b in pairs:
        x, y = number(a, kind), number(b, kind)
        out.append({"scc": str(int(("<" if x < y else ">" if x > y else "=" if x == y else "?") in outcomes))})
    return {"wave": 32, "m": name, "asm": f"{name} s0, s4", "cases": len(pairs), "in": into, "out": out}


def bytes_of(value):
    return [(value >> 8 * i & 0xff) ^ 0x80 for i in range(4)]


def exact_dot(name, text, source_lane, rng):
    """v20 = c + dot(v0, v4) for 32 lanes, v0 of another lane; c is v8, or what v20 holds."""
    of_f16 = name.endswith("f16")
    word = (lambda: half(rng.randint(-9, 9)) | half(rng.randint(-9, 9)) << 16) if of_f16 else lambda: rng.getrandbits(32)
    first, second, third = ([word() for _ in range(32)] for _ in range(3))
    if of_f16:
        third = [struct.unpack("<I", struct.pack("<f", rng.randint(-99, 99)))[0] for _ in range(32)]
    out = []
    for lane in range(32):
        a, b, c = first[source_lane(lane)], second[lane], third[lane]
        if of_f16:
            total = sum(number(a >> s, "f16") * number(b >> s, "f16") for s in (0, 16)) + number(c, "f32")
            out.append(hex_of(struct.unpack("<I", struct.pack("<f", total + 0.0))[0]))
        else:
            out.append(hex_of(sum((x - 128) * (y - 128) for x, y in zip(bytes_of(a), bytes_of(b))) + c))
    into = {"v0": [hex_of(v) for v in first], "v4": [hex_of(v) for v in second], ("v20" if "c_" in name else "v8"): [hex_of(v) for v in third]}
    return {"wave": 32, "m": name, "asm": f"{name}{text}", "exec": "ffffffff", "in": into, "out": {"v20": out}}


def dots(rng):
    names = re.compile(r"v_dot(2_i32_i16|2_u32_u16|4_i32_i8|4_u32_u8|8_i32_i4|8_u32_u4|4c_i32_i8)$")
    for form in ("VOP3P", "VOP2"):
        for r in read(FOLDER / f"gfx950_{form}.jsonl.zst"):
            if names.match(r["m"]) and r.get("chk") in ("agree", "corrected") and not re.search("dpp|sdwa", r["asm"]):
                yield {"wave": 64, **{k: r[k] for k in ("m", "asm", "exec", "in", "out", "mode", "skip") if k in r}}
    yield exact_dot("v_dot2_f32_f16", " v20, v0, v4, v8", lambda lane: lane, rng)
    for name in ("v_dot2c_f32_f16", "v_dot4c_i32_i8"):
        yield exact_dot(name, " v20, v0, v4", lambda lane: lane, rng)
        yield exact_dot(name, "_dpp v20, v0, v4 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf", lambda lane: lane ^ 3, rng)
        yield exact_dot(name, "_dpp v20, v0, v4 dpp8:[7,6,5,4,3,2,1,0]", lambda lane: lane ^ 7, rng)


def main():
    out, rng = pathlib.Path(sys.argv[1]), random.Random(1150)
    compared = [comparison(f"s_cmp_{name}_{kind}", kind, outcomes, rng) for name, outcomes in RELATIONS.items() for kind in ("f32", "f16")]
    write_vectors("gfx1150", list(scalar_arithmetic()) + compared, out / "gfx1100_siblings.jsonl.zst")
    write_vectors("gfx1011", list(dots(rng)), out / "gfx1010_siblings.jsonl.zst")


if __name__ == "__main__":
    main()
