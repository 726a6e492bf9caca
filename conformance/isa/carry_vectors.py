#!/usr/bin/env python3
"""Carries reference cases of gfx950 over to the other targets.

    carry_vectors.py OUTDIR FILE.jsonl[.zst]...

For every instruction that another target encodes differently, one record (two for plain VOP3) is re-assembled by
llvm-mc; registers before and after stay what the documents said for gfx950. What means something else on the target is
left out (DIFFERENT below). Scalar and short vector records keep 16 lanes, to be small. MFMA records keep all and get
gfx908's and gfx90a's mnemonics. Writes OUTDIR/<target>_carried.jsonl.zst. Run by hand; the result is checked in.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

TARGETS = "gfx600 gfx701 gfx803 gfx900 gfx906 gfx908 gfx90a gfx942".split()
LANES = 16
# (targets, pattern of the mnemonic): another meaning there, or state that a record does not hold.
DIFFERENT = [
    ("gfx942", r"_(fp8|bf8)"),  # FNUZ formats
    ("", r"s_(getreg|setreg|memtime|memrealtime|getpc|setpc|swappc|call|cbranch|set_gpr)"),
    ("gfx803", r"v_(mac|madak|madmk|mad|fma|div_fixup)_f16|v_mad_[iu]16"),  # the upper half: kept on gfx9, zero on gfx8
]
# The dense shapes of gfx908 under gfx950's names: blocks are named there.
MFMA = re.compile(r"v_mfma_([fi]\d+)_(\d+x\d+x\d+)_(?:\d+b_)?(f32|f16|i8|bf16|f64)$")


def read(path):
    if path.suffix == ".zst":
        text = subprocess.run(["zstd", "-dcq", str(path)], check=True, capture_output=True, text=True).stdout
    else:
        text = path.read_text()
    return [json.loads(line) for line in text.splitlines() if line]


def assemble(target, texts, features=""):
    """One hex string or None for each text."""
    source = "".join(f"L{i}:\n{text}\n" for i, text in enumerate(texts))
    run = subprocess.run(["/usr/lib/llvm-22/bin/llvm-mc", "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}",
                          f"-mattr={features}", "-show-encoding"],
                         input=source, capture_output=True, text=True)
    result = [None] * len(texts)
    at = -1
    for line in run.stdout.splitlines():
        if match := re.match(r"L(\d+):", line):
            at = int(match[1])
        elif match := re.search(r"encoding: \[([^\]]*)\]", line):
            if "A" not in match[1].replace("0x", "").upper().replace("0XA", "") or all(
                    re.fullmatch(r"0x[0-9a-f]{2}", b) for b in match[1].split(",")):
                result[at] = "".join(b[2:] for b in match[1].split(","))
    return result


def compress(text, path):
    """The frame names its size, which a stream's would not."""
    plain = path.with_suffix("")
    plain.write_text(text)
    subprocess.run(["zstd", "-19", "-qf", "--rm", str(plain), "-o", str(path)], check=True)


def write_vectors(target, records, path):
    """Records with the encodings of their assembly text, one a line."""
    lines = []
    for record, code in zip(records, assemble(target, [r["asm"] for r in records])):
        if code is None:
            sys.exit(f"{target} has no {record['asm']}")
        lines.append(json.dumps({**record, "hex": code}, separators=(",", ":")))
    compress("\n".join(lines) + "\n", path)
    print(target, len(lines), path.stat().st_size)


def mfma_text(record, target):
    match = MFMA.match(record["m"])
    if not match or target not in ("gfx908", "gfx90a"):
        return None
    suffix = match[3]
    operands = record["asm"][len(record["m"]):]
    names = [f"v_mfma_{match[1]}_{match[2]}{suffix}"]
    if suffix == "bf16":
        names.append(f"v_mfma_{match[1]}_{match[2]}bf16_1k")
    return [name + operands for name in names]


