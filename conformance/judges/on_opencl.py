"""CUDA and HIP programs of one file on an OpenCL device: built by clang with on_opencl/ in place of the headers and the
runtime that they are written for."""
import atexit
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

from device_code import DIALECT, compile_kernels

HERE = pathlib.Path(__file__).resolve().parent / "on_opencl"
CLANG = "clang++-22"


@functools.cache
def runtime():
    folder = tempfile.mkdtemp(prefix="on_opencl")
    atexit.register(shutil.rmtree, folder)
    made = pathlib.Path(folder) / "runtime.o"
    subprocess.run([CLANG, "-O1", "-c", HERE / "runtime.cpp", "-o", made], check=True)
    return made


def build(path, folder, target, level, before=(), libraries=()):
    """(program, environment that it wants), made in `folder`. `before`: what the compiler is to read before the text."""
    common = ["-fuse-cuid=none", "-I", HERE, *(word for name in before for word in ("-include", name))]
    code, half, program = folder / "code", folder / "host.o", folder / "program"
    compile_kernels(path, target, level, code, "-g", *common)
    subprocess.run([CLANG, *DIALECT, f"--offload-arch={target}", "--cuda-host-only", "-O0", "-c", *common, path, "-o", half], check=True)
    subprocess.run([CLANG, half, runtime(), *libraries, "-lOpenCL", "-o", program], check=True)
    return program, {"JUDGE_CODE": os.fspath(code)}
