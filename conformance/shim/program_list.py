"""The samples and the bench cases whose kernels another source can stand for: conformance/il, conformance/judges."""
import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = "saxpy sgemm reduction histogram nbody sha256 mandelbrot stencil".split()


def samples(binaries):
    """(name, command); a command's "{out}" is a folder for what it writes."""
    for name in SAMPLES:
        files = {"mandelbrot": ["{out}/m.png"], "stencil": [str(SOURCE / "samples/data/strait.png"), "{out}/s.png"]}
        yield name, [str(binaries / name)] + files.get(name, [])


def bench_cases(binaries):
    bench = str(binaries / "bench_kernels")
    for name in subprocess.run([bench], capture_output=True, text=True, check=True).stdout.split():
        yield name, [bench, name]
