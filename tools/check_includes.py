#!/usr/bin/env python3
"""Judges every #include against the direction of the house (docs/architecture.md).

A top folder may include itself and the folders listed for it; of `device`, others see the public headers only.
Inside `device` and `runtime` the folders have directions of their own. Foreign headers that belong to one
place (OpenCL, LLVM) may be included only there. Prints every violation and exits 1 when there is one.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# top folder: top folders whose headers it may include
ALLOWED = {
    "base": set(),
    "cmake": {"base"},  # headers that are compiled in advance
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

# top folder: what others may include of it. Where a folder is not listed they may include all of it.
PUBLIC = {
    "device": re.compile(r"^device/([^/]+|isa/(codes|decode|example|inst|tsv)|lift/(facts|lift|stores|text|verify|written))\.h$"),
}
# What those who measure the device may include beside that.
TOOLS = ("tools", "conformance")
TOOLS_PUBLIC = re.compile(r"^device/testing/")

# Inside a top folder. Room: the rooms whose headers it may include beside its own; "." are the files that lie
# directly in the top folder. Every room has a row. Tests may include every room of their top folder.
ROOMS = {
    "device": {
        ".": {"isa"},
        "isa": set(),
        "state": {".", "isa"},
        "semantics": {"state"},
        "interp": {".", "isa", "state", "semantics"},
        "program": {".", "isa", "state", "interp", "lift"},
        "lift": {".", "isa", "state"},
        "opt": {".", "isa", "state", "lift"},
        "jit": {".", "isa", "lift", "state", "semantics", "interp", "program"},
        "observe": {".", "isa", "state", "interp"},
        "dispatch": {".", "isa", "state", "interp", "observe", "program", "jit"},
        "testing": {".", "isa", "state", "semantics", "interp", "program", "lift", "opt", "observe", "jit", "dispatch"},
    },
    "runtime": {
        ".": set(),
        "hsa": {"."},
        "compiler": {"."},
    },
}
# Headers that only their own room includes.
PRIVATE = re.compile(r"/(internal|tsv_source)\.h$")
TEST = re.compile(r"_(test|bench|fuzz)\.(cpp|h)$")

# pattern of a foreign header: path prefixes that may include it
FOREIGN = {
    r"^CL/": ("icd/", "samples/", "bench/", "conformance/", "tools/morgana/"),
    r"^(llvm|clang|lld)/": ("device/jit/", "runtime/compiler/", "codeobj/link.", "cmake/headers/llvm.h"),
    r"^spirv": ("runtime/compiler/spirv/", "icd/il_support.h"),
    r"^hsa": ("kmt/",),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def files():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            check=True, capture_output=True, text=True).stdout.split("\n")
    return [f for f in listed if f.endswith((".h", ".cpp", ".def"))]


def place(path):
    """Top folder and room of a file: ("device", "isa"), ("device", ".")."""
    parts = path.split("/")
    return parts[0], parts[1] if len(parts) > 2 else "."


def problem_between(path, header):
    """Why the file at `path` may not include the project's `header`, or None."""
    folder, room = place(path)
    target, target_room = place(header)
    if target not in ALLOWED:
        return f"name the folder: {header}" if "/" not in header else None
    if target != folder:
        if target not in ALLOWED.get(folder, set()):
            return f"{folder} may not include {header}"
        if target in PUBLIC and not PUBLIC[target].match(header):
            if not (folder in TOOLS and TOOLS_PUBLIC.match(header)):
                return f"{header} is no public header of {target}"
        return None
    if folder not in ROOMS or room == target_room:
        return None
    if room not in ROOMS[folder]:
        return f"{folder}/{room} has no row in ROOMS of tools/check_includes.py"
    if PRIVATE.search(header):
        return f"{header} is of {target}/{target_room} alone"
    if target_room not in ROOMS[folder][room] and not TEST.search(path):
        return f"{folder}/{room} may not include {header}"
    if folder in PUBLIC and PUBLIC[folder].match(path) and not PUBLIC[folder].match(header):
        return f"a public header may not include {header}"
    return None


def violations(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, header = match.group(1) == '"', match.group(2)
        problem = problem_between(path, header) if quoted else None
        if problem:
            yield f"{path}:{number}: {problem}"
        for pattern, places in FOREIGN.items():
            if re.search(pattern, header) and not path.startswith(places):
                yield f"{path}:{number}: {header} belongs to {', '.join(places)}"


def main():
    found = [v for path in files() if (ROOT / path).exists()
             for v in violations(path, (ROOT / path).read_text(errors="replace"))]
    print("\n".join(found) if found else "includes: every direction is right")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
