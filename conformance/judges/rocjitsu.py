"""The race tests of rocjitsu for gfx950 (ROCm/rocm-systems, emulation/rocjitsu/tests/race-detector): a program of GoogleTest
whose kernels are pairs with and without a fault, mostly a wait that assembly leaves out. It is built as on_opencl.py says, with
its own expectations, which read rocjitsu's log, of no account: a test that asks for records, or for a race, has a fault."""
import atexit
import functools
import pathlib
import re
import shutil
import tempfile

import on_opencl
from checked import kinds_found

DEVICE = "gfx950"
NAME = "hip_race_gfx950_test.hip"
FAULT = {"race", "missing-wait"}


def cases(folder):
    """(name, (source, test), what must be found) of every test."""
    for path in sorted(folder.rglob(NAME)):
        text = path.read_text()
        for suite, test, body in re.findall(r"^TEST_F\((\w+), (\w+)\) \{\n(.*?)^\}", text, re.M | re.S):
            if re.search(r"<<<\w+, \w+, ", body):  # LDS that no argument points to, which OpenCL does not know
                continue
            yield f"gfx950/{test}", (path, f"{suite}.{test}"), [FAULT] if re.search(r"records\(\)|ExpectRace\(", body) else []


@functools.cache
def program(path, device):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rocjitsu"))
    atexit.register(shutil.rmtree, folder)
    return on_opencl.build(path, folder, device, "-O3", libraries=["-lgtest", "-lpthread"])


def found(case, library, device):
    path, test = case
    command, wants = program(path, device)
    kinds = kinds_found([command, f"--gtest_filter={test}"], library, device, checks="race,hazard", statuses=(0, 1), **wants)
    return kinds & FAULT  # what the suite speaks of
