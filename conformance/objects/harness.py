"""Runs kernels of code objects through `morgana dispatch` and collects what came out.

A Bench belongs to one object: it writes buffers to files, runs a list of launches in one process, and reads every buffer
back. All buffers are followed by guard bytes that nobody may change, and buffers that a case does not name as outputs must
come back as they went in."""
import math
import os
import pathlib
import re
import subprocess

import numpy as np

GUARD = np.full(256, 0xA5, np.uint8)
TYPES = {"int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32", "int64": "i64",
         "uint64": "u64", "float16": "f16", "float32": "f32", "float64": "f64"}


class Wrong(Exception):
    """A result that differs from the reference, or a run that failed."""


class At:
    """A place in a buffer, as an argument."""

    def __init__(self, name, byte_offset):
        self.text = f"buf:{name}+{byte_offset}"


class Local:
    """Local memory, as an argument."""

    def __init__(self, size):
        self.text = f"local:{size}"


class Launch:
    """One launch; `args` are buffer names, At, Local, None (null) and numpy scalars or vectors."""

    def __init__(self, kernel, grid, group, args, lds=0):
        self.kernel, self.grid, self.group, self.args, self.lds = kernel, listed(grid), listed(group), args, lds

    def words(self):
        words = ["--kernel", self.kernel, "--grid", commas(self.grid), "--group", commas(self.group), "--lds", str(self.lds)]
        for arg in self.args:
            words += ["--arg", argument(arg)]
        return words

    def items(self):
        return math.prod(self.grid)


def listed(sizes):
    return list(sizes) if isinstance(sizes, (tuple, list)) else [sizes]


def commas(values):
    return ",".join(str(v) for v in values)


def argument(arg):
    if arg is None:
        return "null"
    if isinstance(arg, (At, Local)):
        return arg.text
    if isinstance(arg, str):
        return f"buf:{arg}"
    values = np.atleast_1d(arg)
    return f"{TYPES[values.dtype.name]}:{commas(values)}"


def slots(*values):
    """The block of arguments of which each begins at a multiple of 16 bytes."""
    return [(16 * i, value) for i, value in enumerate(values)]


def poison(shape, dtype):
    """An output nobody has written yet."""
    return np.frombuffer(np.full(math.prod(np.atleast_1d(shape)) * np.dtype(dtype).itemsize, 0xA5, np.uint8).tobytes(),
                         dtype).reshape(shape).copy()


