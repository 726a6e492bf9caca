#!/usr/bin/env python3
"""Judges every #include against the direction of the house (docs/architecture.md).

A folder may include itself and the folders listed for it; foreign headers that belong to one place
(OpenCL, LLVM) may be included only there. Prints every violation and exits 1 when there is one.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# folder: folders whose headers it may include
ALLOWED = {
    "base": set(),
    "codeobj": {"base"},
    "device": {"base", "codeobj"},
    "runtime": {"base", "codeobj", "device"},
    "icd": {"base", "codeobj", "device", "runtime"},
    "kmt": {"base", "codeobj", "device", "runtime"},
    "tools": {"base", "codeobj", "device", "runtime"},
    "samples": {"samples"},
    "bench": {"bench"},
    "conformance": {"base", "codeobj", "device", "runtime"},
}
# pattern of a foreign header: path prefixes that may include it
FOREIGN = {
    r"^CL/": ("icd/", "samples/", "bench/", "conformance/", "tools/morgana/"),
    r"^(llvm|clang|lld)/": ("device/jit/", "runtime/compiler/", "codeobj/link."),
    r"^hsa": ("kmt/",),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def files():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            check=True, capture_output=True, text=True).stdout.split("\n")
    return [f for f in listed if f.endswith((".h", ".cpp", ".def"))]


def violations(path):
    folder = path.split("/")[0]
    for number, line in enumerate((ROOT / path).read_text(errors="replace").split("\n"), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, header = match.group(1) == '"', match.group(2)
        target = header.split("/")[0]
        if quoted and target in ALLOWED and target != folder and target not in ALLOWED.get(folder, set()):
            yield f"{path}:{number}: {folder} may not include {header}"
        if quoted and "/" not in header:
            yield f"{path}:{number}: name the folder: {header}"
        for pattern, places in FOREIGN.items():
            if re.search(pattern, header) and not path.startswith(places):
                yield f"{path}:{number}: {header} belongs to {', '.join(places)}"


def main():
    found = [v for path in files() if (ROOT / path).exists() for v in violations(path)]
    print("\n".join(found) if found else "includes: every direction is right")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
