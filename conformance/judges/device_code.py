"""Code objects of CUDA and HIP files, whose host part is left out."""
import subprocess

# What such a file is for clang, which is to look neither for CUDA nor for ROCm.
DIALECT = ("-std=c++20", "-x", "hip", "-nogpulib", "-nogpuinc", "-w")


def compile_kernels(path, target, level, made, *options):
    subprocess.run(["clang++-22", *DIALECT, f"--offload-arch={target}", "--cuda-device-only", "--no-gpu-bundle-output", level,
                    *options, path, "-o", made], check=True)