class Bench:
    """Runs launches of one object and keeps the counts of each kernel."""

    def __init__(self, morgana, folder, path, opencl=False, environment=None):
        self.morgana, self.folder, self.path = morgana, pathlib.Path(folder), path
        self.environment = {"MORGANA_WATCHDOG": "120", **os.environ, **(environment or {})}
        self.opencl = opencl  # built from OpenCL C, not HIP
        self.items, self.launches, self.seconds = {}, {}, {}

    def described(self):
        return subprocess.run([self.morgana, "info", self.path], capture_output=True, text=True, timeout=60).stdout

    def facts(self):
        """The object's processor and its kernels."""
        text = self.described()
        target = re.search(r"^  target id: .*--(gfx[0-9a-f]+)", text, re.MULTILINE)
        return target and target.group(1), re.findall(r"^\.amdhsa_kernel (\S+)$", text, re.MULTILINE)

    def named_args(self, kernel, named, grid, group, buffers, outputs):
        """One launch whose arguments are given by name; by-value arguments that are not named are 0."""
        launch = Launch(kernel, grid, group, [])
        words = launch.words() + ["--zero-rest"]
        for name, value in named.items():
            words += ["--arg", f"{name}={argument(value)}"]
        return self.execute([launch], words, buffers, outputs)

    def packed(self, kernel, block, groups, group, buffers, outputs):
        """One launch of so many work-groups whose arguments are a block: pairs of an offset and a value."""
        size = re.search(rf"^\.amdhsa_kernel {re.escape(kernel)}$.*?^\s*\.kernarg_segment_size: *(\d+)$", self.described(),
                         re.MULTILINE | re.DOTALL)
        if size is None:
            raise Wrong("no such kernel")
        image, relocations = bytearray(int(size.group(1))), ""
        for offset, value in block:
            if offset >= len(image):  # newer objects of a family have more arguments
                break
            if isinstance(value, (str, At)):
                relocations += f",{offset}={argument(value)}"
            elif value is not None:
                image[offset:offset + value.nbytes] = value.tobytes()
        file = self.folder / "kernarg.bin"
        file.write_bytes(image)
        launch = Launch(kernel, [groups[0] * group, *groups[1:]], group, [])
        return self.execute([launch], launch.words() + ["--zero-rest", "--kernarg", f"{file}{relocations}"], buffers, outputs)

    def run(self, launches, buffers, outputs):
        """Returns the arrays of `outputs` after the launches."""
        words = []
        for launch in launches:
            words += (["--then"] if words else []) + launch.words()
        return self.execute(launches, words, buffers, outputs)

    def execute(self, launches, words, buffers, outputs):
        script = self.folder / "words.txt"
        for name, array in buffers.items():
            file = self.folder / f"{name}.bin"
            file.write_bytes(np.ascontiguousarray(array).tobytes() + GUARD.tobytes())
            words = ["--buffer", f"{name}=inout:{file}"] + words
        script.write_text("\n".join(words))
        result = subprocess.run([self.morgana, "dispatch", self.path, f"@{script}"], capture_output=True, text=True,
                                timeout=600, env=self.environment)
        if result.returncode != 0:
            raise Wrong(f"exit {result.returncode}: {result.stderr.strip()}")
        for launch in launches:
            self.items[launch.kernel] = self.items.get(launch.kernel, 0) + launch.items()
            self.launches[launch.kernel] = self.launches.get(launch.kernel, 0) + 1
        for kernel, milliseconds in re.findall(r"^(\S+): ([0-9.]+) ms", result.stdout, re.MULTILINE):
            self.seconds[kernel] = self.seconds.get(kernel, 0) + float(milliseconds) / 1e3
        return self.read_back(buffers, outputs)

    def read_back(self, buffers, outputs):
        found = {}
        for name, array in buffers.items():
            content = (self.folder / f"{name}.bin").read_bytes()
            if content[array.nbytes:] != GUARD.tobytes():
                raise Wrong(f"bytes behind buffer '{name}' were written")
            value = np.frombuffer(content[:array.nbytes], array.dtype).reshape(array.shape)
            if name in outputs:
                found[name] = value
            elif content[:array.nbytes] != np.ascontiguousarray(array).tobytes():
                raise Wrong(f"input buffer '{name}' was changed")
        return found


def exact(what, got, expected):
    """Equal bit for bit, except that any NaN equals any NaN."""
    expected = np.asarray(expected, got.dtype)
    equal = got.view(f"u{got.itemsize}") == expected.view(f"u{got.itemsize}")
    if got.dtype.kind == "f":
        equal |= np.isnan(got) & np.isnan(expected)
    if not equal.all():
        at = tuple(int(i) for i in np.argwhere(~equal)[0])
        raise Wrong(f"{what}: {np.count_nonzero(~equal)} of {got.size} differ; at {at} {got[at]!r}, expected {expected[at]!r}")


def near(what, got, expected, magnitude, roundings):
    """Within the error of `roundings` f32 roundings of terms whose absolute values add up to `magnitude`."""
    expected = np.asarray(expected, np.float64)
    bound = roundings * 2.0**-24 * np.broadcast_to(magnitude, expected.shape) + 2.0**-140
    with np.errstate(invalid="ignore"):
        off = ~(np.abs(got.astype(np.float64) - expected) <= bound)
    if off.any():
        at = tuple(int(i) for i in np.argwhere(off)[0])
        raise Wrong(f"{what}: {np.count_nonzero(off)} of {got.size} differ; at {at} {got[at]!r}, expected {expected[at]!r}")
