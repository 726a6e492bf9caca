#!/usr/bin/env python3
"""Carries reference cases over to RDNA targets: those of gfx1100, and SDWA ones of gfx950, to gfx1010 and gfx1030;
to all four those of gfx950 (in waves of 64) for instructions that have no record yet.

    carry_rdna.py OUTDIR FILE.jsonl...      the files: gfx950's scalar instructions

Of every mnemonic and form two records are re-assembled by llvm-mc under the name that the target has for the
instruction (device/isa/rows); registers before and after stay. gfx10 writes halves of registers only by OP_SEL, so
records of other upper halves are left out, and SDWA records whose 16-bit result fills a dword. v_cmpx writes EXEC
alone. Writes OUTDIR/<target>_carried.jsonl.zst. Run by hand; the result is checked in.
"""
import collections
import json
import pathlib
import re
import sys

from carry_vectors import assemble, compress, read

HERE = pathlib.Path(__file__).parent
COLUMN = {"gfx950": 8, "gfx1010": 9, "gfx1030": 10, "gfx1100": 11, "gfx1200": 12}
TARGETS = "gfx1010 gfx1030 gfx1100 gfx1200".split()
KEPT = ("exec", "in", "out", "cases", "mode", "skip", "undef", "approx")
# State that a record does not hold, results of 16 bits (gfx950 clears the other half), IEEE rules.
NOT_FROM_GFX950 = re.compile(r"s_(getreg|setreg|memtime|getpc|setpc|swappc|call|cbranch|set_gpr|movrel|rfe|trap)|"
                             r"v_(readlane|writelane|readfirstlane|mbcnt|permlane|mfma|smfmac|mov_b64|movrel)|"
                             r"v_(min|max|med3|minimum|maximum)\w*_f|_[fiub]16(_e32|_e64)?$|v_cvt_(f16|[iu]16|norm)|ds_")
COLUMNS = 13
RECORDS_OF_A_FORM = 2
ROW = re.compile(r'INST(?:_ALSO)?\((\w+), "([^"]+)", (\w+), OPC\(([^)]*)\)')


def names(source):
    """{target: {mnemonic of `source`: mnemonics of the target}}, by the op of their rows."""
    of_op = collections.defaultdict(lambda: collections.defaultdict(set))
    for path in (HERE / "../../device/isa/rows").glob("*.def"):
        for op, mnemonic, _, codes in ROW.findall(path.read_text()):
            opcodes = codes.split(",")
            for target, column in COLUMN.items():
                if len(opcodes) == COLUMNS and int(opcodes[column]) >= 0:
                    of_op[op][target].add(mnemonic)
    result = {target: collections.defaultdict(set) for target in TARGETS}
    for of_target in of_op.values():
        for own in of_target[source]:
            for target, table in result.items():
                table[own] |= of_target[target]
    return result


def base_of(word):
    return re.sub(r"_(e32|e64|dpp|sdwa|e64_dpp)$", "", word)


def text_of(record, to):
    """The record's assembly under another mnemonic, without names of halves; None where those matter."""
    text = record["asm"]
    if ".h" in text and "op_sel" not in text:
        return None
    text = re.sub(r"\b(v\d+)\.[lh]\b", r"\1", text)
    word, rest = (text + " ").split(" ", 1)
    base = base_of(word)
    return to + word[len(base):] + " " + rest.strip()


def from_gfx1100(target, table, records, sdwa):
    """(record, text, wave, code) of what gfx10 has in common with gfx1100, and with gfx950's SDWA."""
    texts = [(r, text) for r in records for name in sorted(table[base_of(r["m"])]) if (text := text_of(r, name))]
    for (record, text), code in zip(texts, assemble(target, [t for _, t in texts])):
        yield record, text, 32, code
    for record, code in zip(sdwa, assemble(target, [r["asm"] for r in sdwa], "+wavefrontsize64")):
        yield record, record["asm"], 64, code


def from_gfx950(target, table, records, covered):
    texts = []
    for r in records:
        for name in sorted(table[base_of(r["m"])] - covered):
            text, changed = text_of(r, name), r
            if r["m"].startswith("v_cmpx"):
                text = re.sub(r" (vcc|s\[\d+:\d+\]), ", " ", text, count=1)
                changed = {**r, "out": {n: v for n, v in r["out"].items() if n.startswith(("exec", "v")) and n[:3] != "vcc"}}
            texts.append((changed, text))
    for (record, text), code in zip(texts, assemble(target, [t for _, t in texts], "+wavefrontsize64")):
        yield record, text, 64, code


def main():
    out = pathlib.Path(sys.argv[1])
    folder = HERE / "semantics"
    own = {t: [r for path in sorted(folder.glob(f"{t}_*.zst")) if not re.search("hw_facts|carried", path.name) for r in read(path)]
           for t in TARGETS}
    records = [r for r in own["gfx1100"] if not r["m"].startswith(("ds_", "v_dual", "v_wmma", "s_getreg", "s_setreg"))]
    older = [r for path in sorted(folder.glob("gfx950_VOP*.zst")) for r in read(path) if r.get("chk") != "oracle"]
    older += [r for name in sys.argv[2:] for r in read(pathlib.Path(name)) if r.get("chk") != "oracle"]
    sdwa = [r for r in older if "sdwa" in r["asm"] and not ("dst_sel:DWORD" in r["asm"] and re.search(r"[fiub]16", r["m"]))
            and r.get("hi16") != "unverified" and not r["m"].startswith("v_cmpx")]
    older = [r for r in older if not re.search("sdwa|dpp", r["asm"]) and not NOT_FROM_GFX950.search(r["m"])]
    for target in TARGETS:
        chosen, count = [], collections.Counter()
        found = list(from_gfx1100(target, names("gfx1100")[target], records, sdwa)) if target < "gfx11" else []
        covered = {base_of(r["m"]) for r in own[target]} | {base_of(t.split(" ")[0]) for _, t, _, code in found if code}
        found += from_gfx950(target, names("gfx950")[target], older, covered)
        for record, text, wave, code in found:
            if code is None:
                continue
            key = (text.split(" ")[0], len(code), "sdwa" in text, "dpp" in text, "op_sel" in text)
            if count[key] >= RECORDS_OF_A_FORM - (base_of(text.split(" ")[0]) not in covered):
                continue
            count[key] += 1
            chosen.append({"wave": wave, "m": base_of(text.split(" ")[0]), "asm": text, "hex": code,
                           **{k: v for k, v in record.items() if k in KEPT}})
        path = out / f"{target}_carried.jsonl.zst"
        compress("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in chosen), path)
        print(target, len(chosen), "records,", len({r["m"] for r in chosen}), "mnemonics,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