def to_agprs(record, text):
    """gfx908 accumulates in AccVGPRs only: destination and third source move there."""
    ranges = re.findall(r"v\[(\d+):(\d+)\]|v(\d+)", text.split(" ", 1)[1])
    spans = [(int(a or c), int(b or c)) for a, b, c in ranges]
    moved = set()
    parts = text.split(" ", 1)[1].split(", ")
    for index in (0, 3):
        if index < len(parts) and parts[index].startswith("v"):
            parts[index] = "a" + parts[index][1:]
            moved.update(range(spans[index if len(spans) > 3 or index == 0 else -1][0],
                               spans[index if len(spans) > 3 or index == 0 else -1][1] + 1))
    rename = lambda regs: {("a" + n[1:] if n[0] == "v" and n[1:].isdigit() and int(n[1:]) in moved else n): v
                           for n, v in regs.items()}
    return text.split(" ", 1)[0] + " " + ", ".join(parts), {**record, "in": rename(record["in"]), "out": rename(record["out"])}


def shortened(record):
    if "cases" in record:
        return record
    cut = dict(record)
    cut["exec"] = f"{int(record['exec'], 16) & ((1 << LANES) - 1):016x}"
    for side in ("in", "out"):
        cut[side] = {n: (v[:LANES] if isinstance(v, list) else v) for n, v in record[side].items()}
    # What v_cmpx leaves of EXEC.
    if "exec_lo" in cut["out"]:
        cut["out"]["exec_lo"] = f"{int(cut['out']['exec_lo'], 16) & int(cut['exec'], 16):08x}"
    if "exec_hi" in cut["out"]:
        cut["out"]["exec_hi"] = "00000000"
    return cut


def uses_lanes_across(record):
    return "dpp" in record["asm"] or re.match(r"v_(readlane|writelane|readfirstlane|mbcnt|permlane|mfma|smfmac)|ds_", record["m"])


def main():
    out = pathlib.Path(sys.argv[1])
    records = [r for name in sys.argv[2:] for r in read(pathlib.Path(name)) if "hex" in r]
    # What one source alone vouches for serves only where nothing better is there, and where no modifier casts doubt.
    vouched = {r["m"] for r in records if r.get("chk") != "oracle"}
    doubtful = re.compile(r"clamp|mul:|div:|op_sel|v_(sin|cos|exp|log|div_|dot|mad|frexp|trig)")
    records = [r for r in records if r.get("chk") != "oracle" or (r["m"] not in vouched and not doubtful.search(r["asm"]))]
    for target in TARGETS:
        patterns = [p for t, p in DIFFERENT if not t or t == target]
        chosen, count = [], collections.Counter()
        candidates = []
        for record in records:
            if any(re.search(p, record["m"]) for p in patterns) or record["m"].startswith("ds_"):
                continue
            texts = mfma_text(record, target)
            if texts is None:
                texts = [record["asm"]] if not record["m"].startswith(("v_mfma", "v_smfmac")) else []
            for text in texts:
                changed = record
                if record["m"].startswith("v_mfma") and target == "gfx908":
                    text, changed = to_agprs(record, text)
                candidates.append((changed, text))
        for (record, text), code in zip(candidates, assemble(target, [t for _, t in candidates])):
            # The same bits may mean other registers to an older MFMA.
            if code is None or (code == record["hex"].lower() and not text.startswith("v_mfma")):
                continue
            form = "sdwa" if "sdwa" in text else "dpp" if "_dpp" in text else "e64" if "_e64" in text else ""
            key = (text.split(" ")[0], form, len(code))
            if count[key] >= 1:
                continue
            count[key] += 1
            kept = record if uses_lanes_across(record) else shortened(record)
            kept = {k: v for k, v in kept.items() if k in ("exec", "in", "out", "cases", "mode", "skip", "hi16")}
            chosen.append({"m": text.split(" ")[0], "asm": text, "hex": code, **kept})
        text = "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in chosen)
        path = out / f"{target}_carried.jsonl.zst"
        compress(text, path)
        print(target, len(chosen), "records,", len({r["m"] for r in chosen}), "mnemonics,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
